/* Help for the keys of a configuration: for all, for one, for a mixer's, for an unknown one. */
#include "support/harness.h"

#include <filtra/run.h>

static void assert_says(const char *key, size_t count, const char *const *parts) {
  char *text;
  assert_ok(filtra_config_describe(key, &text));
  for (size_t i = 0; i < count; i++)
    if (!strstr(text, parts[i])) fail_msg("\"%s\" is not in:\n%s", parts[i], text);
  filtra_free(text);
}

TEST(test_one_key) {
  static const struct {
    const char *key, *parts[3];
  } CASES[] = {
      {"drop_path", {"Stochastic depth: ", "accepted: number, 0 to 0.999", "Huang et al. 2016"}},
      {"layers", {"layers\n", "accepted: whole number, 1 to 256", "default: 2\n"}},
      {"optimizer", {"accepted: adamw, adam, radam", "default: adamw", "Kingma & Ba 2015"}},
      {"shares", {"3:1", "accepted: text", "default: none"}},
      {"mixer.K", {"mixer.K, mixer gfsa: ", "mixer.K, mixer agf: ", "default: 5"}},
      {"random_features", {"mixer.random_features, mixer performer: ", "default: d ln d", "0"}},
      {"linformer", {"mixer linformer: ", "mixer.k\n", "mixer.shared\n"}},
      {"heads", {"heads\n", "at most 128 channels", "mixer.heads, mixer synvolution: "}},
  };
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    assert_says(CASES[i].key, 3, CASES[i].parts);
  char *text; /* the mixers' alone */
  assert_ok(filtra_config_describe("mixer.heads", &text));
  assert_null(strstr(text, "at most 128"));
  filtra_free(text);
}

TEST(test_all_keys) {
  static const char *const PARTS[] = {"\n  model\n",       "\n  training\n", "\n  data\n",
                                      "\n  images\n",      "  drop_path ",   "  mixup_prob ",
                                      "  mixer.landmarks "};
  assert_says(NULL, FT_COUNT(PARTS), PARTS);
}

TEST(test_lines_fit) {
  char *text;
  assert_ok(filtra_config_describe("init_std", &text));
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    assert_true(strlen(line) <= 80);
  filtra_free(text);
}

TEST(test_unknown) {
  static const char *const CASES[][2] = {
      {"droppath", "there is no key \"droppath\" (did you mean \"drop_path\"?); `filtra train"},
      {"mixer.lanczosm", "(did you mean \"mixer.lanczos_m\"?)"},
      {"orthonormals", "(did you mean \"mixer.orthonormal\"?)"},
      {"linfomer", "(did you mean \"linformer\"?)"},
      {"quaternionic", "there is no key \"quaternionic\"; `filtra train --help` lists all"},
      {"", "there is no key \"\""},
  };
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    char *text;
    assert_fails(filtra_config_describe(CASES[i][0], &text), FILTRA_ERROR_INPUT, CASES[i][1]);
    assert_null(text);
  }
}

TEST_MAIN(NULL, NULL)
