/* `filtra metrics`: the CSV and the event file hold the numbers of metrics.jsonl. */
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include "base/file.h"

static const char METRICS[] =
    "{\"step\":1,\"loss\":2.5,\"accuracy\":0.125,\"milliseconds\":0}\n"
    "{\"step\":2,\"loss\":1.5,\"accuracy\":0.25,\"milliseconds\":10,\"skipped\":3}\n"
    "{\"step\":2,\"validation_loss\":1.25}\n"
    "{\"step\":3,\"lo"; /* being written */

static const char *make_run(const char *metrics) {
  const char *folder = test_folder();
  static const char config[] = "{\"data\": \"/d/x\"}";
  test_write(test_path(folder, "config.json"), config, strlen(config));
  test_write(test_path(folder, "metrics.jsonl"), metrics, strlen(metrics));
  return folder;
}

TEST(rows_of_csv) {
  static const char want[] = "step,loss,accuracy,milliseconds,skipped,validation_loss\n"
                             "1,2.5,0.125,0,,\n2,1.5,0.25,10,3,\n2,,,,,1.25\n";
  const char *run = make_run(METRICS), *file = test_path(test_folder(), "m.csv");
  assert_code(test_filtra("metrics %s", run), 0);
  assert_string_equal(test_output, want);
  assert_code(test_filtra("metrics --run %s -o %s", run, file), 0);
  owned char *text = test_read(file, NULL);
  assert_string_equal(text, want);
}

/* CRC-32C by polynomial division, unlike the command's. */
static uint32_t remainder_of(const unsigned char *bytes, size_t count) {
  uint32_t crc = 0;
  for (size_t bit = 0; bit < 8 * (count + 4); bit++) {
    const size_t at = bit / 8;
    uint32_t next = at < count ? bytes[at] >> bit % 8 & 1 : 0;
    if (bit < 32) next ^= 1; /* the register starts with ones */
    const uint32_t out = crc >> 31;
    crc = crc << 1 | next;
    if (out) crc ^= 0x1edc6f41u;
  }
  uint32_t mirrored = 0;
  for (int i = 0; i < 32; i++)
    mirrored |= (crc >> i & 1) << (31 - i);
  return ~mirrored;
}

static uint64_t little(const unsigned char *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;)
    value = value << 8 | bytes[i];
  return value;
}

static void check_sum(const unsigned char *bytes, size_t count, const unsigned char *sum) {
  const uint32_t crc = remainder_of(bytes, count);
  assert_int_equal(little(sum, 4), (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u));
}

/* Whether a record is step, tag and value of a scalar, as the bytes of protocol buffers. */
static bool is_scalar(const unsigned char *record, size_t count, unsigned char step,
                      const char *tag, float value) {
  unsigned char want[64] = {0x10, step, 0x2a};
  const size_t length = strlen(tag);
  const unsigned char scalar = (unsigned char)(length + 7), summary = (unsigned char)(scalar + 2);
  want[3] = summary;
  want[4] = 0x0a;
  want[5] = scalar;
  want[6] = 0x0a;
  want[7] = (unsigned char)length;
  memcpy(want + 8, tag, length);
  want[8 + length] = 0x15;
  memcpy(want + 9 + length, &value, 4);
  const size_t bytes = 13 + length; /* after the time: its key and eight bytes */
  return count == 9 + bytes && record[0] == 0x09 && !memcmp(record + 9, want, bytes);
}

TEST(records_of_tensorboard) {
  static const struct {
    unsigned char step;
    const char *tag;
    float value;
  } WANT[] = {{1, "loss", 2.5f}, {1, "accuracy", 0.125f},      {1, "milliseconds", 0},
              {2, "loss", 1.5f}, {2, "accuracy", 0.25f},       {2, "milliseconds", 10},
              {2, "skipped", 3}, {2, "validation_loss", 1.25f}};
  const char *folder = test_new_run();
  assert_code(test_filtra("metrics %s --tensorboard %s", make_run(METRICS), folder), 0);
  size_t size, count = 0;
  owned char *file = test_read(test_path(folder, "events.out.tfevents.1.filtra"), &size);
  const unsigned char *at = (const unsigned char *)file, *end = at + size;
  for (; at < end; count++) {
    const uint64_t length = little(at, 8);
    check_sum(at, 8, at + 8);
    check_sum(at + 12, length, at + 12 + length);
    if (!count)
      assert_non_null(memmem(at, length + 12, "brain.Event:2", 13));
    else if (!is_scalar(at + 12, length, WANT[count - 1].step, WANT[count - 1].tag,
                        WANT[count - 1].value))
      fail_msg("record %zu is not %s of step %d", count, WANT[count - 1].tag, WANT[count - 1].step);
    at += length + 16;
  }
  assert_int_equal(count, 1 + FT_COUNT(WANT));
}

/* Its own files are replaced, also that of a run without a line yet; others are left alone. */
TEST(files_of_others) {
  static const char other[] = "index,step\n1,2\n";
  const char *run = make_run(METRICS), *log = test_path(run, "metrics.jsonl");
  const char *file = test_path(run, "m.csv");
  assert_prints(test_filtra("metrics %s -o %s 2>&1", run, log), 2, "metrics.jsonl would replace");
  owned char *left = test_read(log, NULL);
  assert_string_equal(left, METRICS);
  test_write(file, other, strlen(other));
  assert_prints(test_filtra("metrics %s --out %s 2>&1", run, file), 2,
                "m.csv would replace a file that this command did not write: name another");
  owned char *kept = test_read(file, NULL);
  assert_string_equal(kept, other);
  test_write(file, "", 0);
  assert_code(test_filtra("metrics %s -o %s", make_run("{\"st"), file), 0);
  owned char *empty = test_read(file, NULL);
  assert_string_equal(empty, "step\n");
  assert_code(test_filtra("metrics %s -o %s", make_run(METRICS), file), 0);
  assert_code(test_filtra("metrics %s -o %s", make_run("{\"step\":7}\n"), file), 0);
  owned char *last = test_read(file, NULL);
  assert_string_equal(last, "step\n7\n");
  assert_prints(test_filtra("metrics %s -o %s 2>&1", run, run), 2, "not a regular file");
}

/* TensorBoard would show the events of two runs in one folder as one run. */
TEST(events_of_others) {
  static const char grown[] = "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":1}\n",
                    second[] = "{\"step\":1,\"loss\":2.25}\n";
  const char *folder = test_new_run(), *file = test_path(folder, "events.out.tfevents.1.filtra");
  const char *const replaced[] = {"{\"st", METRICS, grown, METRICS};
  for (size_t i = 0; i < FT_COUNT(replaced); i++)
    assert_code(test_filtra("metrics %s --tensorboard %s", make_run(replaced[i]), folder), 0);
  size_t before, after;
  owned char *own = test_read(file, &before);
  assert_true(before > 300);
  assert_prints(test_filtra("metrics %s --tensorboard %s 2>&1", make_run(second), folder), 2,
                "events.out.tfevents.1.filtra is of another run or program; TensorBoard shows");
  assert_code(test_filtra("metrics %s --tensorboard %s 2>&1", make_run("{\"st"), folder), 2);
  owned char *kept = test_read(file, &after);
  assert_true(before == after && !memcmp(own, kept, after));
  test_write(file, "notes", 5);
  assert_code(test_filtra("metrics %s --tensorboard %s 2>&1", make_run(METRICS), folder), 2);
}

TEST(what_is_no_run) {
  assert_prints(test_filtra("metrics %s 2>&1", test_folder()), 2, "is not a run folder");
  assert_prints(test_filtra("metrics %s 2>&1", make_run("{\"loss\":1}\n")), 2,
                "metrics.jsonl:1: \"step\" is missing");
  assert_prints(test_filtra("metrics x --out a --tensorboard b 2>&1"), 2, "exclude each other");
  assert_prints(test_filtra("compare %s %s 2>&1", test_folder(), test_folder()), 2,
                "Of runs, 'filtra report' makes a table");
}

TEST_MAIN(NULL, test_teardown)
