/* How other data of a run are written: the settings of filtra_run_open_data. Called by folder.c. */
#include "base/memory.h"
#include "data/table_fit.h"
#include "train/run.h"

#include <stdlib.h>
#include <string.h>

/* The settings that name columns, and where a run keeps the training file's names. */
static const struct {
  const char *key;
  size_t config, fit; /* offsets: of the text in ft_run_config, of the name in ft_table_fit */
} COLUMNS[] = {
    {"text_column", offsetof(ft_run_config, text_column), offsetof(ft_table_fit, text)},
    {"target_column", offsetof(ft_run_config, target_column), offsetof(ft_table_fit, target)},
    {"group_column", offsetof(ft_run_config, group_column), offsetof(ft_table_fit, group)},
    {"time_column", offsetof(ft_run_config, time_column), offsetof(ft_table_fit, time)},
    {"id_column", offsetof(ft_run_config, id_column), offsetof(ft_table_fit, id)}};

static bool names_column(const char *key) {
  for (size_t i = 0; i < FT_COUNT(COLUMNS); i++)
    if (!strcmp(key, COLUMNS[i].key)) return true;
  return false;
}

static filtra_status check_settings(const json_t *settings, const ft_table_fit *table) {
  static const char *const others[] = {"format", "delimiter", "decimal", "quoting"};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)settings, key, value) {
    bool known = names_column(key) || !strcmp(key, "label_separator");
    if (known && !table)
      return ft_fail(FILTRA_ERROR_INPUT, "settings: \"%s\": the run's data are no table", key);
    for (size_t i = 0; i < FT_COUNT(others); i++)
      known = known || !strcmp(key, others[i]);
    if (!known)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "settings: \"%.100s\" does not say how data are written; accepted are format, "
                     "delimiter, decimal, quoting, text_column, target_column, label_separator, "
                     "group_column, time_column and id_column",
                     key);
  }
  return FILTRA_OK;
}

static filtra_status set_name(char **name, const char *text, size_t length) {
  free(*name);
  *name = ft_format("%.*s", (int)length, text);
  return *name ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Gives the column its name in the other file. Of two texts both are named, with a comma between.
 */
static filtra_status rename_column(ft_table_fit *table, const char *key, char **name,
                                   const char *text) {
  const char *comma = name == &table->text && table->second ? strchr(text, ',') : NULL;
  if (name == &table->target && table->label_count)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "settings: \"target_column\": the run learned several columns of labels, which "
                   "have their names in other data, too");
  if (!*name && strcmp(key, "id_column") != 0)
    return ft_fail(FILTRA_ERROR_INPUT, "settings: \"%s\": the run reads no such column", key);
  if (name == &table->text && table->second && !comma)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "settings: \"text_column\" is \"%.100s\"; the run reads two: A,B", text);
  if (comma) FT_TRY(set_name(&table->second, comma + 1, strlen(comma + 1)));
  return set_name(name, text, comma ? (size_t)(comma - text) : strlen(text));
}

static filtra_status rename_columns(ft_table_fit *table, const json_t *settings,
                                    const ft_run_config *config) {
  for (size_t i = 0; i < FT_COUNT(COLUMNS); i++)
    if (json_object_get(settings, COLUMNS[i].key))
      FT_TRY(rename_column(table, COLUMNS[i].key, (char **)((char *)table + COLUMNS[i].fit),
                           (const char *)config + COLUMNS[i].config));
  if (json_object_get(settings, "label_separator")) {
    if (!table->separator)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "settings: \"label_separator\": the run's targets are not lists of labels");
    FT_TRY(ft_separator_read(config->label_separator, &table->separator));
  }
  if (!json_object_get(settings, "decimal")) return FILTRA_OK;
  table->decimal = config->dataset.decimal;
  table->decimal_seen = table->decimal != FILTRA_DECIMAL_AUTO;
  return FILTRA_OK;
}

filtra_status ft_run_change_reading(ft_run_config *config, const ft_table_fit *table,
                                    const char *settings, ft_table_fit **out) {
  const char *folder = config->folder;
  json_t *given = NULL, *all = NULL;
  *out = NULL;
  filtra_status status = ft_json_parse(settings, strlen(settings), "settings", &given);
  if (!status && !json_is_object(given))
    status = ft_fail(FILTRA_ERROR_INPUT, "settings: must be a JSON object");
  if (!status) status = check_settings(given, table);
  if (!status) all = ft_run_config_write(config);
  if (!status && (!all || json_object_update(all, given)))
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!status) status = ft_run_config_read(all, "settings", config);
  config->folder = folder;
  if (!status && table) status = ft_table_fit_copy(table, out);
  if (!status && *out) status = rename_columns(*out, given, config);
  if (status) {
    ft_table_fit_free(*out);
    *out = NULL;
  }
  json_decref(all);
  json_decref(given);
  return status;
}
