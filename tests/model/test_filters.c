/* Models of `transformers` with filters in place of attention, exported and imported again: the
 * same tensors and logits. FILTRA_TEST_KEEP writes folders and logits below a folder, for
 * compare_transformers.py, which loads them in PyTorch. */
#include "support/files.h"
#include "support/harness.h"
#include "support/pretrained.h"
#include "support/run.h"

#include "base/file.h"
#include "base/rng.h"
#include "graph/parameters.h"
#include "model/model.h"

typedef struct filtered {
  const char *family, *mixer;
} filtered;

#define GFSA(options)  "{\"name\": \"gfsa\"" options "}"
#define PLAT(options)  "{\"name\": \"plaplacian\"" options "}"
#define AGF(options)   "{\"name\": \"agf\"" options "}"
#define IN(layers)     ", \"layers\": \"" layers "\""
#define LIST(one, two) "[" one ", " two "]"
static const filtered CASES[] = {
    {"bert", GFSA("")},
    {"bert", GFSA(", \"K\": 5, \"w0\": -0.05, \"learn_w0\": false, \"learn_w1\": false")},
    {"bert", PLAT("")},
    {"bert", LIST(PLAT(", \"p\": [1.2, 2.0], \"euler\": true" IN("0")),
                  PLAT(", \"p\": 3, \"diagonal\": \"one\""))},
    {"bert", AGF("")},
    {"bert", LIST("\"softmax\"", AGF(", \"rho\": \"tanh\", \"basis\": \"legendre\"" IN("1")))},
    {"bert", LIST(AGF(", \"variant\": \"svd\", \"rho\": \"sigmoid\"" IN("1")),
                  AGF(", \"variant\": \"uv\""))},
    {"roberta", GFSA(", \"K\": 2")},
    {"bert", GFSA(", \"w0\": [1, 0], \"w1\": [-1, 1], \"fixed_heads\": 0")},
    {"bert", GFSA(", \"w0\": 1, \"w1\": -1, \"fixed_heads\": \"0-1\"")},
    {"vit", GFSA(", \"w0\": [0.1, 0.2], \"learn_w0\": false")},
    {"roberta", AGF(", \"basis\": \"chebyshev\", \"theta\": \"raw\"")},
    {"distilbert", LIST(GFSA(IN("0")), AGF(", \"basis\": \"monomial\", \"K\": 7" IN("1")))},
    {"gpt2", GFSA("")},
    {"gpt2", LIST(GFSA(IN("1")), PLAT(", \"diagonal\": \"zero\""))},
    {"vit", GFSA(", \"K\": 4")},
    {"vit", AGF(", \"basis\": \"chebyshev_t\", \"symmetric_domain\": true, \"K\": 4")},
    {"deit", LIST("\"softmax\"",
                  AGF(", \"a\": 1.5, \"b\": -1, \"theta\": \"learned0\", \"K\": 3" IN("1")))},
    {"deit", PLAT(", \"p\": [1.5, 2.5]")},
};

/* Coefficients that matter. */
static void draw(filtra_model *model, uint64_t seed) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    ft_rng rng = ft_rng_make(seed, i);
    owned float *values = calloc((size_t)p->elements, sizeof *values);
    if (!strstr(p->name, ".mixer.")) continue;
    assert_ok(ft_parameter_download(model->params, p, values));
    for (int64_t k = 0; k < p->elements; k++)
      values[k] += ft_rng_float(&rng) - 0.5f;
    assert_ok(ft_parameter_upload(model->params, p, values));
  }
}

static void check_same_parameters(const filtered *c, filtra_model *a, filtra_model *b) {
  assert_int_equal(a->params->count, b->params->count);
  for (size_t i = 0; i < a->params->count; i++) {
    const ft_parameter *p = &a->params->list[i], *q = ft_parameters_find(b->params, p->name);
    if (!q || q->elements != p->elements)
      fail_msg("%s, %s: %s is not the same", c->family, c->mixer, p->name);
    owned float *x = calloc((size_t)p->elements, sizeof *x),
                *y = calloc((size_t)p->elements, sizeof *y);
    assert_ok(ft_parameter_download(a->params, p, x));
    assert_ok(ft_parameter_download(b->params, q, y));
    assert_memory_equal(x, y, (size_t)p->elements * sizeof *x);
  }
}

static void check_same_logits(filtra_model *a, filtra_model *b, const char *keep,
                              const test_golden_batch *g) {
  const size_t count = test_logits_count(a, g);
  owned float *x = calloc(count, sizeof *x), *y = calloc(count, sizeof *y);
  assert_ok(filtra_model_predict_batch(a, &g->batch, x));
  assert_ok(filtra_model_predict_batch(b, &g->batch, y));
  assert_memory_equal(x, y, count * sizeof *x);
  if (keep) test_write(test_path(keep, "logits.f32"), x, count * sizeof *x);
}

static void check_case(const filtered *c, size_t number) {
  const char *keep = getenv("FILTRA_TEST_KEEP"), *model_file = test_path(test_folder(), "model");
  const char *out =
      keep ? test_text("%s/%zu-%s", keep, number, c->family) : test_path(test_folder(), "out");
  filtra_model *model, *again;
  test_golden_batch g;
  test_open_golden(c->family, &g);
  assert_ok(filtra_model_import(test_device(), test_pretrained_folder(c->family, NULL),
                                test_text("{\"mixer\": %s}", c->mixer), &model));
  draw(model, number);
  assert_ok(filtra_model_save(model, model_file));
  assert_ok(filtra_model_export(model_file, out));
  assert_ok(filtra_model_import(test_device(), out, NULL, &again));
  check_same_parameters(c, model, again);
  check_same_logits(model, again, keep ? out : NULL, &g);
  filtra_model_destroy(&model);
  filtra_model_destroy(&again);
  ft_safetensors_close(&g.file);
}

TEST(exported_filters_come_back) {
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    check_case(&CASES[i], i);
}

/* ---- tokenizers ---- */

static json_t *load(const char *path) {
  size_t size;
  owned char *text = test_read(path, &size);
  json_t *object;
  assert_ok(ft_json_parse(text, size, path, &object));
  return object;
}

static const char VOCABULARY[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nfine\nfilm\nbad\nword\n##s\n"
    "and\nthe\ngood\none\ntwo\nnot\n.\n,\n!\n";

TEST(exported_tokenizers_are_described) {
  static const char *const FILES[] = {"config.json", "model.safetensors"};
  static const struct {
    const char *key, *value;
  } expected[] = {{"tokenizer_class", "\"PreTrainedTokenizerFast\""},
                  {"model_max_length", "12"},
                  {"do_lower_case", "true"},
                  {"cls_token", "\"[CLS]\""},
                  {"sep_token", "\"[SEP]\""},
                  {"pad_token", "\"[PAD]\""},
                  {"unk_token", "\"[UNK]\""},
                  {"mask_token", "\"[MASK]\""},
                  {"bos_token", NULL},
                  {"model_input_names", "[\"input_ids\",\"attention_mask\",\"token_type_ids\"]"}};
  const char *from = test_folder(), *run = test_path(test_folder(), "run"),
             *keep = getenv("FILTRA_TEST_KEEP"),
             *out = test_path(keep ? keep : test_folder(), "tokenizer-bert");
  for (size_t i = 0; i < FT_COUNT(FILES); i++) {
    size_t size;
    owned char *bytes = test_read(test_pretrained_folder("bert", FILES[i]), &size);
    test_write(test_path(from, FILES[i]), bytes, size);
  }
  test_write(test_path(from, "vocab.txt"), VOCABULARY, strlen(VOCABULARY));
  assert_ok(filtra_run_import(test_device(), from, NULL, run));
  assert_ok(filtra_model_export(run, out));
  json_t *config = load(test_path(out, "tokenizer_config.json"));
  for (size_t i = 0; i < FT_COUNT(expected); i++) {
    json_t *value = json_object_get(config, expected[i].key);
    owned char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (!expected[i].value)
      assert_null(value);
    else
      assert_string_equal(text, expected[i].value);
  }
  json_decref(config);
}

/* ---- what is damaged ---- */

static void refuse(const char *folder, const char *key, json_t *value, const char *part) {
  const char *path = test_path(folder, "config.json");
  filtra_model *model;
  json_t *config = load(path), *kept = json_deep_copy(config);
  if (value)
    json_object_set_new(config, key, value);
  else
    json_object_del(config, key);
  owned char *changed = ft_json_text(config, 0), *as_before = ft_json_text(kept, 0);
  test_write(path, changed, strlen(changed));
  assert_fails(filtra_model_import(test_device(), folder, NULL, &model), FILTRA_ERROR_INPUT, part);
  test_write(path, as_before, strlen(as_before));
}

TEST(damaged_filters_are_refused) {
  const char *run = test_path(test_folder(), "run"), *out = test_path(test_folder(), "out");
  assert_ok(filtra_run_import(test_device(), test_pretrained_folder("bert", NULL),
                              "{\"mixer\": {\"name\": \"gfsa\", \"learn_w0\": false}}", run));
  assert_ok(filtra_model_export(run, out));
  refuse(out, "filtra_mixer", NULL, "\"filtra_mixer\" is missing");
  refuse(out, "filtra_mixer", json_string("linear"), "\"mixer\" is linear, which has no PyTorch");
  refuse(out, "filtra_mixer", json_string("gfsa"), "tensor filters.0.w0 of a bert is missing");
  refuse(out, "filtra_mixer", json_string("softmax"), "tensor filters.0.w1 is not one of a bert");
  refuse(out, "filtra_mixer", json_string("agf"), "tensor filters.0.sigma.weight of a bert");
  refuse(out, "filtra_mixer", json_integer(3), "\"mixer\" must be a name");
  refuse(out, "model_type", json_string("filtra_bart"), "\"model_type\" is \"filtra_bart\"");
}

TEST_MAIN(NULL, test_teardown)
