/* Models of Hugging Face's `transformers` against golden files that it wrote: equal logits, losses,
 * gradients, and weights after ten steps; other mixers in their place; errors that name what is
 * damaged. */

#include "support/files.h"
#include "support/harness.h"
#include "support/pretrained.h"
#include "support/run.h"

#include "base/file.h"
#include "base/safetensors.h"
#include "graph/parameters.h"
#include "model/start.h"

#include <filtra/filtra.h>

enum { STEPS = 10 };

static const char *const FAMILIES[] = {"bert", "roberta", "distilbert", "gpt2", "vit", "deit"};

static filtra_model *import(const char *name, const char *part, const char *changes) {
  filtra_model *model;
  assert_ok(
      filtra_model_import(test_device(), test_pretrained_folder(name, part), changes, &model));
  return model;
}

TEST(logits_are_theirs) {
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    test_golden_batch g;
    double loss, score, weight;
    test_open_golden(FAMILIES[i], &g);
    owned_model *model = import(FAMILIES[i], NULL, NULL);
    assert_true(model->options.config.no_hidden_dropout);
    const double error = test_golden_difference(model, &g);
    if (!(error <= 2e-5)) fail_msg("%s: logits differ by %g of the largest", FAMILIES[i], error);
    assert_ok(filtra_model_evaluate_batch(model, &g.batch, &loss, &score, &weight));
    if (!(fabs(loss - (double)*g.loss) <= 2e-5 * fabs((double)*g.loss)))
      fail_msg("%s: loss %.9g, theirs %.9g", FAMILIES[i], loss, (double)*g.loss);
    ft_safetensors_close(&g.file);
  }
}

/* ---- training ---- */

/* The largest difference of a parameter, relative to its largest number, or to `floor`. */
static void compare(const char *family, const char *what, const ft_parameter *p, const float *x,
                    const float *y, double floor, double accepted) {
  double most = 0, largest = floor;
  for (int64_t i = 0; i < p->elements; i++) {
    most = fmax(most, fabs((double)x[i] - (double)y[i]));
    largest = fmax(largest, fabs((double)y[i]));
  }
  if (!(most <= accepted * largest))
    fail_msg("%s: %s of %s differs by %g of %g", family, what, p->name, most, largest);
}

static float *values_of(filtra_model *model, const ft_parameter *p) {
  float *values = calloc((size_t)p->elements, sizeof *values);
  assert_non_null(values);
  assert_ok(ft_parameter_download(model->params, p, values));
  return values;
}

/* Keys' biases change no logits: their gradients are rounding, here and there. */
static void skip_noise(const ft_parameter *p, const float *x, float *y) {
  const int64_t width = p->elements / 3;
  for (int64_t i = width; strstr(p->name, "qkv.bias") && i < 2 * width; i++)
    y[i] = x[i];
}

static void check_gradients(const char *family, filtra_model *model, filtra_model *theirs) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    owned float *x = calloc((size_t)p->elements, sizeof *x),
                *y = values_of(theirs, ft_parameters_find(theirs->params, p->name));
    assert_non_null(x);
    assert_ok(ft_download(model->device, &model->params->gradients, p->offset, x,
                          (uint64_t)p->elements * sizeof *x));
    compare(family, "the gradient", p, x, y, 1e-3, 2e-4);
  }
}

static void check_weights(const char *family, filtra_model *model, filtra_model *theirs) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    owned float *x = values_of(model, p),
                *y = values_of(theirs, ft_parameters_find(theirs->params, p->name));
    skip_noise(p, x, y);
    compare(family, "the value", p, x, y, 1, 1e-4);
  }
}

TEST(gradients_and_ten_steps_are_theirs) {
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    test_golden_batch g;
    filtra_trainer_metrics m;
    test_open_golden(FAMILIES[i], &g);
    owned_model *model = import(FAMILIES[i], NULL, "{\"head_dropout\": 0}");
    owned_model *gradient = import(FAMILIES[i], "gradient", NULL),
                *trained = import(FAMILIES[i], "trained", NULL);
    owned_trainer *trainer;
    assert_ok(filtra_trainer_create(
        model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-3f}}, &trainer));
    for (int step = 0; step < STEPS; step++) {
      assert_ok(filtra_trainer_step(trainer, &g.batch, NULL));
      assert_ok(filtra_trainer_finish(trainer, &m));
      if (!step) check_gradients(FAMILIES[i], model, gradient);
    }
    check_weights(FAMILIES[i], model, trained);
    ft_safetensors_close(&g.file);
  }
}

/* ---- vectors of sequences ---- */

/* Of a run's folder that was made of a model, through its predictor. */
TEST(vectors_are_theirs) {
  static const struct {
    filtra_vector kind;
    const char *name;
  } kinds[] = {{FILTRA_VECTOR_MEAN, "mean"}, {FILTRA_VECTOR_HEAD, "pooler"}};
  const char *folder = test_new_run();
  test_golden_batch g;
  test_open_golden("bert", &g);
  assert_ok(filtra_run_import(test_device(), test_pretrained_folder("bert", NULL), NULL, folder));
  filtra_run *run;
  assert_ok(filtra_run_open(folder, &run));
  filtra_predictor *p;
  assert_fails(filtra_run_create_predictor(run, test_device(),
                                           &(filtra_predictor_options){.normalise = true}, &p),
               FILTRA_ERROR_ARGUMENT, "normalise is for vectors");
  for (size_t k = 0; k < FT_COUNT(kinds); k++) {
    const float *expected = test_golden_data(&g, kinds[k].name);
    assert_ok(filtra_run_create_predictor(
        run, test_device(),
        &(filtra_predictor_options){.vector = kinds[k].kind, .normalise = k == 1}, &p));
    const int64_t width = filtra_predictor_get_info(p)->outputs;
    assert_int_equal(width, 8);
    /* Row 1 has one text, as requests of tokens have. */
    float vector[8];
    filtra_prediction answer;
    const filtra_request request = {
        .tokens = g.batch.tokens + g.batch.length, .length = 3, .vector = vector};
    assert_ok(filtra_predictor_predict(p, 1, &request, &answer));
    assert_int_equal(answer.label, -1);
    double square = 0;
    for (int i = 0; i < 8; i++)
      square += (double)expected[8 + i] * (double)expected[8 + i];
    const double factor = k == 1 ? 1 / sqrt(square) : 1;
    for (int i = 0; i < 8; i++)
      assert_true(fabs((double)vector[i] - factor * (double)expected[8 + i]) < 1e-5);
    float logits[8];
    assert_fails(filtra_predictor_predict(
                     p, 1,
                     &(filtra_request){.tokens = g.batch.tokens, .length = 3, .logits = logits},
                     &answer),
                 FILTRA_ERROR_ARGUMENT, "needs vector, not logits");
    filtra_predictor_destroy(&p);
  }
  filtra_run_close(&run);
  ft_safetensors_close(&g.file);
}

/* A model has vectors whatever its task is. */
TEST(every_task_has_vectors) {
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    const char *folder = test_path(test_folder(), "run");
    assert_ok(
        filtra_run_import(test_device(), test_pretrained_folder(FAMILIES[i], NULL), NULL, folder));
    filtra_predictor *p;
    test_golden_batch g;
    test_open_golden(FAMILIES[i], &g);
    assert_ok(filtra_predictor_create(test_device(), test_path(folder, "model.safetensors"),
                                      &(filtra_predictor_options){.vector = FILTRA_VECTOR_MEAN},
                                      &p));
    float vectors[3 * 8];
    filtra_prediction made[3];
    assert_ok(filtra_predictor_predict_batch(p, &g.batch, vectors, NULL, made));
    for (size_t k = 0; k < FT_COUNT(vectors); k++)
      assert_true(isfinite(vectors[k]) && vectors[k] != 0);
    filtra_predictor_destroy(&p);
    ft_safetensors_close(&g.file);
  }
}

/* ---- filters plugged in ---- */

/* A filter that begins as softmax attention begins as the same function. */
TEST(filters_begin_as_the_same_function) {
  static const char *const CHANGES[] = {"{\"mixer\": \"gfsa\"}",
                                        "{\"mixer\": {\"name\": \"plaplacian\", \"p\": 2}}"};
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++)
    for (size_t k = 0; k < FT_COUNT(CHANGES); k++) {
      test_golden_batch g;
      test_open_golden(FAMILIES[i], &g);
      owned_model *model = import(FAMILIES[i], NULL, CHANGES[k]);
      const double error = test_golden_difference(model, &g);
      if (!(error <= 2e-5)) fail_msg("%s, %s: differs by %g", FAMILIES[i], CHANGES[k], error);
      ft_safetensors_close(&g.file);
    }
}

/* ---- out again ---- */

/* Imported and exported, each tensor has its bytes and its name again. */
TEST(exports_are_the_originals) {
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    const char *run = test_path(test_folder(), "run"), *out = test_path(test_folder(), "out");
    ft_safetensors *a, *b;
    assert_ok(
        filtra_run_import(test_device(), test_pretrained_folder(FAMILIES[i], NULL), NULL, run));
    assert_ok(filtra_model_export(run, out));
    assert_fails(filtra_model_export(run, out), FILTRA_ERROR_ARGUMENT, "is there already");
    assert_ok(ft_safetensors_open(test_pretrained_folder(FAMILIES[i], "model.safetensors"), &a));
    assert_ok(ft_safetensors_open(test_path(out, "model.safetensors"), &b));
    assert_int_equal(ft_safetensors_count(a), ft_safetensors_count(b));
    for (size_t k = 0; k < ft_safetensors_count(a); k++) {
      const ft_safetensor *x = ft_safetensors_at(a, k), *y = ft_safetensors_find(b, x->name);
      if (!y) fail_msg("%s: no %s", FAMILIES[i], x->name);
      assert_int_equal(x->ndim, y->ndim);
      assert_memory_equal(x->shape, y->shape, (size_t)x->ndim * sizeof *x->shape);
      assert_memory_equal(x->data, y->data, x->bytes);
    }
    ft_safetensors_close(&a);
    ft_safetensors_close(&b);
    test_golden_batch g;
    test_open_golden(FAMILIES[i], &g);
    filtra_model *model;
    assert_ok(filtra_model_import(test_device(), out, NULL, &model));
    assert_true(test_golden_difference(model, &g) <= 2e-5);
    filtra_model_destroy(&model);
    ft_safetensors_close(&g.file);
  }
}

TEST(what_is_not_theirs_is_not_exported) {
  static const struct {
    const char *family, *changes, *part;
  } cases[] = {
      {"bert", "{\"mixer\": \"linear\"}", "\"mixer\" is linear, which has no PyTorch module"},
      {"bert", "{\"mixer\": {\"name\": \"plaplacian\", \"symmetric\": true}}",
       "mixer \"plaplacian\": \"symmetric\" is true"},
      {"vit", "{\"mixer\": {\"name\": \"softmax\", \"talking_heads\": true}}",
       "mixer \"softmax\": \"talking_heads\" is true; attention of heads that talk"},
      {"vit", "{\"layer_scale\": 0.1}", "\"layer_scale\" is 0.1"},
      {"bert", "{\"norm\": \"pre\"}", "\"norm\" is \"pre\", which a bert cannot have"},
      {"vit", "{\"mask_zero\": false, \"head\": \"mlp\"}", "\"head\" is \"mlp\""},
      {"gpt2", "{\"scale_embeddings\": true}", "\"scale_embeddings\" is true"},
      {"bert", "{\"norm\": \"pre\", \"mixer\": \"linear\"}", "\"mixer\" is linear"},
      {"bert", "{\"head_width\": 7, \"classes\": 4}", "\"head_width\" is 7 and \"width\""},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *run = test_path(test_folder(), "run"), *out = test_path(test_folder(), "out");
    assert_ok(filtra_run_import(test_device(), test_pretrained_folder(cases[i].family, NULL),
                                cases[i].changes, run));
    assert_fails(filtra_model_export(run, out), FILTRA_ERROR_ARGUMENT, cases[i].part);
    assert_false(ft_file_exists(out));
  }
}

/* ---- what is damaged or not known ---- */

static void refuse(const char *folder, filtra_status status, const char *part) {
  filtra_model *model;
  assert_fails(filtra_model_import(test_device(), folder, NULL, &model), status, part);
  assert_null(model);
}

TEST(configurations_are_read_closely) {
  static const struct {
    const char *family, *from, *to, *part;
  } cases[] = {
      {"bert", "\"model_type\": \"bert\"", "\"model_type\": \"t5\"",
       "config.json: \"model_type\" is \"t5\"; accepted are bert, roberta"},
      {"bert", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"silu\"",
       "\"hidden_act\" is \"silu\"; accepted are gelu, gelu_new"},
      {"bert", "\"is_decoder\": false", "\"is_decoder\": true", "\"is_decoder\" is true"},
      {"bert", "\"hidden_size\": 8", "\"hidden_size\": \"8\"",
       "\"hidden_size\" is something else; accepted are whole numbers"},
      {"bert", ",\n \"vocab_size\": 20", "", "\"vocab_size\" is missing"},
      {"bert", "\"vocab_size\": 20", "\"vocab_size\": 21",
       "tensor bert.embeddings.word_embeddings.weight is [20, 8] as embedding.weight, which is "
       "[21, "
       "8] in a model of this configuration"},
      {"bert", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
       "tensor encoder.layer.2.attention.self.query.weight of a bert is missing; the nearest name "
       "is"},
      {"bert", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
       "tensor bert.encoder.layer.1.attention.output.LayerNorm.bias is not one of a bert"},
      {"bert", ",\n  \"2\": \"LABEL_2\"", "",
       "tensor classifier.weight is [3, 8] as head.2.weight, which is [2, 8] in a model of"},
      {"gpt2", "\"scale_attn_weights\": true", "\"scale_attn_weights\": false",
       "\"scale_attn_weights\" is false; accepted is true"},
      {"gpt2", "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
       "\"tie_word_embeddings\" is false, and the weights lack wte.weight or lm_head.weight"},
      {"vit", "\"image_size\": 8", "\"image_size\": [8, 9]", "\"image_size\" is not the side"},
      {"vit", "\"patch_size\": 4", "\"patch_size\": 3", "\"patch\" 3 must divide"},
      {"roberta", "\"pad_token_id\": 1", "\"pad_token_id\": 20",
       "\"max_position_embeddings\" is 14; accepted are more than 21"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_copy_pretrained(cases[i].family),
               *path = test_path(folder, "config.json");
    size_t size;
    owned char *text = test_read(path, &size);
    const char *at = strstr(text, cases[i].from);
    if (!at) fail_msg("%s: no %s", cases[i].family, cases[i].from);
    char changed[4096];
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, cases[i].to,
             at + strlen(cases[i].from));
    test_write(path, changed, strlen(changed));
    refuse(folder, FILTRA_ERROR_INPUT, cases[i].part);
  }
}

/* Classes without names are called LABEL_0 and so on, as `transformers` calls them. */
TEST(unnamed_classes_have_names) {
  const char *folder = test_copy_pretrained("bert");
  test_change_text(
      folder, "config.json",
      "\"id2label\": {\n  \"0\": \"LABEL_0\",\n  \"1\": \"LABEL_1\",\n  \"2\": \"LABEL_2\"\n }",
      "\"num_labels\": 3");
  ft_start *start;
  assert_ok(ft_start_open(folder, &start));
  const json_t *classes = json_object_get(ft_start_input(start), "classes");
  assert_int_equal(json_array_size(classes), 3);
  assert_string_equal(json_string_value(json_array_get(classes, 2)), "LABEL_2");
  ft_start_close(&start);
}

/* Any mean and deviation of pixels can be imported, and comes out again. */
TEST(pixels_are_standardised_as_theirs) {
  const char *folder = test_copy_pretrained("vit"), *run = test_path(test_folder(), "run"),
             *out = test_path(test_folder(), "out");
  static const char MOMENTS[] = "{\"image_mean\": [0.4, 0.5, 0.6], \"image_std\": [0.2, 0.3, 0.5]}";
  test_write(test_path(folder, "preprocessor_config.json"), MOMENTS, sizeof MOMENTS - 1);
  assert_ok(filtra_run_import(test_device(), folder, NULL, run));
  assert_ok(filtra_model_export(run, out));
  json_t *object;
  assert_ok(ft_json_load(test_path(out, "preprocessor_config.json"), &object));
  static const double wanted[2][3] = {{0.4, 0.5, 0.6}, {0.2, 0.3, 0.5}};
  for (size_t i = 0; i < 6; i++)
    assert_float_equal(json_number_value(json_array_get(
                           json_object_get(object, i < 3 ? "image_mean" : "image_std"), i % 3)),
                       wanted[i / 3][i % 3], 1e-6);
  json_decref(object);
  static const char ZERO[] = "{\"image_mean\": [0.4, 0.5, 0.6], \"image_std\": [0.2, 0, 0.5]}";
  test_write(test_path(folder, "preprocessor_config.json"), ZERO, sizeof ZERO - 1);
  refuse(folder, FILTRA_ERROR_INPUT, "\"image_std\" is not three numbers above 0");
}

/* Where pixels are not scaled to 0 to 1, the moments are those of pixels that are. */
TEST(pixels_are_scaled_as_theirs) {
  static const struct {
    double factor, mean, deviation, ours; /* of red */
    const char *kind;
  } cases[] = {{1 / 127.5, 1, 1, 127.5, "half"},
               {1, 51, 63.75, 51, "data"},
               {1 / 255.0, 0.5, 0.5, 127.5, "half"}};
  const char *folder = test_copy_pretrained("vit");
  const char *path = test_path(folder, "preprocessor_config.json");
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const double m = cases[i].mean, d = cases[i].deviation;
    const char *text = test_text("{\"rescale_factor\": %.17g, \"image_mean\": [%g, %g, %g], "
                                 "\"image_std\": [%g, %g, %g]}",
                                 cases[i].factor, m, m, m, d, d, d);
    ft_start *start;
    test_write(path, text, strlen(text));
    assert_ok(ft_start_open(folder, &start));
    const json_t *input = ft_start_input(start);
    assert_float_equal(json_number_value(json_array_get(json_object_get(input, "feature_mean"), 0)),
                       cases[i].ours, 1e-9);
    assert_float_equal(
        json_number_value(json_array_get(json_object_get(input, "feature_factor"), 0)),
        cases[i].factor / d, 1e-9);
    assert_string_equal(ft_json_string(ft_start_data_keys(start), "normalize"), cases[i].kind);
    ft_start_close(&start);
  }
  static const char ODD[] = "{\"rescale_factor\": 0, \"image_mean\": [0.4, 0.5, 0.6], "
                            "\"image_std\": [0.2, 0.3, 0.5]}";
  test_write(path, ODD, sizeof ODD - 1);
  refuse(folder, FILTRA_ERROR_INPUT,
         "preprocessor_config.json: \"rescale_factor\" is 0; accepted are numbers from 1e-6");
}

/* What pixels are not prepared by is refused, or said. */
TEST(keys_of_images) {
  static const char HALF[] = "\"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5]";
  static const char *const REFUSED[][2] = {{"do_resize", "false"},
                                           {"do_rescale", "false"},
                                           {"rescale_offset", "true"},
                                           {"crop_pct", "0.8"}};
  const char *folder = test_copy_pretrained("vit");
  const char *path = test_path(folder, "preprocessor_config.json");
  for (size_t i = 0; i < FT_COUNT(REFUSED); i++) {
    const char *text = test_text("{%s, \"%s\": %s}", HALF, REFUSED[i][0], REFUSED[i][1]);
    test_write(path, text, strlen(text));
    refuse(folder, FILTRA_ERROR_INPUT, test_text("\"%s\"", REFUSED[i][0]));
    refuse(folder, FILTRA_ERROR_INPUT, "cannot be followed");
  }
  test_write(path, "{\"image_std\": [1, 1, 1]}", 24);
  refuse(folder, FILTRA_ERROR_INPUT, "\"image_mean\" is missing");
  assert_int_equal(remove(path), 0);
  static const char WHOLE[] = "{\"image_processor\": {\"image_mean\": [0.485, 0.456, 0.406], "
                              "\"image_std\": [0.229, 0.224, 0.225]}}";
  ft_start *start;
  test_write(test_path(folder, "processor_config.json"), WHOLE, sizeof WHOLE - 1);
  assert_ok(ft_start_open(folder, &start));
  assert_string_equal(ft_json_string(ft_start_data_keys(start), "normalize"), "imagenet");
  ft_start_close(&start);
  test_write(test_path(folder, "processor_config.json"), "{}", 2);
  refuse(folder, FILTRA_ERROR_INPUT, "processor_config.json: has no \"image_processor\"");
}

/* Leaves the first of three channels of the patches' weights. */
static void make_grey(const char *folder) {
  const char *path = test_path(folder, "model.safetensors");
  ft_safetensors *file;
  assert_ok(ft_safetensors_open(path, &file));
  ft_safetensor list[64];
  const size_t count = ft_safetensors_count(file);
  owned float *grey = NULL;
  for (size_t i = 0; i < count; i++) {
    list[i] = *ft_safetensors_at(file, i);
    if (!strstr(list[i].name, "patch_embeddings.projection.weight")) continue;
    const size_t area = (size_t)(list[i].shape[2] * list[i].shape[3]);
    const float *all = list[i].data;
    grey = test_alloc((size_t)list[i].shape[0] * area * sizeof *grey);
    for (size_t row = 0; row < (size_t)list[i].shape[0]; row++)
      memcpy(grey + row * area, all + 3 * row * area, area * sizeof *grey);
    list[i].shape[1] = 1;
    list[i].data = grey;
  }
  const char *made = test_path(folder, "grey");
  assert_ok(ft_safetensors_write(made, list, count, NULL, 0));
  ft_safetensors_close(&file);
  assert_int_equal(rename(made, path), 0);
  test_change_text(folder, "config.json", "\"num_channels\": 3", "\"num_channels\": 1");
}

/* Images of one channel: imported, exported, and imported again. */
TEST(grey_images_are_imported) {
  const char *folder = test_copy_pretrained("vit"), *out = test_path(test_folder(), "out");
  make_grey(folder);
  for (int i = 0; i < 2; i++) {
    const char *run = test_path(test_folder(), "run");
    assert_ok(filtra_run_import(test_device(), i ? out : folder, NULL, run));
    json_t *config;
    assert_ok(ft_json_load(test_path(run, "config.json"), &config));
    assert_string_equal(json_string_value(json_object_get(config, "pixels")), "grey_features");
    json_decref(config);
    if (!i) assert_ok(filtra_model_export(run, out));
  }
  test_change_text(out, "preprocessor_config.json", "\"image_std\": [", "\"image_std\": [0.5, ");
  refuse(out, FILTRA_ERROR_INPUT, "\"image_std\" is not one number above 0");
  test_change_text(folder, "config.json", "\"num_channels\": 1", "\"num_channels\": 2");
  refuse(folder, FILTRA_ERROR_INPUT, "\"num_channels\" is 2, accepted are 1 and 3");
}

/* Weights in two files. One may be missing, or not hold what the index says. */
TEST(shards_are_read) {
  const char *folder = test_copy_pretrained("vit"), *whole = test_path(folder, "model.safetensors");
  static const char *const PARTS[] = {"a.safetensors", "b.safetensors"};
  ft_safetensors *file;
  assert_ok(ft_safetensors_open(whole, &file));
  ft_safetensor list[2][64];
  size_t counts[2] = {0};
  json_t *map = json_object();
  for (size_t i = 0; i < ft_safetensors_count(file); i++) {
    const ft_safetensor *t = ft_safetensors_at(file, i);
    list[i % 2][counts[i % 2]++] = *t;
    json_object_set_new(map, t->name, json_string(PARTS[i % 2]));
  }
  for (int i = 0; i < 2; i++)
    assert_ok(ft_safetensors_write(test_path(folder, PARTS[i]), list[i], counts[i], NULL, 0));
  ft_safetensors_close(&file);
  assert_int_equal(remove(whole), 0);
  refuse(folder, FILTRA_ERROR_INPUT, "has neither model.safetensors nor");
  json_t *index = json_pack("{sO}", "weight_map", map);
  owned char *text = ft_json_text(index, 0);
  const char *path = test_path(folder, "model.safetensors.index.json");
  test_write(path, text, strlen(text));
  test_golden_batch g;
  test_open_golden("vit", &g);
  filtra_model *model;
  assert_ok(filtra_model_import(test_device(), folder, NULL, &model));
  assert_true(test_golden_difference(model, &g) <= 2e-5);
  filtra_model_destroy(&model);
  ft_safetensors_close(&g.file);
  json_object_set_new(map, "vit.more", json_string(PARTS[0]));
  owned char *more = ft_json_text(json_pack("{sO}", "weight_map", map), 0);
  test_write(path, more, strlen(more));
  refuse(folder, FILTRA_ERROR_INPUT, "tensor vit.more is not in a.safetensors");
  json_object_set_new(map, "vit.more", json_string("../c.safetensors"));
  owned char *outside = ft_json_text(json_pack("{so}", "weight_map", map), 0);
  test_write(path, outside, strlen(outside));
  refuse(folder, FILTRA_ERROR_INPUT, "is not the name of one beside it");
  test_write(path, text, strlen(text));
  assert_int_equal(remove(test_path(folder, PARTS[1])), 0);
  refuse(folder, FILTRA_ERROR_PATH, "b.safetensors");
}

/* Of a table that is the head, too, a file may have the head's name only. */
TEST(a_tied_table_has_either_name) {
  const char *folder = test_copy_pretrained("gpt2"), *path = test_path(folder, "model.safetensors");
  ft_safetensors *file;
  assert_ok(ft_safetensors_open(test_pretrained_folder("gpt2", "model.safetensors"), &file));
  ft_safetensor list[64];
  const size_t count = ft_safetensors_count(file);
  for (size_t i = 0; i < count; i++) {
    list[i] = *ft_safetensors_at(file, i);
    if (!strcmp(list[i].name, "transformer.wte.weight")) list[i].name = "lm_head.weight";
  }
  assert_ok(ft_safetensors_write(path, list, count, NULL, 0));
  ft_safetensors_close(&file);
  test_golden_batch g;
  test_open_golden("gpt2", &g);
  owned_model *model = NULL;
  assert_ok(filtra_model_import(test_device(), folder, NULL, &model));
  assert_true(test_golden_difference(model, &g) <= 2e-5);
  ft_safetensors_close(&g.file);
}

TEST(other_weights_are_refused) {
  const char *folder = test_copy_pretrained("bert"), *path = test_path(folder, "model.safetensors");
  size_t size;
  owned char *bytes = test_read(path, &size);
  test_write(path, bytes, size - 100);
  refuse(folder, FILTRA_ERROR_INPUT, "model.safetensors: ");
  assert_int_equal(remove(path), 0);
  test_write(test_path(folder, "pytorch_model.bin"), "x", 1);
  refuse(folder, FILTRA_ERROR_INPUT, "has its weights in pytorch_model.bin, and no");
  refuse("/none/such", FILTRA_ERROR_PATH, "/none/such");
}

/* A head of another size is new; the table of positions may be shorter; nothing else may differ. */
TEST(changes_are_checked) {
  filtra_model *model;
  const char *bert = test_pretrained_folder("bert", NULL);
  assert_fails(filtra_model_import(test_device(), bert, "{\"width\": 16}", &model),
               FILTRA_ERROR_INPUT, "in a model of this configuration");
  assert_fails(filtra_model_import(test_device(), bert, "{\"wide\": 16}", &model),
               FILTRA_ERROR_INPUT, "\"wide\"");
  assert_fails(filtra_model_import(test_device(), bert, "{", &model), FILTRA_ERROR_INPUT,
               "changes");
  test_golden_batch g;
  test_open_golden("bert", &g);
  owned_model *shorter = import("bert", NULL, "{\"max_length\": 7}");
  assert_true(test_golden_difference(shorter, &g) <= 2e-5);
  owned_model *other = import("bert", NULL, "{\"classes\": 5}");
  assert_int_equal(filtra_model_outputs(other), 5);
  ft_safetensors_close(&g.file);
}

static const ft_parameter *read_positions(filtra_model *model, float *to, size_t most) {
  const ft_parameter *p = ft_parameters_find(filtra_model_parameters(model), "positions.weight");
  assert_non_null(p);
  assert_true((size_t)p->elements <= most);
  assert_ok(ft_parameter_download(filtra_model_parameters(model), p, to));
  return p;
}

/* Where the class token comes in later or there is none, patches have the same positions. */
TEST(positions_stay_with_their_patches) {
  static const char *const CHANGES[] = {"{\"class_layers\": 1}", "{\"pooling\": \"mean\"}"};
  float all[1024], some[1024];
  owned_model *model = import("vit", NULL, NULL);
  const ft_parameter *whole = read_positions(model, all, FT_COUNT(all));
  for (size_t i = 0; i < FT_COUNT(CHANGES); i++) {
    owned_model *other = import("vit", NULL, CHANGES[i]);
    const ft_parameter *p = read_positions(other, some, FT_COUNT(some));
    assert_int_equal(p->elements, whole->elements - whole->shape[1]);
    assert_memory_equal(some, all + whole->shape[1], (size_t)p->elements * sizeof *some);
  }
}

TEST_MAIN(NULL, test_teardown)
