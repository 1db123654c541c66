#include "vendors/assembly.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCKS = 4096, MAX_LOOPS = 512, MAX_OPERANDS = 6, TOKENS = 32, MAX_HOPS = 16 };

typedef enum kind { OTHER, GLOBAL_LOAD, SHARED_LOAD, BARRIER } kind;

typedef struct operand {
  char text[16]; /* a register */
  long value;    /* an immediate, where text is empty */
} operand;

typedef struct instruction {
  kind kind;
  bool hint;                      /* takes no slot worth counting */
  double multiply_adds;           /* a line that issues two instructions counts as two */
  double counts;                  /* instructions, as multiply_adds counts them */
  double slots, matrix;           /* of issue: all that it takes, and of these a matrix unit's */
  double shared_bytes;            /* that a lane reads from shared memory */
  operand operands[MAX_OPERANDS]; /* the result first */
  int operand_count;
  bool adds, compares; /* integers: what counts a loop's iterations */
  int token;           /* that a load's end is waited for by; -1: none */
  uint32_t waits;      /* tokens waited for (ANV, NVK) */
  int most_left[2];    /* RADV: global, shared loads that may be left; -1: does not wait */
  int block;
} instruction;

typedef struct loop {
  bool *blocks; /* by number */
  int first;    /* block */
  double trips;
} loop;

typedef struct program {
  instruction *list;
  size_t count, capacity;
  int block_count, loop_count;
  loop loops[MAX_LOOPS];
  int labels[MAX_BLOCKS];  /* RADV, ANV: the block where a label stands, -1: not yet seen */
  int edges[MAX_LOOPS][2]; /* backward, from and to */
  int edge_count;
  double matrix_rate;
  uint32_t *predecessors; /* NVK: pairs of block and predecessor */
  size_t predecessor_count;
  bool failed;
} program;

/* ---- lines ---- */

static bool begins(const char *text, const char *with) {
  return !strncmp(text, with, strlen(with));
}

/* Splits what is between the mnemonic and `end` into registers and integers. */
static void read_operands(instruction *i, const char *at, const char *end) {
  while (at < end && i->operand_count < MAX_OPERANDS) {
    while (at < end && (isspace((unsigned char)*at) || *at == ',' || *at == '='))
      at++;
    if (at < end && *at == '{') return; /* ANV: remarks */
    size_t length = 0;
    for (bool region = false; at + length < end; length++) {
      if (isspace((unsigned char)at[length]) || (at[length] == ',' && !region)) break;
      region = at[length] == '<' || (region && at[length] != '>');
    }
    if (!length) return;
    operand *o = &i->operands[i->operand_count++];
    *o = (operand){.value = -1};
    if (isdigit((unsigned char)*at)) {
      o->value = strtol(at, NULL, 0);
    } else {
      size_t name = 0; /* g5<1,1,0>D is g5 */
      while (name < length && name + 1 < sizeof o->text && at[name] != '<')
        name++;
      memcpy(o->text, at, name);
      o->text[name] = '\0';
    }
    at += length;
  }
}

static instruction *add(program *p, instruction i) {
  if (p->count == p->capacity) {
    p->capacity = p->capacity ? 2 * p->capacity : 1024;
    instruction *list = realloc(p->list, p->capacity * sizeof *list);
    if (!list) abort();
    p->list = list;
  }
  i.block = p->block_count - 1;
  p->list[p->count] = i;
  return &p->list[p->count++];
}

static void add_block(program *p) {
  if (p->block_count == MAX_BLOCKS)
    p->failed = true;
  else
    p->block_count++;
}

static void add_edge(program *p, int to) {
  if (p->edge_count == MAX_LOOPS) {
    p->failed = true;
    return;
  }
  p->edges[p->edge_count][0] = p->block_count - 1;
  p->edges[p->edge_count++][1] = to;
}

static void set_label(program *p, long number) {
  add_block(p);
  if (number >= 0 && number < MAX_BLOCKS) p->labels[number] = p->block_count - 1;
}

/* A branch: backward where its label has been seen. */
static void branch_to(program *p, long label) {
  if (label >= 0 && label < MAX_BLOCKS && p->labels[label] >= 0) add_edge(p, p->labels[label]);
}

static const char *line_end(const char *at) {
  const char *end = strchr(at, '\n');
  return end ? end : at + strlen(at);
}

/* The number behind the first `name` of the line, -1: there is none. */
static long number_behind(const char *at, const char *end, const char *name) {
  const char *found = strstr(at, name);
  return found && found < end ? strtol(found + strlen(name), NULL, 0) : -1;
}

static bool contains(const char *at, const char *end, const char *text) {
  const char *found = strstr(at, text);
  return found && found < end;
}

/* A multiplication of matrices: its m n k multiply-adds. */
static void count_matrix(const program *p, instruction *i, long m, long n, long k) {
  if (m > 0 && n > 0 && k > 0)
    i->matrix = i->slots = i->counts = i->multiply_adds = (double)(m * n * k) / p->matrix_rate;
}

/* ---- RADV: a mnemonic behind a tab, its encoding behind a semicolon ---- */

static bool is_multiply_add_radv(const char *op) {
  static const char *const names[] = {
      "v_fma_",      "v_fmac_", "v_fmaak_",    "v_fmamk_",    "v_mac_",   "v_mad_f", "v_pk_fma",
      "v_dual_fmac", "v_mfma",  "v_dual_fmaa", "v_dual_fmam", "v_mad_mi", "v_madak", "v_madmk"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (begins(op, names[i])) return true;
  return false;
}

static kind kind_radv(const char *op) {
  static const char *const global[] = {"global_load", "flat_load", "buffer_load"};
  for (size_t i = 0; i < sizeof global / sizeof *global; i++)
    if (begins(op, global[i])) return GLOBAL_LOAD;
  if (begins(op, "ds_load") || begins(op, "ds_read")) return SHARED_LOAD;
  return begins(op, "s_barrier") && !begins(op, "s_barrier_wait") ? BARRIER : OTHER;
}

/* Of a load from shared memory: ds_load_b128, ds_read2_b32, ds_load_2addr_stride64_b64. */
static double shared_bytes_radv(const char *op, const char *end) {
  const char *bits = op;
  while (bits < end && !(*bits == '_' && strchr("bui", bits[1]) && isdigit((unsigned char)bits[2])))
    bits++;
  if (bits == end) return 0;
  const bool twice = contains(op, bits, "2addr") || contains(op, bits, "read2");
  return (double)strtol(bits + 2, NULL, 10) / 8 * (twice ? 2 : 1);
}

/* From RDNA 4 on each counter has an instruction of its own, or two share one. */
static void read_wait_radv(instruction *i, const char *op, const char *end) {
  i->most_left[0] = (int)number_behind(op, end, "vmcnt(");
  i->most_left[1] = (int)number_behind(op, end, "lgkmcnt(");
  const bool both = begins(op, "s_wait_loadcnt_dscnt");
  long value = number_behind(op, end, " ");
  if (both) {
    i->most_left[0] = (int)(value >> 8);
    i->most_left[1] = (int)(value & 0xff);
  } else if (begins(op, "s_wait_loadcnt")) {
    i->most_left[0] = (int)value;
  } else if (begins(op, "s_wait_dscnt")) {
    i->most_left[1] = (int)value;
  }
}

static void read_line_radv(program *p, const char *line, const char *end) {
  static const char *const hints[] = {"s_delay_alu", "s_nop", "s_clause", "s_set_inst"};
  if (begins(line, "BB")) {
    set_label(p, strtol(line + 2, NULL, 10));
    return;
  }
  if (*line != '\t' || !p->block_count) return;
  if (begins(line + 1, "(then repeated ")) {
    for (long n = number_behind(line, end, "repeated "); n > 0 && p->count; n--)
      add(p, p->list[p->count - 1]);
    return;
  }
  const char *op = line + 1, *semicolon = memchr(op, ';', (size_t)(end - op));
  if (semicolon) end = semicolon;
  instruction i = {
      .counts = 1, .slots = 1, .kind = kind_radv(op), .token = -1, .most_left = {-1, -1}};
  for (size_t k = 0; k < sizeof hints / sizeof *hints; k++)
    i.hint |= begins(op, hints[k]);
  i.multiply_adds = is_multiply_add_radv(op);
  if (i.kind == SHARED_LOAD) i.shared_bytes = shared_bytes_radv(op, end);
  if (begins(op, "v_wmma_")) { /* v_wmma_f32_16x16x16_f16 */
    const char *m = strchr(op + strlen("v_wmma_"), '_'), *n = m ? strchr(m, 'x') : NULL;
    const char *k = n ? strchr(n + 1, 'x') : NULL;
    if (k && k < end)
      count_matrix(p, &i, strtol(m + 1, NULL, 10), strtol(n + 1, NULL, 10),
                   strtol(k + 1, NULL, 10));
  }
  if (begins(op, "v_dual_")) {
    const char *second = strstr(op, ":: ");
    i.counts = 2;
    if (second && second < end) i.multiply_adds += is_multiply_add_radv(second + 3);
  }
  if (begins(op, "s_wait")) read_wait_radv(&i, op, end);
  const char *behind = op + strcspn(op, " \n");
  i.adds = begins(op, "v_add_nc_u32") || begins(op, "v_add_u32") || begins(op, "s_add_") ||
           begins(op, "s_addk_") || begins(op, "v_add_co_u32");
  i.compares = begins(op, "s_cmp") || begins(op, "v_cmp");
  if (i.adds || i.compares || begins(op, "v_mov_b32") || begins(op, "s_mov_b32"))
    read_operands(&i, behind, end);
  add(p, i);
  if (begins(op, "s_branch") || begins(op, "s_cbranch")) branch_to(p, number_behind(op, end, "BB"));
}

/* ---- ANV: a message's kind and its tokens are on the line behind its send ---- */

static void read_tokens_anv(instruction *i, const char *at, const char *end) {
  const char *brace = memchr(at, '{', (size_t)(end - at));
  for (const char *t = brace; t && (t = memchr(t, '$', (size_t)(end - t))) != NULL; t++) {
    char *behind;
    long token = strtol(t + 1, &behind, 10);
    if (token < 0 || token >= TOKENS) continue;
    if (begins(behind, ".dst"))
      i->waits |= 1u << token;
    else if (*behind != '.')
      i->token = (int)token;
  }
}

static void read_message_anv(instruction *i, const char *at, const char *end) {
  if (contains(at, end, "barrier msg"))
    i->kind = BARRIER;
  else if (contains(at, end, "slm MsgDesc: ( load")) {
    i->kind = SHARED_LOAD;
    i->shared_bytes = (double)(number_behind(at, end, ", d") * number_behind(at, end, ", V")) / 8;
  } else if (contains(at, end, "ugm MsgDesc: ( load"))
    i->kind = GLOBAL_LOAD;
  read_tokens_anv(i, at, end);
}

static void read_line_anv(program *p, const char *line, const char *end) {
  if (begins(line, "LABEL")) {
    set_label(p, strtol(line + 5, NULL, 10));
    return;
  }
  if (isspace((unsigned char)*line)) {
    if (p->count && contains(line, end, "MsgDesc"))
      read_message_anv(&p->list[p->count - 1], line, end);
    return;
  }
  const char *op = line;
  if (*op == '(') op += strcspn(op, ")") + 1 + (op[strcspn(op, ")") + 1] == ' ');
  const char *paren = op + strcspn(op, "(\n");
  if (*paren != '(' || !islower((unsigned char)*op) || paren > end) return;
  instruction i = {.counts = 1, .slots = 1, .token = -1, .most_left = {-1, -1}};
  i.hint = begins(op, "sync ") || begins(op, "nop");
  i.multiply_adds = begins(op, "mad(") || begins(op, "mac(");
  if (begins(op, "dpas.")) { /* dpas.8x8(8): depth, in pairs of 16-bit numbers; rows; columns */
    const char *rows = op + strcspn(op, "x(");
    count_matrix(p, &i, strtol(rows + 1, NULL, 10), strtol(paren + 1, NULL, 10),
                 2 * strtol(op + strlen("dpas."), NULL, 10));
  }
  read_tokens_anv(&i, op, end);
  i.adds = begins(op, "add(") && !contains(op, end, ">F");
  i.compares = begins(op, "cmp.") && !contains(op, end, ">F");
  if (i.adds || i.compares || begins(op, "mov("))
    read_operands(&i, paren + strcspn(paren, ")") + 1, end);
  add(p, i);
  if (begins(op, "while")) {
    branch_to(p, number_behind(op, end, "LABEL"));
    add_block(p);
  }
}

/* ---- NVK: blocks with their predecessors; result = mnemonic operands ---- */

static void read_block_nvk(program *p, const char *line, const char *end) {
  const char *at = memchr(line, '[', (size_t)(end - line));
  add_block(p);
  while (at && at < end && *at != ']') {
    char *behind;
    long from = strtol(at + 1, &behind, 10);
    if (behind == at + 1) return;
    p->predecessors = realloc(p->predecessors, 2 * (p->predecessor_count + 1) * sizeof(uint32_t));
    if (!p->predecessors) abort();
    p->predecessors[2 * p->predecessor_count] = (uint32_t)(p->block_count - 1);
    p->predecessors[2 * p->predecessor_count++ + 1] = (uint32_t)from;
    at = behind;
  }
}

static void read_line_nvk(program *p, const char *line, const char *end) {
  if (begins(line, "block")) {
    read_block_nvk(p, line, end);
    return;
  }
  if (!p->block_count || *line == '}' || !(isspace((unsigned char)*line) || *line == '@')) return;
  const char *comment = strstr(line, "//");
  if (!comment || comment > end) return;
  const char *equals = memchr(line, '=', (size_t)(comment - line)),
             *op = equals ? equals + 1 : line;
  op += strspn(op, " ");
  if (*op == '@') op += strcspn(op, " "), op += strspn(op, " ");
  instruction i = {.counts = 1, .slots = 1, .token = -1, .most_left = {-1, -1}};
  i.hint = begins(op, "nop");
  i.multiply_adds = begins(op, "ffma") || begins(op, "hfma2");
  if (begins(op, "hmma.m"))
    count_matrix(p, &i, number_behind(op, end, "hmma.m"), number_behind(op, end, "n"),
                 number_behind(op, end, "k"));
  if (begins(op, "ld.global")) i.kind = GLOBAL_LOAD;
  if (begins(op, "ld.shared") || begins(op, "ldsm.")) i.kind = SHARED_LOAD;
  if (begins(op, "ld.shared"))
    i.shared_bytes = (double)number_behind(op, end, ".b") / 8;
  else if (i.kind == SHARED_LOAD) /* ldsm.16.m8n8.x4: a register of each matrix */
    i.shared_bytes = 4.0 * (double)number_behind(op, end, ".x");
  if (begins(op, "bar.sync")) i.kind = BARRIER;
  long token = number_behind(comment, end, "wr:");
  if (i.kind == GLOBAL_LOAD || i.kind == SHARED_LOAD) i.token = (int)token;
  const char *mask = strstr(comment, "wt=");
  if (mask && mask < end) i.waits = (uint32_t)strtoul(mask + 3, NULL, 2);
  i.adds = begins(op, "iadd");
  i.compares = begins(op, "isetp");
  if (i.adds || i.compares || begins(op, "mov")) {
    if (equals) read_operands(&i, line, equals);
    i.operand_count = i.operand_count > 1 ? 1 : i.operand_count;
    read_operands(&i, op + strcspn(op, " "), comment);
  }
  add(p, i);
}

/* ---- loops ---- */

static loop *loop_from(program *p, int first) {
  for (int i = 0; i < p->loop_count; i++)
    if (p->loops[i].first == first) return &p->loops[i];
  if (p->loop_count == MAX_LOOPS) {
    p->failed = true;
    return &p->loops[0];
  }
  loop *l = &p->loops[p->loop_count++];
  *l = (loop){.blocks = calloc((size_t)p->block_count, sizeof(bool)), .first = first, .trips = 1};
  if (!l->blocks) abort();
  return l;
}

/* RADV and ANV lay loops out in one piece. */
static void find_loops_in_pieces(program *p) {
  for (int i = 0; i < p->edge_count; i++) {
    loop *l = loop_from(p, p->edges[i][1]);
    for (int b = p->edges[i][1]; b <= p->edges[i][0]; b++)
      l->blocks[b] = true;
  }
}

/* All that leads to the edge's origin without passing the loop's first block. */
static void find_loops_by_predecessors(program *p) {
  for (size_t i = 0; i < p->predecessor_count; i++) {
    uint32_t to = p->predecessors[2 * i], from = p->predecessors[2 * i + 1];
    if (from < to || from >= (uint32_t)p->block_count) continue;
    loop *l = loop_from(p, (int)to);
    l->blocks[to] = l->blocks[from] = true;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t k = 0; k < p->predecessor_count; k++) {
        uint32_t b = p->predecessors[2 * k], before = p->predecessors[2 * k + 1];
        if (b == to || !l->blocks[b] || before >= (uint32_t)p->block_count || l->blocks[before])
          continue;
        l->blocks[before] = grown = true;
      }
    }
  }
}

static bool within(const program *p, const loop *inner, const loop *outer) {
  if (inner == outer) return false;
  for (int b = 0; b < p->block_count; b++)
    if (inner->blocks[b] && !outer->blocks[b]) return false;
  return true;
}

static bool owns(const program *p, const loop *l, const instruction *i) {
  if (!l->blocks[i->block]) return false;
  for (int k = 0; k < p->loop_count; k++)
    if (p->loops[k].blocks[i->block] && within(p, &p->loops[k], l)) return false;
  return true;
}

/* How far the register moves in one iteration: additions of constants, back from the place. */
static long step_of(const program *p, const loop *l, size_t from, const char *name) {
  long step = 0;
  const char *start = name;
  size_t at = from;
  for (int hops = 0; hops < MAX_HOPS; hops++) {
    const instruction *found = NULL;
    for (size_t n = 0; n < p->count && !found; n++) { /* backwards, once around */
      at = at ? at - 1 : p->count - 1;
      const instruction *i = &p->list[at];
      if (l->blocks[i->block] && i->operand_count >= 2 && !i->compares &&
          !strcmp(i->operands[0].text, name))
        found = i;
    }
    if (!found) return step;
    const char *next = NULL;
    long by = 0;
    for (int k = 1; k < found->operand_count; k++) {
      const operand *o = &found->operands[k];
      if (o->text[0] && !next && strcmp(o->text, "vcc")) next = o->text;
      if (!o->text[0] && o->value > 0 && found->adds) by = o->value;
    }
    if (found->operand_count == 2 && found->adds && !next) next = name; /* s_addk */
    step += by;
    if (!next || !strcmp(next, start)) return step;
    name = next;
  }
  return step;
}

/* How often a loop runs whose counter is compared with a constant; 1 where that is not plain. */
static double trips_of(const program *p, const loop *l) {
  enum { MOST = 4096 };
  double trips = 1;
  for (size_t i = 0; i < p->count; i++) {
    const instruction *c = &p->list[i];
    if (!c->compares || !owns(p, l, c)) continue;
    const char *name = NULL;
    long limit = -1;
    for (int k = 0; k < c->operand_count; k++) {
      const operand *o = &c->operands[k];
      if (!o->text[0] && o->value > 1) limit = o->value;
      if (o->text[0] && strcmp(o->text, "vcc") && strcmp(o->text, "null") && o->text[0] != 'p')
        name = o->text;
    }
    long step = name && limit > 1 ? step_of(p, l, i, name) : 0;
    if (step > 0 && (limit + step - 1) / step <= MOST) trips = (double)((limit + step - 1) / step);
  }
  return trips;
}

/* ---- the hot loop ---- */

/* How often an instruction runs in one iteration of `hot`; NULL: of the program. */
static double weight(const program *p, const loop *hot, const instruction *i) {
  double runs = 1;
  for (int k = 0; k < p->loop_count; k++) {
    const loop *l = &p->loops[k];
    if (l->blocks[i->block] && (!hot || within(p, l, hot))) runs *= l->trips;
  }
  return runs;
}

typedef struct traffic {
  int global[TOKENS], shared[TOKENS]; /* loads under way by token; RADV: all in the first */
} traffic;

static int total(const int *of) {
  int sum = 0;
  for (int i = 0; i < TOKENS; i++)
    sum += of[i];
  return sum;
}

/* Whether the instruction waits until no load is under way. */
static bool drains(traffic *t, const instruction *i) {
  int before = total(t->global) + total(t->shared);
  for (int k = 0; k < TOKENS; k++)
    if (i->waits >> k & 1) t->global[k] = t->shared[k] = 0;
  if (i->most_left[0] >= 0 && t->global[0] > i->most_left[0]) t->global[0] = i->most_left[0];
  if (i->most_left[1] >= 0 && t->shared[0] > i->most_left[1]) t->shared[0] = i->most_left[1];
  return before > 0 && total(t->global) + total(t->shared) == 0;
}

static void issue(traffic *t, const instruction *i) {
  int token = i->token >= 0 ? i->token : 0;
  if (i->kind == GLOBAL_LOAD) t->global[token]++;
  if (i->kind == SHARED_LOAD) t->shared[token]++;
}

static void count(const program *p, const loop *hot, hot_loop *out) {
  traffic t = {0};
  for (int pass = 0; pass < 2; pass++) { /* the first finds what the iteration before left */
    *out = (hot_loop){0};
    for (size_t k = 0; k < p->count; k++) {
      const instruction *i = &p->list[k];
      if (hot && !hot->blocks[i->block]) continue;
      double runs = weight(p, hot, i);
      if (!i->hint) out->instructions += runs * i->counts, out->slots += runs * i->slots;
      out->multiply_adds += runs * i->multiply_adds;
      out->matrix += runs * i->matrix;
      out->global_loads += runs * (i->kind == GLOBAL_LOAD);
      out->shared_loads += runs * (i->kind == SHARED_LOAD);
      out->shared_bytes += runs * i->shared_bytes;
      out->barriers += runs * (i->kind == BARRIER);
      if (drains(&t, i)) out->drains += runs;
      issue(&t, i);
      if (total(t.global) > out->in_flight) out->in_flight = total(t.global);
    }
  }
}

static bool outermost(const program *p, const loop *l) {
  for (int k = 0; k < p->loop_count; k++)
    if (within(p, l, &p->loops[k])) return false;
  return true;
}

static void find_hot(program *p, hot_loop *out) {
  for (int k = 0; k < p->loop_count; k++)
    p->loops[k].trips = trips_of(p, &p->loops[k]);
  count(p, NULL, out);
  bool found = false;
  for (int k = 0; k < p->loop_count; k++) {
    hot_loop one;
    if (!outermost(p, &p->loops[k])) continue;
    count(p, &p->loops[k], &one);
    if (!found || one.multiply_adds > out->multiply_adds ||
        (one.multiply_adds == out->multiply_adds && one.instructions > out->instructions))
      *out = one;
    found = true;
  }
}

int assembly_hot_loop(const char *text, double matrix_rate, hot_loop *out) {
  static program p;
  const bool nvk = begins(text, "block"), radv = begins(text, "BB0");
  void (*read_line)(program *, const char *, const char *) = nvk    ? read_line_nvk
                                                             : radv ? read_line_radv
                                                                    : read_line_anv;
  p = (program){.matrix_rate = matrix_rate};
  memset(p.labels, -1, sizeof p.labels);
  add_block(&p);
  if (nvk) p.block_count = 0;
  for (const char *line = text; *line;) {
    const char *end = line_end(line);
    read_line(&p, line, end);
    line = *end ? end + 1 : end;
  }
  if (nvk)
    find_loops_by_predecessors(&p);
  else
    find_loops_in_pieces(&p);
  find_hot(&p, out);
  bool understood = !p.failed && p.count > 0;
  for (int k = 0; k < p.loop_count; k++)
    free(p.loops[k].blocks);
  free(p.list);
  free(p.predecessors);
  return understood;
}
