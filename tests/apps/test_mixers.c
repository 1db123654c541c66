/* Trains every mixer from the command line: a short run on ListOps whose loss must fall. */
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

TEST(every_mixer_learns_listops) {
  enum { STEPS = 96 };
  char cache[256];
  snprintf(cache, sizeof cache, "%s", test_folder());
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    const char *mixer = filtra_mixer_name(i);
    char folder[256];
    double first, last;
    snprintf(folder, sizeof folder, "%s", test_path(test_folder(), mixer));
    command(test_text("train --device cpu --cache-dir %s --data %s --mixer %s --out %s --steps %d "
                      "--set width=16 --set layers=1 --set batch_size=16 --set log_every=1 "
                      "--set learning_rate=0.01 --set eval_every=48 %s",
                      cache, test_listops(), mixer, folder, STEPS,
                      strcmp(mixer, "nystrom") ? "" : "--set mixer.landmarks=16"));
    read_losses(folder, STEPS, &first, &last);
    if (!(last < 0.9 * first)) fail_msg("%s: loss %.3f, then %.3f", mixer, first, last);
  }
}

TEST_MAIN(NULL, test_teardown)
