/* The built-in recipes: all keys, options and values exist, and keys given over a recipe have the
 * effect that docs/presets.md describes. */
#include "base/file.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"
#include "support/starving.h"
#include "train/config.h"
#include "train/preset.h"

#include <filtra/run.h>

static json_t *load(const char *name) {
  json_t *preset;
  const char *text = filtra_preset_json(name);
  assert_non_null(text);
  assert_ok(ft_json_parse(text, strlen(text), name, &preset));
  return preset;
}

/* `given` is JSON with ' for ". */
static json_t *expand(const char *given) {
  char text[512], *quote;
  snprintf(text, sizeof text, "%s", given);
  while ((quote = strchr(text, '\'')))
    *quote = '"';
  json_t *object = json_loads(text, 0, NULL), *config;
  assert_non_null(object);
  assert_ok(ft_preset_expand(object, &config));
  json_decref(object);
  return config;
}

static double number(const json_t *config, const char *key) {
  const json_t *value = json_object_get(config, key);
  assert_true(json_is_number(value));
  return json_number_value(value);
}

static const char *mixer_text(const json_t *config, const char *key) {
  const json_t *mixer = json_object_get(config, "mixer");
  return json_string_value(key ? json_object_get(mixer, key) : mixer);
}

/* The model that the configuration makes of data like those that it is for. */
static void assert_builds(const char *name, const json_t *config) {
  ft_run_config c;
  assert_ok(ft_run_config_read(config, name, &c));
  filtra_model_config *m = &c.model.config;
  bool images = c.dataset.pixels || m->patch, series = !strncmp(name, "uea-", 4);
  bool language = m->task == FILTRA_TASK_LANGUAGE_MODEL;
  if (!m->max_length && !m->patch) m->max_length = 1024;
  if (images && !m->image_height) m->image_height = m->image_width = 224;
  if (images || series)
    m->features = images ? 3 : 12;
  else
    m->vocabulary = 1000;
  if (!language && !m->classes) m->classes = 10;
  assert_ok(ft_model_options_finish(name, &c.model));
  /* one of the two that say how long it is, and no more warmup than that */
  assert_true((c.train.optimizer.steps > 0) != (c.epochs > 0));
  assert_true(!c.train.optimizer.steps ||
              c.train.optimizer.warmup_steps <= c.train.optimizer.steps);
}

TEST(test_every_preset_is_a_configuration) {
  const char *before = "";
  for (size_t k = 0; filtra_preset_name(k); k++) {
    json_t *preset = load(filtra_preset_name(k)),
           *given = json_pack("{ssss}", "preset", filtra_preset_name(k), "data", "x");
    json_auto_t *config = NULL;
    const char *key;
    json_t *value;
    json_object_foreach(preset, key, value) {
      bool known = !strcmp(key, "title") || !strcmp(key, "paper") || !strcmp(key, "data") ||
                   !strcmp(key, "note") || !strcmp(key, "config");
      assert_true(known);
    }
    assert_non_null(json_string_value(json_object_get(preset, "title")));
    assert_non_null(json_string_value(json_object_get(preset, "paper")));
    assert_non_null(json_string_value(json_object_get(preset, "data")));
    assert_null(json_object_get(json_object_get(preset, "config"), "data"));
    assert_true(strcmp(before, filtra_preset_name(k)) < 0); /* sorted, for people who look one up */
    assert_ok(ft_preset_expand(given, &config));
    assert_builds(filtra_preset_name(k), config);
    before = filtra_preset_name(k);
    json_decref(given);
    json_decref(preset);
  }
}

/* The recipe stays around any mixer that can do its task. */
TEST(test_other_mixers) {
  for (size_t k = 0; filtra_preset_name(k); k++)
    for (size_t i = 0; i < filtra_mixer_count(); i++) {
      const char *mixer = ft_mixer_at(i)->name;
      json_auto_t *given =
          json_pack("{ssssss}", "preset", filtra_preset_name(k), "data", "x", "mixer", mixer);
      json_auto_t *config = NULL;
      assert_ok(ft_preset_expand(given, &config));
      const char *task = json_string_value(json_object_get(config, "task"));
      const bool biased = json_object_get(config, "window") != NULL;
      if ((strcmp(task, "language_model") != 0 || !ft_mixer_at(i)->not_causal) &&
          (!biased || ft_mixer_at(i)->takes_bias))
        assert_builds(filtra_preset_name(k), config);
      assert_string_equal(
          mixer_text(config, json_is_object(json_object_get(config, "mixer")) ? "name" : NULL),
          mixer);
    }
}

/* The numbers of parameters in the authors' logs of ImageNet; of Swin-S timm's, and a coefficient
 * for each head of each layer. */
TEST(test_models_have_the_papers_sizes) {
  static const struct {
    const char *preset;
    size_t parameters;
  } cases[] = {{"imagenet-deit-small-gfsa", 22050736},
               {"imagenet-cait-small-24-gfsa", 46916392},
               {"imagenet-swin-small-gfsa", 49606258 + 282}};
  for (size_t k = 0; k < FT_COUNT(cases); k++) {
    json_auto_t *given = json_pack("{ssss}", "preset", cases[k].preset, "data", "x");
    json_auto_t *config = NULL;
    ft_run_config c;
    filtra_model *model;
    assert_ok(ft_preset_expand(given, &config));
    assert_ok(ft_run_config_read(config, cases[k].preset, &c));
    filtra_model_config *m = &c.model.config;
    m->image_height = m->image_width = 224;
    m->features = 3;
    m->classes = 1000;
    assert_ok(ft_model_options_finish(cases[k].preset, &c.model));
    assert_ok(ft_model_declare(test_device(), &c.model, false, &model));
    assert_int_equal(filtra_parameters_scalars(filtra_model_parameters(model)),
                     cases[k].parameters);
    filtra_model_destroy(&model);
  }
}

TEST(test_the_page_lists_all) {
  owned char *text = NULL;
  size_t size, rows = 0, count = 0;
  assert_ok(ft_file_read(TEST_SOURCE_DIR "/../docs/presets.md", 1 << 20, &text, &size));
  for (size_t k = 0; filtra_preset_name(k); k++, count++) {
    char row[128];
    snprintf(row, sizeof row, "\n| `%s` |", filtra_preset_name(k));
    if (!strstr(text, row)) fail_msg("docs/presets.md has no row for %s", filtra_preset_name(k));
  }
  for (const char *at = text; (at = strstr(at, "\n| `")); at++)
    rows++;
  assert_int_equal(rows, count);
}

TEST(test_what_is_given_goes_over_it) {
  json_t *c = expand("{'preset': 'lra-listops-agf', 'data': 'x', 'width': 32, 'mixer': {'K': 3}}");
  assert_true(number(c, "width") == 32.0);
  assert_true(number(c, "batch_size") == 32.0);
  assert_string_equal(mixer_text(c, "name"), "agf");
  assert_true(number(json_object_get(c, "mixer"), "K") == 3.0);
  assert_true(number(json_object_get(c, "mixer"), "a") == 2.0);
  json_decref(c);
  c = expand("{'preset': 'lra-listops-agf', 'mixer': 'agf'}");
  assert_true(number(json_object_get(c, "mixer"), "a") == 2.0);
  json_decref(c);
  c = expand("{'preset': 'lra-listops-agf', 'mixer': {'name': 'agf', 'a': 1}}");
  assert_true(number(json_object_get(c, "mixer"), "a") == 1.0);
  assert_true(number(json_object_get(c, "mixer"), "b") == -1.0);
  json_decref(c);
  c = expand("{'preset': 'lra-listops-agf', 'mixer': 'softmax'}");
  assert_string_equal(mixer_text(c, NULL), "softmax");
  json_decref(c);
  c = expand(
      "{'preset': 'lra-listops-agf', 'mixer': {'name': 'softmax', 'attention_dropout': 0.5}}");
  assert_null(json_object_get(json_object_get(c, "mixer"), "K"));
  json_decref(c);
  c = expand("{'preset': 'lra-listops-converter', 'mixer': 'softmax'}");
  assert_null(json_object_get(c, "block")); /* is for complex features */
  assert_string_equal(json_string_value(json_object_get(c, "positions")), "recurrent");
  json_decref(c);
  c = expand("{'preset': 'lra-listops-converter', 'mixer': 'synvolution'}");
  assert_string_equal(json_string_value(json_object_get(c, "block")), "converter");
  json_decref(c);
  c = expand("{'preset': '', 'width': 8}"); /* as a run without one writes it */
  assert_true(number(c, "width") == 8.0);
  json_decref(c);
  c = expand("{'width': 8}"); /* no preset */
  assert_int_equal(json_object_size(c), 1);
  json_decref(c);
}

TEST(test_length_of_the_run) {
  json_t *c = expand("{'preset': 'lra-listops-agf', 'steps': 50}");
  assert_true(number(c, "warmup_steps") == 10.0); /* of 5000: 1000 */
  json_decref(c);
  c = expand("{'preset': 'lra-listops-agf', 'steps': 50, 'warmup_steps': 7}");
  assert_true(number(c, "warmup_steps") == 7.0);
  json_decref(c);
  c = expand("{'preset': 'lra-listops-agf', 'epochs': 3}");
  assert_null(json_object_get(c, "steps"));
  assert_null(json_object_get(c, "warmup_steps"));
  assert_float_equal(number(c, "warmup_epochs"), 0.6, 1e-12);
  json_decref(c);
  c = expand("{'preset': 'imagenet-deit-small-gfsa', 'steps': 600}");
  assert_null(json_object_get(c, "epochs"));
  assert_null(json_object_get(c, "warmup_epochs"));
  assert_true(number(c, "warmup_steps") == 10.0); /* of 300 epochs: 5 */
  json_decref(c);
  c = expand("{'preset': 'imagenet-deit-small-gfsa', 'epochs': 30}");
  assert_float_equal(number(c, "warmup_epochs"), 0.5, 1e-12);
  json_decref(c);
  c = expand("{'preset': 'imagenet-deit-small-gfsa', 'warmup_steps': 3}");
  assert_null(json_object_get(c, "warmup_epochs"));
  assert_true(number(c, "epochs") == 300.0);
  json_decref(c);
}

TEST(test_what_is_wrong) {
  json_t *config, *given = json_pack("{ss}", "preset", "lra-listop-agf");
  assert_fails(ft_preset_expand(given, &config), FILTRA_ERROR_INPUT,
               "there is no preset \"lra-listop-agf\" (did you mean \"lra-listops-agf\"?)");
  assert_null(config);
  json_decref(given);
  given = json_array();
  assert_ok(ft_preset_expand(given, &config)); /* refused by who reads it */
  assert_true(json_is_array(config));
  json_decref(config);
  json_decref(given);
}

TEST(test_command) {
  size_t count = 0;
  while (filtra_preset_name(count))
    count++;
  assert_prints(test_run_command("", "presets"), 0, "uea-japanesevowels-agf\n");
  assert_code(test_run_command("", "presets --json | grep -c '\"paper\":'"), 0);
  assert_int_equal((size_t)atol(test_output), count);
  assert_prints(test_run_command("", "train --preset nothing --data x 2>&1"), 2,
                "there is no preset \"nothing\"");
}

/* The papers' models in small, on a tiny data set. */
TEST(test_runs) {
  static const char *const options[] = {"lra-listops-agf", "lra-listops-converter",
                                        "lra-listops-converter --mixer gfsa"};
  for (size_t i = 0; i < FT_COUNT(options); i++) {
    char arguments[1024];
    const char *folder = test_new_run();
    snprintf(arguments, sizeof arguments,
             "train --preset %s --data '%s' --out '%s' --steps 5 --set batch_size=4 "
             "--set width=16 --set max_length=64 --set eval_every=5 2>&1",
             options[i], test_listops(), folder);
    if (test_run_command("", arguments)) fail_msg("%s", test_output);
    json_auto_t *config = NULL;
    assert_ok(ft_json_load(test_path(folder, "config.json"), &config));
    const char *preset = json_string_value(json_object_get(config, "preset"));
    assert_int_equal(strncmp(options[i], preset, strlen(preset)), 0);
    assert_true(number(config, "steps") == 5.0);
    assert_true(number(config, "epochs") == 0.0);
    assert_true(number(config, "warmup_steps") == (i == 0 ? 1.0 : 0.0));
  }
}

/* Images of Fashion-MNIST's size: the recipe that anyone can run, for a few steps. */
TEST(test_images) {
  enum { SIDE = 28, COUNT = 60 };
  const char *data = test_folder(), *folder = test_new_run();
  test_write_images(data, SIDE, COUNT, 10);
  const char *arguments = test_text("train --preset fashion-mnist-gfsa --data '%s' --out '%s' "
                                    "--steps 4 --set batch_size=8 --set width=16 2>&1",
                                    data, folder);
  if (test_run_command("", arguments)) fail_msg("%s", test_output);
  size_t size;
  owned char *lines = test_read(test_path(folder, "metrics.jsonl"), &size);
  assert_non_null(strstr(lines, "validation_top5_accuracy"));
  json_auto_t *deit = expand("{'preset': 'imagenet-deit-small-gfsa', 'data': 'x'}");
  assert_true(number(deit, "drop_path") == 0.1 && number(deit, "random_erasing") == 0.25);
  assert_true(number(deit, "mixup") == 0.8 && number(deit, "cutmix") == 1.0);
  assert_true(number(deit, "rand_augment") == 2.0 && number(deit, "crop_scale") == 0.08);
  json_auto_t *hybrid = expand("{'preset': 'imagenet-deit-small-agf', 'data': 'x'}");
  ft_run_config c;
  assert_ok(ft_run_config_read(hybrid, "hybrid", &c));
  for (int64_t layer = 0; layer < 12; layer++)
    assert_string_equal(ft_mixers_at(&c.model.mixers, layer)->kind->name,
                        layer < 10 ? "softmax" : "agf");
}

/* What a configuration comes to before its data are opened, and what is refused there already. */
TEST(test_completion) {
  char *text;
  assert_ok(filtra_config_complete(
      "{\"preset\": \"uea-japanesevowels-agf\", \"data\": \"x\", \"layers\": 3}", NULL, &text));
  json_auto_t *complete = json_loads(text, 0, NULL);
  filtra_free(text);
  assert_int_equal(json_integer_value(json_object_get(complete, "layers")), 3);
  assert_int_equal(json_integer_value(json_object_get(complete, "width")), 512);
  assert_int_equal(json_integer_value(json_object_get(complete, "classes")), 0);
  assert_non_null(json_object_get(json_object_get(complete, "mixer"), "basis"));
  static const struct {
    const char *config, *part;
  } wrong[] = {
      {"{\"data\": \"x\",}", "here:1:"},
      {"{\"data\": \"x\", \"layer\": 1}", "here: unknown key \"layer\""},
      {"{\"data\": \"x\", \"task\": \"classification\", \"heads\": 3}", "multiple of \"heads\" 3"},
      {"{\"data\": \"x\", \"task\": \"language_model\", \"mixer\": \"fnet\"}",
       "cannot be used for"},
  };
  for (size_t i = 0; i < FT_COUNT(wrong); i++) {
    assert_int_equal(filtra_config_complete(wrong[i].config, "here", &text), FILTRA_ERROR_INPUT);
    assert_null(text);
    if (!strstr(filtra_error_message(), wrong[i].part)) fail_msg("%s", filtra_error_message());
  }
  assert_ok(filtra_config_complete("{\"data\": \"x\", \"task\": \"classification\", "
                                   "\"pixels\": \"grey_features\", \"patch\": 4}",
                                   NULL, &text));
  filtra_free(text);
}

/* Whichever of Jansson's allocations fails: nothing that was given is left out. */
TEST(test_without_memory) {
  json_auto_t *given = json_pack("{si si si si ss si ss}", "steps", 2, "width", 8, "layers", 1,
                                 "batch_size", 16, "mixer", "agf", "seed", 1, "data", "here");
  json_auto_t *config = NULL;
  long n = 1;
  for (; !config; n++) {
    test_starve(n, false);
    const filtra_status status = ft_preset_expand(given, &config);
    test_feed();
    if (config)
      assert_true(json_equal(config, given));
    else
      assert_fails(status, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  assert_true(n > 7);
}

TEST_MAIN(NULL, test_teardown)
