/* docs/weights.md against the code: the names and shapes of every kind of model have a row, and no
 * row names a tensor that no model has. */
#include "support/harness.h"

#include "base/file.h"

#include <filtra/filtra.h>

enum { MAX_ROWS = 192, MAX_TEXT = 160 };

#define SIZES .layers = 1, .heads = 3, .width = 12, .ffn_width = 41, .classes = 5
#define TEXT  .vocabulary = 9, .max_length = 7, SIZES
#define HEAD  .head_width = 14
#define IMAGE .features = 43, .image_height = 4, .image_width = 6, .patch = 2, SIZES

/* All different, so that a number in a shape says which key it comes from. */
static const filtra_model_config BASE = {TEXT, HEAD};
static const struct {
  int64_t value;
  const char *name;
} NAMES[] = {{9, "vocabulary"},
             {5, "classes"},
             {7, "max_length"},
             {3, "heads"},
             {12, "width"},
             {4, "width / heads"},
             {41, "ffn_width"},
             {14, "head_width"},
             {2, "K + 1"},
             {24, "2 width"},
             {36, "3 width"},
             {48, "4 width"},
             {1, "1"},
             {43, "features"},
             {8, "max_length + 1"},
             {84, "max_length width"},
             {172, "patch patch features"},
             {6, "patches"},
             {18, "patches + 2"},
             {16, "token_types"},
             {26, "max_length + position_offset"},
             {10, "factors"},
             {11, "factors + 1"},
             {170, "factors hidden"},
             {110, "factors (factors + 1)"},
             {17, "hidden"},
             {51, "heads hidden"},
             {102, "2 heads hidden"},
             {3 * 7, "heads max_length"},
             {23, "a"},
             {3 * 23, "heads a"},
             {3 * 29, "heads max_length / a"},
             {29, "max_length / a"},
             {23 * 29, "max_length"},
             {19, "l"},
             {27, "p"},
             {37, "s"},
             {74, "2 s"},
             {13, "random_features"},
             {15, "k"},
             {31, "edge_degrees + 1"},
             {25, "edge_distances + 3"},
             {22, "edge_distances + 2"},
             {34, "edge_hops edge_types"},
             {81, "(2 window - 1)^2"}};

static const char *const MIXERS[] = {"softmax",
                                     "gfsa",
                                     "{\"name\": \"softmax\", \"talking_heads\": true}",
                                     "plaplacian",
                                     "{\"name\": \"plaplacian\", \"symmetric\": true}",
                                     "{\"name\": \"agf\", \"K\": 1}",
                                     "{\"name\": \"agf\", \"variant\": \"uv\"}",
                                     "{\"name\": \"agf\", \"variant\": \"svd\"}",
                                     "synvolution",
                                     "{\"name\": \"kernelution\", \"K\": 1}",
                                     "linear",
                                     "cosformer",
                                     "fnet",
                                     "{\"name\": \"performer\", \"random_features\": 13}",
                                     "{\"name\": \"linformer\", \"k\": 15}",
                                     "nystrom",
                                     "flowformer",
                                     "{\"name\": \"primal\", \"p\": 27, \"s\": 37}",
                                     "{\"name\": \"luna\", \"l\": 19}",
                                     "{\"name\": \"synthesizer\", \"hidden\": 17}",
                                     "{\"name\": \"synthesizer\", \"variant\": \"random\"}",
                                     ("{\"name\": \"synthesizer\", \"k\": 15, "
                                      "\"variant\": \"factorized_random\"}")};

/* Other tasks, inputs and heads, with the first mixer. */
static const filtra_model_config TASKS[] = {
    {.task = FILTRA_TASK_PAIR_CLASSIFICATION, TEXT, HEAD},
    {.task = FILTRA_TASK_REGRESSION, TEXT, HEAD},
    {.mixer = "{\"name\": \"paramixer\", \"hidden\": 17}",
     .vocabulary = 9,
     .max_length = 23 * 29,
     SIZES,
     HEAD},
    {.mixer = "{\"name\": \"luna\", \"l\": 19}",
     .vocabulary = 9,
     .max_length = 7,
     .layers = 2,
     .heads = 3,
     .width = 12,
     .ffn_width = 41,
     .classes = 5,
     HEAD},
    {.mixer = "{\"name\": \"synthesizer\", \"variant\": \"factorized_dense\", \"a\": 23, "
              "\"hidden\": 17}",
     .vocabulary = 9,
     .max_length = 23 * 29,
     SIZES,
     HEAD},
    {.task = FILTRA_TASK_LANGUAGE_MODEL, TEXT},
    {.pooling = FILTRA_POOLING_CLASS_TOKEN, .head = FILTRA_HEAD_LINEAR, TEXT},
    {.pooling = FILTRA_POOLING_FLATTEN, TEXT, HEAD},
    {.pooling = FILTRA_POOLING_CLASS_TOKEN, .class_layers = 1, .layer_scale = 0.1f, TEXT, HEAD},
    {.features = 43, .max_length = 7, SIZES, HEAD},
    {IMAGE, HEAD},
    {.pooling = FILTRA_POOLING_CLASS_TOKEN,
     .head = FILTRA_HEAD_LINEAR,
     .distillation = FILTRA_DISTILLATION_MEAN,
     .features = 43,
     .image_height = 4,
     .image_width = 16,
     .patch = 2,
     SIZES},
    {.edge_types = 17,
     .edge_degrees = 30,
     .edge_distances = 22,
     .edge_hops = 2,
     .positions = FILTRA_POSITIONS_NONE,
     .pooling = FILTRA_POOLING_CLASS_TOKEN,
     TEXT,
     HEAD},
    {.edge_types = 17,
     .edge_distances = 20,
     .edge_degrees = 30,
     .edge_hops = 2,
     .positions = FILTRA_POSITIONS_NONE,
     TEXT,
     HEAD},
    {.features = 43,
     .image_height = 10,
     .image_width = 12,
     .patch = 2,
     .window = 5,
     .positions = FILTRA_POSITIONS_RELATIVE,
     SIZES,
     HEAD},
    {.features = 43,
     .image_height = 4,
     .image_width = 6,
     .patch = 2,
     .stages = "1, 1",
     .layers = 2,
     .heads = 3,
     .width = 12,
     .classes = 5},
    {.embedding_norm = true, .token_types = 16, .position_offset = 19, TEXT, HEAD},
    {.mixer = "{\"name\": \"kernelution\", \"K\": 1}",
     .block = FILTRA_BLOCK_CONVERTER,
     .positions = FILTRA_POSITIONS_RECURRENT,
     TEXT,
     HEAD},
};

/* The start of a parameter's row: | `name` | [shape] | */
static void row_of(const filtra_parameters *params, size_t i, char row[MAX_TEXT]) {
  const char *name = filtra_parameters_name(params, i);
  bool layer = !strncmp(name, "layers.", 7);
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_parameters_shape(params, i, shape);
  int at = snprintf(row, MAX_TEXT, "| `%s%s` | [", layer ? "layers.N." : "",
                    layer ? strchr(name + 7, '.') + 1 : name);
  for (int k = 0; k < ndim; k++) {
    size_t n = 0;
    while (n < FT_COUNT(NAMES) && NAMES[n].value != shape[k])
      n++;
    assert_true(n < FT_COUNT(NAMES));
    at += snprintf(row + at, (size_t)(MAX_TEXT - at), "%s%s", k ? ", " : "", NAMES[n].name);
  }
  snprintf(row + at, (size_t)(MAX_TEXT - at), "] |");
}

/* Looks for the rows of a model's parameters and adds those not met before to the list. */
static void check_model(const char *page, const filtra_model_config *config,
                        char rows[MAX_ROWS][MAX_TEXT], size_t *count) {
  filtra_model *model = test_model(test_device(), config);
  const filtra_parameters *params = filtra_model_parameters(model);
  for (size_t i = 0; i < filtra_parameters_count(params); i++) {
    char *row = rows[*count];
    /* of a second stage, whose layers have other widths, what no other has */
    if (*config->stages && !strstr(filtra_parameters_name(params, i), ".merge.")) continue;
    size_t known = 0;
    assert_true(*count < MAX_ROWS);
    row_of(params, i, row);
    if (!strstr(page, row)) fail_msg("docs/weights.md has no row %s", row);
    while (strcmp(rows[known], row))
      known++;
    *count += known == *count;
  }
  filtra_model_destroy(&model);
}

TEST(test_every_tensor) {
  static char rows[MAX_ROWS + 1][MAX_TEXT];
  owned char *page = NULL;
  size_t size, count = 0, documented = 0;
  assert_ok(ft_file_read(TEST_SOURCE_DIR "/../docs/weights.md", 1 << 20, &page, &size));
  for (size_t i = 0; i < FT_COUNT(MIXERS); i++) {
    filtra_model_config config = BASE;
    config.mixer = MIXERS[i];
    check_model(page, &config, rows, &count);
  }
  for (size_t i = 0; i < FT_COUNT(TASKS); i++)
    check_model(page, &TASKS[i], rows, &count);
  for (const char *at = page; (at = strstr(at, "\n| `")) != NULL; at++)
    documented++;
  assert_int_equal(documented, count);
}

TEST_MAIN(NULL, test_teardown)
