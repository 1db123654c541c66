/* The hot loop as read from each driver's assembly: the same sum of columns, with a nested loop
 * where the dialect shows how a counter is compared. */
#include "vendors/assembly.c"

#include "support/harness.h"

enum { RATE = 128 };

static void expect(const char *text, hot_loop want) {
  hot_loop got;
  assert_true(assembly_hot_loop(text, RATE, &got));
  assert_int_equal((int)got.instructions, (int)want.instructions);
  assert_int_equal((int)got.slots, (int)want.slots);
  assert_int_equal((int)got.multiply_adds, (int)want.multiply_adds);
  assert_int_equal((int)got.matrix, (int)want.matrix);
  assert_int_equal((int)got.shared_loads, (int)want.shared_loads);
  assert_int_equal((int)got.shared_bytes, (int)want.shared_bytes);
  assert_int_equal((int)got.global_loads, (int)want.global_loads);
  assert_int_equal((int)got.drains, (int)want.drains);
  assert_int_equal((int)got.barriers, (int)want.barriers);
  assert_int_equal((int)got.in_flight, (int)want.in_flight);
}

/* Two loads, waited for one by one; 8 rounds of a shared load and two multiply-adds, one of them
 * issued together with a move; a branch that is no loop. */
TEST(radv) {
  expect("BB0:\n"
         "\tv_mov_b32_e32 v9, 0                    ; 7e120280\n"
         "\tglobal_load_b32 v8, v[6:7], off        ; dc520000\n"
         "\ts_cbranch_execz BB5                    ; bfa50026\n"
         "BB1:\n"
         "\tglobal_load_b32 v3, v[6:7], off        ; dc520000 037c0006\n"
         "\tglobal_load_b32 v4, v[6:7], off        ; dc520000 037c0006\n"
         "\ts_delay_alu instid0(VALU_DEP_1)        ; bf870001\n"
         "\ts_waitcnt vmcnt(1)                     ; bf8903f7\n"
         "\ts_waitcnt vmcnt(0)                     ; bf8903f7\n"
         "\ts_barrier                              ; bfbd0000\n"
         "BB2:\n"
         "\tds_load_b128 v[10:13], v1              ; dbfc0000\n"
         "\ts_waitcnt lgkmcnt(0)                   ; bf89fc07\n"
         "\tv_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5 ; c8000501\n"
         "\tv_fmac_f32_e32 v2, v10, v4             ; 56040702\n"
         "\t(then repeated 2 times)\n"
         "\ts_add_i32 s0, s0, 16                   ; 81000090\n"
         "\ts_cmp_ge_u32 s0, 0x80                  ; bf09ff00 00000080\n"
         "\ts_cbranch_scc0 BB2                     ; bfa1ffef\n"
         "BB3:\n"
         "\ts_cbranch_scc0 BB1                     ; bfa1ffef\n"
         "BB5:\n"
         "\ts_endpgm                               ; bfb00000\n",
         (hot_loop){.instructions = 5 + 8 * 10 + 1,
                    .slots = 5 + 8 * 9 + 1,
                    .multiply_adds = 32,
                    .shared_loads = 8,
                    .shared_bytes = 8 * 16,
                    .global_loads = 2,
                    .drains = 9,
                    .barriers = 1,
                    .in_flight = 2});
}

TEST(anv) {
  expect("Push constant ranges:\n"
         "mov(16)         g48<1>UD        0x00000000UD                    { align1 1H };\n\n"
         "LABEL1:\n"
         "sync nop(1)                     null<0,1,0>UB         { align1 WE_all 1N A@1 };\n"
         "send(16)        g30UD           g26UD           nullUD          0x08200580\n"
         "          ugm MsgDesc: ( load, a64, d32, V1, L1STATE_L3MOCS )  { align1 1H $4 };\n"
         "send(16)        g32UD           g26UD           nullUD          0x08200580\n"
         "          ugm MsgDesc: ( load, a64, d32, V1, L1STATE_L3MOCS )  { align1 1H $5 };\n"
         "mad(16)         g48<1>F   g48<1,1,0>F g30<1,1,0>F g3<1,1,1>F { align1 1H @1 $4.dst };\n"
         "mad(16)         g48<1>F   g48<1,1,0>F g32<1,1,0>F g3<1,1,1>F { align1 1H @1 $5.dst };\n"
         "LABEL2:\n"
         "send(16)        g34UD           g26UD           nullUD          0x08200580\n"
         "          slm MsgDesc: ( load, a32, d32, V4, L1STATE_L3MOCS )  { align1 1H $6 };\n"
         "add(16)         g68<1>D   g68<1,1,0>D     4D            { align1 1H $6.dst };\n"
         "cmp.ge.f0.0(16) null<1>UD g68<8,8,1>UD    0x00000010UD  { align1 1H I@1 };\n"
         "(-f0.0) while(16) JIP:  LABEL2                          { align1 1H };\n"
         "(-f0.0) while(16) JIP:  LABEL1                          { align1 1H };\n"
         "mov(16)         g48<1>UD        0x00000000UD                    { align1 1H };\n",
         (hot_loop){.instructions = 4 + 4 * 4 + 1,
                    .slots = 4 + 4 * 4 + 1,
                    .multiply_adds = 2,
                    .shared_loads = 4,
                    .shared_bytes = 4 * 16,
                    .global_loads = 2,
                    .drains = 5,
                    .in_flight = 2});
}

/* The inner loop's way back leads through a block behind the outer one. */
TEST(nvk) {
  expect("block.u 0 L1 [] -> {\n"
         "      r4    = mov rZ                                 // delay=1\n"
         "} -> [1]\n"
         "block 1 L2 [0, 3] -> {\n"
         "      r5    = ld.global.a64.b32 [r6..8+rZ], pT       // delay=1 wr:0\n"
         "      r6    = ld.global.a64.b32 [r6..8+rZ], pT       // delay=1 wr:1\n"
         "      r4    = ffma.ftz r4 r5 r6                      // delay=1 wt=000011\n"
         "} -> [2]\n"
         "block 2 L3 [1, 5] -> {\n"
         "      r9    = ld.shared.cta.b128 [r6+rZ], pT         // delay=1 wr:2\n"
         "      r8    = iadd3 r7 0x80 rZ                       // delay=4 wt=000100\n"
         "      p0    = isetp.ge.u32 r8 0x200                  // delay=13\n"
         "} -> [5, 3]\n"
         "block 3 L4 [2] -> {\n"
         "              bar.sync                               // delay=6 yld\n"
         "              nop                                    // delay=2\n"
         "@!p0          bra pT L2                              // delay=1\n"
         "} -> [1, 4]\n"
         "block 4 L5 [3] -> {\n"
         "              exit                                   // delay=1\n"
         "} -> []\n"
         "block 5 L6 [2] -> {\n"
         "      r7    = mov r8                                 // delay=1\n"
         "              bra pT L3                              // delay=1\n"
         "} -> [2]\n",
         (hot_loop){.instructions = 3 + 2 + 4 * 5,
                    .slots = 3 + 2 + 4 * 5,
                    .multiply_adds = 1,
                    .shared_loads = 4,
                    .shared_bytes = 4 * 16,
                    .global_loads = 2,
                    .drains = 5,
                    .barriers = 1,
                    .in_flight = 2});
}

/* Widths of loads from shared memory. */
TEST(shared_bytes) {
  static const struct {
    const char *op;
    double bytes;
  } loads[] = {{"ds_load_b32 v1, v2", 4},       {"ds_load_2addr_b32 v[4:5], v1", 8},
               {"ds_read2st64_b64 v[4:7]", 16}, {"ds_load_2addr_stride64_b32 v[4:5]", 8},
               {"ds_read_u16 v1, v2", 2},       {"ds_load_b96 v[1:3], v4", 12}};
  (void)state;
  for (size_t i = 0; i < FT_COUNT(loads); i++)
    assert_int_equal((int)shared_bytes_radv(loads[i].op, loads[i].op + strlen(loads[i].op)),
                     (int)loads[i].bytes);
}

/* A matrix unit's instruction counts as many others as it takes the time of. */
TEST(matrices) {
  expect(
      "BB0:\n"
      "\tv_wmma_f32_16x16x16_bf16 v[160:167], v[28:35], v[84:91], v[144:151] ; cc4040a0\n"
      "\tv_fma_f32 v1, v2, v3, v4               ; d6130001\n"
      "\ts_endpgm                               ; bfb00000\n",
      (hot_loop){.instructions = 32 + 2, .slots = 32 + 2, .multiply_adds = 32 + 1, .matrix = 32});
  expect(
      "Push constant ranges:\n"
      "dpas.8x8(8)     g56<1>F   g56<1,1,0>F g20<1,1,0>HF g88<1,1,0>HF { align1 1Q $9.src };\n"
      "dpas.8x4(16)    g56<1>F   g56<1,1,0>F g20<1,1,0>HF g88<1,1,0>HF { align1 1H $9.src };\n"
      "mad(8)          g48<1>F   g48<1,1,0>F g30<1,1,0>F g3<1,1,1>F { align1 1Q @1 };\n",
      (hot_loop){.instructions = 16 + 1, .slots = 16 + 1, .multiply_adds = 16 + 1, .matrix = 16});
  expect("block.u 0 L1 [] -> {\n"
         "      r84..88   = hmma.m16n8k16.f32 r12..16 r88..90 r84..88     // delay=15 wr:1\n"
         "      r84..88   = hmma.m16n8k8.f32 r12..14 r88 r84..88          // delay=15 wr:1\n"
         "      r60..64   = ldsm.16.m8n8.x4 [r55]                         // delay=1 wr:0\n"
         "      r28..30   = ldsm.16.m8n8.x2.trans [r37+0x740]             // delay=1 wr:1\n"
         "              exit                                              // delay=1\n"
         "} -> []\n",
         (hot_loop){.instructions = 24 + 3,
                    .slots = 24 + 3,
                    .multiply_adds = 24,
                    .matrix = 24,
                    .shared_loads = 2,
                    .shared_bytes = 16 + 8});
}

TEST(no_assembly) {
  hot_loop none;
  (void)state;
  assert_false(assembly_hot_loop("", RATE, &none));
  assert_false(assembly_hot_loop("no text that anybody knows\n", RATE, &none));
}

TEST_MAIN(NULL, NULL)
