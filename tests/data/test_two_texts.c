/* Two columns of a table as one sequence: where the second text begins, what is cut, and how
 * batches store it. Uses a small WordPiece vocabulary. */
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"

#include <filtra/filtra.h>

enum { PAD, UNK, CLS, SEP, MASK, A, B, C, D, E };

static char vocabulary[512]; /* the folder of the tokenizer */

static filtra_tokenizer *wordpiece(void) {
  static const char VOCABULARY[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\ne\n";
  filtra_tokenizer *tokenizer;
  snprintf(vocabulary, sizeof vocabulary, "%s/bert", test_folder());
  assert_ok(ft_make_directories(vocabulary));
  test_write(test_path(vocabulary, "vocab.txt"), VOCABULARY, sizeof VOCABULARY - 1);
  assert_ok(filtra_tokenizer_load(vocabulary, &tokenizer));
  return tokenizer;
}

/* The same by tokenizer.json, with this tokenizer_config.json. */
static filtra_tokenizer *wordpiece_for(const char *config) {
  filtra_tokenizer *tokenizer = wordpiece();
  assert_ok(filtra_tokenizer_save(tokenizer, test_path(vocabulary, "tokenizer.json")));
  filtra_tokenizer_destroy(&tokenizer);
  test_write(test_path(vocabulary, "tokenizer_config.json"), config, strlen(config));
  assert_ok(filtra_tokenizer_load(vocabulary, &tokenizer));
  return tokenizer;
}

static const char *table(const char *name, const char *text) {
  const char *path = test_path(test_folder(), name);
  test_write(path, text, strlen(text));
  return path;
}

static const char PAIRS[] = "s1,label,s2\n"
                            "a b,yes,c\n"
                            "d,no,e a b c\n"
                            "a a a a,yes,b b b\n";

static filtra_dataset *open_pairs(const filtra_tokenizer *tokenizer, filtra_dataset_options more) {
  filtra_dataset *data = NULL;
  more.fitted = tokenizer;
  more.file_split = FILTRA_SPLIT_TEST;
  if (!more.text_column) more.text_column = "s1,s2";
  assert_ok(filtra_dataset_open(table("pairs.csv", PAIRS), &more, &data));
  return data;
}

static void check_sample(const filtra_dataset *data, uint64_t index, uint32_t second_at,
                         uint32_t length, const int32_t *ids) {
  filtra_sample s;
  assert_ok(filtra_dataset_sample(data, FILTRA_SPLIT_TEST, index, &s));
  assert_int_equal(s.length, length);
  assert_int_equal(s.second_at, second_at);
  assert_memory_equal(s.tokens, ids, length * sizeof *ids);
  assert_null(s.second);
}

TEST(two_columns_one_sequence) {
  filtra_tokenizer *tokenizer = wordpiece();
  owned_dataset *data = open_pairs(tokenizer, (filtra_dataset_options){0});
  check_sample(data, 0, 4, 6, (int32_t[]){CLS, A, B, SEP, C, SEP});
  check_sample(data, 1, 3, 8, (int32_t[]){CLS, D, SEP, E, A, B, C, SEP});
  check_sample(data, 2, 6, 10, (int32_t[]){CLS, A, A, A, A, SEP, B, B, B, SEP});
  assert_int_equal(filtra_dataset_get_info(data)->sequences, 1);
  assert_int_equal(filtra_dataset_get_info(data)->classes, 2);
  owned_dataset *numbered = open_pairs(tokenizer, (filtra_dataset_options){.text_column = "1 , 3"});
  assert_int_equal(ft_dataset_fingerprint(data), ft_dataset_fingerprint(numbered));
  filtra_dataset_close(&numbered);
  filtra_dataset_close(&data);
  filtra_tokenizer_destroy(&tokenizer);
}

/* Models that are not given token types have type 0 for both texts, in batches and requests. */
TEST(types_are_the_tokenizers) {
  static const struct {
    const char *config;
    bool typed;
  } cases[] = {
      {"{\"model_input_names\": [\"input_ids\", \"token_type_ids\"]}", true},
      {"{\"model_input_names\": [\"input_ids\", \"attention_mask\"]}", false},
      {"{\"tokenizer_class\": \"BertTokenizer\"}", true},
      {"{\"tokenizer_class\": \"BertTokenizerFast\"}", true},
      {"{\"tokenizer_class\": \"ElectraTokenizer\", \"model_input_names\": null}", true},
      {"{}", true},
      {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", false},
      {"{\"tokenizer_class\": \"TokenizersBackend\", \"model_input_names\": null}", false},
      {"{\"tokenizer_class\": \"DistilBertTokenizerFast\"}", false},
      {"{\"tokenizer_class\": \"TokenizersBackend\", \"model_input_names\": [\"input_ids\", "
       "\"token_type_ids\"]}",
       true},
  };
  static const int32_t BEGINS[2][4] = {{0}, {4, 3, 6, 4}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_tokenizer *tokenizer = wordpiece_for(cases[i].config);
    owned_dataset *data = open_pairs(tokenizer, (filtra_dataset_options){0});
    owned_loader *loader = NULL;
    filtra_batch batch;
    check_sample(data, 0, 4, 6, (int32_t[]){CLS, A, B, SEP, C, SEP});
    assert_ok(filtra_loader_create(
        data, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 4}, &loader));
    assert_ok(filtra_loader_next(loader, &batch));
    assert_memory_equal(batch.second, BEGINS[cases[i].typed], sizeof *BEGINS);
    filtra_loader_destroy(&loader);
    filtra_dataset_close(&data);
    filtra_tokenizer_destroy(&tokenizer);
  }
}

/* The longer text is cut first, as Hugging Face's longest_first; without truncate it is refused. */
TEST(cut_to_length) {
  filtra_tokenizer *tokenizer = wordpiece();
  owned_dataset *data =
      open_pairs(tokenizer, (filtra_dataset_options){.max_length = 7, .truncate = true});
  check_sample(data, 0, 4, 6, (int32_t[]){CLS, A, B, SEP, C, SEP});
  check_sample(data, 1, 3, 7, (int32_t[]){CLS, D, SEP, E, A, B, SEP});
  check_sample(data, 2, 4, 7, (int32_t[]){CLS, A, A, SEP, B, B, SEP});
  filtra_dataset *refused;
  assert_fails(filtra_dataset_open(table("pairs.csv", PAIRS),
                                   &(filtra_dataset_options){.fitted = tokenizer,
                                                             .text_column = "s1,s2",
                                                             .max_length = 7,
                                                             .file_split = FILTRA_SPLIT_TEST},
                                   &refused),
               FILTRA_ERROR_INPUT,
               "pairs.csv:3: a sequence of more than 7 tokens, 3 special ones included");
  filtra_dataset_close(&data);
  filtra_tokenizer_destroy(&tokenizer);
}

/* Where tokenizer_config.json says so or, if it is silent, tokenizer.json, texts are cut at their
 * beginning; what is saved says it, too. */
TEST(cut_on_the_left) {
  static const char *const CONFIGS[] = {"{\"truncation_side\": \"left\"}", "{}",
                                        "{\"truncation_side\": \"right\"}"};
  filtra_tokenizer *tokenizer;
  for (size_t i = 0; i < FT_COUNT(CONFIGS); i++) {
    const bool left = i < 2;
    if (i) { /* what the first one was saved as */
      test_write(test_path(vocabulary, "tokenizer_config.json"), CONFIGS[i], strlen(CONFIGS[i]));
      assert_ok(filtra_tokenizer_load(vocabulary, &tokenizer));
    } else {
      tokenizer = wordpiece_for(CONFIGS[i]);
      assert_ok(filtra_tokenizer_save(tokenizer, test_path(vocabulary, "tokenizer.json")));
    }
    owned_dataset *data =
        open_pairs(tokenizer, (filtra_dataset_options){.max_length = 7, .truncate = true});
    check_sample(data, 0, 4, 6, (int32_t[]){CLS, A, B, SEP, C, SEP});
    check_sample(data, 1, 3, 7,
                 left ? (int32_t[]){CLS, D, SEP, A, B, C, SEP}
                      : (int32_t[]){CLS, D, SEP, E, A, B, SEP});
    check_sample(data, 2, 4, 7, (int32_t[]){CLS, A, A, SEP, B, B, SEP});
    owned_dataset *one = open_pairs(
        tokenizer,
        (filtra_dataset_options){.text_column = "s2", .max_length = 5, .truncate = true});
    check_sample(one, 1, 0, 5,
                 left ? (int32_t[]){CLS, A, B, C, SEP} : (int32_t[]){CLS, E, A, B, SEP});
    filtra_dataset_close(&one);
    filtra_dataset_close(&data);
    filtra_tokenizer_destroy(&tokenizer);
  }
  test_write(test_path(vocabulary, "tokenizer_config.json"), "{\"truncation_side\": \"up\"}", 25);
  assert_fails(filtra_tokenizer_load(vocabulary, &tokenizer), FILTRA_ERROR_INPUT,
               "tokenizer_config.json: \"truncation_side\" is up; accepted are left and right");
}

/* Without special tokens, too, and of files, which are read to their end. */
TEST(cut_on_the_left_without_special_tokens) {
  static const char LEFT[] =
      "{\"truncation\": {\"direction\": \"Left\"}, \"pre_tokenizer\": {\"type\": "
      "\"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"x\", "
      "\"continuing_subword_prefix\": \"##\", \"vocab\": {\"x\": 0, \"a\": 1, \"b\": 2, "
      "\"c\": 3, \"d\": 4}}}";
  const char *folder = test_folder(), *path = test_path(folder, "cut.safetensors");
  const int32_t last[] = {3, 4, 1};
  filtra_tokenizer *tokenizer;
  owned_dataset *data = NULL;
  owned_model *model = NULL;
  owned_predictor *predictor = NULL;
  filtra_prediction made[2];
  test_write_text(folder, "left/tokenizer.json", LEFT);
  test_write_text(folder, "train/one/0.txt", "a b\na b a b\nb c\nd a\n");
  test_write_text(folder, "train/two/0.txt", "c d a");
  assert_ok(filtra_tokenizer_load(test_path(folder, "left"), &tokenizer));
  assert_ok(filtra_dataset_open(
      test_path(folder, "train"),
      &(filtra_dataset_options){
          .fitted = tokenizer, .max_length = 3, .truncate = true, .file_split = FILTRA_SPLIT_TEST},
      &data));
  for (uint64_t i = 0; i < 2; i++)
    check_sample(data, i, 0, 3, last);
  assert_ok(filtra_model_create(
      test_device(),
      &(filtra_model_config){.mixer = "softmax", .width = 16, .max_length = 3, .data = data},
      &model));
  assert_ok(filtra_model_save(model, path));
  assert_ok(filtra_predictor_create(test_device(), path, NULL, &predictor));
  assert_ok(
      filtra_predictor_predict(predictor, 2,
                               (filtra_request[]){{.text = "b b a b c d a", .text_length = 13},
                                                  {.tokens = last, .length = 3}},
                               made));
  assert_true(made[0].probability == made[1].probability);
  filtra_tokenizer_destroy(&tokenizer);
}

TEST(batches_say_where_the_second_begins) {
  filtra_tokenizer *tokenizer = wordpiece();
  owned_dataset *data = open_pairs(tokenizer, (filtra_dataset_options){0});
  owned_loader *loader = NULL;
  filtra_batch batch;
  assert_ok(filtra_loader_create(
      data, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 4}, &loader));
  assert_ok(filtra_loader_next(loader, &batch));
  assert_int_equal(batch.count, 3);
  static const int32_t BEGINS[] = {4, 3, 6, 4}; /* the filler repeats the first row */
  assert_memory_equal(batch.second, BEGINS, sizeof BEGINS);
  filtra_loader_destroy(&loader);
  filtra_dataset_close(&data);
  /* One text a row has none. */
  data = open_pairs(tokenizer, (filtra_dataset_options){.text_column = "s1"});
  assert_ok(filtra_loader_create(
      data, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 4}, &loader));
  assert_ok(filtra_loader_next(loader, &batch));
  assert_null(batch.second);
  check_sample(data, 1, 0, 3, (int32_t[]){CLS, D, SEP});
  filtra_loader_destroy(&loader);
  filtra_dataset_close(&data);
  filtra_tokenizer_destroy(&tokenizer);
}

TEST(what_is_refused) {
  filtra_tokenizer *tokenizer = wordpiece();
  const struct {
    const char *text;
    filtra_dataset_options options;
    filtra_status status;
    const char *message;
  } cases[] = {
      {PAIRS,
       {.text_column = "s1,s2"},
       FILTRA_ERROR_ARGUMENT,
       "does not have; those of pretrained"},
      {PAIRS,
       {.text_column = "s1,s2", .tokenizer = "bytes"},
       FILTRA_ERROR_ARGUMENT,
       "the tokenizer \"bytes\" does not have"},
      {PAIRS,
       {.text_column = "s1,s3", .fitted = tokenizer},
       FILTRA_ERROR_INPUT,
       "text_column is \"s3\"; the 3 columns are"},
      {PAIRS,
       {.text_column = "s1,1", .fitted = tokenizer},
       FILTRA_ERROR_INPUT,
       "text_column names \"s1\" twice"},
      {PAIRS,
       {.text_column = "s1,s2", .target_column = "s2", .fitted = tokenizer},
       FILTRA_ERROR_INPUT,
       "the same column"},
      {"s1,label,s2\na,x,b\nc,y,\n",
       {.text_column = "s1,s2", .fitted = tokenizer},
       FILTRA_ERROR_INPUT,
       "bad.csv:3: the second text is empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    filtra_dataset *data;
    assert_fails(filtra_dataset_open(table("bad.csv", cases[i].text), &cases[i].options, &data),
                 cases[i].status, cases[i].message);
  }
  filtra_tokenizer_destroy(&tokenizer);
}

/* Without memory nothing is leaked, which sanitizers see. */
TEST(starved) {
  filtra_tokenizer *tokenizer = wordpiece();
  const filtra_dataset_options options = {
      .fitted = tokenizer, .text_column = "s1,s2", .file_split = FILTRA_SPLIT_TEST};
  const char *path = table("pairs.csv", PAIRS);
  owned_dataset *data = NULL;
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  long n = 0;
  while (status) {
    ft_memory_fail_after(++n);
    status = filtra_dataset_open(path, &options, &data);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
  }
  assert_true(n > 20);
  const filtra_loader_options batches = {.split = FILTRA_SPLIT_TEST, .batch_size = 4};
  owned_loader *loader = NULL;
  for (n = 0, status = FILTRA_ERROR_HOST_MEMORY; status;) {
    ft_memory_fail_after(++n);
    status = filtra_loader_create(data, &batches, &loader);
    ft_memory_fail_after(0);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
  }
  filtra_loader_destroy(&loader);
  filtra_dataset_close(&data);
  filtra_tokenizer_destroy(&tokenizer);
}

/* A request with two texts is what the row with them is. */
TEST(requests_as_rows) {
  filtra_tokenizer *tokenizer = wordpiece();
  owned_dataset *data =
      open_pairs(tokenizer, (filtra_dataset_options){.max_length = 7, .truncate = true});
  owned_model *model = NULL;
  owned_loader *loader = NULL;
  owned_predictor *predictor = NULL;
  filtra_batch batch;
  float rows[2 * 3], logits[2];
  static const filtra_request REQUESTS[] = {
      {.text = "a b", .text_length = 3, .second = "c", .second_length = 1},
      {.text = "d", .text_length = 1, .second = "e a b c", .second_length = 7},
      {.text = "a a a a", .text_length = 7, .second = "b b b", .second_length = 5}};
  const char *path = test_path(test_folder(), "pairs.safetensors");
  assert_ok(filtra_model_create(
      test_device(),
      &(filtra_model_config){
          .mixer = "softmax", .width = 16, .max_length = 7, .data = data, .seed = 2},
      &model));
  assert_ok(filtra_loader_create(
      data, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 3}, &loader));
  assert_ok(filtra_loader_next(loader, &batch));
  assert_ok(filtra_model_predict_batch(model, &batch, rows));
  assert_ok(filtra_model_save(model, path));
  assert_ok(filtra_predictor_create(test_device(), path, NULL, &predictor));
  assert_true(filtra_predictor_get_info(predictor)->pairs);
  for (int i = 0; i < 3; i++) {
    filtra_request request = REQUESTS[i];
    filtra_prediction made;
    request.logits = logits;
    assert_ok(filtra_predictor_predict(predictor, 1, &request, &made));
    for (int k = 0; k < 2; k++)
      assert_float_equal(logits[k], rows[2 * i + k], 1e-5);
  }
  const filtra_request half = {.text = "a b", .text_length = 3};
  filtra_prediction made;
  assert_fails(filtra_predictor_predict(predictor, 1, &half, &made), FILTRA_ERROR_ARGUMENT,
               "and second: the model compares two texts");
  filtra_predictor_destroy(&predictor);
  filtra_loader_destroy(&loader);
  filtra_model_destroy(&model);
  filtra_dataset_close(&data);
  filtra_tokenizer_destroy(&tokenizer);
}

/* A whole run of pairs: stopped and resumed, its columns as a list or a text, and asked from its
 * folder. */
TEST(runs_of_pairs) {
  filtra_tokenizer *tokenizer = wordpiece();
  const char *data = test_path(test_folder(), "scored.csv");
  FILE *file = fopen(data, "w");
  fputs("s1,score,s2\n", file);
  for (int i = 0; i < 40; i++)
    fprintf(file, "%c %c,%g,%c %c\n", 'a' + i % 5, 'a' + i % 3, (i * 7 % 11) / 10.0, 'a' + i % 4,
            'a' + i % 2);
  fclose(file);
  const char *rest = "\"target_column\": \"score\", \"width\": 16, \"layers\": 1, "
                     "\"batch_size\": 8, \"steps\": 12, \"eval_every\": 6, "
                     "\"regression_loss\": \"mae\", \"select_by\": \"spearman\"";
  const char *whole = test_new_run(), *parts = test_new_run();
  assert_ok(test_train(test_text("{\"data\": \"%s\", \"tokenizer\": \"%s\", "
                                 "\"text_column\": \"s1,s2\", %s}",
                                 data, vocabulary, rest),
                       whole, 100));
  assert_int_equal(test_train(test_text("{\"data\": \"%s\", \"tokenizer\": \"%s\", "
                                        "\"text_column\": [\"s1\", \"s2\"], %s}",
                                        data, vocabulary, rest),
                              parts, 7),
                   FILTRA_ERROR_CANCELLED);
  assert_ok(test_train(NULL, parts, 100));
  test_same_run(whole, parts);
  owned_run *run = NULL;
  owned_predictor *predictor = NULL;
  filtra_prediction made;
  assert_ok(filtra_run_open(parts, &run));
  assert_ok(filtra_run_create_predictor(run, test_device(), NULL, &predictor));
  assert_ok(filtra_predictor_predict(
      predictor, 1,
      &(filtra_request){.text = "a b", .text_length = 3, .second = "c d", .second_length = 3},
      &made));
  assert_true(isfinite(made.value));
  filtra_tokenizer_destroy(&tokenizer);
}

/* A column whose name has a comma is one column. */
TEST(names_with_commas) {
  owned_dataset *data = NULL;
  assert_ok(filtra_dataset_open(
      table("comma.csv", "\"a, b\",label\nxy,1\nz,2\n"),
      &(filtra_dataset_options){.text_column = "a, b", .file_split = FILTRA_SPLIT_TEST}, &data));
  filtra_sample s;
  assert_ok(filtra_dataset_sample(data, FILTRA_SPLIT_TEST, 0, &s));
  assert_int_equal(s.length, 2);
  filtra_dataset_close(&data);
}

TEST_MAIN(NULL, test_teardown)
