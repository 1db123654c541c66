/* The command as a shell sees it: output, exit codes, and what `filtra devices` lists. */
#include "base/file.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>

TEST(test_usage) {
  static const struct {
    const char *arguments, *part;
    int code;
  } cases[] = {{"--help", "Usage: filtra", 0},
               {"--help", "devices", 0},
               {"--version", "filtra 0.", 0},
               {"2>&1", "Usage: filtra", 2},
               {"nothing 2>&1", "\"nothing\"", 2},
               {"--nothing 2>&1", "--nothing", 2},
               {"nothing-like-it 2>&1", "no command \"nothing-like-it\"\n", 2},
               {"trian 2>&1", "(did you mean \"train\"?)", 2},
               {"data listop 2>&1", "(did you mean \"listops\"?)", 2},
               {"help", "Usage: filtra COMMAND", 0},
               {"help devices", "Usage: filtra devices", 0},
               {"help data listops", "--min-length", 0},
               {"help nothing 2>&1", "\"nothing\"", 2},
               {"eval 2>&1", "which run? Give its folder: filtra eval runs/agf", 2},
               {"eval a b 2>&1", "what is \"b\"?", 2},
               {"eval --run a b 2>&1", "what is \"b\"?", 2},
               {"generate nowhere --prompt x --device cpu 2>&1", "nowhere is not a run folder", 2},
               {"analyze nowhere --device cpu 2>&1", "nowhere is not a run folder", 2},
               {"predict nowhere --device cpu 2>&1", "nowhere is not a run folder", 2},
               {"predict a --data b --data c 2>&1", "--data is given twice, as \"b\" and \"c\"", 2},
               {"train --data b --data c 2>&1", "--data is given twice", 2},
               {"train --mixer agf --set mixer.K=3 --help", "Usage: filtra train", 0},
               {"devices --help", "FILTRA_DEVICE", 0},
               {"presets --help", "Usage: filtra presets", 0},
               {"presets", "lra-listops-agf", 0},
               {"presets x 2>&1", "what is \"x\"?", 2},
               {"devices --nothing 2>&1", "filtra devices --help", 2},
               {"devices more 2>&1", "what is \"more\"?", 2},
               {"devices --device 2>&1", "requires an argument", 2},
               {"devices --device 'no such device' 2>&1", "no such device", 3},
               {"devices --caps int64=9 2>&1", "int64=9", 2},
               {"devices --driver-threads 0 2>&1",
                "--driver-threads is \"0\", not a whole number from 1 to 1024", 2},
               {"--version >/dev/full 2>/dev/null", "", 1}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    int code = test_run_command("", cases[i].arguments);
    if (code != cases[i].code || !strstr(test_output, cases[i].part)) {
      print_error("filtra %s: exit code %d, wanted %d and \"%s\" in:\n%s\n", cases[i].arguments,
                  code, cases[i].code, cases[i].part, test_output);
      fail();
    }
  }
}

/* Threads of a run's process while it trains. */
static long threads_with(const char *option) {
  const char *run = test_new_run();
  const char *arguments = test_text("--device cpu --cache-dir '' --mixer fnet --data %s --out %s "
                                    "--set width=8 --set layers=1 --set log_every=1 %s",
                                    test_listops(), run, option);
  const char *look = test_text("until [ -s %s/metrics.jsonl ] || ! kill -0 $!; do sleep 0.1; done; "
                               "ls /proc/$!/task | wc -l; kill -9 $!",
                               run);
  test_run_command("env -u LP_NUM_THREADS",
                   test_text("train %s >/dev/null 2>&1 & %s", arguments, look));
  return strtol(test_output, NULL, 10);
}

TEST(test_driver_threads) {
  const char *driver = filtra_device_get_info(test_device())->driver;
  if (!ft_file_exists("/proc/self/task") || !strstr(driver, "llvmpipe")) skip();
  const long one = threads_with("--driver-threads 1");
  const long six = threads_with("--driver-threads 6");
  if (one < 1 || six < one + 6) fail_msg("%ld threads, %ld with six of the driver", one, six);
}

TEST(test_check_report_usage) {
  static const char *const cases[][2] = {
      {"--json", "leave out --json"},
      {"--precision bf16", "leave out --precision"},
      {"x.safetensors", "leave out the files"},
      {"--caps @/home/me/my.caps", "names a file, which would be in the report"},
      {"--caps @alice.caps", "--caps @alice.caps names a file"},
      {"--caps @minimum,int64=0,@minimu", "names a file"},
      {"--caps @minimum --json", "leave out --json"}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_code(test_filtra("check --report r.json %s 2>&1", cases[i][0]), 2);
    assert_printed(cases[i][1]);
  }
  assert_code(test_filtra("check --seconds 3 2>&1"), 2);
  assert_printed("--seconds is of tuning for --report");
  assert_code(test_filtra("check --report %s/no/r.json 2>&1", test_folder()), 2);
  const char *other = test_path(test_folder(), "other.json");
  test_write(other, "{\n  \"format\": \"filtra-bench-3\"}", 31);
  assert_prints(test_filtra("check --report %s 2>&1", other), 2,
                "other.json would replace a file that this command did not write");
}

TEST(test_devices) {
  const filtra_device_info *info = filtra_device_get_info(test_device());
  assert_code(test_filtra("devices --device %u", info->index), 0);
  char starred[300];
  snprintf(starred, sizeof starred, "* %2u %s", info->index, info->name);
  assert_printed(starred);
  assert_printed(info->uuid);
}

/* Lavapipe says which vectors serve what, where it was told to take the widest. */
TEST(test_devices_vectors) {
  static const char *const WIDTHS[] = {"LP_NATIVE_VECTOR_WIDTH=256", "LP_NATIVE_VECTOR_WIDTH=512"};
  for (size_t i = 0; i < FT_COUNT(WIDTHS); i++) {
    assert_code(test_run_command(WIDTHS[i], "devices --device cpu"), 0);
    bool widest = strstr(test_output, " llvmpipe (LLVM ") && strstr(test_output, " 512 bits)");
    assert_true(widest == (strstr(test_output, "LP_NATIVE_VECTOR_WIDTH=256 serves both") != NULL));
  }
}

TEST(test_devices_json) {
  char arguments[128];
  const filtra_device_info *info = filtra_device_get_info(test_device());
  snprintf(arguments, sizeof arguments, "devices --json --device %s --caps int64=0,fp16=0",
           info->uuid);
  assert_code(test_run_command("", arguments), 0);
  json_auto_t *root = test_output_json(); /* also says that nothing else was printed */
  assert_string_equal(json_string_value(json_object_get(root, "version")), filtra_version());
  json_t *list = json_object_get(root, "devices");
  uint32_t count = 0;
  assert_ok(filtra_device_list(NULL, &count));
  assert_int_equal(json_array_size(list), count);
  size_t chosen = (size_t)json_integer_value(json_object_get(root, "chosen"));
  json_t *device = json_array_get(list, chosen);
  assert_string_equal(json_string_value(json_object_get(device, "uuid")), info->uuid);
  assert_string_equal(json_string_value(json_object_get(device, "name")), info->name);
  assert_true(json_is_false(json_object_get(device, "int64"))); /* as the override has it */
  assert_true(json_is_true(json_object_get(device, "usable")));
  assert_int_equal(json_integer_value(json_object_get(device, "memory_bytes")), info->memory_bytes);
}

/* What a layer of the driver prints is no part of the object, nor lost. */
TEST(test_talking_layer) {
  static const char library[] = TEST_BINARY_DIR "/talking_layer.so";
  if (!ft_file_exists(library)) skip();
  const char *preload = test_text("LD_PRELOAD=%s", library);
  assert_code(test_run_command(preload, "devices --json 2>/dev/null"), 0);
  json_auto_t *root = test_output_json();
  assert_true(json_is_array(json_object_get(root, "devices")));
  assert_code(test_run_command(preload, "devices --jso 2>&1 >/dev/null"), 0);
  assert_printed("a layer prints\n");
  assert_printed("a layer writes\n");
}

TEST(test_no_driver) {
  int code = test_run_command("VK_ICD_FILENAMES=/nonexistent/driver.json VK_DRIVER_FILES=",
                              "devices --json 2>&1");
  assert_int_equal(code, 3);
  assert_printed("install");
}

TEST_MAIN(NULL, test_teardown)
