/* Readers of data sets of text and numbers. */
#include "data/dataset.h"
#include "fuzz.h"
#include "samples.h"

/* By the input's length: cut or not, long or not, by which tokenizer. */
static void read_as(const char *format, const char *const *tokenizers, const char *path,
                    size_t choice) {
  size_t count = 0;
  while (tokenizers && tokenizers[count])
    count++;
  fuzz_dataset(path,
               &(filtra_dataset_options){.format = format,
                                         .tokenizer = count ? tokenizers[choice / 4 % count] : NULL,
                                         .max_length = choice & 1 ? 3 : 0,
                                         .truncate = choice & 2});
}

#define FILE_READER(function, format, file, ...)                                                   \
  static void function(const uint8_t *data, size_t size) {                                         \
    static const char *const TOKENIZERS[] = {__VA_ARGS__, NULL};                                   \
    read_as(format, TOKENIZERS, fuzz_file(file, data, size), size);                                \
  }
FILE_READER(read_lra_listops, "lra-listops", "basic_train.tsv", NULL)
FILE_READER(read_listops, "listops", "train_d20s.tsv", NULL)
FILE_READER(read_aan, "aan-pairs", "new_aan_pairs.train.tsv", "bytes", "words")
FILE_READER(read_npz, "numpy", "a.npz", NULL)
FILE_READER(read_text_lm, "text-lm", "wiki.txt", "bytes", "characters", "words")

#define FOLDER_READER(function, format, folder, tokenizer, ...)                                    \
  static void function(const uint8_t *data, size_t size) {                                         \
    static const char *const NAMES[] = {__VA_ARGS__, NULL};                                        \
    static const char *const TOKENIZERS[] = {tokenizer, NULL};                                     \
    fuzz_files(data, size, NAMES);                                                                 \
    read_as(format, TOKENIZERS, fuzz_path(folder), size);                                          \
  }
FOLDER_READER(read_ts, "ts", "ts", NULL, "ts/ts_TRAIN.ts", "ts/ts_TEST.ts")
FOLDER_READER(read_ucr, "ucr", "ucr", NULL, "ucr/N_TRAIN.tsv", "ucr/N_TEST.tsv")
FOLDER_READER(read_npy, "numpy", "numpy", NULL, "numpy/X.npy", "numpy/y.npy")
FOLDER_READER(read_fasta, "fasta", "fasta", NULL, "fasta/a_train.fasta", "fasta/b_train.fasta",
              "fasta/a_test.fasta")
FOLDER_READER(read_hyperpartisan, "hyperpartisan", "hyperpartisan", NULL,
              "hyperpartisan/articles-training-x.xml", "hyperpartisan/ground-truth-training-x.xml",
              "hyperpartisan/articles-test-x.xml", "hyperpartisan/ground-truth-test-x.xml")
FOLDER_READER(read_text_folders, "text-folders", "documents", "characters",
              "documents/train/pos/0.txt", "documents/train/neg/0.txt", "documents/test/pos/0.txt")

static void read_tu(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {
      "tu/T_A.txt",           "tu/T_graph_indicator.txt", "tu/T_graph_labels.txt",
      "tu/T_node_labels.txt", "tu/T_edge_labels.txt",     NULL};
  fuzz_files(data, size, NAMES);
  fuzz_dataset(fuzz_path("tu"), &(filtra_dataset_options){.format = "tu"});
}

static void read_table(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {"table/train.csv", "table/test.csv", NULL};
  fuzz_files(data, size, NAMES);
  read_as("table", NULL, fuzz_path("table"), size);
  fuzz_dataset(fuzz_path("table/train.csv"),
               &(filtra_dataset_options){
                   .format = "table", .text_column = "b", .target_column = "c", .truncate = true});
  fuzz_dataset(fuzz_path("table"), &(filtra_dataset_options){.format = "table",
                                                             .target_column = "y",
                                                             .group_column = "g",
                                                             .time_column = size % 2 ? "t" : NULL,
                                                             .unlabelled = true});
  fuzz_dataset(fuzz_path("table"), &(filtra_dataset_options){.format = "table",
                                                             .feature_columns = "1,2",
                                                             .targets = FILTRA_TARGETS_VALUES,
                                                             .decimal = FILTRA_DECIMAL_COMMA});
  fuzz_dataset(fuzz_path("table"), &(filtra_dataset_options){.format = "table",
                                                             .text_column = "1",
                                                             .target_column = "2",
                                                             .tokenizer = "smiles"});
}

static void encode(const filtra_tokenizer *tokenizer, const uint8_t *data, size_t size) {
  enum { MOST = 256 };
  int32_t tokens[MOST];
  char text[16 * MOST];
  size_t count, length;
  filtra_status status =
      filtra_tokenizer_encode(tokenizer, (const char *)data, size, tokens, MOST, &count);
  fuzz_failed(status);
  if (status) return;
  if (count > MOST) count = MOST;
  for (size_t i = 0; i < count; i++)
    fuzz_check(tokens[i] >= 0 && (uint32_t)tokens[i] < filtra_tokenizer_size(tokenizer), "ids");
  fuzz_failed(filtra_tokenizer_decode(tokenizer, tokens, count, text, sizeof text, &length));
}

static void read_symbols(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {
      "listops", "listops-original", "pixels", "printable", "bytes", "dna", "smiles"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    encode(filtra_tokenizer_find(NAMES[i]), data, size);
}

/* A tokenizer from a file, and text that it encodes. */
static void read_tokenizer(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {"tokenizer.json", NULL};
  filtra_tokenizer *tokenizer;
  fuzz_files(data, size, NAMES);
  filtra_status status = filtra_tokenizer_load(fuzz_path("tokenizer.json"), &tokenizer);
  fuzz_failed(status);
  if (!status) {
    encode(tokenizer, data, size);
    fuzz_check(!filtra_tokenizer_save(tokenizer, fuzz_path("again.json")), "writing");
    filtra_tokenizer *again;
    fuzz_check(!filtra_tokenizer_load(fuzz_path("again.json"), &again), "reading again");
    fuzz_check(filtra_tokenizer_size(again) == filtra_tokenizer_size(tokenizer), "its size");
    filtra_tokenizer_destroy(&again);
  }
  filtra_tokenizer_destroy(&tokenizer);
}

/* A pretrained model's folder, and text that its tokenizer reads. */
static void read_pretrained(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {"hub/tokenizer_config.json",
                                      "hub/vocab.txt",
                                      "hub/vocab.json",
                                      "hub/merges.txt",
                                      "hub/tokenizer.json",
                                      NULL};
  filtra_tokenizer *tokenizer;
  fuzz_files(data, size, NAMES);
  filtra_status status = filtra_tokenizer_load(fuzz_path("hub"), &tokenizer);
  fuzz_failed(status);
  if (!status) encode(tokenizer, data, size);
  filtra_tokenizer_destroy(&tokenizer);
}

const fuzz_reader fuzz_texts[] = {{"lra-listops", read_lra_listops},
                                  {"listops", read_listops},
                                  {"ts", read_ts},
                                  {"ucr", read_ucr},
                                  {"npy", read_npy},
                                  {"npz", read_npz},
                                  {"aan-pairs", read_aan},
                                  {"fasta", read_fasta},
                                  {"hyperpartisan", read_hyperpartisan},
                                  {"text-folders", read_text_folders},
                                  {"text-lm", read_text_lm},
                                  {"tu", read_tu},
                                  {"table", read_table},
                                  {"symbols", read_symbols},
                                  {"tokenizer", read_tokenizer},
                                  {"pretrained", read_pretrained},
                                  {0}};
