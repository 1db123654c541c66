/* SMILES: atoms, bonds and aromatic rings as RDKit finds them (tests/golden/molecules.py), other
 * ways to write the same molecule, and what is refused. */
#include "data/smiles.h"

#include "base/memory.h"
#include "support/harness.h"

#include <stdlib.h>

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Writes a molecule as in the golden file. */
static void describe(const ft_molecule *m, char *text, size_t size) {
  size_t used = 0;
  char *bonds[64];
  assert_true(m->bond_count < FT_COUNT(bonds));
  for (size_t i = 0; i < m->atom_count; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%d,%d,%d", i ? " " : "",
                             m->atoms[i].element, m->atoms[i].charge, m->atoms[i].aromatic);
  used += (size_t)snprintf(text + used, size - used, "\t");
  for (size_t i = 0; i < m->bond_count; i++) {
    const uint32_t a = m->bonds[i].first, b = m->bonds[i].second;
    bonds[i] = ft_format("%u,%u,%d", a < b ? a : b, a < b ? b : a, m->bonds[i].kind);
  }
  qsort(bonds, m->bond_count, sizeof *bonds, by_text);
  for (size_t i = 0; i < m->bond_count; i++) {
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", bonds[i]);
    free(bonds[i]);
  }
}

static void read_as(const char *smiles, char *text, size_t size) {
  ft_molecule m = {0};
  if (ft_smiles_read(smiles, strlen(smiles), &m))
    fail_msg("%s: %s", smiles, filtra_error_message());
  describe(&m, text, size);
  ft_molecule_free(&m);
}

TEST(molecules_are_rdkit_s) {
  char line[2000], text[2000];
  int lines = 0;
  FILE *file = fopen(TEST_SOURCE_DIR "/golden/molecules.tsv", "r");
  assert_non_null(file);
  for (; fgets(line, sizeof line, file); lines++) {
    char *expected = strchr(line, '\t');
    assert_non_null(expected);
    *expected++ = '\0';
    expected[strcspn(expected, "\n")] = '\0';
    read_as(line, text, sizeof text);
    if (strcmp(text, expected) != 0) fail_msg("%s:\n%s, not\n%s", line, text, expected);
  }
  fclose(file);
  assert_true(lines > 70);
}

TEST(other_ways_to_write_a_molecule_give_the_same) {
  static const char *const SAME[][2] = {{"c1ccccc1", "C1=CC=CC=C1"},
                                        {"c1ccccc1c1ccccc1", "c1ccccc1-c1ccccc1"},
                                        {"C[N+]([O-])=O", "CN(=O)=O"},
                                        {"CCO", "[CH3][CH2][OH]"},
                                        {"CCO", "CCO \t\r\n"},
                                        {"C[C@H](N)O", "CC(N)O"},
                                        {"F/C=C\\F", "FC=CF"},
                                        {"F/C=C\\\\F", "FC=CF"},
                                        {"CO", "C(O)"},
                                        {"C1CCCCC1", "C%01CCCCC%01"},
                                        {"O=c1cc2ccccc2n1", "O=C1C=C2C=CC=CC2=N1"},
                                        {"c1cc2ccc3cccc3c2c1", "C1=CC2=CC=C3C=CC=C3C2=C1"}};
  char a[500], b[500];
  for (size_t i = 0; i < FT_COUNT(SAME); i++) {
    read_as(SAME[i][0], a, sizeof a);
    read_as(SAME[i][1], b, sizeof b);
    assert_string_equal(a, b);
  }
}

/* The tokenizer leaves out what follows a molecule, and knows charges up to 4. */
TEST(tokens_of_names_and_of_large_charges) {
  static const char *const SAME[][2] = {
      {"CCO", "CCO ethanol"}, {"CCO", "CCO\t|r|"}, {"[Mn+4]", "[Mn+7]"}, {"[Fe-4]", "[Fe-6]"}};
  const filtra_tokenizer *t = filtra_tokenizer_find("smiles");
  for (size_t i = 0; i < FT_COUNT(SAME); i++) {
    int32_t ids[2][8] = {{0}};
    size_t count[2];
    for (int k = 0; k < 2; k++)
      assert_ok(filtra_tokenizer_encode(t, SAME[i][k], strlen(SAME[i][k]), ids[k], 8, &count[k]));
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
  }
}

TEST(what_is_no_smiles_is_named) {
  static const struct {
    const char *smiles, *part;
  } BAD[] = {{"", "column 1: an atom is missing at the end"},
             {"CCX", "column 3: this is no SMILES"},
             {"CC name", "column 3: this is no SMILES"},
             {"C->N", "column 3: this is no SMILES"},
             {"CC(C", "a branch is not closed"},
             {"CC)C", "column 3: no branch is open here"},
             {"(C)", "column 1: a branch begins after an atom"},
             {"C()C", "column 3: a branch ends after an atom"},
             {"C(=)C", "column 4: a branch ends after an atom"},
             {"C1CC", "column 2: ring 1 is not closed"},
             {"1CC1", "column 1: a ring's number without an atom before it"},
             {"C%1CC", "column 2: a ring's number after % has two digits"},
             {"C11", "column 3: an atom is bonded to itself"},
             {"C12CC12", "atoms 1 and 3, counted from 1, are bonded twice"},
             {"C=1CCCC#1", "a ring's two ends name different bonds"},
             {"C==C", "column 3: two bonds follow each other"},
             {"=C", "column 1: a bond without an atom before it"},
             {"CC=", "an atom is missing after the bond"},
             {".C", "column 1: a dot stands between two parts of a molecule"},
             {"C.", "an atom is missing at the end"},
             {"[C", "column 1: the bracket is not closed"},
             {"[Xx]", "column 2: there is no such element"},
             {"[]", "column 2: there is no such element"},
             {"[C@@H2+3?]", "this does not belong in an atom's brackets"},
             {"[C+99]", "the charge is beyond 15"},
             {"[C:]", "a colon in brackets needs a number"},
             {"cc", "atom 1, counted from 1, is written as aromatic and is in no ring"},
             {"C:C", "column 3: an aromatic bond joins atoms that are not written in lower case"},
             {"c1cccc1", "no double bonds can be placed in its rings"}};
  for (size_t i = 0; i < FT_COUNT(BAD); i++) {
    ft_molecule m = {0};
    assert_fails(ft_smiles_read(BAD[i].smiles, strlen(BAD[i].smiles), &m), FILTRA_ERROR_INPUT,
                 BAD[i].part);
    ft_molecule_free(&m);
  }
}

/* Many rings in one another end in a sentence or a molecule, and soon. */
TEST(the_number_of_atoms_and_rings_is_limited) {
  char text[10000];
  ft_molecule m = {0};
  memset(text, 'C', sizeof text);
  assert_fails(ft_smiles_read(text, sizeof text, &m), FILTRA_ERROR_INPUT, "more than 4096 atoms");
  ft_molecule_free(&m);
  size_t used = 0;
  for (int i = 0; i < 98; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "C%%%02d", i + 1);
  for (int i = 0; i < 98; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "C%%%02d", i + 1);
  assert_ok(ft_smiles_read(text, used, &m)); /* a ladder */
  assert_int_equal(m.atom_count, 196);
  ft_molecule_free(&m);
}

TEST_MAIN(NULL, NULL)
