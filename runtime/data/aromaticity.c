/* Aromatic rings, by the rules that RDKit documents: each atom of a ring gives 0, 1 or 2 electrons,
 * and rings, or up to six rings that share bonds, with 4 n + 2 electrons are aromatic. Called by
 * smiles.c. */
#include "data/aromaticity.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FUSED = 6, LARGEST_RING = 24, MOST_RINGS = 1024, MOST_WAYS = 16, MOST_TRIES = 50000 };
enum { NONE = -1 }; /* electrons of an atom that belongs to no aromatic ring */

/* A ring: its atoms in order; bond i is between atoms i and i + 1. */
typedef struct ring {
  uint32_t atoms[LARGEST_RING], bonds[LARGEST_RING];
  size_t size;
} ring;

typedef struct finder {
  ft_molecule *m;
  const uint32_t *first, *list; /* ft_adjacency */
  const bool *cyclic;           /* [bonds] */
  int *electrons;               /* [atoms] */
  ring *rings;
  size_t ring_count, ring_capacity, tries;
  uint32_t *distance, *queue;          /* [atoms] */
  uint32_t *atom_counts, *bond_counts; /* of some rings; zeros between uses */
  bool *aromatic_atom, *aromatic_bond; /* the result */
  bool *open, *tried;                  /* [atoms] see match */
  uint32_t *partner;                   /* [atoms] that it has a double bond to; UINT32_MAX: none */
} finder;

static uint32_t other_end(const ft_bond *bond, uint32_t atom) {
  return bond->first == atom ? bond->second : bond->first;
}

/* ---- atoms ---- */

/* Electrons of the outer shell, and bonds of the neutral atom; of main groups. */
static int outer_electrons(int element) {
  static const struct {
    uint8_t from, electrons; /* elements from there on, in rows of the table */
  } rows[] = {{5, 3}, {13, 3}, {31, 3}, {49, 3}, {81, 3}};
  for (size_t i = FT_COUNT(rows); i-- > 0;)
    if (element >= rows[i].from && element < rows[i].from + 6)
      return element - rows[i].from + rows[i].electrons;
  return 0;
}

static int usual_bonds(int element) {
  const int electrons = outer_electrons(element);
  if (element == 1) return 1;
  return electrons <= 4 ? electrons : 8 - electrons;
}

static unsigned order_of(const ft_bond *bond) {
  return bond->kind == FT_BOND_AROMATIC ? 1 : bond->kind + 1u;
}

/* Sum of the orders of an atom's bonds, aromatic ones as single. */
static unsigned sum_orders(const finder *f, uint32_t atom) {
  unsigned sum = 0;
  for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++)
    sum += order_of(&f->m->bonds[f->list[i]]);
  return sum;
}

/* Hydrogens of an atom without brackets: as many as complete its bonds to a usual number. */
static int hydrogens_of(const finder *f, uint32_t atom) {
  static const struct {
    uint8_t element, bonds[3];
  } usual[] = {{5, {3}}, {6, {4}}, {7, {3, 5}}, {8, {2}}, {15, {3, 5}}, {16, {2, 4, 6}}};
  const ft_atom *a = &f->m->atoms[atom];
  const unsigned sum = sum_orders(f, atom) + a->hydrogens;
  if (a->bracketed) return a->hydrogens;
  if (a->aromatic) return a->hydrogens + (a->element == 6 && sum < 3 ? (int)(3 - sum) : 0);
  for (size_t i = 0; i < FT_COUNT(usual); i++)
    for (int k = 0; usual[i].element == a->element && k < 3; k++)
      if (usual[i].bonds[k] >= sum) return (int)(usual[i].bonds[k] - sum) + a->hydrogens;
  return a->hydrogens;
}

/* The atom at the other end of a double or triple bond outside of rings; -1: there is none. */
static long exocyclic(const finder *f, uint32_t atom) {
  for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++) {
    const ft_bond *bond = &f->m->bonds[f->list[i]];
    if (!f->cyclic[f->list[i]] && order_of(bond) > 1) return other_end(bond, atom);
  }
  return -1;
}

static bool attracts_more(int element, int other) {
  const int a = outer_electrons(element), b = outer_electrons(other);
  return a > b || (a == b && element < other);
}

/* Electrons that an atom of a ring could give, before its multiple bonds are looked at. */
static int spare_electrons(const ft_atom *a, int neighbours, unsigned multiple) {
  const int bonds = usual_bonds(a->element);
  if (bonds <= 1 || neighbours > 3) return NONE;
  int pair = outer_electrons(a->element) - bonds - a->charge;
  if (pair < 0) pair = 0;
  const int spare = bonds - neighbours + pair;
  return spare > 1 && multiple > 1 ? 1 : spare;
}

/* Electrons that an atom gives to a ring; NONE: a ring with it is not aromatic. */
static int electrons_of(const finder *f, uint32_t atom) {
  const ft_atom *a = &f->m->atoms[atom];
  const int hydrogens = hydrogens_of(f, atom);
  const unsigned degree = f->first[atom + 1] - f->first[atom], orders = sum_orders(f, atom);
  const int neighbours = (int)degree + hydrogens;
  const long outside = exocyclic(f, atom);
  const int spare = spare_electrons(a, neighbours, orders - degree);
  if (a->element > 18 && a->element != 34 && a->element != 52) return NONE;
  unsigned multiple = 0;
  for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++)
    multiple += order_of(&f->m->bonds[f->list[i]]) > 1;
  /* What is written as aromatic has a double bond in the ring, unless it has one that is written,
   * or gives a pair. */
  const bool unwritten = a->aromatic && multiple == 0 && spare % 2 == 1 &&
                         (int)orders + hydrogens < usual_bonds(a->element - a->charge);
  const bool inside = unwritten || multiple > (unsigned)(outside >= 0);
  const int bonds = (int)orders + hydrogens + unwritten;
  if (multiple > 1 || spare < 0 || bonds > usual_bonds(a->element - a->charge)) return NONE;
  const bool lost = outside >= 0 && attracts_more(f->m->atoms[outside].element, a->element);
  if (spare == 0) return outside >= 0 ? 0 : inside ? 1 : NONE;
  if (spare == 1) return outside >= 0 ? !lost : inside ? 1 : a->charge == 1 ? 0 : NONE;
  return (spare - lost) % 2 ? 1 : 2;
}

/* ---- rings ---- */

/* Counts how many of some rings have each bond. */
static void count_bonds(finder *f, const ring *r, bool add) {
  for (size_t i = 0; i < r->size; i++)
    f->bond_counts[r->bonds[i]] = add ? f->bond_counts[r->bonds[i]] + 1 : 0;
}

/* Whether two rings have at least `least` bonds in common. */
static bool share_bonds(finder *f, const ring *a, const ring *b, size_t least) {
  size_t shared = 0;
  count_bonds(f, a, true);
  for (size_t i = 0; i < b->size; i++)
    shared += f->bond_counts[b->bonds[i]] > 0;
  count_bonds(f, a, false);
  return shared >= least;
}

static filtra_status add_ring(finder *f, const ring *found) {
  for (size_t i = 0; i < f->ring_count; i++)
    if (f->rings[i].size == found->size && share_bonds(f, &f->rings[i], found, found->size))
      return FILTRA_OK;
  if (f->ring_count == MOST_RINGS)
    return ft_fail(FILTRA_ERROR_INPUT, "the molecule has more than %d rings", MOST_RINGS);
  FT_TRY(FT_GROW(f->rings, f->ring_count, f->ring_capacity));
  f->rings[f->ring_count++] = *found;
  return FILTRA_OK;
}

/* Distances from an atom, up to those within the largest rings, without going along a bond. */
static void measure(finder *f, uint32_t from, uint32_t without) {
  size_t head = 0, tail = 0;
  memset(f->distance, 0xff, f->m->atom_count * sizeof *f->distance);
  f->distance[from] = 0;
  f->queue[tail++] = from;
  while (head < tail) {
    const uint32_t atom = f->queue[head++];
    if (f->distance[atom] == LARGEST_RING - 1) break;
    for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++) {
      const uint32_t next = other_end(&f->m->bonds[f->list[i]], atom);
      if (f->list[i] == without || !f->cyclic[f->list[i]] || f->distance[next] != UINT32_MAX)
        continue;
      f->distance[next] = f->distance[atom] + 1;
      f->queue[tail++] = next;
    }
  }
}

/* Adds the rings of a bond's shortest ways round, which go on from the last atom of `r` down the
 * distances. At most LARGEST_RING deep. */
static filtra_status follow(finder *f, ring *r, uint32_t closing, unsigned *ways) {
  const uint32_t atom = r->atoms[r->size - 1];
  if (f->distance[atom] == 0) {
    ++*ways;
    r->bonds[r->size - 1] = closing;
    return add_ring(f, r);
  }
  for (uint32_t i = f->first[atom]; i < f->first[atom + 1] && *ways < MOST_WAYS; i++) {
    const uint32_t next = other_end(&f->m->bonds[f->list[i]], atom);
    if (f->list[i] == closing || !f->cyclic[f->list[i]] ||
        f->distance[next] != f->distance[atom] - 1)
      continue;
    r->bonds[r->size - 1] = f->list[i];
    r->atoms[r->size++] = next;
    filtra_status status = follow(f, r, closing, ways);
    r->size--;
    if (status) return status;
  }
  return FILTRA_OK;
}

/* The smallest rings through each bond, of at most LARGEST_RING atoms. */
static filtra_status find_rings(finder *f) {
  for (uint32_t i = 0; i < f->m->bond_count; i++) {
    const ft_bond *bond = &f->m->bonds[i];
    if (!f->cyclic[i]) continue;
    measure(f, bond->first, i);
    if (f->distance[bond->second] == UINT32_MAX) continue;
    ring r = {.atoms = {bond->second}, .size = 1};
    unsigned ways = 0;
    FT_TRY(follow(f, &r, i, &ways));
  }
  return FILTRA_OK;
}

/* Leaves rings in which every atom gives electrons. */
static void keep_candidates(finder *f) {
  size_t kept = 0;
  for (size_t i = 0; i < f->ring_count; i++) {
    bool all = true;
    for (size_t k = 0; k < f->rings[i].size; k++)
      all = all && f->electrons[f->rings[i].atoms[k]] != NONE;
    if (all) f->rings[kept++] = f->rings[i];
  }
  f->ring_count = kept;
}

/* ---- Hueckel's rule ---- */

/* Atoms that three rings share lie inside and do not count. */
static bool has_right_number(finder *f, const size_t *set, size_t size) {
  int sum = 0;
  for (size_t i = 0; i < size; i++)
    for (size_t k = 0; k < f->rings[set[i]].size; k++)
      f->atom_counts[f->rings[set[i]].atoms[k]]++;
  for (size_t i = 0; i < size; i++)
    for (size_t k = 0; k < f->rings[set[i]].size; k++) {
      const uint32_t atom = f->rings[set[i]].atoms[k];
      if (f->atom_counts[atom] == 1 || f->atom_counts[atom] == 2) sum += f->electrons[atom];
      f->atom_counts[atom] = 0;
    }
  return sum == 2 || (sum >= 6 && sum % 4 == 2);
}

/* Bonds between two of the rings are not aromatic by these rings. */
static void mark(finder *f, const size_t *set, size_t size) {
  for (size_t i = 0; i < size; i++)
    count_bonds(f, &f->rings[set[i]], true);
  for (size_t i = 0; i < size; i++) {
    const ring *r = &f->rings[set[i]];
    for (size_t k = 0; k < r->size; k++) {
      f->aromatic_atom[r->atoms[k]] = true;
      if (f->bond_counts[r->bonds[k]] == 1) f->aromatic_bond[r->bonds[k]] = true;
    }
  }
  for (size_t i = 0; i < size; i++)
    count_bonds(f, &f->rings[set[i]], false);
}

static bool is_done(const finder *f, const size_t *set, size_t size) {
  for (size_t i = 0; i < size; i++)
    for (size_t k = 0; k < f->rings[set[i]].size; k++)
      if (!f->aromatic_bond[f->rings[set[i]].bonds[k]]) return false;
  return true;
}

/* Whether each ring shares a bond with some other of the set, and all hang together. */
static bool is_fused(finder *f, const size_t *set, size_t size) {
  bool reached[MOST_FUSED] = {true};
  for (size_t round = 1; round < size; round++)
    for (size_t i = 0; i < size; i++)
      for (size_t k = 0; k < size && !reached[i]; k++)
        reached[i] = reached[k] && share_bonds(f, &f->rings[set[i]], &f->rings[set[k]], 1);
  for (size_t i = 0; i < size; i++)
    if (!reached[i]) return false;
  return true;
}

/* Tries the sets of `size` rings in turn. */
static void try_sets(finder *f, size_t size) {
  size_t set[MOST_FUSED];
  for (size_t i = 0; i < size; i++)
    set[i] = i;
  while (f->tries++ < MOST_TRIES) {
    if (!is_done(f, set, size) && is_fused(f, set, size) && has_right_number(f, set, size))
      mark(f, set, size);
    size_t i = size;
    while (i > 0 && set[i - 1] == f->ring_count - size + i - 1)
      i--;
    if (i == 0) return;
    set[i - 1]++;
    for (; i < size; i++)
      set[i] = set[i - 1] + 1;
  }
}

/* ---- double bonds of what is not aromatic ---- */

/* Whether an atom was written as aromatic, is not, and still needs a double bond. */
static bool needs_double(const finder *f, uint32_t atom) {
  const ft_atom *a = &f->m->atoms[atom];
  if (!a->aromatic || f->aromatic_atom[atom]) return false;
  return (int)sum_orders(f, atom) + hydrogens_of(f, atom) < usual_bonds(a->element - a->charge);
}

/* Finds an atom that can take a double bond to `atom`, moving others if it has to. At most as deep
 * as there are such atoms. */
static bool match(finder *f, uint32_t atom) {
  f->tried[atom] = true;
  for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++) {
    const uint32_t bond = f->list[i], other = other_end(&f->m->bonds[bond], atom);
    if (!f->open[other] || f->m->bonds[bond].kind != FT_BOND_AROMATIC || f->tried[other]) continue;
    f->tried[other] = true;
    if (f->partner[other] != UINT32_MAX && !match(f, f->partner[other])) continue;
    f->partner[other] = atom;
    f->partner[atom] = other;
    return true;
  }
  return false;
}

static filtra_status write_double_bonds(finder *f) {
  const size_t atoms = f->m->atom_count;
  for (uint32_t i = 0; i < atoms; i++) {
    bool inside = false;
    for (uint32_t k = f->first[i]; k < f->first[i + 1]; k++)
      inside = inside || f->cyclic[f->list[k]];
    if (f->m->atoms[i].aromatic && !inside)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "atom %u, counted from 1, is written as aromatic and is in no ring", i + 1);
    f->open[i] = needs_double(f, i);
    f->partner[i] = UINT32_MAX;
  }
  for (uint32_t i = 0; i < atoms; i++) {
    if (!f->open[i] || f->partner[i] != UINT32_MAX) continue;
    memset(f->tried, 0, atoms * sizeof *f->tried);
    if (!match(f, i))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "atom %u, counted from 1, is written as aromatic and is not: its ring has not "
                     "4 n + 2 electrons, and double bonds cannot be placed in it",
                     i + 1);
  }
  return FILTRA_OK;
}

static void settle(finder *f) {
  for (uint32_t i = 0; i < f->m->bond_count; i++) {
    ft_bond *bond = &f->m->bonds[i];
    if (f->aromatic_bond[i])
      bond->kind = FT_BOND_AROMATIC;
    else if (bond->kind == FT_BOND_AROMATIC)
      bond->kind = f->open[bond->first] && f->partner[bond->first] == bond->second ? FT_BOND_DOUBLE
                                                                                   : FT_BOND_SINGLE;
  }
  for (uint32_t i = 0; i < f->m->atom_count; i++)
    f->m->atoms[i].aromatic = f->aromatic_atom[i];
}

/* ---- all of it ---- */

static filtra_status find(finder *f) {
  for (uint32_t i = 0; i < f->m->atom_count; i++)
    f->electrons[i] = electrons_of(f, i);
  FT_TRY(find_rings(f));
  keep_candidates(f);
  for (size_t size = 1; size <= MOST_FUSED && size <= f->ring_count; size++)
    try_sets(f, size);
  FT_TRY(write_double_bonds(f));
  settle(f);
  return FILTRA_OK;
}

filtra_status ft_find_aromatic(ft_molecule *m, const ft_adjacency *near, const bool *cyclic) {
  const size_t atoms = m->atom_count, bonds = m->bond_count;
  uint32_t *words = ft_calloc(5 * atoms + bonds + 1, sizeof *words);
  bool *flags = ft_calloc(3 * atoms + bonds + 1, sizeof *flags);
  finder f = {.m = m, .first = near->first, .list = near->list, .cyclic = cyclic};
  filtra_status status = words && flags ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    f.electrons = (int *)words;
    f.distance = words + atoms;
    f.queue = f.distance + atoms;
    f.partner = f.queue + atoms;
    f.atom_counts = f.partner + atoms;
    f.bond_counts = f.atom_counts + atoms;
    f.aromatic_atom = flags;
    f.open = f.aromatic_atom + atoms;
    f.tried = f.open + atoms;
    f.aromatic_bond = f.tried + atoms;
    status = find(&f);
  }
  free(words);
  free(flags);
  free(f.rings);
  return status;
}
