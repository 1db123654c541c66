/* What imported models of texts know of their tokenizer, and what exports say of it. */

#include "support/files.h"
#include "support/harness.h"
#include "support/pretrained.h"
#include "support/run.h"

#include "base/json.h"
#include "model/pretrained/family.h"
#include "model/start.h"

#include <filtra/filtra.h>

/* A tokenizer's special tokens, which have the ids 0, 2 and 7. */
typedef const char *specials[3];

/* Writes tokenizer.json of byte-level BPE with 20 ids; 1 and 5 are of no byte, and no merge makes
 * them. `more`: another key, with a comma. */
static void write_bpe(const char *folder, const specials t, const char *more) {
  static const char SPECIAL[] = "{\"id\": %d, \"content\": \"%s\", \"special\": true}";
  const char *added =
      test_text(test_text("%s, %s, %s", SPECIAL, SPECIAL, SPECIAL), 0, t[0], 2, t[1], 7, t[2]);
  const char *vocabulary = test_text(
      "\"%s\": 0, \"<pad>\": 1, \"%s\": 2, \"b\": 3, \"c\": 4, \"de\": 5, \"e\": 6, \"%s\": 7, "
      "\"f\": 8, \"g\": 9, \"h\": 10, \"i\": 11, \"j\": 12, \"k\": 13, \"l\": 14, \"m\": 15, "
      "\"n\": 16, \"o\": 17, \"p\": 18, \"q\": 19",
      t[0], t[1], t[2]);
  const char *text = test_text("{%s\"added_tokens\": [%s], \"pre_tokenizer\": {\"type\": "
                               "\"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"unk_token\": "
                               "\"f\", \"merges\": [], \"vocab\": {%s}}}",
                               more, added, vocabulary);
  test_write_text(folder, "tokenizer.json", text);
}

/* The folder that a copy of a golden model, with these files for its tokenizer, is exported to. */
static const char *export_of(const char *copy) {
  const char *run = test_path(test_folder(), "run"), *out = test_path(test_folder(), "out");
  assert_ok(filtra_run_import(test_device(), copy, NULL, run));
  assert_ok(filtra_model_export(run, out));
  return out;
}

/* The id that config.json gives; -1: it has no such key. */
static json_int_t id_in(const char *folder, const char *key) {
  json_t *config;
  assert_ok(ft_json_load(test_path(folder, "config.json"), &config));
  const json_t *value = json_object_get(config, key);
  const json_int_t id = value ? json_integer_value(value) : -1;
  json_decref(config);
  return id;
}

/* The tokens that begin and end texts have the ids that the tokenizer gives them. */
TEST(ends_of_texts_are_the_tokenizers) {
  static const struct {
    const char *family;
    specials tokens; /* NULL: no tokenizer */
    json_int_t begin, end;
  } cases[] = {
      {"gpt2", {"<|endoftext|>", "[x]", "[y]"}, 0, 0},
      {"gpt2", {"[x]", "[y]", "<|endoftext|>"}, 7, 7},
      {"gpt2", {"[x]", "[y]", "[z]"}, -1, -1},
      {"gpt2", {NULL}, -1, -1},
      {"roberta", {"</s>", "[x]", "<s>"}, 7, 0},
      {"roberta", {"<s>", "</s>", "<mask>"}, 0, 2},
      {"roberta", {NULL}, 0, 2},
      {"bert", {NULL}, -1, -1},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *copy = test_copy_pretrained(cases[i].family);
    if (*cases[i].tokens) write_bpe(copy, cases[i].tokens, "");
    const char *out = export_of(copy);
    assert_int_equal(id_in(out, "bos_token_id"), cases[i].begin);
    assert_int_equal(id_in(out, "eos_token_id"), cases[i].end);
  }
}

/* Without a tokenizer, GPT-2's own vocabulary tells. */
TEST(the_end_of_gpt2s_own_vocabulary) {
  ft_start *start;
  json_t *config;
  assert_ok(ft_start_open(test_pretrained_folder("gpt2", NULL), &start));
  json_t *keys = json_deep_copy(ft_start_keys(start));
  assert_ok(ft_hf_set(keys, "{sI}", "vocabulary", (json_int_t)50257));
  assert_ok(ft_hf_write_config(&ft_hf_gpt2, keys, NULL, &config));
  assert_int_equal(json_integer_value(json_object_get(config, "bos_token_id")), 50256);
  assert_int_equal(json_integer_value(json_object_get(config, "eos_token_id")), 50256);
  json_decref(config);
  json_decref(keys);
  ft_start_close(&start);
}

static void write_roberta(const char *folder) {
  write_bpe(folder, (specials){"<s>", "</s>", "<mask>"},
            "\"post_processor\": {\"type\": \"RobertaProcessing\", \"cls\": [\"<s>\", 0], "
            "\"sep\": [\"</s>\", 2]}, ");
}

/* RoBERTa counts no positions of the token "pad_token_id": texts must not have it. */
TEST(padding_is_no_token_of_texts) {
  static const struct {
    int id;
    const char *part; /* NULL: accepted */
  } cases[] = {
      {0, "config.json: \"pad_token_id\" is 0, which is \"<s>\", a token that the tokenizer puts"},
      {2, "\"pad_token_id\" is 2, which is \"</s>\", a token that the tokenizer puts around texts"},
      {3, "\"pad_token_id\" is 3, which is \"b\", a token of ordinary texts"},
      {8, "\"pad_token_id\" is 8, which is \"f\", a token of ordinary texts"},
      {1, NULL},
      {5, NULL},
      {7, NULL},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *copy = test_copy_pretrained("roberta"), *run = test_path(test_folder(), "run");
    write_roberta(copy);
    test_change_text(copy, "config.json", "\"pad_token_id\": 1",
                     test_text("\"pad_token_id\": %d", cases[i].id));
    filtra_status status = filtra_run_import(test_device(), copy, NULL, run);
    if (cases[i].part)
      assert_fails(status, FILTRA_ERROR_INPUT, cases[i].part);
    else
      assert_ok(status);
  }
}

/* The side that texts are cut on goes through a run into the export. */
TEST(sides_of_cuts_go_out_again) {
  static const char *const SIDES[] = {"left", "right"};
  for (size_t i = 0; i < FT_COUNT(SIDES); i++) {
    const char *copy = test_copy_pretrained("roberta");
    write_roberta(copy);
    test_write_text(copy, "tokenizer_config.json",
                    test_text("{\"truncation_side\": \"%s\"}", SIDES[i]));
    const char *out = export_of(copy);
    json_t *config, *tokenizer;
    assert_ok(ft_json_load(test_path(out, "tokenizer_config.json"), &config));
    assert_ok(ft_json_load(test_path(out, "tokenizer.json"), &tokenizer));
    assert_string_equal(ft_json_string(config, "truncation_side"), i ? "" : "left");
    assert_null(json_object_get(tokenizer, "truncation"));
    json_decref(config);
    json_decref(tokenizer);
  }
}

TEST_MAIN(NULL, test_teardown)
