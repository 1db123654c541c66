/* Reads a sweep's file, and checks all of it before anything runs. Called by sweep.c. */
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "base/stream.h"
#include "sweep.h"

#include <ctype.h>
#include <errno.h>
#include <filtra/filtra.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 10000, MOST_NAME = 200 };

static const char *const SPLITS[] = {"train", "val", "test", NULL};
enum { SPLIT_TEST = 2 };

typedef struct file_keys {
  char title[256], out[1024];
  int evaluate;
} file_keys;

static const ft_key FILE_KEYS[] = {
    FT_STRING_KEY(file_keys, title, "title", NULL),
    FT_STRING_KEY(file_keys, out, "out", NULL),
    FT_ENUM_KEY(file_keys, evaluate, "evaluate", SPLIT_TEST, SPLITS, NULL),
    FT_OTHER_KEY("config", NULL),
    FT_OTHER_KEY("datasets", NULL),
    FT_OTHER_KEY("mixers", NULL),
    FT_OTHER_KEY("options", NULL),
    FT_OTHER_KEY("seeds", NULL),
};

typedef struct data_keys {
  char data[1024], note[1024];
  int evaluate;
} data_keys;

static filtra_status starve(void) {
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* ---- JSON ---- */

/* Finds an object by name; NULL if there is none. */
static filtra_status get_object(const json_t *parent, const char *context, const char *key,
                                json_t **out) {
  *out = json_object_get(parent, key);
  if (!*out || json_is_object(*out)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be an object", context, key);
}

/* Finds a list by name; it must not be empty. */
static filtra_status get_list(const json_t *parent, const char *context, const char *key,
                              const char *what, json_t **out) {
  *out = json_object_get(parent, key);
  if (json_is_array(*out) && json_array_size(*out)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be a list of %s, with one at least", context,
                 key, what);
}

/* Refuses keys of "config" or "options", `place`, that the grid sets. */
static filtra_status check_config(const json_t *config, const char *context, const char *place) {
  static const char *const GRID[][2] = {
      {"data", "datasets"}, {"mixer", "mixers"}, {"seed", "seeds"}};
  for (size_t i = 0; i < FT_COUNT(GRID); i++)
    if (json_object_get(config, GRID[i][0]))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: \"%s\" comes from \"%s\" of the file; leave it out of \"%s\"", context,
                     GRID[i][0], GRID[i][1], place);
  return FILTRA_OK;
}

/* Writes a part of a cell's name; replaces all but letters, digits and ._+- by "_". */
static void put_part(FILE *to, const char *text) {
  for (; *text; text++)
    fputc(isalnum((unsigned char)*text) || strchr("._+-", *text) ? *text : '_', to);
}

static filtra_status put_value(FILE *to, const char *key, const json_t *value) {
  char *text = json_is_string(value)
                   ? ft_strdup(json_string_value(value))
                   : ft_json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!text) return starve();
  fputc('-', to);
  put_part(to, key);
  fputc('=', to);
  put_part(to, text);
  free(text);
  return FILTRA_OK;
}

/* "K" of "mixer.K"; NULL: not an option of the mixer. */
static const char *option_of_mixer(const char *key) {
  static const char MIXER[] = "mixer.";
  return strncmp(key, MIXER, sizeof MIXER - 1) ? NULL : key + sizeof MIXER - 1;
}

static const char *mixer_name(const json_t *mixer) {
  return json_string_value(json_is_object(mixer) ? json_object_get(mixer, "name") : mixer);
}

/* ---- data sets ---- */

static const ft_key DATA_KEYS[] = {
    FT_STRING_KEY(data_keys, data, "data", NULL),
    FT_ENUM_KEY(data_keys, evaluate, "evaluate", SPLIT_TEST, SPLITS, NULL),
    FT_OTHER_KEY("generate", NULL),
    FT_OTHER_KEY("config", NULL),
    FT_OTHER_KEY("mixers", NULL),
    FT_OTHER_KEY("published", NULL),
    FT_STRING_KEY(data_keys, note, "note", NULL),
};

static filtra_status check_generation(const json_t *generate, const char *context) {
  static const char *const KINDS[] = {"listops", "pathfinder"};
  const char *kind = json_string_value(json_object_get(generate, "kind")), *key;
  const json_t *value;
  bool known = false;
  for (size_t i = 0; i < FT_COUNT(KINDS); i++)
    known |= kind && !strcmp(kind, KINDS[i]);
  if (!known)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"generate\": \"kind\" is %s, accepted are listops and pathfinder", context,
                   kind ? kind : "missing");
  json_object_foreach((json_t *)generate, key, value) {
    if (!strcmp(key, "kind") || (json_is_integer(value) && json_integer_value(value) >= 0))
      continue;
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"generate\": \"%s\" must be a whole number, as `filtra data %s` takes it",
                   context, key, kind);
  }
  return FILTRA_OK;
}

/* Sets the data's path for runs: absolute if it exists; below the sweep's folder if it is
 * generated. */
static filtra_status find_path(const sweep *s, const sweep_choice *choice, const char *given,
                               sweep_data *d) {
  const char *path = json_string_value(json_object_get(choice->paths, d->name));
  if (path) d->generate = NULL;
  if (d->generate) {
    d->path = ft_format("%s/data/%s", s->out, d->name);
    return d->path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  }
  if (!path) path = given;
  errno = 0;
  d->path = ft_full_path(path);
  if (d->path) return FILTRA_OK;
  if (errno == ENOMEM) return starve();
  d->path = ft_strdup(path); /* fails later, if a chosen cell needs it */
  return d->path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status check_published(const json_t *published, const char *context) {
  const char *name;
  const json_t *value;
  json_object_foreach((json_t *)published, name, value) if (!json_is_number(value)) return ft_fail(
      FILTRA_ERROR_INPUT, "%s: \"published\": \"%s\" must be a number", context, name);
  return FILTRA_OK;
}

static filtra_status read_data(sweep *s, const sweep_choice *choice, const char *context,
                               const json_t *entry, int evaluate, sweep_data *d) {
  data_keys keys;
  json_t *config, *generate, *published;
  FT_TRY(ft_keys_read(entry, &(ft_keys)FT_KEYS(DATA_KEYS), &keys, context));
  FT_TRY(get_object(entry, context, "config", &config));
  FT_TRY(get_object(entry, context, "generate", &generate));
  FT_TRY(get_object(entry, context, "published", &published));
  FT_TRY(check_config(config, context, "config"));
  FT_TRY(check_published(published, context));
  if (generate) FT_TRY(check_generation(generate, context));
  if (!generate == !*keys.data)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: give \"data\", a path, or \"generate\"", context);
  if (!ft_is_name(d->name) || !*d->name || *d->name == '.')
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: the name must not be empty, begin with \".\" or have "
                   "a \"/\": folders are called by it",
                   context);
  d->generate = generate;
  if (json_object_get(entry, "evaluate")) evaluate = keys.evaluate;
  snprintf(d->evaluate, sizeof d->evaluate, "%s", SPLITS[evaluate]);
  return find_path(s, choice, keys.data, d);
}

static filtra_status read_all_data(sweep *s, const sweep_choice *choice, int evaluate) {
  json_t *sets = json_object_get(s->root, "datasets"), *entry;
  const char *name;
  if (!json_is_object(sets) || !json_object_size(sets))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"datasets\" must be an object of data sets by name, with one at least",
                   s->file);
  json_object_foreach(
      (json_t *)choice->paths, name,
      entry) if (!json_object_get(sets, name)) return ft_fail(FILTRA_ERROR_ARGUMENT,
                                                              "--data: %s has no data set \"%s\"",
                                                              s->file, name);
  s->data = ft_calloc(json_object_size(sets), sizeof *s->data);
  if (!s->data) return FILTRA_ERROR_HOST_MEMORY;
  json_object_foreach(sets, name, entry) {
    char *context = ft_format("%s: \"datasets\": \"%s\"", s->file, name);
    if (!context) return FILTRA_ERROR_HOST_MEMORY;
    s->data[s->data_count].name = name;
    filtra_status status =
        read_data(s, choice, context, entry, evaluate, &s->data[s->data_count++]);
    free(context);
    FT_TRY(status);
  }
  return FILTRA_OK;
}

/* ---- the grid ---- */

/* The axes of one data set. */
typedef struct grid {
  sweep *s;
  const sweep_data *data;
  const json_t *config, *own; /* keys for all cells, and for this data set; NULL: none */
  const json_t *mixers, *options, *seeds;
  json_t *names; /* {name of each cell: null} */
} grid;

static filtra_status add_cell(sweep *s, const sweep_cell *cell) {
  sweep_cell *list = ft_realloc(s->cells, s->count + 1, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  s->cells = list;
  s->cells[s->count++] = *cell;
  return FILTRA_OK;
}

/* Sets "mixer.K": copies the mixer to an object of the cell's own, with that option. */
static bool set_mixer_option(json_t *config, const char *option, json_t *value) {
  const json_t *mixer = json_object_get(config, "mixer");
  json_t *own = json_is_object(mixer) ? json_copy((json_t *)mixer)
                                      : json_pack("{sO}", "name", (json_t *)mixer);
  if (own && !json_object_set(own, option, value))
    return !json_object_set_new(config, "mixer", own);
  json_decref(own);
  return false;
}

static bool set_option(json_t *config, const char *key, json_t *value) {
  const char *option = option_of_mixer(key);
  return option ? set_mixer_option(config, option, value) : !json_object_set(config, key, value);
}

/* Fills a cell's name and settings, for a mixer, a combination of options, and a seed. */
static filtra_status fill_cell(const grid *g, const json_t *mixer, size_t option,
                               const json_t *seed, FILE *name, json_t *config) {
  const char *key;
  const json_t *value;
  bool done = (!g->config || !json_object_update(config, (json_t *)g->config)) &&
              (!g->own || !json_object_update(config, (json_t *)g->own)) &&
              !json_object_set(config, "mixer", (json_t *)mixer) &&
              !json_object_set(config, "seed", (json_t *)seed) &&
              !json_object_set_new(config, "data", json_string(g->data->path));
  if (!done) return starve();
  put_part(name, g->data->name);
  fputc('-', name);
  put_part(name, mixer_name(mixer));
  if (json_is_object(mixer))
    json_object_foreach((json_t *)mixer, key, value) if (strcmp(key, "name"))
        FT_TRY(put_value(name, key, value));
  json_object_foreach((json_t *)g->options, key, value) {
    json_t *chosen = json_array_get(value, option % json_array_size(value));
    option /= json_array_size(value);
    FT_TRY(put_value(name, option_of_mixer(key) ? option_of_mixer(key) : key, chosen));
    if (!set_option(config, key, chosen)) return starve();
  }
  return put_value(name, "seed", seed);
}

/* Refuses settings that training would refuse. */
static filtra_status check_cell(const grid *g, const sweep_cell *cell) {
  const sweep *s = g->s;
  char *text = ft_json_dumps(cell->config, 0), *complete = NULL;
  char *context = ft_format("%s: cell %s", s->file, cell->name);
  filtra_status status =
      text && context ? filtra_config_complete(text, context, &complete) : FILTRA_ERROR_HOST_MEMORY;
  filtra_free(complete);
  free(context);
  free(text);
  if (!status && strlen(cell->name) > MOST_NAME)
    status = ft_fail(FILTRA_ERROR_INPUT, "%s: the cell name %s is longer than %d letters", s->file,
                     cell->name, MOST_NAME);
  if (!status && json_object_get(g->names, cell->name))
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "%s: two cells are called %s; one of \"mixers\", \"options\" and \"seeds\" "
                     "has an entry twice",
                     s->file, cell->name);
  if (!status && json_object_set_new(g->names, cell->name, json_null())) status = starve();
  return status;
}

static filtra_status make_cell(const grid *g, const json_t *mixer, size_t option,
                               const json_t *seed) {
  size_t size;
  sweep_cell cell = {.data = g->data, .config = json_object()};
  FILE *name = ft_open_memstream(&cell.name, &size);
  filtra_status status = name && cell.config ? FILTRA_OK : starve();
  if (!status) status = fill_cell(g, mixer, option, seed, name, cell.config);
  if (name && fclose(name) && !status) status = starve();
  if (!status) status = check_cell(g, &cell);
  if (!status) cell.folder = ft_path_join(g->s->out, cell.name);
  if (!status && !cell.folder) status = FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = add_cell(g->s, &cell);
  if (!status) return FILTRA_OK;
  json_decref(cell.config);
  free(cell.folder);
  free(cell.name);
  return status;
}

/* Whether a data set uses a mixer: its list contains the mixer, or it has no list. */
static bool takes_mixer(const json_t *listed, const char *name) {
  size_t i;
  const json_t *entry;
  if (!listed) return true;
  json_array_foreach(listed, i, entry) if (json_is_string(entry) &&
                                           !strcmp(json_string_value(entry), name)) return true;
  return false;
}

static filtra_status check_listed(const grid *g, const json_t *listed, const char *context) {
  size_t i, k;
  const json_t *entry, *mixer;
  json_array_foreach(listed, i, entry) {
    bool known = false;
    json_array_foreach(g->mixers, k, mixer) known |=
        json_is_string(entry) && !strcmp(json_string_value(entry), mixer_name(mixer));
    if (!known)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: \"mixers\" of data set \"%s\": entry %zu, \"%s\", is not the "
                     "name of one of the file's \"mixers\"",
                     context, g->data->name, i + 1,
                     json_is_string(entry) ? json_string_value(entry) : "");
  }
  return FILTRA_OK;
}

static filtra_status walk(grid *g, const json_t *entry) {
  size_t m, k, combinations = 1;
  const char *key;
  const json_t *values, *mixer, *seed;
  json_t *listed = NULL;
  if (json_object_get(entry, "mixers"))
    FT_TRY(get_list(entry, g->s->file, "mixers", "mixers' names", &listed));
  FT_TRY(check_listed(g, listed, g->s->file));
  json_object_foreach((json_t *)g->options, key, values) combinations *= json_array_size(values);
  json_array_foreach(g->mixers, m, mixer) {
    if (!takes_mixer(listed, mixer_name(mixer))) continue;
    for (size_t option = 0; option < combinations; option++)
      json_array_foreach(g->seeds, k, seed) FT_TRY(make_cell(g, mixer, option, seed));
  }
  return FILTRA_OK;
}

/* Refuses "mixer.K" in "options" if a mixer of the list has its own K: one would silently win. */
static filtra_status check_mixer_options(const grid *g) {
  const char *key;
  const json_t *values;
  json_object_foreach((json_t *)g->options, key, values) {
    const char *option = option_of_mixer(key);
    for (size_t i = 0; option && i < json_array_size(g->mixers); i++)
      if (json_object_get(json_array_get(g->mixers, i), option))
        return ft_fail(FILTRA_ERROR_INPUT,
                       "%s: \"options\": \"%s\": entry %zu of \"mixers\" has a \"%s\" of its own; "
                       "leave one of them out",
                       g->s->file, key, i + 1, option);
  }
  return FILTRA_OK;
}

/* Checks that mixers have names and options have lists, and limits the number of cells. */
static filtra_status check_axes(const grid *g) {
  const char *key;
  const json_t *values, *mixer;
  size_t i;
  double cells = (double)json_array_size(g->mixers) * (double)json_array_size(g->seeds) *
                 (double)g->s->data_count;
  json_array_foreach(g->mixers, i, mixer) if (!mixer_name(mixer)) return ft_fail(
      FILTRA_ERROR_INPUT, "%s: \"mixers\": entry %zu must be a name or an object with a \"name\"",
      g->s->file, i + 1);
  json_object_foreach((json_t *)g->options, key, values) {
    if (!json_is_array(values) || !json_array_size(values))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: \"options\": \"%s\" must be a list of values, with one at least",
                     g->s->file, key);
    cells *= (double)json_array_size(values);
  }
  FT_TRY(check_mixer_options(g));
  if (cells <= MOST_CELLS) return check_config(g->options, g->s->file, "options");
  return ft_fail(FILTRA_ERROR_INPUT, "%s: the grid has %.0f cells, accepted are at most %d",
                 g->s->file, cells, MOST_CELLS);
}

static filtra_status walk_all(grid *g) {
  filtra_status status = FILTRA_OK;
  g->names = json_object();
  if (!g->names) return starve();
  for (size_t i = 0; i < g->s->data_count && !status; i++) {
    g->data = &g->s->data[i];
    const json_t *entry = json_object_get(json_object_get(g->s->root, "datasets"), g->data->name);
    g->own = json_object_get(entry, "config");
    status = walk(g, entry);
  }
  json_decref(g->names);
  return status;
}

static filtra_status make_cells(sweep *s) {
  grid g = {.s = s};
  json_t *config, *options, *mixers, *seeds;
  FT_TRY(get_object(s->root, s->file, "config", &config));
  FT_TRY(get_object(s->root, s->file, "options", &options));
  FT_TRY(get_list(s->root, s->file, "mixers", "mixers", &mixers));
  FT_TRY(get_list(s->root, s->file, "seeds", "whole numbers", &seeds));
  FT_TRY(check_config(config, s->file, "config"));
  g.config = config, g.options = options, g.mixers = mixers, g.seeds = seeds;
  FT_TRY(check_axes(&g));
  return walk_all(&g);
}

/* ---- choosing ---- */

static void free_cell(sweep_cell *cell) {
  json_decref(cell->config);
  free(cell->name);
  free(cell->folder);
  free(cell->error);
}

/* Whether a pattern matches the name; sets *used for that pattern. */
static bool matches(const char *patterns, const char *name, bool *used) {
  bool taken = false;
  for (size_t i = 0; patterns; i++) {
    char pattern[MOST_NAME + 1];
    snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(patterns, ","), patterns);
    if (ft_matches(pattern, name)) taken = used[i] = true;
    patterns = strchr(patterns, ',');
    patterns += patterns != NULL;
  }
  return taken;
}

static filtra_status choose_cells(sweep *s, const char *patterns) {
  size_t kept = 0, listed = 1;
  for (const char *at = patterns; *at; at++)
    listed += *at == ',';
  bool *used = ft_calloc(listed, sizeof *used);
  if (!used) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < s->count; i++) {
    if (matches(patterns, s->cells[i].name, used))
      s->cells[kept++] = s->cells[i];
    else
      free_cell(&s->cells[i]);
  }
  s->count = kept;
  filtra_status status = FILTRA_OK;
  const char *at = patterns;
  for (size_t i = 0; i < listed && !status; i++, at = strchr(at, ',') + 1)
    if (!used[i])
      status = ft_fail(FILTRA_ERROR_ARGUMENT,
                       "--cells: \"%.*s\" is the name of no cell; --list has them all",
                       (int)strcspn(at, ","), at);
  free(used);
  return status;
}

/* Fails if chosen cells need data that does not exist. */
static filtra_status check_paths(const sweep *s) {
  for (size_t i = 0; i < s->count; i++) {
    const sweep_data *d = s->cells[i].data;
    if (!d->generate && !ft_file_exists(d->path))
      return ft_fail(
          FILTRA_ERROR_PATH,
          "%s: \"datasets\": \"%s\": %s is not there; say where it is by --data %s=PATH, "
          "or choose other cells by --cells",
          s->file, d->name, d->path, d->name);
  }
  return FILTRA_OK;
}

filtra_status sweep_read(const sweep_choice *choice, sweep *s) {
  file_keys keys;
  size_t size;
  *s = (sweep){.file = choice->file, .out = choice->out};
  FT_TRY(ft_file_read(s->file, 16 << 20, &s->text, &size));
  FT_TRY(ft_json_parse(s->text, size, s->file, &s->root));
  FT_TRY(ft_keys_read(s->root, &(ft_keys)FT_KEYS(FILE_KEYS), &keys, s->file));
  snprintf(s->title, sizeof s->title, "%s", keys.title);
  if (!s->out) s->out = json_string_value(json_object_get(s->root, "out"));
  if (!s->out || !*s->out)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s: the folder of the runs is missing: give --out DIR or the key \"out\"",
                   s->file);
  FT_TRY(read_all_data(s, choice, keys.evaluate));
  FT_TRY(make_cells(s));
  if (choice->cells) FT_TRY(choose_cells(s, choice->cells));
  return check_paths(s);
}

void sweep_free(sweep *s) {
  for (size_t i = 0; i < s->count; i++)
    free_cell(&s->cells[i]);
  for (size_t i = 0; i < s->data_count; i++)
    free((char *)s->data[i].path);
  free(s->cells);
  free(s->data);
  free(s->text);
  json_decref(s->root);
}
