/* Aromatic rings, by the rules that RDKit documents: each atom of a ring gives 0, 1 or 2 electrons,
 * and rings, or sets of up to six rings that share bonds, are aromatic with 4 n + 2 electrons.
 * Called by smiles.c. */
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
  size_t ring_count, ring_capacity;
  uint32_t *distance, *queue;          /* [atoms] */
  uint32_t *atom_counts, *bond_counts; /* counts over some rings; zeros between uses */
  bool *aromatic_atom, *aromatic_bond; /* the result */
  /* [atoms], matching of double bonds: who needs one, the partner, and the search tree */
  bool *open, *tried, *reached, *odd;
  uint32_t *partner, *parent, *base; /* UINT32_MAX: none */
} finder;

static uint32_t other_end(const ft_bond *bond, uint32_t atom) {
  return bond->first == atom ? bond->second : bond->first;
}

/* ---- atoms ---- */

/* Electrons in the outer shell of a main-group element. */
static int outer_electrons(int element) {
  static const struct {
    uint8_t from, electrons; /* the row's first element, and its electrons */
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

/* Hydrogens of an atom without brackets: as many as fill its bonds up to a usual number. */
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

/* ---- double bonds for atoms in lower case ---- */

/* Whether an atom in lower case needs a double bond: it has fewer bonds than its valence; sulfur
 * and phosphorus may have more bonds, such as S of four and P of five. */
static bool needs_double(const finder *f, uint32_t atom) {
  const ft_atom *a = &f->m->atoms[atom];
  const int bonds = (int)sum_orders(f, atom) + hydrogens_of(f, atom);
  const int usual = usual_bonds(a->element - a->charge);
  const bool more = a->element > 10 && outer_electrons(a->element) > 4; /* third row, P and S on */
  return a->aromatic && (bonds < usual || (more && (bonds - usual) % 2 == 1));
}

/* Whether a bond may become a double bond. */
static bool may_double(const finder *f, uint32_t bond) {
  const ft_bond *b = &f->m->bonds[bond];
  return b->kind == FT_BOND_AROMATIC && f->open[b->first] && f->open[b->second];
}

/* The atom where the paths of two atoms to the root of the search tree meet. */
static uint32_t meeting_point(finder *f, uint32_t a, uint32_t b) {
  memset(f->tried, 0, f->m->atom_count * sizeof *f->tried);
  for (;; a = f->parent[f->partner[a]]) {
    a = f->base[a];
    f->tried[a] = true;
    if (f->partner[a] == UINT32_MAX) break;
  }
  while (!f->tried[f->base[b]])
    b = f->parent[f->partner[f->base[b]]];
  return f->base[b];
}

/* Marks the atoms of an odd cycle (blossom) from `atom` up to its base, and sets their parents back
 * through `child`. */
static void mark_odd_ring(finder *f, uint32_t atom, uint32_t base, uint32_t child) {
  while (f->base[atom] != base) {
    const uint32_t partner = f->partner[atom];
    f->odd[f->base[atom]] = f->odd[f->base[partner]] = true;
    f->parent[atom] = child;
    child = partner;
    atom = f->parent[partner];
  }
}

/* Contracts the odd cycle (blossom) closed by the bond between two atoms. */
static void contract(finder *f, uint32_t a, uint32_t b, size_t *tail) {
  const uint32_t base = meeting_point(f, a, b);
  memset(f->odd, 0, f->m->atom_count * sizeof *f->odd);
  mark_odd_ring(f, a, base, b);
  mark_odd_ring(f, b, base, a);
  for (uint32_t i = 0; i < f->m->atom_count; i++) {
    if (!f->odd[f->base[i]]) continue;
    f->base[i] = base;
    if (f->reached[i]) continue;
    f->reached[i] = true;
    f->queue[(*tail)++] = i;
  }
}

/* Finds an augmenting path from `root` (Edmonds 1965): an unmatched atom that gets a double bond if
 * those on the path move. UINT32_MAX: there is none. */
static uint32_t find_free(finder *f, uint32_t root) {
  size_t head = 0, tail = 0;
  memset(f->reached, 0, f->m->atom_count * sizeof *f->reached);
  memset(f->parent, 0xff, f->m->atom_count * sizeof *f->parent);
  for (uint32_t i = 0; i < f->m->atom_count; i++)
    f->base[i] = i;
  f->reached[root] = true;
  f->queue[tail++] = root;
  while (head < tail) {
    const uint32_t atom = f->queue[head++];
    for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++) {
      const uint32_t to = other_end(&f->m->bonds[f->list[i]], atom), partner = f->partner[to];
      if (!may_double(f, f->list[i]) || f->base[atom] == f->base[to] || f->partner[atom] == to)
        continue;
      if (to == root || (partner != UINT32_MAX && f->parent[partner] != UINT32_MAX)) {
        contract(f, atom, to, &tail);
      } else if (f->parent[to] == UINT32_MAX) {
        f->parent[to] = atom;
        if (partner == UINT32_MAX) return to;
        f->reached[partner] = true;
        f->queue[tail++] = partner;
      }
    }
  }
  return UINT32_MAX;
}

/* Matches as many atoms as possible by double bonds. */
static void pair_atoms(finder *f) {
  for (uint32_t root = 0; root < f->m->atom_count; root++) {
    if (!f->open[root] || f->partner[root] != UINT32_MAX) continue;
    for (uint32_t atom = find_free(f, root); atom != UINT32_MAX;) {
      const uint32_t before = f->parent[atom], next = f->partner[before];
      f->partner[atom] = before;
      f->partner[before] = atom;
      atom = next;
    }
  }
}

static bool is_in_ring(const finder *f, uint32_t atom) {
  for (uint32_t i = f->first[atom]; i < f->first[atom + 1]; i++)
    if (f->cyclic[f->list[i]]) return true;
  return false;
}

/* Replaces lower case by double bonds (a Kekulé structure); aromaticity is determined again
 * afterwards. */
static filtra_status write_double_bonds(finder *f) {
  ft_molecule *m = f->m;
  for (uint32_t i = 0; i < m->atom_count; i++) {
    if (m->atoms[i].aromatic && !is_in_ring(f, i))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "atom %u, counted from 1, is written as aromatic and is in no ring", i + 1);
    f->open[i] = needs_double(f, i);
    f->partner[i] = UINT32_MAX;
  }
  pair_atoms(f);
  for (uint32_t i = 0; i < m->atom_count; i++) {
    if (f->open[i] && f->partner[i] == UINT32_MAX)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "atom %u, counted from 1, is written as aromatic, but no double bonds can be "
                     "placed in its rings",
                     i + 1);
    m->atoms[i].aromatic = false;
  }
  for (uint32_t i = 0; i < m->bond_count; i++)
    if (m->bonds[i].kind == FT_BOND_AROMATIC)
      m->bonds[i].kind =
          f->partner[m->bonds[i].first] == m->bonds[i].second ? FT_BOND_DOUBLE : FT_BOND_SINGLE;
  return FILTRA_OK;
}

/* ---- electrons ---- */

/* The atom at the other end of a double or triple bond outside rings; -1: none. */
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

/* Electrons that an atom of a ring could give, before its multiple bonds are considered. */
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
  const bool inside = multiple > (unsigned)(outside >= 0);
  const int bonds = (int)orders + hydrogens;
  if (multiple > 1 || spare < 0 || bonds > usual_bonds(a->element - a->charge)) return NONE;
  const bool lost = outside >= 0 && attracts_more(f->m->atoms[outside].element, a->element);
  if (spare == 0) return outside >= 0 ? 0 : inside ? 1 : NONE;
  if (spare == 1) return outside >= 0 ? !lost : inside ? 1 : a->charge == 1 ? 0 : NONE;
  return (spare - lost) % 2 ? 1 : 2;
}

/* ---- rings ---- */

/* Adds a ring to the counts of rings per bond, or resets its bonds' counts. */
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

/* Distances from an atom along bonds of rings except one bond, up to those possible within the
 * largest rings. */
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

/* Adds the rings that a bond's shortest detours close, going on from the last atom of `r` along
 * falling distances. At most LARGEST_RING deep. */
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

/* Keeps only rings in which every atom gives electrons. */
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

/* Atoms shared by three rings lie inside and do not count. */
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

/* Whether the rings of the set are connected by shared bonds. */
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

/* Tries all sets of `size` rings in turn. */
static void try_sets(finder *f, const size_t *rings, size_t count, size_t size) {
  size_t at[MOST_FUSED], set[MOST_FUSED];
  for (size_t i = 0; i < size; i++)
    at[i] = i;
  for (size_t tries = 0; tries < MOST_TRIES; tries++) {
    for (size_t i = 0; i < size; i++)
      set[i] = rings[at[i]];
    if (!is_done(f, set, size) && is_fused(f, set, size) && has_right_number(f, set, size))
      mark(f, set, size);
    size_t i = size;
    while (i > 0 && at[i - 1] == count - size + i - 1)
      i--;
    if (i == 0) return;
    at[i - 1]++;
    for (; i < size; i++)
      at[i] = at[i - 1] + 1;
  }
}

/* Moves the rings that are connected by bonds to the first of `rings` to the front. Returns their
 * number. */
static size_t gather_fused(finder *f, size_t *rings, size_t count) {
  size_t gathered = 1;
  for (size_t from = 0; from < gathered; from++)
    for (size_t i = gathered; i < count; i++) {
      if (!share_bonds(f, &f->rings[rings[from]], &f->rings[rings[i]], 1)) continue;
      const size_t found = rings[i];
      rings[i] = rings[gathered];
      rings[gathered++] = found;
    }
  return gathered;
}

/* For connected rings: tries each one alone, then two, up to six together. */
static filtra_status find_aromatic_sets(finder *f) {
  size_t *rings = ft_calloc(f->ring_count + 1, sizeof *rings), count = 0;
  if (!rings) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < f->ring_count; i++)
    rings[i] = i;
  for (size_t from = 0; from < f->ring_count; from += count) {
    count = gather_fused(f, rings + from, f->ring_count - from);
    for (size_t size = 1; size <= MOST_FUSED && size <= count; size++)
      try_sets(f, rings + from, count, size);
  }
  free(rings);
  return FILTRA_OK;
}

static void settle(finder *f) {
  for (uint32_t i = 0; i < f->m->bond_count; i++)
    if (f->aromatic_bond[i]) f->m->bonds[i].kind = FT_BOND_AROMATIC;
  for (uint32_t i = 0; i < f->m->atom_count; i++)
    f->m->atoms[i].aromatic = f->aromatic_atom[i];
}

/* ---- all of it ---- */

static filtra_status find(finder *f) {
  FT_TRY(write_double_bonds(f));
  for (uint32_t i = 0; i < f->m->atom_count; i++)
    f->electrons[i] = electrons_of(f, i);
  FT_TRY(find_rings(f));
  keep_candidates(f);
  FT_TRY(find_aromatic_sets(f));
  settle(f);
  return FILTRA_OK;
}

filtra_status ft_find_aromatic(ft_molecule *m, const ft_adjacency *near, const bool *cyclic) {
  const size_t atoms = m->atom_count, bonds = m->bond_count;
  uint32_t *words = ft_calloc(7 * atoms + bonds + 1, sizeof *words);
  bool *flags = ft_calloc(5 * atoms + bonds + 1, sizeof *flags);
  finder f = {.m = m, .first = near->first, .list = near->list, .cyclic = cyclic};
  filtra_status status = words && flags ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    f.electrons = (int *)words;
    f.distance = words + atoms;
    f.queue = f.distance + atoms;
    f.partner = f.queue + atoms;
    f.parent = f.partner + atoms;
    f.base = f.parent + atoms;
    f.atom_counts = f.base + atoms;
    f.bond_counts = f.atom_counts + atoms;
    f.aromatic_atom = flags;
    f.open = f.aromatic_atom + atoms;
    f.tried = f.open + atoms;
    f.reached = f.tried + atoms;
    f.odd = f.reached + atoms;
    f.aromatic_bond = f.odd + atoms;
    status = find(&f);
  }
  free(words);
  free(flags);
  free(f.rings);
  return status;
}
