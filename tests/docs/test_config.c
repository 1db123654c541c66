/* The tables of docs/config.md are generated from the tables that read configurations: each follows
 * a line <!-- keys: NAME -->. This test compares them line by line; with FILTRA_WRITE_DOCS, which
 * the build target docs-config sets, it writes them. */
#include "support/harness.h"

#include "base/file.h"
#include "train/config.h"

static const char PAGE[] = TEST_SOURCE_DIR "/../docs/config.md", MARK[] = "<!-- keys: ";

/* ---- the page ---- */

static void write_rows(FILE *to, const ft_keys *keys) {
  char accepted[FT_KEY_TEXT], usual[FT_KEY_TEXT];
  for (size_t i = 0; i < keys->count; i++) {
    const ft_key *k = &keys->list[i];
    if (!k->help) fail_msg("\"%s\" has no help", k->name);
    ft_key_accepted(k, accepted);
    ft_key_default(k, usual);
    const char *quote = k->usual || !*usual ? "" : "`";
    fprintf(to, "| `%s` | %s | %s%s%s | %s", k->name, accepted, quote, *usual ? usual : "none",
            quote, k->help);
    fprintf(to, k->paper ? " (%s) |\n" : " |\n", k->paper);
  }
}

/* All tables of that name as one. */
static void write_tables(FILE *to, const char *name) {
  const ft_mixer_class *mixer = ft_mixer_find(name);
  size_t found = mixer != NULL;
  fprintf(to, "\n| %s | accepted | default | meaning |\n|---|---|---|---|\n",
          mixer ? "option" : "key");
  if (mixer) write_rows(to, &mixer->keys);
  for (size_t t = 0; t < FT_RUN_KEY_TABLES; t++) {
    const ft_key_table *table = &ft_run_key_tables[t];
    if (strcmp(table->name, name)) continue;
    write_rows(to, table->keys);
    found++;
  }
  if (!found) fail_msg("docs/config.md has a table \"%s\", of which there are no keys", name);
}

/* The page with its tables as they should be; caller frees. */
static char *rewrite(const char *page) {
  char *text = NULL, name[32];
  size_t size;
  bool table = false;
  FILE *to = open_memstream(&text, &size);
  assert_non_null(to);
  for (const char *line = page, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    next += *next == '\n';
    if (table && (*line == '|' || *line == '\n')) continue;
    if (table) fputc('\n', to);
    table = sscanf(line, "<!-- keys: %31[a-z_] -->", name) == 1;
    fwrite(line, 1, (size_t)(next - line), to);
    if (table) write_tables(to, name);
  }
  assert_int_equal(fclose(to), 0);
  return text;
}

static void compare(const char *is, const char *should) {
  int number = 1;
  for (; *is || *should; number++) {
    size_t a = strcspn(is, "\n"), b = strcspn(should, "\n");
    if (a != b || strncmp(is, should, a))
      fail_msg("docs/config.md:%d is\n%.*s\nand should be\n%.*s\nThe text is that of the tables in "
               "the code; the build target docs-config writes it here",
               number, (int)a, is, (int)b, should);
    is += a + (is[a] == '\n');
    should += b + (should[b] == '\n');
  }
}

TEST(test_page) {
  owned char *page = NULL;
  size_t size;
  assert_ok(ft_file_read(PAGE, 1 << 20, &page, &size));
  owned char *should = rewrite(page);
  if (getenv("FILTRA_WRITE_DOCS"))
    assert_ok(ft_file_write(PAGE, should, strlen(should)));
  else
    compare(page, should);
}

static size_t count_marks(const char *page, const char *name) {
  char mark[64];
  size_t count = 0;
  snprintf(mark, sizeof mark, "%s%s -->", MARK, name);
  for (const char *at = page; (at = strstr(at, mark)); at++)
    count++;
  return count;
}

TEST(test_every_table_is_there_once) {
  owned char *page = NULL;
  size_t size;
  assert_ok(ft_file_read(PAGE, 1 << 20, &page, &size));
  for (size_t t = 0; t < FT_RUN_KEY_TABLES; t++)
    assert_int_equal(count_marks(page, ft_run_key_tables[t].name), 1);
  for (size_t i = 0; i < filtra_mixer_count(); i++)
    assert_int_equal(count_marks(page, filtra_mixer_name(i)), 1);
}

/* ---- what reading does ---- */

/* Reads a configuration of a run (mixer NULL) or a mixer with one key set; NULL: none. */
static filtra_status read_with(const char *mixer, const char *key, json_t *value, json_t **all) {
  json_auto_t *object =
      mixer ? json_pack("{ss}", "name", mixer) : json_pack("{ss}", "data", "folder");
  if (key) json_object_set_new(object, key, value);
  ft_run_config config;
  ft_mixer read;
  filtra_status status =
      mixer ? ft_mixer_read(object, "test", &read) : ft_run_config_read(object, "test", &config);
  if (!status && all) *all = mixer ? ft_mixer_write(&read) : ft_run_config_write(&config);
  return status;
}

static void assert_refused(const char *mixer, const ft_key *k, json_t *value) {
  char name[80];
  snprintf(name, sizeof name, "\"%s\"", k->name);
  assert_fails(read_with(mixer, k->name, value, NULL), FILTRA_ERROR_INPUT, name);
}

/* Numbers beyond the documented range are refused, and documented defaults are real. */
static void check_key(const char *mixer, const ft_key *k, const json_t *defaults) {
  char text[FT_KEY_TEXT], real[FT_KEY_TEXT];
  if (k->type == FT_KEY_INT) {
    assert_refused(mixer, k, json_integer((json_int_t)k->high + 1));
    assert_refused(mixer, k, json_integer((json_int_t)k->low - 1));
  } else if (k->type == FT_KEY_FLOAT || k->type == FT_KEY_FLOATS) {
    assert_refused(mixer, k, json_real(1.001 * k->high));
    assert_refused(mixer, k, json_real(k->low - 0.001 * (k->low != 0.0 ? fabs(k->low) : 1.0)));
  } else if (k->type != FT_KEY_OTHER) {
    assert_refused(mixer, k, json_real(2.5));
  }
  if (k->usual || k->type == FT_KEY_OTHER || k->type == FT_KEY_STRING || k->type == FT_KEY_LIST)
    return;
  ft_key_default(k, text);
  json_auto_t *documented = json_loads(text, JSON_DECODE_ANY, NULL);
  const json_t *value = json_object_get(defaults, k->name);
  bool same = json_is_number(documented)
                  ? (float)json_number_value(documented) == (float)json_number_value(value)
              : json_is_string(value) ? !strcmp(text, json_string_value(value))
                                      : json_equal(documented, value);
  snprintf(real, sizeof real, "%s", json_is_string(value) ? json_string_value(value) : "another");
  if (!same) fail_msg("\"%s\": documented default %s, real %s", k->name, text, real);
}

TEST(test_reading) {
  ft_key list[FT_RUN_MOST_KEYS];
  const size_t count = ft_run_config_keys(list).count;
  json_t *defaults = NULL;
  assert_true(count < FT_RUN_MOST_KEYS); /* none was left out */
  assert_ok(read_with(NULL, NULL, NULL, &defaults));
  assert_int_equal(json_object_size(defaults), count);
  for (size_t i = 0; i < count; i++)
    check_key(NULL, &list[i], defaults);
  json_decref(defaults);
  for (size_t m = 0; m < filtra_mixer_count(); m++) {
    const ft_mixer_class *mixer = ft_mixer_at(m);
    assert_ok(read_with(mixer->name, NULL, NULL, &defaults));
    for (size_t i = 0; i < mixer->keys.count; i++)
      check_key(mixer->name, &mixer->keys.list[i], defaults);
    json_decref(defaults);
  }
}

TEST_MAIN(NULL, NULL)
