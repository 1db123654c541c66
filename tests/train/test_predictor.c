/* Predictors: the answers of a run's model file alone, from several threads, and refusals. */
#include "base/memory.h"
#include "data/dataset.h"
#include "model/model.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include <filtra/filtra.h>
#include <jansson.h>
#include <pthread.h>

static const char CLASSES[] = "text,label\nsome good words,yes\nbad ones,no\ngood again,yes\n"
                              "bad again,no\nrather good,yes\n";
static const char VALUES[] = "smiles,value\nCC,0.5\nCO,1.5\nOC,-2.5\nCCO,3\n";
static const char SERIES[] = "@problemName x\n@classLabel true a b\n@data\n1,2,3:a\n3,2,1:b\n"
                             "1,3,2:a\n9,7,8:b\n";

static const char TWO_SERIES[] = "@problemName y\n@dimensions 2\n@classLabel true a b\n@data\n"
                                 "1,2:2,1:a\n3,2:1,1:b\n1,3:3,1:a\n9,7:7,9:b\n";

/* The model file of a run on this data, alone in a folder of its own. */
static const char *trained(const char *name, const char *data, const char *more) {
  const char *file = test_path(test_folder(), name), *folder = test_new_run();
  const char *alone = test_path(test_folder(), "model.safetensors");
  test_write(file, data, strlen(data));
  assert_ok(filtra_run_train(
      test_device(), &(filtra_run_options){.config = test_text("{\"data\": \"%s\", \"width\": 8, "
                                                               "\"layers\": 1, \"heads\": 1, "
                                                               "\"steps\": 2, \"batch_size\": 2%s}",
                                                               file, more),
                                           .folder = folder}));
  size_t size;
  owned char *bytes = test_read(test_path(folder, "model.safetensors"), &size);
  test_write(alone, bytes, size);
  return alone;
}

static filtra_predictor *open_predictor(const char *path) {
  filtra_predictor *p;
  assert_ok(filtra_predictor_create(test_device(), path, NULL, &p));
  return p;
}

static filtra_request text(const char *words) {
  return (filtra_request){.text = words, .text_length = strlen(words)};
}

static filtra_prediction ask(filtra_predictor *p, filtra_request request) {
  filtra_prediction answer;
  assert_ok(filtra_predictor_predict(p, 1, &request, &answer));
  return answer;
}

TEST(texts_have_classes) {
  const char *path = trained("a.csv", CLASSES, "");
  size_t size;
  owned void *bytes = test_read(path, &size);
  owned_predictor *p = open_predictor(path), *q = NULL;
  assert_ok(filtra_predictor_create_from_memory(test_device(), bytes, size, NULL, &q));
  const filtra_predictor_info *info = filtra_predictor_get_info(p);
  assert_int_equal(info->class_count, 2);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "characters");
  float logits[2], probabilities[2];
  filtra_request request = text("some words");
  request.logits = logits;
  request.probabilities = probabilities;
  filtra_prediction a = ask(p, request), b = ask(q, text("some words"));
  assert_string_equal(a.name, info->classes[a.label]);
  assert_true(logits[a.label] >= logits[1 - a.label]);
  assert_true(a.probability == probabilities[a.label]);
  assert_float_equal((double)(probabilities[0] + probabilities[1]), 1.0, 1e-6);
  assert_float_equal((double)(probabilities[1] / probabilities[0]),
                     exp((double)(logits[1] - logits[0])), 1e-4);
  assert_memory_equal(&a.probability, &b.probability, sizeof a.probability);
}

/* Each answer of a call of many lengths is the one that the request gets alone, whatever came
 * before; the mixer with a flat layout would see what lies behind a sequence. */
TEST(answers_depend_on_the_request_alone) {
  static const char *const mixers[] = {
      "", ", \"mixer\": {\"name\": \"synvolution\", \"layout\": \"flat\"}"};
  char words[40][64];
  for (size_t m = 0; m < FT_COUNT(mixers); m++) {
    filtra_request requests[40];
    filtra_prediction together[40];
    float logits[40][2], alone[2];
    owned_predictor *p = open_predictor(
        trained("a.csv", CLASSES,
                test_text(", \"tokenizer\": \"bytes\", \"max_length\": 64%s", mixers[m])));
    for (size_t i = 0; i < FT_COUNT(requests); i++) {
      memset(words[i], 'a' + (char)(i % 20), sizeof words[i]);
      requests[i] =
          (filtra_request){.text = words[i], .text_length = 1 + i * 37 % 63, .logits = logits[i]};
    }
    assert_ok(filtra_predictor_predict(p, FT_COUNT(requests), requests, together));
    for (size_t i = 0; i < FT_COUNT(requests); i++) {
      requests[i].logits = alone;
      (void)ask(p, requests[i]);
      for (size_t k = 0; k < 2; k++)
        assert_float_equal((double)alone[k], (double)logits[i][k], 1e-5);
    }
  }
}

TEST(values_series_and_tokens) {
  owned_predictor *p = open_predictor(trained("v.csv", VALUES, ""));
  filtra_prediction answer = ask(p, text("CCO"));
  assert_int_equal(answer.label, -1);
  assert_true(answer.name == NULL && isfinite(answer.value) && answer.value != 0.0f);
  filtra_predictor_destroy(&p);

  p = open_predictor(trained("x_TRAIN.ts", SERIES, ""));
  const float series[] = {1, 2, 3}, moved[] = {101, 102, 103}, missing[] = {1, NAN, 3};
  float logits[3][2];
  filtra_request requests[] = {{.series = series, .length = 3, .logits = logits[0]},
                               {.series = moved, .length = 3, .logits = logits[1]},
                               {.series = missing, .length = 3, .logits = logits[2]}};
  filtra_prediction answers[3];
  assert_ok(filtra_predictor_predict(p, 3, requests, answers));
  assert_true(logits[0][0] != logits[1][0] && isfinite(logits[2][0]));
  assert_true(!strcmp(answers[0].name, "a") || !strcmp(answers[0].name, "b"));
  filtra_request request = text("1,2,3");
  assert_fails(filtra_predictor_predict(p, 1, &request, answers), FILTRA_ERROR_INPUT,
               "reads numbers, not text");
}

/* Pixels give what the data set's reader gives for the same image. */
TEST(pixels_are_read_as_the_data_are) {
  static const char *const kinds[] = {"grey", "rgb"};
  uint8_t file[40 * 3073];
  for (size_t i = 0; i < sizeof file; i++)
    file[i] = (uint8_t)(i % 3073 ? i * 7919 >> 5 : (i / 3073) % 10);
  for (size_t k = 0; k < FT_COUNT(kinds); k++) {
    const char *name = test_path(test_folder(), "data_batch_1.bin"), *folder = test_new_run();
    test_write(name, file, sizeof file);
    assert_ok(filtra_run_train(
        test_device(),
        &(filtra_run_options){.config = test_text("{\"data\": \"%s\", \"width\": 4, \"layers\": 1, "
                                                  "\"heads\": 1, \"steps\": 1, \"batch_size\": 2, "
                                                  "\"mixer\": \"agf\", \"pixels\": \"%s\"}",
                                                  name, kinds[k]),
                              .folder = folder}));
    filtra_run *run = NULL;
    filtra_model *model;
    owned_dataset *data = NULL;
    filtra_batch batch;
    owned_predictor *p = NULL;
    assert_ok(filtra_run_open(folder, &run));
    assert_ok(filtra_run_load_model(run, test_device(), &model));
    assert_ok(filtra_run_create_predictor(run, test_device(), NULL, &p));
    assert_ok(filtra_run_open_data(run, NULL, FILTRA_SPLIT_TRAIN, NULL, &data));
    filtra_run_close(&run);
    owned_loader *loader = test_loader(data, &(filtra_loader_options){.batch_size = 1});
    assert_ok(filtra_loader_next(loader, &batch));
    float want[10], got[10];
    assert_ok(filtra_model_predict_batch(model, &batch, want));
    size_t image = 0; /* whose label and first pixels are the sample's: file order, some held out */
    uint8_t pixels[3072];
    const ft_split *train = &data->splits[FILTRA_SPLIT_TRAIN];
    if (train->rows) image = train->rows[0];
    for (size_t i = 0; i < sizeof pixels; i++)
      pixels[i] = file[image * 3073 + 1 + i % 3 * 1024 + i / 3]; /* planes to pixels */
    filtra_request request = {.pixels = pixels, .length = 1024, .channels = 3, .logits = got};
    (void)ask(p, request);
    assert_memory_equal(got, want, sizeof got);
    filtra_prediction answer;
    float probabilities[10];
    memset(got, 0, sizeof got);
    assert_ok(filtra_predictor_predict_batch(p, &batch, got, probabilities, &answer));
    assert_memory_equal(got, want, sizeof got);
    assert_true(answer.probability == probabilities[answer.label]);
    assert_string_equal(answer.name, filtra_dataset_class_name(data, (uint32_t)answer.label));
    assert_int_equal(answer.label, ask(p, request).label);
    request.length = 1023;
    assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
                 "1023 pixels; the model's images are 32 x 32");
    request.length = 1024;
    request.height = 32;
    assert_ok(filtra_predictor_predict(p, 1, &request, &answer));
    request.height = 16;
    assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
                 "an image of 64 x 16 pixels; the model's are 32 x 32");
    request.height = 5;
    assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_ARGUMENT,
                 "1024 pixels in 5 rows of one length");
    const float numbers[3072] = {0.5f};
    request = (filtra_request){.series = numbers, .length = 1024};
    assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
                 k ? "the model reads images, whose pixels are bytes" : "the model reads tokens");
    filtra_model_destroy(&model);
  }
}

/* ---- several at once ---- */

typedef struct client {
  filtra_predictor *predictor;
  float want[4];
  unsigned seed, wrong;
} client;

static const char *const questions[] = {"good", "bad ones", "some words again", "rather"};

static void *ask_often(void *user) {
  client *c = user;
  for (unsigned i = 0; i < 100; i++) {
    size_t q = (i + c->seed) % FT_COUNT(questions);
    filtra_request request = text(questions[q]);
    filtra_prediction answer;
    c->wrong += filtra_predictor_predict(c->predictor, 1, &request, &answer) ||
                answer.probability != c->want[q];
  }
  return NULL;
}

/* The model file has the tokenizer, and requests get its special tokens, as samples did. */
TEST(pretrained_tokenizers_come_along) {
  const int32_t ids[] = {2, 5, 7, 6, 3}, cut[] = {2, 5, 6, 5, 6, 5, 6, 3};
  const char *folder = test_folder();
  test_write_text(folder, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\n##s\n");
  const char *path =
      trained("a.csv", CLASSES,
              test_text(", \"max_length\": 8, \"truncate\": true, \"tokenizer\": \"%s\"", folder));
  remove(test_path(folder, "vocab.txt"));
  owned_predictor *p = open_predictor(path);
  assert_string_equal(filtra_tokenizer_name(filtra_predictor_get_info(p)->tokenizer), "wordpiece");
  float want = ask(p, (filtra_request){.tokens = ids, .length = 5}).probability;
  assert_float_equal(ask(p, text("Goods BAD")).probability, want, 0.0f);
  want = ask(p, (filtra_request){.tokens = cut, .length = 8}).probability;
  assert_float_equal(ask(p, text("good bad good bad good bad good")).probability, want, 0.0f);
}

TEST(threads_share_the_weights) {
  owned_predictor *p = NULL;
  const uint32_t lengths[] = {3, 16};
  const char *path = trained("a.csv", CLASSES, "");
  assert_ok(filtra_predictor_create(
      test_device(), path, &(filtra_predictor_options){.lengths = lengths, .length_count = 2}, &p));
  uint64_t memory = filtra_device_memory_used(test_device());
  client clients[4];
  pthread_t threads[4];
  for (unsigned i = 0; i < 4; i++) {
    clients[i] = (client){.predictor = p, .seed = i};
    for (size_t q = 0; q < FT_COUNT(questions); q++)
      clients[i].want[q] = ask(p, text(questions[q])).probability;
  }
  for (unsigned i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &clients[i]), 0);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(clients[i].wrong, 0);
  }
  assert_int_equal(filtra_device_memory_used(test_device()), memory); /* all was made before */
}

/* Told so, a predictor compiles all that it can need, and no request waits for a graph. */
TEST(all_lengths_are_prepared) {
  owned_predictor *p = NULL;
  const char *path = trained("a.csv", CLASSES, ", \"max_length\": 70, \"tokenizer\": \"bytes\"");
  assert_ok(filtra_predictor_create(
      test_device(), path, &(filtra_predictor_options){.prepare_all = true, .batch_size = 3}, &p));
  uint64_t memory = filtra_device_memory_used(test_device());
  size_t pipelines = ft_pipeline_count(test_device());
  assert_int_equal(ft_pipelines_unfinished(test_device()), 0);
  for (size_t length = 1; length <= 70; length++) {
    char words[3][70];
    filtra_request requests[3];
    filtra_prediction answers[3];
    memset(words, 'x', sizeof words);
    for (size_t i = 0; i < 3; i++)
      requests[i] = (filtra_request){.text = words[i], .text_length = length};
    assert_ok(filtra_predictor_predict(p, 1 + length % 3, requests, answers));
  }
  assert_int_equal(filtra_device_memory_used(test_device()), memory);
  assert_int_equal(ft_pipeline_count(test_device()), pipelines);
}

TEST(submissions_are_collected_in_any_order) {
  filtra_predictor *p = open_predictor(trained("a.csv", CLASSES, ""));
  uint64_t tickets[5], last;
  filtra_prediction answer;
  for (size_t i = 0; i < 5; i++) {
    filtra_request request = text(questions[i % 4]);
    assert_ok(filtra_predictor_submit(p, 1, &request, &tickets[i]));
  }
  for (size_t i = 5; i-- > 1;) {
    assert_ok(filtra_predictor_collect(p, tickets[i], &answer));
    assert_true(answer.probability == ask(p, text(questions[i % 4])).probability);
  }
  assert_fails(filtra_predictor_collect(p, tickets[3], &answer), FILTRA_ERROR_ARGUMENT,
               "collected already");
  filtra_request request = text("good");
  assert_ok(filtra_predictor_submit(p, 1, &request, &last));
  filtra_predictor_destroy(&p); /* with two that nobody collects */
}

/* ---- what cannot be answered ---- */

TEST(mistakes_are_told) {
  owned_predictor *p = open_predictor(trained("a.csv", CLASSES, ", \"max_length\": 32"));
  filtra_request requests[2] = {text("good"), text("good?")};
  filtra_prediction answers[2];
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_INPUT,
               "request 1: the character '?'");
  requests[1] = text("");
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_INPUT, "no tokens");
  requests[1] = text("a good good good good good good good good good");
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_INPUT,
               "request 1: 46 tokens; the model takes at most 32");
  requests[1].reserved[0] = 1;
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_ARGUMENT,
               "reserved");
  requests[1] = (filtra_request){0};
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_ARGUMENT,
               "exactly one of text");
  int32_t token = 999;
  requests[1] = (filtra_request){.tokens = &token, .length = 1};
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_INPUT,
               "request 1: token 999 at position 0");
  uint8_t pixels[2] = {0};
  requests[1] = (filtra_request){.pixels = pixels, .length = 1, .channels = 2};
  assert_fails(filtra_predictor_predict(p, 2, requests, answers), FILTRA_ERROR_ARGUMENT,
               "pixels of 2 channels; accepted are 1 and 3");
  assert_non_null(ask(p, text("good")).name); /* all the same */
}

/* What one kind of model takes, another does not. */
TEST(requests_of_other_models_are_refused) {
  float probability, series[4] = {0};
  uint8_t pixels[6] = {0};
  int32_t tokens[2] = {1, 1};
  filtra_prediction answer;
  filtra_request request = text("CC");
  request.probabilities = &probability;
  owned_predictor *p = open_predictor(trained("v.csv", VALUES, ""));
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_ARGUMENT,
               "a number has no probabilities");
  request = (filtra_request){.series = series, .length = 4};
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
               "the model reads tokens, not numbers");
  request = (filtra_request){.pixels = pixels, .length = 2, .channels = 1};
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
               "the model reads text, not pixels");
  filtra_predictor_destroy(&p);

  p = open_predictor(trained("x_TRAIN.ts", SERIES, ""));
  request = (filtra_request){.tokens = tokens, .length = 2};
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
               "the model reads numbers, not tokens");
  series[1] = INFINITY;
  request = (filtra_request){.series = series, .length = 2};
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
               "number 1 of the series is infinite");
  request.length = 0;
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT, "no steps");
  filtra_predictor_destroy(&p);

  p = open_predictor(trained("y_TRAIN.ts", TWO_SERIES, ""));
  request = (filtra_request){.pixels = pixels, .length = 2, .channels = 3};
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
               "the model reads 2 numbers a step, no pixels");
}

/* A program's own model says as much of its data as a run's. */
TEST(models_of_programs_know_their_data) {
  static const struct {
    const char *name, *data;
  } cases[] = {
      {"a.csv", CLASSES}, {"v.csv", VALUES}, {"x_TRAIN.ts", SERIES}, {"y_TRAIN.ts", TWO_SERIES}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_model *own, *of_run;
    assert_ok(filtra_model_load(test_device(), trained(cases[i].name, cases[i].data, ""), &of_run));
    owned_dataset *data =
        test_open_dataset(test_write_text(test_folder(), cases[i].name, cases[i].data), NULL,
                          &(filtra_dataset_options){
                              .seed = 1, .max_length = (uint32_t)filtra_model_max_length(of_run)});
    const filtra_model_config config = {.data = data, .width = 8, .layers = 1, .heads = 1};
    assert_ok(filtra_model_create(test_device(), &config, &own));
    assert_string_equal(own->input, of_run->input);
    filtra_model_config a, b;
    assert_ok(filtra_model_get_config(own, &a));
    assert_ok(filtra_model_get_config(of_run, &b));
    a.mixer = b.mixer = NULL;
    assert_memory_equal(&a, &b, sizeof a);
    filtra_model_destroy(&own);
    filtra_model_destroy(&of_run);
  }
}

static filtra_dataset *arrays(bool standardise) {
  enum { COUNT = 10, STEPS = 3 };
  uint32_t lengths[COUNT];
  float features[COUNT * STEPS];
  int32_t labels[COUNT];
  for (int i = 0; i < COUNT * STEPS; i++)
    features[i] = 100.0f + (float)(i * 37 % 11);
  for (int i = 0; i < COUNT; i++) {
    lengths[i] = STEPS;
    labels[i] = i % 2;
  }
  const filtra_dataset_arrays a = {
      .splits = {{.count = COUNT, .lengths = lengths, .features = features, .labels = labels}},
      .features = 1,
      .classes = 2,
      .class_names = (const char *const[]){"low", "high"},
      .standardise = standardise};
  filtra_dataset *data = NULL;
  assert_ok(filtra_dataset_create(&a, &data));
  return data;
}

/* A series as measured gets the answer of the data's own sample; without the data's description
 * numbers are refused, before they are taken for standardised ones. */
TEST(series_mean_what_the_data_meant) {
  for (int kind = 0; kind < 3; kind++) {
    owned_dataset *data = arrays(kind == 0);
    owned_loader *loader = test_loader(data, &(filtra_loader_options){.batch_size = 1});
    const filtra_model_config config = {.data = data, .width = 8, .layers = 1, .heads = 1},
                              sizes = {.features = 1,
                                       .classes = 2,
                                       .max_length = 3,
                                       .width = 8,
                                       .layers = 1,
                                       .heads = 1};
    filtra_model *model = test_model(test_device(), kind == 2 ? &sizes : &config);
    const char *path = test_path(test_folder(), "model.safetensors");
    assert_ok(filtra_model_save(model, path));
    filtra_batch batch;
    float want[2], got[2];
    assert_ok(filtra_loader_next(loader, &batch));
    assert_ok(filtra_model_predict_batch(model, &batch, want));
    owned_predictor *p = open_predictor(path);
    const float series[] = {100, 104, 108}; /* the first sample */
    filtra_request request = {.series = series, .length = 3, .logits = got};
    filtra_prediction answer;
    if (kind < 2) {
      answer = ask(p, request);
      assert_string_equal(answer.name, got[1] > got[0] ? "high" : "low");
      assert_memory_equal(got, want, sizeof got);
      request.series = (const float[]){100, NAN, 108};
      const filtra_status status = filtra_predictor_predict(p, 1, &request, &answer);
      if (kind) assert_fails(status, FILTRA_ERROR_INPUT, "number 1 of the series is missing (NaN)");
      assert_int_equal(status != FILTRA_OK, kind);
    } else {
      assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
                   "does not say how numbers were standardised");
      assert_ok(filtra_model_set_data(model, data));
      assert_ok(filtra_model_save(model, path));
      filtra_predictor_destroy(&p);
      p = open_predictor(path);
      answer = ask(p, request);
      assert_string_equal(answer.name, got[1] > got[0] ? "high" : "low");
    }
    filtra_model_destroy(&model);
  }
}

/* A missing number of a series is what it was in the file that the model was trained on. */
TEST(missing_numbers_mean_what_the_data_meant) {
  const char *data = test_write_text(test_folder(), "gap_TRAIN.ts",
                                     "@problemName gap\n@classLabel true a b\n@data\n"
                                     "1,?,4,?,?,10:a\n1,?,4,?,?,10:b\n");
  owned_dataset *ds = test_open_dataset(data, "ts", NULL);
  owned_model *model = test_model(
      test_device(), &(filtra_model_config){.data = ds, .width = 8, .layers = 1, .heads = 1});
  const char *path = test_path(test_folder(), "gap.safetensors");
  float want[2], got[2]; /* one sample is held out; both are the same */
  assert_ok(filtra_model_predict_split(model, ds, FILTRA_SPLIT_TRAIN, 2, want));
  assert_ok(filtra_model_save(model, path));
  owned_predictor *p = open_predictor(path);
  const float series[] = {1, NAN, 4, NAN, NAN, 10};
  ask(p, (filtra_request){.series = series, .length = 6, .logits = got});
  for (int k = 0; k < 2; k++)
    assert_float_equal((double)got[k], (double)want[k], 1e-6);
}

TEST(data_of_other_models_are_refused) {
  owned_dataset *data = arrays(true);
  filtra_model *model = test_model(
      test_device(), &(filtra_model_config){.features = 2, .classes = 2, .width = 8, .layers = 1});
  assert_fails(filtra_model_set_data(model, data), FILTRA_ERROR_INPUT, "\"features\" 1");
  filtra_model_destroy(&model);
  assert_fails(filtra_model_create(test_device(),
                                   &(filtra_model_config){.data = data, .classes = 1, .width = 8},
                                   &model),
               FILTRA_ERROR_INPUT, "\"classes\" 2 at least");
}

/* Models that no data were named for say nothing about text; language models answer at every token.
 */
TEST(models_without_data_are_refused_texts) {
  static const filtra_model_config CONFIGS[2] = {
      {.vocabulary = 9, .classes = 2, .width = 8, .layers = 1},
      {.task = FILTRA_TASK_LANGUAGE_MODEL, .vocabulary = 9, .width = 8, .layers = 1}};
  int32_t tokens[2] = {1, 2}, lengths[1] = {2};
  const filtra_batch batch = {
      .size = 1, .length = 2, .count = 1, .tokens = tokens, .lengths = lengths};
  for (int i = 0; i < 2; i++) {
    owned_predictor *p = NULL;
    filtra_prediction answer;
    void *bytes;
    size_t size;
    filtra_model *model = test_model(test_device(), &CONFIGS[i]);
    assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
    filtra_model_destroy(&model);
    assert_ok(filtra_predictor_create_from_memory(test_device(), bytes, size, NULL, &p));
    filtra_free(bytes);
    filtra_request request = text("good");
    assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_INPUT,
                 "does not say how text becomes tokens");
    if (CONFIGS[i].task == FILTRA_TASK_LANGUAGE_MODEL)
      assert_fails(filtra_predictor_predict_batch(p, &batch, NULL, NULL, &answer),
                   FILTRA_ERROR_ARGUMENT, "a language model's logits at every token");
  }
}

TEST(bad_options_are_refused) {
  const char *path = trained("a.csv", CLASSES, "");
  filtra_predictor *p;
  filtra_predictor_options options = {.batch_size = 1u << 30};
  assert_fails(filtra_predictor_create(test_device(), path, &options, &p), FILTRA_ERROR_ARGUMENT,
               "batch_size is 1073741824, accepted are 0 to");
  options = (filtra_predictor_options){.length_count = 2};
  assert_fails(filtra_predictor_create(test_device(), path, &options, &p), FILTRA_ERROR_ARGUMENT,
               "length_count is 2 where lengths is NULL");
  const uint32_t none[] = {16, 0}, many[] = {UINT32_MAX};
  options = (filtra_predictor_options){.lengths = none, .length_count = 2};
  assert_fails(filtra_predictor_create(test_device(), path, &options, &p), FILTRA_ERROR_ARGUMENT,
               "lengths[1] is 0, accepted are 1 to ");
  options = (filtra_predictor_options){.lengths = many, .length_count = 1};
  assert_fails(filtra_predictor_create(test_device(), path, &options, &p), FILTRA_ERROR_ARGUMENT,
               "lengths[0] is 4294967295, accepted are 1 to ");
  assert_null(p);
}

TEST(names_of_other_classes_are_refused) {
  static const size_t COUNTS[] = {1, 3, 100000};
  filtra_model *model;
  filtra_predictor *p;
  assert_ok(filtra_model_load(test_device(), trained("a.csv", CLASSES, ""), &model));
  char *own = model->input;
  for (size_t i = 0; i < FT_COUNT(COUNTS); i++) {
    json_auto_t *object = json_loads(own, 0, NULL);
    json_t *names = json_array();
    for (size_t k = 0; k < COUNTS[i]; k++)
      json_array_append_new(names, json_sprintf("class %zu", k));
    json_object_set_new(object, "classes", names);
    model->input = json_dumps(object, 0);
    void *bytes;
    size_t size;
    assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
    free(model->input);
    assert_fails(filtra_predictor_create_from_memory(test_device(), bytes, size, NULL, &p),
                 FILTRA_ERROR_INPUT,
                 test_text("the file names %zu classes, the model has 2", COUNTS[i]));
    filtra_free(bytes);
  }
  model->input = own;
  filtra_model_destroy(&model);
}

/* What a file says of its data has to be of its model. */
TEST(inputs_of_other_models_are_refused) {
  filtra_model *one, *two;
  filtra_predictor *p;
  void *bytes;
  size_t size;
  assert_ok(filtra_model_load(test_device(), trained("x_TRAIN.ts", SERIES, ""), &one));
  assert_ok(filtra_model_load(test_device(), trained("y_TRAIN.ts", TWO_SERIES, ""), &two));
  char *own = two->input;
  two->input = one->input;
  assert_ok(filtra_model_save_to_memory(two, &bytes, &size));
  two->input = own;
  filtra_model_destroy(&one);
  filtra_model_destroy(&two);
  assert_fails(filtra_predictor_create_from_memory(test_device(), bytes, size, NULL, &p),
               FILTRA_ERROR_INPUT, "standardises 1 features, the model has 2");
  filtra_free(bytes);
}

TEST(a_broken_answer_is_no_answer) {
  filtra_model *model;
  owned_predictor *p = NULL;
  void *bytes;
  size_t size;
  assert_ok(filtra_model_load(test_device(), trained("v.csv", VALUES, ""), &model));
  toy_break(model);
  assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
  filtra_model_destroy(&model);
  assert_ok(filtra_predictor_create_from_memory(test_device(), bytes, size, NULL, &p));
  filtra_free(bytes);
  filtra_request request = text("CC");
  filtra_prediction answer;
  assert_fails(filtra_predictor_predict(p, 1, &request, &answer), FILTRA_ERROR_NONFINITE,
               "not usable");
}

TEST_MAIN(NULL, test_teardown)
