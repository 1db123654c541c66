/* Reads SMILES: a chain of atoms with branches in parentheses and rings closed by numbers. Called
 * by tokenizer_smiles.c. */
#include "data/smiles.h"

#include "base/memory.h"
#include "base/status.h"
#include "data/aromaticity.h"

#include <stdlib.h>
#include <string.h>

static const char *const SYMBOLS[FT_ELEMENTS] = {
    "*",  "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si",
    "P",  "S",  "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu",
    "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru",
    "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr",
    "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",
    "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac",
    "Th", "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf",
    "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};
/* Symbols that need no brackets, and those that can be aromatic, in lower case. */
static const char *const BARE[] = {"Cl", "Br", "B", "C", "N", "O", "P", "S", "F", "I", "*"};
static const char *const BARE_AROMATIC[] = {"b", "c", "n", "o", "p", "s"};
static const char *const AROMATIC[] = {"se", "as", "te", "si", "b", "c", "n", "o", "p", "s"};

/* UNSAID: / or \, which give only a stereo mark, not a bond's order. */
enum { NO_BOND = -1, UNSAID = -2, RINGS = 100, MOST_ATOMS = 4096 };

/* A ring number that waits for its second atom. */
typedef struct ring {
  long atom; /* -1: none waits */
  int bond;  /* ft_bond_kind, or NO_BOND */
  size_t column;
} ring;

typedef struct reader {
  const char *text;
  size_t length, at;
  ft_molecule *m;
  long previous; /* the atom that the next one is bonded to; -1: none */
  int bond;      /* written before the next atom; or NO_BOND */
  ring rings[RINGS];
  long *branches; /* the atoms where open branches began */
  size_t depth, branch_capacity;
  bool opened; /* a parenthesis was just opened */
} reader;

const char *ft_element_symbol(unsigned element) {
  return element < FT_ELEMENTS ? SYMBOLS[element] : "?";
}

static filtra_status fail_at(size_t at, const char *what) {
  return ft_fail(FILTRA_ERROR_INPUT, "column %zu: %s", at + 1, what);
}

static char peek(const reader *r) {
  if (r->at >= r->length) return '\0';
  return r->text[r->at];
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Consumes the first of `names` that matches here; NULL: none does. */
static const char *take_name(reader *r, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(names[i]);
    if (length > r->length - r->at || memcmp(r->text + r->at, names[i], length) != 0) continue;
    r->at += length;
    return names[i];
  }
  return NULL;
}

/* The element of a symbol, whose first letter may be in lower case. */
static uint8_t element_of(const char *symbol) {
  char upper = symbol[0];
  if (upper >= 'a') upper = (char)(upper - 'a' + 'A');
  for (unsigned i = 0; i < FT_ELEMENTS; i++)
    if (SYMBOLS[i][0] == upper && !strcmp(SYMBOLS[i] + 1, symbol + 1)) return (uint8_t)i;
  return 0;
}

/* ---- atoms and bonds ---- */

static filtra_status add_bond(reader *r, long first, long second, int bond, size_t at) {
  ft_molecule *m = r->m;
  ft_atom *a = &m->atoms[first], *b = &m->atoms[second];
  if (first == second) return fail_at(at, "an atom is bonded to itself");
  FT_TRY(FT_GROW(m->bonds, m->bond_count, m->bond_capacity));
  const bool implied = bond < 0;
  if (bond == FT_BOND_AROMATIC && !(a->aromatic && b->aromatic))
    return fail_at(at, "an aromatic bond joins atoms that are not written in lower case");
  if (implied) bond = a->aromatic && b->aromatic ? FT_BOND_AROMATIC : FT_BOND_SINGLE;
  m->bonds[m->bond_count++] = (ft_bond){.first = (uint32_t)first,
                                        .second = (uint32_t)second,
                                        .kind = (uint8_t)bond,
                                        .implied = implied};
  a->bonds++;
  b->bonds++;
  return FILTRA_OK;
}

static filtra_status add_atom(reader *r, ft_atom atom, size_t at) {
  ft_molecule *m = r->m;
  if (m->atom_count == MOST_ATOMS) return fail_at(at, "more than 4096 atoms");
  FT_TRY(FT_GROW(m->atoms, m->atom_count, m->atom_capacity));
  m->atoms[m->atom_count++] = atom;
  const long added = (long)m->atom_count - 1;
  if (r->previous >= 0) FT_TRY(add_bond(r, r->previous, added, r->bond, at));
  r->previous = added;
  r->bond = NO_BOND;
  r->opened = false;
  return FILTRA_OK;
}

/* A number of at most `digits` digits; -1: there is none. */
static int take_number(reader *r, int digits) {
  int number = -1;
  for (; digits > 0 && is_digit(peek(r)); digits--, r->at++)
    number = (number < 0 ? 0 : number * 10) + (peek(r) - '0');
  return number;
}

/* Reads an atom's symbol in brackets: two letters if such an element exists, else one. */
static filtra_status take_symbol(reader *r, ft_atom *atom) {
  const size_t at = r->at;
  const char *lower = take_name(r, AROMATIC, FT_COUNT(AROMATIC));
  if (lower) {
    atom->element = element_of(lower);
    atom->aromatic = true;
    return FILTRA_OK;
  }
  char symbol[3] = {peek(r)};
  if (symbol[0] == '*') {
    r->at++;
    return FILTRA_OK;
  }
  if (r->at + 1 < r->length && r->text[r->at + 1] >= 'a' && r->text[r->at + 1] <= 'z')
    symbol[1] = r->text[r->at + 1];
  if (symbol[0] >= 'A' && symbol[0] <= 'Z') atom->element = element_of(symbol);
  if (!atom->element && symbol[1]) {
    symbol[1] = '\0';
    if (symbol[0] >= 'A' && symbol[0] <= 'Z') atom->element = element_of(symbol);
  }
  if (!atom->element) return fail_at(at, "there is no such element");
  r->at += strlen(symbol);
  return FILTRA_OK;
}

/* @, @@, @TH1, @AL2, @SP3, @TB12, @OH30. */
static void skip_chirality(reader *r) {
  static const char *const classes[] = {"TH", "AL", "SP", "TB", "OH"};
  if (peek(r) != '@') return;
  r->m->stereo = true;
  while (peek(r) == '@')
    r->at++;
  if (take_name(r, classes, FT_COUNT(classes))) take_number(r, 2);
}

/* +, ++, -2 and so on. */
static filtra_status take_charge(reader *r, ft_atom *atom) {
  enum { MOST = 15 };
  const char sign = peek(r);
  const size_t at = r->at;
  if (sign != '+' && sign != '-') return FILTRA_OK;
  int charge = 0;
  for (; peek(r) == sign; r->at++)
    charge++;
  if (charge == 1 && is_digit(peek(r))) charge = take_number(r, 2);
  if (charge > MOST) return fail_at(at, "the charge is beyond 15");
  atom->charge = (int16_t)(sign == '+' ? charge : -charge);
  return FILTRA_OK;
}

static filtra_status read_brackets(reader *r) {
  const size_t at = r->at++;
  ft_atom atom = {.bracketed = true};
  atom.labelled = take_number(r, 3) >= 0;
  FT_TRY(take_symbol(r, &atom));
  skip_chirality(r);
  if (peek(r) == 'H') {
    r->at++;
    const int count = take_number(r, 1);
    atom.hydrogens = (uint8_t)(count < 0 ? 1 : count);
  }
  FT_TRY(take_charge(r, &atom));
  if (peek(r) == ':') {
    r->at++;
    if (take_number(r, 9) < 0) return fail_at(r->at, "a colon in brackets needs a number");
    atom.labelled = true;
  }
  if (peek(r) != ']')
    return fail_at(r->at < r->length ? r->at : at,
                   r->at < r->length ? "this does not belong in an atom's brackets"
                                     : "the bracket is not closed");
  r->at++;
  return add_atom(r, atom, at);
}

/* ---- rings and branches ---- */

static filtra_status close_ring(reader *r, int number, size_t at) {
  ring *open = &r->rings[number];
  if (r->previous < 0) return fail_at(at, "a ring's number without an atom before it");
  if (open->atom < 0) {
    *open = (ring){r->previous, r->bond, at};
    r->bond = NO_BOND;
    return FILTRA_OK;
  }
  if (open->bond >= 0 && r->bond >= 0 && open->bond != r->bond)
    return fail_at(at, "a ring's two ends name different bonds");
  const int bond = r->bond >= 0 ? r->bond : open->bond;
  const long first = open->atom;
  open->atom = -1;
  r->bond = NO_BOND;
  return add_bond(r, first, r->previous, bond, at);
}

/* A digit, or % and two digits, or %(number). */
static filtra_status read_ring(reader *r) {
  const size_t at = r->at;
  int number = -1;
  if (peek(r) != '%') {
    number = take_number(r, 1);
  } else {
    r->at++;
    const bool enclosed = peek(r) == '(';
    r->at += enclosed;
    const size_t digits = r->at;
    number = take_number(r, 2);
    if (!enclosed && r->at - digits != 2) number = -1;
    if (enclosed && peek(r) != ')') number = -1;
    r->at += enclosed;
  }
  if (number < 0) return fail_at(at, "a ring's number after % has two digits");
  return close_ring(r, number, at);
}

static filtra_status open_branch(reader *r) {
  const size_t at = r->at++;
  if (r->previous < 0 || r->bond != NO_BOND) return fail_at(at, "a branch begins after an atom");
  FT_TRY(FT_GROW(r->branches, r->depth, r->branch_capacity));
  r->branches[r->depth++] = r->previous;
  r->opened = true;
  return FILTRA_OK;
}

static filtra_status close_branch(reader *r) {
  const size_t at = r->at++;
  if (!r->depth) return fail_at(at, "no branch is open here");
  if (r->opened || r->bond != NO_BOND) return fail_at(at, "a branch ends after an atom");
  r->previous = r->branches[--r->depth];
  return FILTRA_OK;
}

static filtra_status read_dot(reader *r) {
  const size_t at = r->at++;
  if (r->previous < 0 || r->bond != NO_BOND || r->opened)
    return fail_at(at, "a dot stands between two parts of a molecule");
  r->previous = -1;
  return FILTRA_OK;
}

static filtra_status read_bond(reader *r) {
  static const char kinds[FT_BOND_KINDS + 1] = "-=#$:";
  const size_t at = r->at++;
  const char c = r->text[at];
  if (c == '\\' && peek(r) == c) return FILTRA_OK; /* written twice by tables that escape it */
  if (r->previous < 0) return fail_at(at, "a bond without an atom before it");
  if (r->bond != NO_BOND) return fail_at(at, "two bonds follow each other");
  const char *kind = strchr(kinds, c);
  if (!kind) r->m->stereo = true;
  r->bond = kind ? (int)(kind - kinds) : UNSAID;
  return FILTRA_OK;
}

static filtra_status read_bare(reader *r) {
  const size_t at = r->at;
  ft_atom atom = {0};
  const char *name = take_name(r, BARE, FT_COUNT(BARE));
  if (!name) {
    name = take_name(r, BARE_AROMATIC, FT_COUNT(BARE_AROMATIC));
    atom.aromatic = name != NULL;
  }
  if (!name)
    return fail_at(at,
                   "this is no SMILES; accepted are the atoms B, C, N, O, P, S, F, Cl, Br, I and "
                   "*, in lower case where aromatic, others in brackets, bonds -=#$:/\\, numbers "
                   "of rings, branches in parentheses and dots");
  atom.element = element_of(name);
  return add_atom(r, atom, at);
}

static filtra_status read_next(reader *r) {
  const char c = peek(r);
  if (c == '[') return read_brackets(r);
  if (c == '(') return open_branch(r);
  if (c == ')') return close_branch(r);
  if (c == '.') return read_dot(r);
  if (c == '%' || is_digit(c)) return read_ring(r);
  if (c && strchr("-=#$:/\\", c)) return read_bond(r);
  return read_bare(r);
}

static filtra_status check_end(const reader *r) {
  if (r->depth) return fail_at(r->length, "a branch is not closed");
  if (r->bond != NO_BOND) return fail_at(r->length, "an atom is missing after the bond");
  for (int i = 0; i < RINGS; i++)
    if (r->rings[i].atom >= 0)
      return ft_fail(FILTRA_ERROR_INPUT, "column %zu: ring %d is not closed",
                     r->rings[i].column + 1, i);
  if (!r->m->atom_count || r->previous < 0)
    return fail_at(r->length, "an atom is missing at the end");
  return FILTRA_OK;
}

/* ---- interpretation ---- */

/* Depth-first search for bonds that are in no ring (Tarjan 1974). */
typedef struct search {
  const ft_molecule *m;
  uint32_t *first; /* [atoms + 1] of each atom's bonds in `list` */
  uint32_t *list;
  uint32_t *entered, *lowest, *next, *stack, *way; /* [atoms] */
  bool *in_ring;                                   /* [bonds] */
} search;

static uint32_t other_end(const ft_bond *bond, uint32_t atom) {
  return bond->first == atom ? bond->second : bond->first;
}

static void list_bonds(search *s) {
  const ft_molecule *m = s->m;
  for (size_t i = 0; i < m->atom_count; i++)
    s->first[i + 1] = s->first[i] + m->atoms[i].bonds;
  memcpy(s->next, s->first, m->atom_count * sizeof *s->next);
  for (uint32_t i = 0; i < m->bond_count; i++) {
    s->list[s->next[m->bonds[i].first]++] = i;
    s->list[s->next[m->bonds[i].second]++] = i;
  }
  memcpy(s->next, s->first, m->atom_count * sizeof *s->next);
}

/* Advances from the atom on top of the stack: along one of its bonds, or back. */
static size_t step(search *s, size_t depth, uint32_t *time) {
  const uint32_t atom = s->stack[depth - 1];
  if (s->next[atom] == s->first[atom + 1]) {
    if (depth == 1) return 0;
    const uint32_t parent = s->stack[depth - 2];
    if (s->lowest[atom] < s->lowest[parent]) s->lowest[parent] = s->lowest[atom];
    s->in_ring[s->way[atom]] = s->lowest[atom] <= s->entered[parent];
    return depth - 1;
  }
  const uint32_t bond = s->list[s->next[atom]++];
  const uint32_t to = other_end(&s->m->bonds[bond], atom);
  if (!s->entered[to]) {
    s->entered[to] = s->lowest[to] = ++*time;
    s->way[to] = bond;
    s->stack[depth] = to;
    return depth + 1;
  }
  if (depth > 1 && bond == s->way[atom]) return depth;
  s->in_ring[bond] = true;
  if (s->entered[to] < s->lowest[atom]) s->lowest[atom] = s->entered[to];
  return depth;
}

static void find_rings(search *s) {
  uint32_t time = 0;
  list_bonds(s);
  for (uint32_t i = 0; i < s->m->atom_count; i++) {
    if (s->entered[i]) continue;
    s->entered[i] = s->lowest[i] = ++time;
    s->stack[0] = i;
    for (size_t depth = 1; depth;)
      depth = step(s, depth, &time);
  }
}

/* Fails if two bonds join the same atoms. Overwrites `stack`. */
static filtra_status check_twice(search *s) {
  memset(s->stack, 0xff, s->m->atom_count * sizeof *s->stack);
  for (uint32_t atom = 0; atom < s->m->atom_count; atom++)
    for (uint32_t i = s->first[atom]; i < s->first[atom + 1]; i++) {
      const uint32_t other = other_end(&s->m->bonds[s->list[i]], atom);
      if (s->stack[other] == atom)
        return ft_fail(FILTRA_ERROR_INPUT, "atoms %u and %u, counted from 1, are bonded twice",
                       atom + 1, other + 1);
      s->stack[other] = atom;
    }
  return FILTRA_OK;
}

/* Nitrogen with five bonds, as in N(=O)=O and N=N#N, is rewritten with charges: [N+](=O)[O-] and
 * N=[N+]=[N-]. */
static void charge_nitrogen(ft_molecule *m) {
  for (uint32_t i = 0; i < m->atom_count; i++) {
    ft_atom *atom = &m->atoms[i];
    ft_bond *oxide = NULL, *nitride = NULL;
    unsigned halves = 2u * atom->hydrogens; /* of bonds; an aromatic one has three */
    if (atom->element != 7 || atom->charge) continue;
    for (size_t k = 0; k < m->bond_count; k++) {
      ft_bond *bond = &m->bonds[k];
      if (bond->first != i && bond->second != i) continue;
      const ft_atom *other = &m->atoms[other_end(bond, i)];
      halves += bond->kind == FT_BOND_AROMATIC ? 3 : 2 * (bond->kind + 1u);
      if (other->charge) continue;
      if (other->element == 8 && bond->kind == FT_BOND_DOUBLE && !oxide) oxide = bond;
      if (other->element == 7 && bond->kind == FT_BOND_TRIPLE && !nitride) nitride = bond;
    }
    ft_bond *taken = oxide ? oxide : nitride;
    if (halves != 10 || !taken) continue;
    taken->kind--;
    ft_atom *other = &m->atoms[other_end(taken, i)];
    other->charge = -1;
    atom->charge = 1;
    atom->bracketed = other->bracketed = true; /* all their hydrogens are known */
  }
}

/* Whether an atom is a hydrogen that can become a count at its neighbour. */
static bool is_plain_hydrogen(const ft_molecule *m, uint32_t atom, const ft_bond *bond) {
  const ft_atom *a = &m->atoms[atom], *other = &m->atoms[other_end(bond, atom)];
  return a->element == 1 && a->bonds == 1 && !a->charge && !a->hydrogens && !a->labelled &&
         bond->kind == FT_BOND_SINGLE && other->element > 1;
}

static filtra_status leave_out_hydrogens(ft_molecule *m) {
  uint32_t *number = ft_calloc(m->atom_count, sizeof *number); /* new index; UINT32_MAX: removed */
  size_t bonds = 0, atoms = 0;
  if (!number) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < m->bond_count; i++) {
    const ft_bond bond = m->bonds[i];
    const bool first = is_plain_hydrogen(m, bond.first, &bond);
    if (first || is_plain_hydrogen(m, bond.second, &bond)) {
      number[first ? bond.first : bond.second] = UINT32_MAX;
      m->atoms[first ? bond.second : bond.first].hydrogens++;
      m->atoms[first ? bond.second : bond.first].bonds--;
    } else {
      m->bonds[bonds++] = bond;
    }
  }
  for (size_t i = 0; i < m->atom_count; i++) {
    if (number[i] == UINT32_MAX) continue;
    number[i] = (uint32_t)atoms;
    m->atoms[atoms++] = m->atoms[i];
  }
  for (size_t i = 0; i < bonds; i++) {
    m->bonds[i].first = number[m->bonds[i].first];
    m->bonds[i].second = number[m->bonds[i].second];
  }
  m->atom_count = atoms;
  m->bond_count = bonds;
  free(number);
  return FILTRA_OK;
}

/* Finds rings; an unwritten bond between aromatic atoms of different rings is single, as in
 * biphenyl. */
static filtra_status settle_bonds(ft_molecule *m) {
  const size_t atoms = m->atom_count, bonds = m->bond_count;
  uint32_t *words = ft_calloc(6 * atoms + 1 + 2 * bonds, sizeof *words);
  bool *in_ring = ft_calloc(bonds + 1, sizeof *in_ring);
  search s = {.m = m, .in_ring = in_ring};
  filtra_status status = words && in_ring ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    s.first = words;
    s.entered = s.first + atoms + 1;
    s.lowest = s.entered + atoms;
    s.next = s.lowest + atoms;
    s.stack = s.next + atoms;
    s.way = s.stack + atoms;
    s.list = s.way + atoms;
    find_rings(&s);
    status = check_twice(&s);
    for (size_t i = 0; i < bonds; i++)
      if (m->bonds[i].implied && !in_ring[i]) m->bonds[i].kind = FT_BOND_SINGLE;
    const ft_adjacency near = {s.first, s.list};
    if (!status) status = ft_find_aromatic(m, &near, in_ring);
  }
  free(words);
  free(in_ring);
  return status;
}

filtra_status ft_smiles_read(const char *text, size_t length, ft_molecule *m) {
  reader r = {.text = text, .length = length, .m = m, .previous = -1, .bond = NO_BOND};
  for (int i = 0; i < RINGS; i++)
    r.rings[i].atom = -1;
  while (r.length && r.text[r.length - 1] && strchr(" \t\r\n", r.text[r.length - 1]))
    r.length--;
  filtra_status status = FILTRA_OK;
  while (r.at < r.length && !status)
    status = read_next(&r);
  if (!status) status = check_end(&r);
  free(r.branches);
  if (!status) status = leave_out_hydrogens(m);
  if (!status) charge_nitrogen(m);
  return status ? status : settle_bonds(m);
}

void ft_molecule_free(ft_molecule *m) {
  free(m->atoms);
  free(m->bonds);
  *m = (ft_molecule){0};
}
