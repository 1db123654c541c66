/* Names of parameters in messages: ranges of layers, and names that do not fit. */
#include "model/noted.h"
#include "support/case.h"

static const char *text_of(ft_noted *list, const char *const *names) {
  for (; *names; names++)
    ft_note(list, *names);
  return ft_noted_text(list);
}

TEST(layers_are_ranges) {
  ft_noted list = {0};
  const char *const names[] = {"embedding.weight",   "layers.0.mixer.w0", "layers.0.norm.bias",
                               "layers.1.mixer.w0",  "layers.3.mixer.w0", "layers.10.mixer.w0",
                               "layers.11.mixer.w0", "head.2.bias",       NULL};
  assert_string_equal(text_of(&list, names),
                      "embedding.weight, layers.0-1.mixer.w0, layers.0.norm.bias, "
                      "layers.3.mixer.w0, layers.10-11.mixer.w0, head.2.bias");
}

TEST(what_does_not_fit_is_counted) {
  ft_noted list = {0};
  static char names[100][32];
  for (int i = 0; i < 100; i++) {
    sprintf(names[i], "a.parameter.of.%02d", i);
    ft_note(&list, names[i]);
  }
  const char *text = ft_noted_text(&list);
  assert_non_null(strstr(text, "a.parameter.of.17, a.parameter.of.18 and 81 more"));
  assert_true(strlen(text) < sizeof list.text);
}

TEST_MAIN(NULL, NULL)
