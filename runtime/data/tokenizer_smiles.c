/* The tokenizer "smiles": a molecule's atoms as tokens, its bonds as edges. Listed in tokenizer.c.
 */
#include "base/memory.h"
#include "base/status.h"
#include "data/smiles.h"
#include "data/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* Kinds of atoms: elements, then those that can be aromatic. */
#define KINDS(a, z)                                                                                \
  a "*" z, a "H" z, a "He" z, a "Li" z, a "Be" z, a "B" z, a "C" z, a "N" z, a "O" z, a "F" z,     \
      a "Ne" z, a "Na" z, a "Mg" z, a "Al" z, a "Si" z, a "P" z, a "S" z, a "Cl" z, a "Ar" z,      \
      a "K" z, a "Ca" z, a "Sc" z, a "Ti" z, a "V" z, a "Cr" z, a "Mn" z, a "Fe" z, a "Co" z,      \
      a "Ni" z, a "Cu" z, a "Zn" z, a "Ga" z, a "Ge" z, a "As" z, a "Se" z, a "Br" z, a "Kr" z,    \
      a "Rb" z, a "Sr" z, a "Y" z, a "Zr" z, a "Nb" z, a "Mo" z, a "Tc" z, a "Ru" z, a "Rh" z,     \
      a "Pd" z, a "Ag" z, a "Cd" z, a "In" z, a "Sn" z, a "Sb" z, a "Te" z, a "I" z, a "Xe" z,     \
      a "Cs" z, a "Ba" z, a "La" z, a "Ce" z, a "Pr" z, a "Nd" z, a "Pm" z, a "Sm" z, a "Eu" z,    \
      a "Gd" z, a "Tb" z, a "Dy" z, a "Ho" z, a "Er" z, a "Tm" z, a "Yb" z, a "Lu" z, a "Hf" z,    \
      a "Ta" z, a "W" z, a "Re" z, a "Os" z, a "Ir" z, a "Pt" z, a "Au" z, a "Hg" z, a "Tl" z,     \
      a "Pb" z, a "Bi" z, a "Po" z, a "At" z, a "Rn" z, a "Fr" z, a "Ra" z, a "Ac" z, a "Th" z,    \
      a "Pa" z, a "U" z, a "Np" z, a "Pu" z, a "Am" z, a "Cm" z, a "Bk" z, a "Cf" z, a "Es" z,     \
      a "Fm" z, a "Md" z, a "No" z, a "Lr" z, a "Rf" z, a "Db" z, a "Sg" z, a "Bh" z, a "Hs" z,    \
      a "Mt" z, a "Ds" z, a "Rg" z, a "Cn" z, a "Nh" z, a "Fl" z, a "Mc" z, a "Lv" z, a "Ts" z,    \
      a "Og" z, a "b" z, a "c" z, a "n" z, a "o" z, a "si" z, a "p" z, a "s" z, a "as" z,          \
      a "se" z, a "te" z

static const uint8_t AROMATIC[] = {5, 6, 7, 8, 14, 15, 16, 33, 34, 52};
enum { KIND_COUNT = FT_ELEMENTS + FT_COUNT(AROMATIC), MOST_CHARGE = 4 };

/* By charge: 0, 1 to 4, -1 to -4. */
static const char *const symbols[1 + KIND_COUNT * (2 * MOST_CHARGE + 1)] = {"",
                                                                            KINDS("", ""),
                                                                            KINDS("[", "+]"),
                                                                            KINDS("[", "+2]"),
                                                                            KINDS("[", "+3]"),
                                                                            KINDS("[", "+4]"),
                                                                            KINDS("[", "-]"),
                                                                            KINDS("[", "-2]"),
                                                                            KINDS("[", "-3]"),
                                                                            KINDS("[", "-4]")};

/* Charges beyond 4, as of ions of metals, count as 4. */
static int32_t id_of(const ft_atom *atom) {
  uint32_t kind = atom->element;
  for (uint32_t i = 0; atom->aromatic && i < FT_COUNT(AROMATIC); i++)
    if (AROMATIC[i] == atom->element) kind = FT_ELEMENTS + i;
  const int size = abs(atom->charge) < MOST_CHARGE ? abs(atom->charge) : MOST_CHARGE;
  return (int32_t)(1 + kind) + KIND_COUNT * (atom->charge < 0 ? MOST_CHARGE + size : size);
}

static filtra_status put(const ft_molecule *m, ft_tokens *nodes, ft_tokens *edges) {
  FT_TRY(ft_tokens_reserve(nodes, m->atom_count));
  for (size_t i = 0; i < m->atom_count; i++)
    nodes->ids[nodes->count++] = id_of(&m->atoms[i]);
  if (!edges) return FILTRA_OK;
  FT_TRY(ft_tokens_reserve(edges, FT_EDGE_WORDS * m->bond_count));
  for (size_t i = 0; i < m->bond_count; i++) {
    edges->ids[edges->count++] = (int32_t)m->bonds[i].first;
    edges->ids[edges->count++] = (int32_t)m->bonds[i].second;
    edges->ids[edges->count++] = m->bonds[i].kind;
  }
  return FILTRA_OK;
}

static filtra_status encode_graph(const filtra_tokenizer *tokenizer, const char *text,
                                  size_t length, ft_tokens *nodes, ft_tokens *edges) {
  (void)tokenizer;
  ft_molecule molecule = {0};
  size_t end = 0; /* a name or an extension (CXSMILES) may follow, behind a blank */
  while (end < length && text[end] != ' ' && text[end] != '\t')
    end++;
  filtra_status status = ft_smiles_read(text, end, &molecule);
  if (!status) status = put(&molecule, nodes, edges);
  ft_molecule_free(&molecule);
  return status;
}

static filtra_status encode(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                            ft_tokens *tokens) {
  return encode_graph(tokenizer, text, length, tokens, NULL);
}

const filtra_tokenizer ft_tokenizer_smiles = {.name = "smiles",
                                              .symbols = symbols,
                                              .size = FT_COUNT(symbols),
                                              .encode = encode,
                                              .encode_graph = encode_graph,
                                              .edge_types = FT_BOND_KINDS,
                                              .join = FT_JOIN_BY_SPACES};
