/* docs/config.md against the code: every key has its row with the accepted values and the default
 * that reading a configuration really has, and no row speaks of a key that does not exist. */
#include "support/harness.h"

#include "base/file.h"
#include "train/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 160, MAX_TEXT = 256 };

/* | `key` | accepted | default | meaning |, in the part of the page on `mixer`, "" outside. */
typedef struct row {
  char mixer[32], key[64], accepted[MAX_TEXT], fallback[MAX_TEXT];
  bool seen;
} row;

typedef struct page {
  row rows[MAX_ROWS];
  size_t count;
} page;

/* ---- the page ---- */

/* The next cell of a table's line, without backquotes or blanks around it. */
static char *take_cell(char *line, char *out, bool keep_quotes) {
  size_t length = 0;
  for (; *line && *line != '|' && *line != '\n'; line++)
    if ((*line != '`' || keep_quotes) && (*line != ' ' || length) && length < MAX_TEXT - 1)
      out[length++] = *line;
  while (length && out[length - 1] == ' ')
    length--;
  out[length] = '\0';
  return *line == '|' ? line + 1 : line;
}

static void read_page(page *p) {
  char *text, mixer[32] = "";
  size_t size;
  assert_ok(ft_file_read(TEST_SOURCE_DIR "/../docs/config.md", 1 << 20, &text, &size));
  *p = (page){0};
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (!strncmp(line, "## ", 3)) *mixer = '\0';
    if (!strncmp(line, "### `", 5)) sscanf(line, "### `%31[^`]`", mixer);
    if (strncmp(line, "| `", 3)) continue;
    char key[MAX_TEXT];
    assert_true(p->count < MAX_ROWS);
    row *r = &p->rows[p->count++];
    char *rest = take_cell(line + 2, key, false);
    rest = take_cell(rest, r->accepted, false);
    take_cell(rest, r->fallback, true);
    snprintf(r->key, sizeof r->key, "%.63s", key);
    snprintf(r->mixer, sizeof r->mixer, "%s", mixer);
  }
  free(text);
  assert_true(p->count > 0);
}

static row *find_row(page *p, const char *mixer, const char *key) {
  for (size_t i = 0; i < p->count; i++)
    if (!strcmp(p->rows[i].mixer, mixer) && !strcmp(p->rows[i].key, key)) return &p->rows[i];
  fail_msg("docs/config.md has no row for \"%s\"%s%s", key, *mixer ? " of mixer " : "", mixer);
  return NULL;
}

/* ---- the code ---- */

/* Reads a configuration of a run (mixer "") or a mixer that has one key set; NULL: none set. What
 * was read is written to *complete, all defaults resolved. */
static filtra_status read_with(const char *mixer, const char *key, json_t *value,
                               json_t **complete) {
  json_t *object = *mixer ? json_pack("{ss}", "name", mixer) : json_pack("{ss}", "data", "folder");
  if (key) json_object_set_new(object, key, value);
  ft_run_config config;
  ft_mixer read;
  filtra_status status =
      *mixer ? ft_mixer_read(object, "test", &read) : ft_run_config_read(object, "test", &config);
  if (!status && complete)
    *complete = *mixer ? ft_mixer_write(&read) : ft_run_config_write(&config);
  json_decref(object);
  return status;
}

/* What comes behind `mark` in the message that refuses the value. */
static bool refusal(const char *mixer, const char *key, json_t *value, const char *mark,
                    char out[MAX_TEXT]) {
  assert_int_not_equal(read_with(mixer, key, value, NULL), FILTRA_OK);
  const char *at = strstr(filtra_error_message(), mark);
  size_t length = 0;
  for (const char *c = at ? at + strlen(mark) : ""; *c && length < MAX_TEXT - 1; c++)
    if (*c != '+') out[length++] = *c; /* 1e+12 is written 1e12 */
  out[length] = '\0';
  return at != NULL;
}

/* The values a key accepts, in the words of its own errors. */
static void accepted_values(const char *mixer, const char *key, char out[MAX_TEXT]) {
  char range[MAX_TEXT], rest[MAX_TEXT];
  if (refusal(mixer, key, json_real(1e300), "accepted are ", range))
    snprintf(out, MAX_TEXT, "number%s, %.200s",
             refusal(mixer, key, json_null(), "or a list", rest) ? " or list of numbers" : "",
             range);
  else if (refusal(mixer, key, json_real(0.5), "must be a whole number", range) &&
           refusal(mixer, key, json_integer(INT64_MIN), "accepted are ", range))
    snprintf(out, MAX_TEXT, "whole number, %.200s", range);
  else if (!refusal(mixer, key, json_real(1e300), "must be one of ", out))
    assert_true(refusal(mixer, key, json_real(1e300), "must be ", out));
}

static bool same_value(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
  return json_equal(a, b);
}

static void check_key(page *p, const char *mixer, const char *key, const json_t *fallback) {
  if (*mixer && !strcmp(key, "name")) return;
  row *r = find_row(p, mixer, key);
  r->seen = true;
  if (!*mixer && !strcmp(key, "mixer")) return; /* a part of the page for each */
  char accepted[MAX_TEXT];
  accepted_values(mixer, key, accepted);
  if (strcmp(r->accepted, accepted))
    fail_msg("\"%s\": documented \"%s\", accepted \"%s\"", key, r->accepted, accepted);
  if (*r->fallback != '`') return; /* follows from other keys or from the data */
  char text[MAX_TEXT];
  take_cell(r->fallback, text, false);
  json_t *documented = json_loads(text, JSON_DECODE_ANY, NULL);
  if (!documented || !same_value(documented, fallback))
    fail_msg("\"%s\": documented default %s, real %s", key, text,
             json_dumps(fallback, JSON_ENCODE_ANY));
  json_decref(documented);
}

static void check_keys(page *p, const char *mixer) {
  json_t *complete = NULL, *value;
  const char *key;
  assert_ok(read_with(mixer, NULL, NULL, &complete));
  json_object_foreach(complete, key, value) check_key(p, mixer, key, value);
  json_decref(complete);
}

TEST(test_run_keys) {
  page p;
  read_page(&p);
  check_keys(&p, "");
  for (size_t i = 0; i < p.count; i++)
    if (!*p.rows[i].mixer && !p.rows[i].seen)
      fail_msg("docs/config.md explains \"%s\", which is no key", p.rows[i].key);
}

TEST(test_mixer_keys) {
  page p;
  read_page(&p);
  char known[MAX_TEXT];
  assert_true(refusal("?", NULL, NULL, "known are ", known));
  for (char *name = strtok(known, ", "); name; name = strtok(NULL, ", "))
    check_keys(&p, name);
  for (size_t i = 0; i < p.count; i++)
    if (*p.rows[i].mixer && !p.rows[i].seen)
      fail_msg("docs/config.md explains \"%s\", which is no option of mixer %s", p.rows[i].key,
               p.rows[i].mixer);
}

TEST_MAIN(NULL, NULL)
