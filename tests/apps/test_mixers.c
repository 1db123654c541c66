/* Trains every mixer as the command does, on a device without validation: a short run on ListOps
 * whose loss must fall. Two are trained by the command itself, the others in one process, in which
 * kernels that mixers share are made once. */
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include "base/file.h"

#include <filtra/filtra.h>
#include <jansson.h>

static void command(const char *arguments) {
  int code = test_run_command("", arguments);
  if (code) fail_msg("filtra %s: exit code %d, output:\n%s", arguments, code, test_output);
}

/* Of the first and of the last eight of a run's `steps` training losses, the means. */
static void read_losses(const char *folder, int steps, double *first, double *last) {
  enum { EACH = 8 };
  owned char *text = NULL;
  size_t size;
  int seen = 0;
  assert_ok(ft_file_read(test_path(folder, "metrics.jsonl"), 1 << 20, &text, &size));
  *first = *last = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    json_auto_t *entry = json_loads(line, 0, NULL);
    const json_t *loss = json_object_get(entry, "loss");
    if (loss) seen++;
    if (loss && seen <= EACH) *first += json_number_value(loss) / EACH;
    if (loss && seen > steps - EACH) *last += json_number_value(loss) / EACH;
  }
  assert_int_equal(seen, steps);
}

enum { STEPS = 96 };

static void check_loss(const char *mixer, const char *folder) {
  double first, last;
  read_losses(folder, STEPS, &first, &last);
  if (!(last < 0.9 * first)) fail_msg("%s: loss %.3f, then %.3f", mixer, first, last);
}

/* Mixers that the command trains, and options that they need for such lengths. */
static const struct {
  const char *mixer, *more;
} BY_COMMAND[] = {{"agf", ""}, {"nystrom", "--set mixer.landmarks=16"}};

static bool by_command(const char *mixer) {
  for (size_t i = 0; i < FT_COUNT(BY_COMMAND); i++)
    if (!strcmp(BY_COMMAND[i].mixer, mixer)) return true;
  return false;
}

TEST(the_command_trains_mixers) {
  const char *cache = test_folder();
  for (size_t i = 0; i < FT_COUNT(BY_COMMAND); i++) {
    const char *mixer = BY_COMMAND[i].mixer, *folder = test_new_run();
    command(test_text("train --device cpu --cache-dir %s --data %s --mixer %s --out %s --steps %d "
                      "--set width=16 --set layers=1 --set batch_size=16 --set log_every=1 "
                      "--set learning_rate=0.01 --set eval_every=48 %s",
                      cache, test_listops(), mixer, folder, STEPS, BY_COMMAND[i].more));
    check_loss(mixer, folder);
  }
}

TEST(every_mixer_learns_listops) {
  filtra_device *device;
  assert_ok(filtra_device_open(
      &(filtra_device_options){.select = test_chosen_device(), .cache_dir = ""}, &device));
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    const char *mixer = filtra_mixer_name(i), *folder = test_new_run();
    if (by_command(mixer)) continue;
    const char *config =
        test_text("{\"data\": \"%s\", \"mixer\": \"%s\", \"steps\": %d, \"width\": 16, "
                  "\"layers\": 1, \"batch_size\": 16, \"log_every\": 1, "
                  "\"learning_rate\": 0.01, \"eval_every\": 48}",
                  test_listops(), mixer, STEPS);
    filtra_status status = filtra_run_train(
        device, &(filtra_run_options){.config = config, .config_name = mixer, .folder = folder});
    if (status) fail_msg("%s: %s", mixer, filtra_error_message());
    check_loss(mixer, folder);
  }
  filtra_device_close(&device);
}

TEST_MAIN(NULL, test_teardown)
