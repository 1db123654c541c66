/* An application that serves a model: a run's file from memory, raw text in, a label out, 10,000
 * requests from four threads. Prints the time that half and 99 of 100 requests took at most, and
 * fails where memory grows. The one argument is a folder to write to. */
#define _POSIX_C_SOURCE 200809L
#include <filtra/filtra.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, REQUESTS = 2500, WARM = 500, MOST_GROWTH = 4 << 20 };

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "server: %s: %s\n", what, filtra_error_message());
  exit(EXIT_FAILURE);
}

static void train(filtra_device *dev) {
  FILE *file = fopen("texts.csv", "w");
  check(file &&
            fputs("text,label\nsuch a good film,good\na bad one,bad\nrather good,good\n"
                  "bad and long,bad\nas good as it gets,good\nworse than bad,bad\n",
                  file) >= 0 &&
            !fclose(file),
        "texts.csv");
  check(!filtra_run_train(
            dev,
            &(filtra_run_options){.config = "{\"data\": \"texts.csv\", \"tokenizer\": \"bytes\", "
                                            "\"max_length\": 64, \"mixer\": \"agf\", "
                                            "\"width\": 16, \"steps\": 20, \"batch_size\": 2}",
                                  .folder = "run"}),
        "run");
}

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  check(file && !fseek(file, 0, SEEK_END), path);
  *size = (size_t)ftell(file);
  void *bytes = malloc(*size);
  rewind(file);
  check(bytes && fread(bytes, 1, *size, file) == *size, path);
  fclose(file);
  return bytes;
}

/* Bytes of this process in memory. */
static size_t resident(void) {
  unsigned long all, here = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  check(file && fscanf(file, "%lu %lu", &all, &here) == 2, "/proc/self/statm");
  fclose(file);
  return here * (size_t)sysconf(_SC_PAGESIZE);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct client {
  filtra_predictor *predictor;
  int number, first, last;
  double *times;
} client;

static const char *const texts[] = {"good", "a bad film",
                                    "so good that it is rather long, as is this", "bad"};

static void *ask(void *user) {
  const client *c = user;
  for (int i = c->first; i < c->last; i++) {
    const char *text = texts[(i + c->number) % 4];
    const filtra_request request = {.text = text, .text_length = strlen(text)};
    filtra_prediction answer;
    double began = seconds();
    check(!filtra_predictor_predict(c->predictor, 1, &request, &answer) && answer.name, "request");
    c->times[c->number * REQUESTS + i] = seconds() - began;
  }
  return NULL;
}

static void ask_all(client clients[THREADS], int first, int last) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    clients[i].first = first;
    clients[i].last = last;
    check(!pthread_create(&threads[i], NULL, ask, &clients[i]), "thread");
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static double times[THREADS * REQUESTS];
  static const uint32_t lengths[] = {16, 32, 64};
  filtra_device *dev;
  filtra_predictor *predictor;
  client clients[THREADS];
  size_t size;
  check(argc == 2 && !chdir(argv[1]), "a folder to write to");
  check(!filtra_device_open(NULL, &dev), "device");
  train(dev);
  void *bytes = read_file("run/model.safetensors", &size);
  check(!filtra_predictor_create_from_memory(
            dev, bytes, size,
            &(filtra_predictor_options){.batch_size = 1, .lengths = lengths, .length_count = 3},
            &predictor),
        "predictor");
  free(bytes);
  for (int i = 0; i < THREADS; i++)
    clients[i] = (client){.predictor = predictor, .number = i, .times = times};
  ask_all(clients, 0, WARM);
  size_t before = resident();
  uint64_t device_before = filtra_device_memory_used(dev);
  ask_all(clients, WARM, REQUESTS);
  size_t after = resident();
  check(filtra_device_memory_used(dev) == device_before, "device memory grows");
  qsort(times, THREADS * REQUESTS, sizeof *times, ascending);
  printf("%d requests: p50 %.2f ms, p99 %.2f ms; memory %.1f MB, then %.1f MB\n",
         THREADS * REQUESTS, 1e3 * times[THREADS * REQUESTS / 2],
         1e3 * times[THREADS * REQUESTS / 100 * 99], (double)before / 1e6, (double)after / 1e6);
  check(after < before + MOST_GROWTH, "memory grows");
  filtra_predictor_destroy(&predictor);
  filtra_device_close(&dev);
  return 0;
}
