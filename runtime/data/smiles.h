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
  uint8_t hydrogens; /* as given in its brackets */
  bool aromatic;
  bool bracketed; /* bracketed: all its hydrogens are given */
  bool labelled;  /* has an isotope or an atom class, which is dropped */
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
  bool implied;           /* not written in the text */
} ft_bond;

/** Atoms in the order of the text, and the bonds between them. */
typedef struct ft_molecule {
  ft_atom *atoms;
  size_t atom_count, atom_capacity;
  ft_bond *bonds;
  size_t bond_count, bond_capacity;
  bool stereo; /* has stereo marks, which are dropped */
} ft_molecule;

/** Reads one molecule, which may have several parts separated by dots. Plain hydrogen atoms become
 * hydrogen counts of their neighbours, as in RDKit; an unwritten bond between two aromatic atoms is
 * aromatic inside a ring, otherwise single. Fails with INPUT, naming the column, if the text is not
 * SMILES. Caller frees, also on failure; starts from zeros. */
filtra_status ft_smiles_read(const char *text, size_t length, ft_molecule *molecule);
void ft_molecule_free(ft_molecule *molecule);

#endif
