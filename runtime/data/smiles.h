/* Molecules written as SMILES (Weininger 1988; OpenSMILES 2016). */
#ifndef FT_DATA_SMILES_H
#define FT_DATA_SMILES_H

#include <filtra/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_ELEMENTS = 119 }; /* 0 is `*`, any element */

/** Symbol of an element: "C" for 6. */
const char *ft_element_symbol(unsigned element);

typedef struct ft_atom {
  uint8_t element;
  int16_t charge;
  uint8_t hydrogens; /* written in its brackets */
  bool aromatic;
  bool bracketed; /* its hydrogens are all written */
  bool labelled;  /* has an isotope or an atom class, which are not kept */
  uint32_t bonds;
} ft_atom;

typedef enum ft_bond_kind {
  FT_BOND_SINGLE = 0,
  FT_BOND_DOUBLE,
  FT_BOND_TRIPLE,
  FT_BOND_QUADRUPLE,
  FT_BOND_AROMATIC,
  FT_BOND_KINDS
} ft_bond_kind;

typedef struct ft_bond {
  uint32_t first, second; /* atoms */
  uint8_t kind;           /* ft_bond_kind */
  bool implied;           /* nothing was written */
} ft_bond;

/** Atoms in the order in which they are written, and the bonds between them. */
typedef struct ft_molecule {
  ft_atom *atoms;
  size_t atom_count, atom_capacity;
  ft_bond *bonds;
  size_t bond_count, bond_capacity;
  bool stereo; /* there are stereo marks, which are not kept */
} ft_molecule;

/** Reads one molecule, which may be of several parts with a dot between. Hydrogen atoms that say
 * no more than the count of hydrogens at their only neighbour are left out, as in RDKit; of two
 * aromatic atoms, a bond that is not written is aromatic inside a ring and else single. Fails with
 * INPUT, naming the column, for what is no SMILES. Caller frees, also on failure; starts from
 * zeros. */
filtra_status ft_smiles_read(const char *text, size_t length, ft_molecule *molecule);
void ft_molecule_free(ft_molecule *molecule);

#endif
