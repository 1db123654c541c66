/* What imported models of texts know of their tokenizer, and what exports say of it. */

#include "support/files.h"
#include "support/harness.h"
#include "support/pretrained.h"
#include "support/run.h"

#include "base/json.h"
#include "model/pretrained/family.h"
#include "model/start.h"

#include <filtra/filtra.h>

/* tokenizer.json of byte-level BPE with 20 ids, of which three are special tokens. */
#define BPE(first, second, third)                                                                  \
  "{\"added_tokens\": [" SPECIAL("0", first) "," SPECIAL("2", second) "," SPECIAL(                 \
      "7", third) "], \"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": "        \
                  "\"BPE\", \"unk_token\": "                                                       \
                  "\"a\", \"merges\": [], \"vocab\": {\"" first "\": 0, \"a\": 1, \"" second       \
                  "\": 2, \"b\": 3, "                                                              \
                  "\"c\": 4, \"d\": 5, \"e\": 6, \"" third                                         \
                  "\": 7, \"f\": 8, \"g\": 9, \"h\": 10, \"i\": 11, "                              \
                  "\"j\": 12, \"k\": 13, \"l\": 14, \"m\": 15, \"n\": 16, \"o\": 17, \"p\": 18, "  \
                  "\"q\": 19}}}"
#define SPECIAL(id, content) "{\"id\": " id ", \"content\": \"" content "\", \"special\": true}"

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
    const char *family, *tokenizer;
    json_int_t begin, end;
  } cases[] = {
      {"gpt2", BPE("<|endoftext|>", "[x]", "[y]"), 0, 0},
      {"gpt2", BPE("[x]", "[y]", "<|endoftext|>"), 7, 7},
      {"gpt2", BPE("[x]", "[y]", "[z]"), -1, -1},
      {"gpt2", NULL, -1, -1},
      {"roberta", BPE("</s>", "[x]", "<s>"), 7, 0},
      {"roberta", BPE("<s>", "</s>", "<mask>"), 0, 2},
      {"roberta", NULL, 0, 2},
      {"bert", NULL, -1, -1},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *copy = test_copy_pretrained(cases[i].family);
    if (cases[i].tokenizer) test_write_text(copy, "tokenizer.json", cases[i].tokenizer);
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

TEST_MAIN(NULL, test_teardown)
