/* Tables whose rows have any number of labels: texts with a separator, and columns of 0 and 1. */
#include "base/file.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"

static const filtra_dataset_options TEST_FILE = {.file_split = FILTRA_SPLIT_TEST};

/* The labels of a sample by name, as "cats+sun?", where nobody knows of the sun; "-": none;
 * "unknown". */
static const char *labels_of(const filtra_dataset *ds, filtra_split split, uint64_t row) {
  static char text[256];
  const filtra_sample s = test_sample(ds, split, row);
  const uint32_t count = s.label_count + s.unknown_count;
  snprintf(text, sizeof text, "%s", s.label < 0 ? "unknown" : count ? "" : "-");
  for (uint32_t i = 0; i < count; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s%s", i ? "+" : "",
             filtra_dataset_class_name(ds, (uint32_t)s.labels[i]), i < s.label_count ? "" : "?");
  return text;
}

/* What the rows of a file are, with commas between. */
static const struct {
  const char *text, *separator, *target, *labels;
} known[] = {
    {"text,label\na,sun;cats\nb,\nc,cats; sun ;cats;\nd,sun\n", NULL, NULL,
     "cats+sun,-,cats+sun,sun"},
    {"text,label\na,sun|cats\nb,sun\n", NULL, NULL, "cats+sun,sun"},
    {"text;label\na;sun,cats\nb;big sun\n", NULL, NULL, "cats+sun,big sun"},
    {"text,label\na,\"['sun', 'big cats']\"\nb,[]\nc,\"[\"\"sun\"\"]\"\n", NULL, NULL,
     "big cats+sun,-,sun"},
    {"text,label\na,\"['sun, moon', 'cats]']\"\nb,\"[don't, 'won't]\"\n", NULL, NULL,
     "cats]+sun, moon,'won't+don't"},
    {"text,label\na,(sun);(cats)\nb,[sun]\n", ";", NULL, "(cats)+(sun),sun"},
    {"text,label\na,sun cats\nb,sun\n", "space", NULL, "cats+sun,sun"},
    {"text,label\na,sun/cats;dogs\nb,sun\n", "/", NULL, "cats;dogs+sun,sun"},
    {"text,label\na,10;9\nb,9\n", NULL, NULL, "9+10,9"},
    {"text,sun,id,cats\na,0,1,1\nb,1.0,2,True\nc,no,3,0\n", NULL, "sun,cats", "cats,sun+cats,-"},
    {"a,1,0\nb,0,0\n", NULL, "2,3", "2,-"},
    {"x,sun,cats\n0.5,0,1\n1.5,1,0\n", NULL, "sun, cats", "cats,sun"},
    {"text,p,q,r\na,0,1,0\nb,,0,NA\nc,1,?,1\nd,nan,1,1\n", NULL, "p,q,r", "q,p?+r?,p+r+q?,q+r+p?"},
    {"text,p,q\na,0,1\nb,,0\n", NULL, "p,q", "q,p?"},
};

static void check_labels(size_t i) {
  filtra_dataset_options o = TEST_FILE;
  o.label_separator = known[i].separator;
  o.target_column = known[i].target;
  o.targets = FILTRA_TARGETS_LABELS;
  owned_dataset *ds =
      test_open_dataset(test_write_text(test_folder(), "a.csv", known[i].text), "table", &o);
  char got[256] = "";
  for (uint64_t k = 0; k < filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_TEST]; k++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", k ? "," : "",
             labels_of(ds, FILTRA_SPLIT_TEST, k));
  assert_int_equal(filtra_dataset_get_info(ds)->target, FILTRA_TARGET_LABELS);
  assert_string_equal(got, known[i].labels);
}

TEST(labels_are_read) {
  for (size_t i = 0; i < FT_COUNT(known); i++)
    check_labels(i);
}

static const struct {
  const char *text, *separator, *target;
  filtra_targets targets;
  const char *part;
} refused[] = {
    {"text,label\na,x;y\nb,z|y\n", NULL, NULL, FILTRA_TARGETS_LABELS,
     "a.csv: column \"label\" has several of ; | and , between labels; set label_separator"},
    {"text,label\na,x y\nb,z\n", NULL, NULL, FILTRA_TARGETS_LABELS,
     "a.csv: column \"label\" has none of ; | and , between labels"},
    {"text,label\na,x;y\nb,z\n", "and", NULL, FILTRA_TARGETS_LABELS,
     "label_separator is \"and\", accepted are one character, space and tab"},
    {"text,label\na,x;y\nb,z\n", " ;", NULL, FILTRA_TARGETS_LABELS, "label_separator is \" ;\""},
    {"text,label\na,\nb,\n", ";", NULL, FILTRA_TARGETS_AUTO, "no row has a label"},
    {"text,p,p \na,0,1\n", NULL, "2,3", FILTRA_TARGETS_AUTO, "columns of labels are called \"p\""},
    {"text,label\na,x;y\nb,?\n", NULL, NULL, FILTRA_TARGETS_LABELS,
     "a.csv:3: the labels are missing (\"?\"); a row without any has an empty field"},
    {"text,p,q\na,0,1\nb,2,0\n", NULL, "p,q", FILTRA_TARGETS_AUTO,
     "a.csv:3: column \"p\", a label, is \"2\"; accepted are 0 and 1"},
    {"text,p,q\na,,?\nb,NA,\n", NULL, "p,q", FILTRA_TARGETS_AUTO,
     "a.csv: no label of any row is known"},
    {"text,p,q\na,1,1\nb,,0\n", NULL, "p,q", FILTRA_TARGETS_AUTO,
     "a.csv: column \"p\", a label, holds 1 and empty fields, which may mean 0 or unknown"},
    {"text,p,q\na,,1\nb,,0\n", NULL, "p,q", FILTRA_TARGETS_AUTO,
     "a.csv: column \"p\", a label, is empty"},
    {"text,p,q\na,0,1\n", NULL, "p,r", FILTRA_TARGETS_AUTO, "target_column is \"r\""},
    {"text,p,q\na,0,1\n", ";", "p,q", FILTRA_TARGETS_AUTO,
     "label_separator is for a target_column of one column"},
    {"text,p,q\na,0,1\n", NULL, "p,text", FILTRA_TARGETS_AUTO, ""},
    {"text,label\na,x;y\nb,z\n", ";", NULL, FILTRA_TARGETS_CLASSES,
     "label_separator is for several labels a row, and the targets are to be one class"},
    {"text,p,q\na,0,1\nb,1,1\n", NULL, "p,q", FILTRA_TARGETS_VALUES,
     "a target_column of several columns is for several labels a row, and the targets are to be "
     "one number"},
};

TEST(labels_are_refused) {
  for (size_t i = 0; i < FT_COUNT(refused); i++) {
    filtra_dataset_options o = TEST_FILE;
    o.label_separator = refused[i].separator;
    o.target_column = refused[i].target;
    o.targets = refused[i].targets;
    test_refuse_dataset(test_write_text(test_folder(), "a.csv", refused[i].text), &o,
                        refused[i].part);
  }
}

/* Labels are those of the training file; validation samples are drawn from it. */
TEST(other_files_have_the_labels_of_the_training_file) {
  const char *folder = test_folder();
  const filtra_dataset_options o = {.targets = FILTRA_TARGETS_LABELS, .unlabelled = true};
  test_write_text(folder, "train.csv", "text,label\na,x;y\nb,z\nc,\nd,y\n");
  test_write_text(folder, "test.csv", "label,text\nz;x,a\n,b\nnan,c\n");
  owned_dataset *ds = test_open_dataset(folder, "table", &o);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  test_counts(ds, 3, 1, 3);
  assert_int_equal(info->classes, 3);
  assert_int_equal(info->unlabelled[FILTRA_SPLIT_TEST], 1);
  assert_string_equal(labels_of(ds, FILTRA_SPLIT_TEST, 0), "x+z");
  assert_string_equal(labels_of(ds, FILTRA_SPLIT_TEST, 1), "-");
  assert_string_equal(labels_of(ds, FILTRA_SPLIT_TEST, 2), "unknown");
  test_write_text(folder, "test.csv", "text,label\na,x;w\n");
  test_refuse_dataset(folder, &o, "test.csv:2: \"w\" is none of the 3 classes");
}

/* Rows of one series agree, whatever order their labels are written in. */
TEST(series_have_labels) {
  filtra_dataset_options o = TEST_FILE;
  o.label_separator = ";";
  o.group_column = "who";
  const char *folder = test_folder();
  owned_dataset *ds = test_open_dataset(
      test_write_text(folder, "a.csv", "who,v,label\np,1,x;y\np,2,y;x\nq,3,\n"), "table", &o);
  assert_string_equal(labels_of(ds, FILTRA_SPLIT_TEST, 0), "x+y");
  assert_string_equal(labels_of(ds, FILTRA_SPLIT_TEST, 1), "-");
  test_refuse_dataset(test_write_text(folder, "a.csv", "who,v,label\np,1,x;y\np,2,x\n"), &o,
                      "their targets differ");
}

/* Where a label applies a batch has 1 or its weight, elsewhere 0. */
TEST(batches_have_targets) {
  filtra_dataset_options o = TEST_FILE;
  o.label_separator = ";";
  owned_dataset *ds = test_open_dataset(
      test_write_text(test_folder(), "a.csv", "text,label\na,x;y\nb,\nc,y\n"), "table", &o);
  for (int weighted = 0; weighted < 2; weighted++) {
    const float weights[] = {3, 0.5f};
    filtra_batch b;
    owned_loader *loader = NULL;
    assert_ok(
        filtra_loader_create(ds,
                             &(filtra_loader_options){.split = FILTRA_SPLIT_TEST,
                                                      .batch_size = 4,
                                                      .class_weights = weighted ? weights : NULL},
                             &loader));
    assert_ok(filtra_loader_next(loader, &b));
    const float x = weighted ? 3 : 1, y = weighted ? 0.5f : 1;
    assert_true(!b.labels && !b.values && b.weights[0] == 1 && b.weights[3] == 0);
    assert_memory_equal(b.targets, ((float[]){x, y, 0, 0, 0, y, x, y}), 8 * sizeof(float));
  }
}

/* Unknown labels have the target -1; of a file without known ones no sample has a target. */
TEST(unknown_labels_in_batches) {
  filtra_dataset_options o = TEST_FILE;
  filtra_batch b;
  o.target_column = "p,q";
  const char *path = test_write_text(test_folder(), "a.csv", "text,p,q\na,0,1\nb,,0\nc,1,\n");
  owned_dataset *ds = test_open_dataset(path, "table", &o), *again = NULL;
  owned_loader *loader = NULL; /* closed before the data that it reads */
  assert_ok(filtra_loader_create(
      ds, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 4}, &loader));
  assert_ok(filtra_loader_next(loader, &b));
  assert_memory_equal(b.targets, ((float[]){0, 1, -1, 0, 1, -1}), 6 * sizeof(float));
  o.unlabelled = true;
  path = test_write_text(test_folder(), "b.csv", "text,p,q\na,,\nb,,1\n");
  assert_ok(filtra_dataset_open(path, &o, &again));
  assert_string_equal(labels_of(again, FILTRA_SPLIT_TEST, 0), "p?+q?");
  assert_string_equal(labels_of(again, FILTRA_SPLIT_TEST, 1), "q+p?");
  filtra_dataset_close(&again);
  path = test_write_text(test_folder(), "c.csv", "text,p,q\na,,\nb,NA,\n");
  assert_ok(filtra_dataset_open(path, &o, &again));
  assert_string_equal(labels_of(again, FILTRA_SPLIT_TEST, 0), "unknown");
  assert_int_equal(filtra_dataset_get_info(again)->unlabelled[FILTRA_SPLIT_TEST], 2);
}

/* Of a training file columns of 1 and empty fields are refused, however that of tests is. */
TEST(unclear_labels_of_training_files) {
  const char *folder = test_folder();
  const filtra_dataset_options o = {.target_column = "q,p", .unlabelled = true};
  test_write_text(folder, "train.csv", "text,p,q\na,1,1\nb,,0\nc,1,0\n");
  test_write_text(folder, "test.csv", "text,p,q\na,,\nb,,\n");
  test_refuse_dataset(folder, &o, "train.csv: column \"p\", a label, holds 1 and empty fields");
  test_write_text(folder, "train.csv", "text,p,q\na,1,1\nb,,0\nc,0,0\n");
  owned_dataset *ds = test_open_dataset(folder, "table", &o);
  assert_string_equal(filtra_dataset_class_name(ds, 0), "q"); /* in the order of target_column */
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 2);
}

/* What is no part of the labels' order changes no hash, and what is a label does. */
TEST(fingerprints_have_labels) {
  static const char *const texts[] = {
      "text,label\na,x;y\nb,y\n",      "text,label\na,y;x\nb,y\n",
      "text,label\na,x;y\nb,x\n",      "text,label\na,x;y\nb,\n",
      "text,x,y\na,1,1\nb,0,0\n",      "text,x,y\na,1,1\nb,0,0\nc,0,0\n",
      "text,x,y\na,1,1\nb,0,0\nc,0,\n"};
  uint64_t hashes[7];
  for (int i = 0; i < 7; i++) {
    const filtra_dataset_options o = {.label_separator = i < 4 ? ";" : NULL,
                                      .target_column = i < 4 ? NULL : "x,y"};
    owned_dataset *ds =
        test_open_dataset(test_write_text(test_folder(), "a.csv", texts[i]), "table", &o);
    hashes[i] = ft_dataset_fingerprint(ds);
  }
  assert_true(hashes[0] == hashes[1] && hashes[0] != hashes[2] && hashes[0] != hashes[3]);
  assert_true(hashes[4] == hashes[3] && hashes[5] != hashes[6]);
}

TEST(labels_without_memory) {
  filtra_dataset_options o = {.targets = FILTRA_TARGETS_LABELS};
  test_dataset_memory(test_write_text(test_folder(), "a.csv", "text,label\na,x;y\nb,\nc,z\n"), &o);
  o.target_column = "p,q";
  test_dataset_memory(test_write_text(test_folder(), "b.csv", "text,p,q\na,0,1\nb,1,\nc,,0\n"), &o);
}

TEST_MAIN(NULL, test_teardown)
