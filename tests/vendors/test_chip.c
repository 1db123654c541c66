/* What is computed of chips: workgroups that fit, and traffic of products, beside numbers worked
 * out by hand and those of another program. */
#include "vendors/chip.c"

#include "support/harness.h"

TEST(workgroups) {
  const chip *amd = chip_named("AMD RDNA3 (navi31)"), *intel = chip_named("Intel DG2 (56a0)");
  const chip *nvidia = chip_named("NVIDIA Ampere (172)");
  (void)state;
  assert_null(chip_named("AMD RDNA3"));
  assert_int_equal((int)chip_workgroups(amd, 6, 8, 16896), 3);    /* 24 subgroups */
  assert_int_equal((int)chip_workgroups(amd, 16, 4, 40000), 3);   /* 131,072 bytes */
  assert_int_equal((int)chip_workgroups(intel, -1, 32, 4096), 4); /* 128 threads */
  assert_int_equal((int)chip_workgroups(nvidia, 12, 8, -1), 1);
}

/* 4 x 2 tiles of 64 x 64 and two slices: A has 8 blocks, B 4, each of 16,384 bytes. */
TEST(traffic) {
  enum { BLOCK = 64 * 64 * 4, C = 256 * 128 * 4 };
  tiled_product p = {.m = 256, .n = 128, .k = 128, .down = 4, .across = 2, .bytes = 4};
  (void)state;
  p.bytes_of_c = 4;
  assert_int_equal((int)product_traffic(&p, 1, 1e9), 12 * BLOCK + C); /* each block once */
  assert_int_equal((int)product_traffic(&p, 8, 4), 12 * BLOCK + C);
  assert_int_equal((int)product_traffic(&p, 1, 4), 32 * BLOCK + C); /* four blocks a tile */
  assert_int_equal((int)product_traffic(&p, 4, 4), 20 * BLOCK + C); /* all of A, twice */
  p.across_first = 1;
  assert_int_equal((int)product_traffic(&p, 4, 4), 16 * BLOCK + C);           /* all of B, twice */
  assert_int_equal((int)product_traffic(&p, 1, 4.0 * BLOCK), 24 * BLOCK + C); /* a tile's A stays */
  assert_int_equal((int)product_traffic(&p, 1, 8.0 * BLOCK), 12 * BLOCK + C); /* so does B */
}

/* 32,768 x 2,048 x 512 in fp32, tiles of 128 x 128, on a GeForce RTX 4090: 1,078 or 71 MB. */
TEST(large_product) {
  tiled_product p = {.m = 32768, .n = 2048, .k = 512, .down = 256, .across = 16, .bytes = 4};
  (void)state;
  p.bytes_of_c = 4;
  const double c = 4.0 * p.m * p.n;
  assert_int_equal((int)((product_traffic(&p, 256, 57.6e6) - c) / 1e6 + 0.5), 1078);
  p.across_first = 1;
  assert_int_equal((int)((product_traffic(&p, 256, 57.6e6) - c) / 1e6 + 0.5), 71);
}

TEST_MAIN(NULL, NULL)
