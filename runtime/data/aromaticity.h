/* Which atoms and bonds of a molecule are aromatic. */
#ifndef FT_DATA_AROMATICITY_H
#define FT_DATA_AROMATICITY_H

#include "data/smiles.h"

/** The bonds of atom i are list[first[i]] to list[first[i + 1] - 1]. */
typedef struct ft_adjacency {
  const uint32_t *first, *list;
} ft_adjacency;

/** Finds aromatic rings by Hückel's rule, as RDKit does, and sets atoms and bonds: a molecule
 * written with double bonds gives the same result as one in lower case. `cyclic` [bonds]: whether a
 * bond is in a ring. Fails with INPUT if atoms written as aromatic are not, and cannot be written
 * with double bonds either. */
filtra_status ft_find_aromatic(ft_molecule *molecule, const ft_adjacency *near, const bool *cyclic);

#endif
