/* Different mixers per layer: how lists are read and written, what is refused, and models of
 * several mixers, which train and are restored from their files. */

#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include "nn/mixer.h"

#include <filtra/filtra.h>

static filtra_status parse(const char *text, int64_t layers, ft_mixers *m) {
  json_t *json;
  assert_ok(ft_json_parse(text, strlen(text), "test", &json));
  filtra_status status = ft_mixers_read(json_object_get(json, "m"), "test", m);
  json_decref(json);
  return status ? status : ft_mixers_check(m, layers, "test");
}

TEST(lists_are_read_and_written) {
  static const struct {
    const char *text, *layers, *name; /* first letters of the mixers, layer by layer */
  } cases[] = {
      {"{\"m\": \"agf\"}", "aaaa", "agf"},
      {"{\"m\": [\"softmax\"]}", "ssss", "softmax"},
      {"{\"m\": [\"softmax\", {\"name\": \"agf\", \"layers\": \"2-3\"}]}", "ssaa", "softmax+agf"},
      {"{\"m\": [{\"name\": \"gfsa\", \"layers\": \"0, 2-3\"}, {\"name\": \"fnet\", \"layers\": "
       "1}]}",
       "gfgg", "gfsa+fnet"},
      {"{\"m\": [\"agf\", {\"name\": \"agf\", \"K\": 2, \"layers\": \"1\"}]}", "aaaa", "agf"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    ft_mixers m, again;
    char name[FT_MIXERS_TEXT];
    assert_ok(parse(cases[i].text, 4, &m));
    json_t *written = json_pack("{so}", "m", ft_mixers_write(&m));
    owned char *text = ft_json_text(written, JSON_COMPACT);
    assert_ok(parse(text, 4, &again));
    for (int layer = 0; layer < 4; layer++) {
      assert_int_equal(ft_mixers_at(&m, layer)->kind->name[0], cases[i].layers[layer]);
      assert_memory_equal(ft_mixers_at(&m, layer), ft_mixers_at(&again, layer), sizeof(ft_mixer));
    }
    assert_string_equal(ft_mixers_name(&m, name), cases[i].name);
  }
}

TEST(what_makes_no_sense_is_refused) {
  static const struct {
    const char *mixer, *part;
  } cases[] = {
      {"[]", "is a list of 0, accepted are 1 to 4"},
      {"[\"agf\", \"softmax\"]", "two of the list have no \"layers\""},
      {"[{\"name\": \"agf\", \"layers\": \"0-2\"}, {\"name\": \"fnet\", \"layers\": \"2\"}]",
       "two are for layer 2"},
      {"[{\"name\": \"agf\", \"layers\": \"0-2\"}]", "none is for layer 3"},
      {"[\"agf\", {\"name\": \"fnet\", \"layers\": \"4\"}]",
       "one is for layer 4; the last of 4 layers is 3"},
      {"[\"agf\", {\"name\": \"fnet\", \"layers\": \"3-2\"}]", "\"layers\" is \"3-2\""},
      {"[\"agf\", {\"name\": \"fnet\", \"layers\": \"last\"}]", "\"layers\" is \"last\""},
      {"[\"agf\", {\"name\": \"fnet\", \"layers\": 256}]", "\"layers\" is 256"},
      {"[\"agf\", {\"name\": \"fnet\", \"layers\": \"1,\"}]", "\"layers\" is \"1,\""},
      {"[\"agf\", 3]", "must be a name or an object"},
      {"[\"agf\", {\"name\": \"gfsa\", \"P\": 3, \"layers\": \"1\"}]", "\"P\""},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_model *model = NULL;
    assert_fails(filtra_model_create(test_device(),
                                     &(filtra_model_config){.mixer = cases[i].mixer,
                                                            .vocabulary = TOY_VOCABULARY,
                                                            .classes = TOY_CLASSES,
                                                            .layers = 4},
                                     &model),
                 FILTRA_ERROR_INPUT, cases[i].part);
  }
}

#define HYBRID                                                                                     \
  "[\"softmax\", {\"name\": \"agf\", \"layers\": \"1\"}, {\"name\": \"gfsa\", \"layers\": \"2\"}]"

static filtra_model *hybrid(void) {
  filtra_model *model;
  assert_ok(filtra_model_create(test_device(),
                                &(filtra_model_config){.mixer = HYBRID,
                                                       .vocabulary = TOY_VOCABULARY,
                                                       .classes = TOY_CLASSES,
                                                       .max_length = TOY_LENGTH,
                                                       .layers = 3,
                                                       .width = 16,
                                                       .dropout = 0.1f},
                                &model));
  return model;
}

TEST(several_mixers_train_alike_and_come_back) {
  const char *path = test_path(test_folder(), "hybrid.safetensors");
  owned_model *model = hybrid(), *same = hybrid();
  float w0[2];
  assert_ok(filtra_parameters_get(filtra_model_parameters(model), "layers.2.mixer.w0", w0, 2));
  owned_trainer *trainer = toy_trainer(model), *other = toy_trainer(same);
  toy_train(trainer, 0, 12, NULL);
  toy_train(other, 0, 12, NULL);
  toy_same_bits(model, same);
  assert_ok(filtra_model_save(model, path));
  owned_model *loaded;
  assert_ok(filtra_model_load(test_device(), path, &loaded));
  toy_same_bits(model, loaded);
}

/* Luna's packed sequence goes from its first layer to its next one, past other mixers, and each
 * luna of a list has its own. */
TEST(packed_sequences_pass_by_other_mixers) {
  const filtra_model_config config = {
      .mixer = "[\"softmax\", {\"name\": \"luna\", \"l\": 3, \"layers\": \"0, 2\"}, "
               "{\"name\": \"luna\", \"l\": 5, \"layers\": \"1, 3\"}]",
      .vocabulary = TOY_VOCABULARY,
      .classes = TOY_CLASSES,
      .max_length = TOY_LENGTH,
      .layers = 5,
      .width = 16};
  owned_model *model = test_model(test_device(), &config);
  const filtra_parameters *p = filtra_model_parameters(model);
  static const char *const OWN[] = {"packed", "packed", "norm.weight", "norm.weight"};
  int found = 0;
  for (size_t i = 0; i < filtra_parameters_count(p); i++)
    for (int layer = 0; layer < 4; layer++) {
      const char *name = filtra_parameters_name(p, i);
      int64_t shape[FILTRA_MAX_DIMS];
      if (strcmp(name, test_text("layers.%d.mixer.%s", layer, OWN[layer])) != 0) continue;
      filtra_parameters_shape(p, i, shape);
      assert_int_equal(shape[0], layer == 0 ? 3 : layer == 1 ? 5 : 16);
      found++;
    }
  assert_int_equal(found, 4);
  owned_trainer *trainer = toy_trainer(model);
  toy_train(trainer, 0, 3, NULL);
}

/* A stage has features of another width, and so a packed sequence of its own. */
TEST(stages_have_packed_sequences_of_their_own) {
  const filtra_model_config config = {.mixer = "{\"name\": \"luna\", \"l\": 3}",
                                      .features = 3,
                                      .image_height = 8,
                                      .image_width = 8,
                                      .patch = 2,
                                      .stages = "2, 1",
                                      .classes = TOY_CLASSES,
                                      .layers = 3,
                                      .width = 16};
  owned_model *model = test_model(test_device(), &config);
  owned float *p = test_alloc(3 * 32 * sizeof *p);
  filtra_parameters *params = filtra_model_parameters(model);
  assert_ok(filtra_parameters_get(params, "layers.0.mixer.packed", p, 3 * 16));
  assert_ok(filtra_parameters_get(params, "layers.1.mixer.norm.weight", p, 16));
  assert_ok(filtra_parameters_get(params, "layers.2.mixer.packed", p, 3 * 32));
}

TEST_MAIN(NULL, test_teardown)
