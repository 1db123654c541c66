#include "vendors/chip.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KIB 1024.0
#define MIB (1024.0 * KIB)

/* Cards: RX 7900 XTX, RX Vega 64, RX 6900 XT, RX 9070 XT; Arc A770, B580; Quadro RTX 6000, RTX
 * A6000, GeForce RTX 4090. The processors of RDNA are pairs of compute units. The rate of a matrix
 * unit follows from the peak, SIMDs and clock; NVIDIA's is that of its workstation cards. GeForce
 * cards, and so the peak given for the RTX 4090, make half as many, for sums in F32. */
static const chip CHIPS[] = {
    {"AMD RDNA3 (navi31)", 128, 48, 4, 64, 128 * KIB, 96 * MIB, 960e9, 61.4e12, 122.8e12},
    {"AMD GCN5 (vega10)", 0, 64, 4, 40, 64 * KIB, 4 * MIB, 484e9, 12.7e12, 0},
    {"AMD RDNA2 (navi21)", 0, 40, 4, 64, 128 * KIB, 128 * MIB, 512e9, 23.0e12, 0},
    {"AMD RDNA4 (gfx1201)", 256, 32, 4, 64, 128 * KIB, 64 * MIB, 640e9, 48.7e12, 194.6e12},
    {"Intel DG2 (56a0)", 64, 32, 16, 128, 128 * KIB, 16 * MIB, 560e9, 17.2e12, 137.6e12},
    {"Intel Xe2 (e20b)", 128, 20, 8, 64, 128 * KIB, 18 * MIB, 456e9, 13.7e12, 116.5e12},
    {"NVIDIA Turing (162)", 128, 72, 4, 32, 64 * KIB, 6 * MIB, 672e9, 16.3e12, 130.5e12},
    {"NVIDIA Ampere (172)", 128, 84, 4, 48, 100 * KIB, 6 * MIB, 768e9, 38.7e12, 154.8e12},
    {"NVIDIA Ada (192)", 128, 128, 4, 48, 100 * KIB, 72 * MIB, 1008e9, 82.6e12, 165.2e12},
};

const chip *chip_named(const char *name) {
  for (size_t i = 0; i < sizeof CHIPS / sizeof *CHIPS; i++)
    if (!strcmp(CHIPS[i].name, name)) return &CHIPS[i];
  return NULL;
}

double chip_workgroups(const chip *c, double occupancy, double subgroups, double shared) {
  double all = c->subgroups;
  if (occupancy >= 0) all = strncmp(c->name, "NVIDIA", 6) ? occupancy * c->simds : occupancy;
  double whole = floor(all / subgroups);
  return shared > 0 ? fmin(whole, floor(c->shared / shared)) : whole;
}

/* ---- a cache that keeps what was used last ---- */

enum { SLICE = 64, NOWHERE = -1 }; /* elements along k of a block: of a tile's rows or columns */

typedef struct block {
  int newer, older;
  bool held;
} block;

typedef struct cache {
  block *blocks; /* those of A, then those of B */
  int count_a, newest, oldest;
  double bytes_a, bytes_b; /* of a block */
  double room, missed;
} cache;

static double bytes_of(const cache *c, int i) {
  return i < c->count_a ? c->bytes_a : c->bytes_b;
}

static void take_out(cache *c, int i) {
  const block *b = &c->blocks[i];
  *(b->newer == NOWHERE ? &c->newest : &c->blocks[b->newer].older) = b->older;
  *(b->older == NOWHERE ? &c->oldest : &c->blocks[b->older].newer) = b->newer;
}

static void use(cache *c, int i) {
  if (c->blocks[i].held) {
    take_out(c, i);
  } else {
    c->missed += bytes_of(c, i);
    c->room -= bytes_of(c, i);
  }
  c->blocks[i] = (block){.newer = NOWHERE, .older = c->newest, .held = true};
  *(c->newest == NOWHERE ? &c->oldest : &c->blocks[c->newest].newer) = i;
  c->newest = i;
  while (c->room < 0) {
    const int last = c->oldest;
    take_out(c, last);
    c->blocks[last].held = false;
    c->room += bytes_of(c, last);
  }
}

/* The rows and columns of tiles first to end - 1, then each slice along k of these. */
static void run_together(cache *c, const tiled_product *p, uint32_t first, uint32_t end,
                         uint32_t slices, bool *used) {
  const uint32_t side = p->across_first ? p->across : p->down;
  memset(used, 0, (p->down + p->across) * sizeof *used);
  for (uint32_t i = first; i < end; i++) {
    used[p->across_first ? i / side : i % side] = true;
    used[p->down + (p->across_first ? i % side : i / side)] = true;
  }
  for (uint32_t k = 0; k < slices; k++)
    for (uint32_t i = 0; i < p->down + p->across; i++)
      if (used[i]) use(c, (int)(i * slices + k));
}

double product_traffic(const tiled_product *p, double together, double cache_bytes) {
  const uint32_t slices = (p->k + SLICE - 1) / SLICE, tiles = p->down * p->across;
  const double slice = (double)p->k / slices * p->bytes;
  cache c = {.count_a = (int)(p->down * slices),
             .newest = NOWHERE,
             .oldest = NOWHERE,
             .bytes_a = (double)p->m / p->down * slice,
             .bytes_b = (double)p->n / p->across * slice,
             .room = cache_bytes};
  c.blocks = calloc((size_t)(p->down + p->across) * slices, sizeof *c.blocks);
  bool *used = calloc(p->down + p->across, sizeof *used);
  if (!c.blocks || !used) abort();
  const uint32_t step = together < 1 ? 1 : together > tiles ? tiles : (uint32_t)together;
  for (uint32_t i = 0; i < tiles; i += step)
    run_together(&c, p, i, i + step < tiles ? i + step : tiles, slices, used);
  free(c.blocks);
  free(used);
  return c.missed + (double)p->m * p->n * p->bytes_of_c;
}
