/* A run of a program in C: trains, evaluates and predicts what test_ways.py trains, evaluates and
 * predicts in other ways. The evaluation is printed, and the logits, or values, of the test split
 * are written as float32.
 *
 *   ways RUN CONFIG.json DATA ANSWERS           data of a path
 *   ways RUN CONFIG.json ARRAYS ANSWERS 0|1     60 series of 7 steps of 2 numbers, float32, and
 *                                               their classes, int32; whether they are standardised
 */
#include <filtra/filtra.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 60, STEPS = 7, FEATURES = 2, ROOM = 1 << 16 };

static char config[ROOM];

static void check(filtra_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", filtra_error_message());
  exit(1);
}

static size_t read_file(const char *path, void *to, size_t room) {
  FILE *stream = fopen(path, "rb");
  const size_t size = stream ? fread(to, 1, room, stream) : 0;
  if (stream) fclose(stream);
  return size;
}

/* Half of the samples are of training, a sixth of validation. */
static filtra_dataset *from_arrays(const char *path, bool standardise) {
  static struct {
    float numbers[SAMPLES][STEPS][FEATURES];
    int32_t labels[SAMPLES];
  } all;
  static const char *const names[] = {"down", "up"};
  static const int first[] = {0, 30, 40, SAMPLES};
  static uint32_t lengths[SAMPLES];
  filtra_dataset_arrays a = {.target = FILTRA_TARGET_CLASS, .features = FEATURES, .classes = 2};
  if (read_file(path, &all, sizeof all) != sizeof all) exit(2);
  a.class_names = names;
  a.standardise = standardise;
  for (int i = 0; i < SAMPLES; i++)
    lengths[i] = STEPS;
  for (int i = 0; i < 3; i++)
    a.splits[i] = (filtra_samples){.count = (uint64_t)(first[i + 1] - first[i]),
                                   .lengths = lengths,
                                   .features = all.numbers[first[i]][0],
                                   .labels = all.labels + first[i]};
  filtra_dataset *data;
  check(filtra_dataset_create(&a, &data));
  return data;
}

static void answer(filtra_device *device, const char *folder, const filtra_dataset *data,
                   const char *path) {
  filtra_run *run;
  filtra_model *model;
  filtra_dataset *own = NULL;
  filtra_evaluation e;
  check(filtra_run_open(folder, &run));
  check(filtra_run_load_model(run, device, &model));
  if (!data) check(filtra_run_open_data(run, NULL, FILTRA_SPLIT_TRAIN, NULL, &own));
  if (!data) data = own;
  const uint32_t batch = filtra_run_get_info(run)->batch_size;
  check(filtra_model_evaluate_split(model, data, FILTRA_SPLIT_TEST, batch, &e));
  printf("%.9g\n", (double)e.loss);
  const size_t count = (size_t)filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TEST];
  const size_t numbers = count * (size_t)filtra_model_outputs(model);
  float *results = malloc(numbers * sizeof *results);
  FILE *stream = fopen(path, "wb");
  if (!results || !stream) exit(2);
  check(filtra_model_predict_split(model, data, FILTRA_SPLIT_TEST, batch, results));
  fwrite(results, sizeof *results, numbers, stream);
  fclose(stream);
  free(results);
  filtra_dataset_close(&own);
  check(filtra_model_destroy(&model));
  filtra_run_close(&run);
}

int main(int argc, char **argv) {
  filtra_device *device;
  if (argc < 5 || !read_file(argv[2], config, sizeof config - 1)) return 2;
  check(filtra_device_open(&(filtra_device_options){.select = "cpu", .cache_dir = ""}, &device));
  filtra_dataset *data = argc > 5 ? from_arrays(argv[3], *argv[5] == '1') : NULL;
  check(filtra_run_train(device,
                         &(filtra_run_options){.config = config, .folder = argv[1], .data = data}));
  answer(device, argv[1], data, argv[4]);
  filtra_dataset_close(&data);
  check(filtra_device_close(&device));
  return 0;
}
