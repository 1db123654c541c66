/* Opens datasets: finds the format of a path, reads it, makes the splits. Called by train/folder.c
 * and by applications through filtra/data.h; a new format is listed here. */
#include "data/dataset.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/source.h"
#include "data/image.h"
#include "data/names.h"
#include "data/options.h"
#include "data/table_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const ft_dataset_format *const formats[] = {
    &ft_format_ucr, /* checks names, so it precedes formats that check only the content */
    &ft_format_lra_listops,
    &ft_format_listops,
    &ft_format_cifar10,
    &ft_format_idx,
    &ft_format_numpy,
    &ft_format_pathfinder,
    &ft_format_tu,
    &ft_format_image_table,
    &ft_format_image_folder,
    &ft_format_image_files,
    &ft_format_ts,
    &ft_format_aan_pairs,
    &ft_format_hyperpartisan,
    &ft_format_fasta,
    &ft_format_table,
    &ft_format_text_folders,
    &ft_format_text_lm,
    &ft_format_text_files,
};
/* clang-format on */

const char *filtra_dataset_format_name(size_t index) {
  return index < FT_COUNT(formats) ? formats[index]->name : NULL;
}

const char *filtra_dataset_format_description(size_t index) {
  return index < FT_COUNT(formats) ? formats[index]->holds : NULL;
}

uint32_t ft_row_length(const ft_sample_row *row) {
  return row->length > row->second_length ? row->length : row->second_length;
}

static filtra_status check_edge(const int32_t edge[FT_EDGE_WORDS], uint32_t number, uint32_t nodes,
                                uint32_t types) {
  const int32_t a = edge[0], b = edge[1], type = edge[2];
  if (a >= 0 && b >= 0 && a != b && (uint32_t)a < nodes && (uint32_t)b < nodes && type >= 0 &&
      (uint32_t)type < types)
    return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "edge %u is from node %d to node %d, of type %d; accepted are two different nodes, "
      "0 to %u, and types 0 to %u",
      number, a, b, type, nodes - 1, types - 1);
}

static int by_value(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

filtra_status ft_check_edges(const int32_t *edges, uint32_t count, uint32_t nodes, uint32_t types) {
  for (uint32_t i = 0; i < count; i++)
    FT_TRY(check_edge(edges + (size_t)i * FT_EDGE_WORDS, i, nodes, types));
  if (count < 2) return FILTRA_OK;
  uint64_t *pairs = ft_calloc(count, sizeof *pairs);
  if (!pairs) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t i = 0; i < count; i++) {
    const int32_t *e = edges + (size_t)i * FT_EDGE_WORDS;
    const int32_t low = e[0] < e[1] ? e[0] : e[1], high = e[0] < e[1] ? e[1] : e[0];
    pairs[i] = (uint64_t)low << 32 | (uint64_t)high;
  }
  qsort(pairs, count, sizeof *pairs, by_value);
  uint32_t twice = 1;
  while (twice < count && pairs[twice] != pairs[twice - 1])
    twice++;
  const uint64_t found = twice < count ? pairs[twice] : 0;
  free(pairs);
  if (twice == count) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "nodes %u and %u are joined twice; an edge has no direction and is given once",
                 (uint32_t)(found >> 32), (uint32_t)found);
}

/* ---- finding the format ---- */

static const ft_dataset_format *format_named(const char *name) {
  char list[512] = "";
  for (size_t i = 0; i < FT_COUNT(formats); i++) {
    const char *known = formats[i]->name;
    size_t used = strlen(list);
    if (!strcmp(name, known)) return formats[i];
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known);
  }
  ft_fail(FILTRA_ERROR_ARGUMENT, "there is no data format \"%.64s\"; known are %s", name, list);
  return NULL;
}

/* The kind of archive that the first bytes indicate, for an error that says to unpack it. */
static const char *archive_kind(const char *head, size_t count) {
  if (count >= 262 && !memcmp(head + 257, "ustar", 5)) return "tar";
  if (count >= 4 && !memcmp(head, "PK\3\4", 4)) return "zip";
  return NULL;
}

/* What other programs keep tables and arrays in, by the first bytes or the name. */
static const struct {
  const char *kind, *head, *ending;
} others[] = {
    {"Parquet", "PAR1", ".parquet"},
    {"Arrow", "ARROW1", ".feather"},
    {"HDF5", "\x89HDF", ".h5"},
    {"SQLite", "SQLite format 3", ".sqlite"},
    {"MATLAB", "MATLAB ", ".mat"},
    {"JSON", NULL, ".json"},
    {"pickle", NULL, ".pkl"},
    {"pickle", NULL, ".pickle"},
    {"PyTorch", NULL, ".pt"},
    {"PyTorch", NULL, ".pth"},
    {"spreadsheet", NULL, ".xlsx"},
    {"spreadsheet", NULL, ".ods"},
    {"spreadsheet", "\xd0\xcf\x11\xe0", ".xls"},
    {"ARFF", NULL, ".arff"},
};

/* Fails for a file of another program. */
static filtra_status refuse_others(const char *path, const char *head) {
  for (size_t i = 0; i < FT_COUNT(others); i++)
    if (ft_ends_with(path, others[i].ending) ||
        (others[i].head && !strncmp(head, others[i].head, strlen(others[i].head))))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: %s files are not read; write their rows as .csv or .jsonl, or arrays as "
                     ".npz (filtra data inspect --help lists the formats)",
                     path, others[i].kind);
  return FILTRA_OK;
}

static filtra_status read_head(const char *path, char *head, size_t size) {
  char bytes[512] = {0};
  ft_source *source;
  size_t count = 0;
  FT_TRY(ft_source_open(path, &source));
  filtra_status status = ft_source_fill(source, bytes, sizeof bytes, &count);
  ft_source_close(&source);
  if (status) return status;
  if (count == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s is empty", path);
  const char *archive = archive_kind(bytes, count);
  if (archive) FT_TRY(refuse_others(path, bytes));
  if (archive && !ft_ends_with(path, ".npz"))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s is a %s archive; unpack it and give the folder or file inside", path,
                   archive);
  size_t mark = memcmp(bytes, "\xef\xbb\xbf", 3) ? 0 : 3;
  count = count - mark < size - 1 ? count - mark : size - 1;
  memcpy(head, bytes + mark, count);
  head[count] = '\0';
  return FILTRA_OK;
}

/* The only file in a folder of unknown format, to be opened instead; else *file is NULL. */
static filtra_status only_file(const char *folder, char **file) {
  char **names;
  size_t count;
  *file = NULL;
  FT_TRY(ft_list_data(folder, &names, &count));
  if (count == 1) *file = ft_path_join(folder, names[0]);
  ft_free_names(names, count);
  if (count == 1 && !*file) return FILTRA_ERROR_HOST_MEMORY;
  if (*file && !ft_is_directory(*file)) return FILTRA_OK;
  free(*file);
  *file = NULL;
  return FILTRA_OK;
}

static filtra_status probe_formats(const char *path, const ft_dataset_probe *probe,
                                   const ft_dataset_format **format) {
  for (size_t i = 0; i < FT_COUNT(formats); i++) {
    *format = formats[i];
    if ((*format)->probe(probe)) return FILTRA_OK;
    FT_TRY(*probe->failed);
  }
  if (!probe->directory) FT_TRY(refuse_others(path, probe->head));
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s %s that is known; `filtra data inspect --help` lists the formats", path,
                 probe->directory ? "holds no data set" : "is no data file");
}

/* `named`: the options name the format. */
static filtra_status find_format(const char *path, const filtra_dataset_options *options,
                                 bool named, const ft_dataset_format **format) {
  if (named) {
    *format = format_named(options->format);
    return *format ? FILTRA_OK : FILTRA_ERROR_ARGUMENT;
  }
  filtra_status failed = FILTRA_OK;
  ft_dataset_probe probe = {
      .path = path, .options = options, .directory = ft_is_directory(path), .failed = &failed};
  if (probe.directory)
    FT_TRY(ft_list_files(path, &probe.names, &probe.count));
  else
    FT_TRY(read_head(path, probe.head, sizeof probe.head));
  filtra_status status = probe_formats(path, &probe, format);
  ft_free_names(probe.names, probe.count);
  return status;
}

/* ---- splits ---- */

filtra_status ft_make_splits(filtra_dataset *ds, bool hold_out, float share, uint64_t seed) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++) {
    const ft_samples *samples = &ds->samples[i];
    if (samples->count > UINT32_MAX)
      return ft_fail(FILTRA_ERROR_INPUT, "%zu samples in %s; at most %u are supported",
                     samples->count, filtra_split_name(i), UINT32_MAX);
    ds->splits[i] = (ft_split){.samples = samples, .count = samples->count};
    for (size_t k = 0; k < samples->count; k++) {
      uint32_t length = ft_row_length(&samples->rows[k]);
      if (length > ds->info.longest) ds->info.longest = length;
    }
  }
  const size_t own = ds->info.validation_held_out ? 0 : ds->splits[FILTRA_SPLIT_VAL].count;
  if (hold_out && own && share > 0.0f && share != FT_VALIDATION_SHARE)
    ft_log(FILTRA_LOG_WARNING,
           "\"validation_share\" %g is not used: the data have %zu validation samples",
           (double)share, own);
  if (hold_out && ds->splits[FILTRA_SPLIT_VAL].count == 0) FT_TRY(ft_hold_out(ds, share, seed));
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    ds->info.count[i] = ds->splits[i].count;
  return FILTRA_OK;
}

/* ---- names of samples ---- */

static const char *sample_name(const ft_samples *samples, const ft_sample_row *row) {
  if (samples->names) return samples->names[row - samples->rows];
  return samples->files ? samples->files[row->first].path : NULL;
}

/* ---- unknown targets ---- */

/* Whether a sample's target is unknown. */
static bool is_unlabelled(const filtra_dataset *ds, const ft_sample_row *row) {
  if (ds->info.target == FILTRA_TARGET_VALUE) return isnan(row->value);
  return ds->info.target != FILTRA_TARGET_NEXT && row->label < 0;
}

/* Gives data without targets unknown ones, of the kind that the training data have. */
static void make_unlabelled(filtra_dataset *ds, const ft_data_fit *fit) {
  ds->info.target = fit->values   ? FILTRA_TARGET_VALUE
                    : fit->labels ? FILTRA_TARGET_LABELS
                                  : FILTRA_TARGET_CLASS;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    for (size_t k = 0; k < ds->samples[i].count; k++) {
      ft_sample_row *row = &ds->samples[i].rows[k];
      if (fit->values)
        row->value = NAN;
      else
        row->label = -1;
    }
}

static void count_unlabelled(filtra_dataset *ds) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    for (size_t k = 0; k < ds->splits[i].count; k++) {
      const ft_split *s = &ds->splits[i];
      ds->info.unlabelled[i] += is_unlabelled(ds, &s->samples->rows[s->rows ? s->rows[k] : k]);
    }
}

filtra_status ft_check_split(const filtra_dataset *dataset, const char *path, filtra_split split) {
  char present[64] = "";
  for (filtra_split i = FILTRA_SPLIT_TRAIN; i <= FILTRA_SPLIT_TEST; i++)
    if (dataset->info.count[i])
      snprintf(present + strlen(present), sizeof present - strlen(present), "%s %s",
               *present ? " and" : "; it has", filtra_split_name(i));
  if (dataset->info.count[split]) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: has no %s split%s", path, filtra_split_name(split),
                 present);
}

filtra_status ft_check_labelled(const filtra_dataset *dataset, filtra_split split) {
  const filtra_dataset_info *info = &dataset->info;
  if ((unsigned)split >= FILTRA_SPLIT_COUNT || !info->unlabelled[split]) return FILTRA_OK;
  const ft_table_fit *table = dataset->untargeted ? dataset->table : NULL;
  if (table && table->label_count)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "the training file's columns of labels, \"%.64s\" and others, are not all there: "
        "samples without them can be predicted, not evaluated",
        table->labels[0]);
  if (table && table->target)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "there is no column %s\"%.64s\", the target of the training file: samples without "
        "it can be predicted, not evaluated",
        table->header ? "" : "number ", table->target);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "of %llu samples of the %s split %llu have no target: they can be predicted, not "
                 "evaluated",
                 (unsigned long long)info->count[split], filtra_split_name(split),
                 (unsigned long long)info->unlabelled[split]);
}

/* ---- public ---- */

/* Does not check `targets`, which a run sets by its task for any data. */
static filtra_status check_table_use(const filtra_dataset *ds, const filtra_dataset_options *o) {
  const struct {
    const char *key;
    bool given;
  } keys[] = {{"text_column", o->text_column},
              {"target_column", o->target_column},
              {"feature_columns", o->feature_columns},
              {"group_column", o->group_column},
              {"time_column", o->time_column},
              {"id_column", o->id_column},
              {"delimiter", o->delimiter != FILTRA_DELIMITER_AUTO},
              {"label_separator", o->label_separator},
              {"quoting", o->quoting != FILTRA_QUOTING_AUTO},
              {"decimal", o->decimal != FILTRA_DECIMAL_AUTO}};
  for (size_t i = 0; i < FT_COUNT(keys); i++)
    if (keys[i].given && strcmp(ds->info.format, ft_format_table.name))
      return ft_fail(FILTRA_ERROR_ARGUMENT, "%s is for tables; the format is %s", keys[i].key,
                     ds->info.format);
  return FILTRA_OK;
}

/* Fails for options that do not apply to data of this kind. */
static filtra_status check_use(const filtra_dataset *ds, const filtra_dataset_options *o) {
  if (o->pixels != FILTRA_PIXELS_GREY && !ds->info.height)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "pixels is for images; data of format %s holds none",
                   ds->info.format);
  if ((o->image_size || o->crop_pct > 0.0f) && !ds->info.height)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "image_size and crop_pct are for images; data of format %s holds none",
                   ds->info.format);
  if (o->normalize && (!ds->info.height || ds->info.features != 3))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "normalize imagenet or half is for images with pixels rgb; leave it out");
  FT_TRY(check_table_use(ds, o));
  if (o->tokenizer && ds->info.input == FILTRA_INPUT_TOKENS && !ds->info.tokenizer)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "tokenizer is for text; the nodes of format %s are numbered in its files",
                   ds->info.format);
  const char *tokenizer = filtra_tokenizer_name(ds->info.tokenizer);
  if (o->max_vocabulary && !o->fitted && (!tokenizer || strcmp(tokenizer, "words") != 0))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "max_vocabulary is for the tokenizer words; these data %s%s",
                   tokenizer ? "are read by " : "hold no tokens", tokenizer ? tokenizer : "");
  return FILTRA_OK;
}

static filtra_status read_format(const char *path, const ft_dataset_format *format,
                                 const filtra_dataset_options *options, const ft_data_fit *fit,
                                 filtra_dataset *ds) {
  ds->info.format = format->name;
  ds->info.sequences = 1;
  ds->info.max_length = options->max_length;
  ds->truncate = options->truncate;
  ds->fit = fit;
  FT_TRY(format->open(path, options, ds));
  ds->fit = NULL;
  if (ds->table && !(ds->info.columns = ds->said_columns = ft_table_fit_say(ds->table)))
    return FILTRA_ERROR_HOST_MEMORY;
  if (ds->info.tokenizer) ds->info.edge_types = ds->info.tokenizer->edge_types;
  ft_images_warn_of_kind(ds, path);
  FT_TRY(ft_check_class_names(ds, path));
  if (!fit->class_count) FT_TRY(ft_warn_of_alike_classes(ds, path));
  FT_TRY(check_use(ds, options));
  bool foreign = false;
  if (options->unlabelled && !ds->untargeted) FT_TRY(ft_fit_foreign(ds, fit, &foreign));
  if (foreign) ft_fit_drop_classes(ds);
  if (ds->untargeted || foreign) make_unlabelled(ds, fit);
  FT_TRY(ft_make_splits(ds, true, options->validation_share, options->seed));
  FT_TRY(ft_fit_apply(ds, path, fit));
  count_unlabelled(ds);
  return ds->standardise ? ft_standardise(ds, fit) : FILTRA_OK;
}

static filtra_status read_dataset(const char *path, const filtra_dataset_options *options,
                                  const ft_data_fit *fit, filtra_dataset *ds) {
  const ft_dataset_format *format;
  char *file = NULL;
  filtra_status status = find_format(path, options, options->format, &format);
  if (status == FILTRA_ERROR_INPUT && ft_is_directory(path)) {
    FT_TRY(only_file(path, &file));
    if (file) status = find_format(file, options, false, &format);
  }
  if (!status) status = read_format(file ? file : path, format, options, fit, ds);
  free(file);
  return status;
}

filtra_status ft_dataset_open_fitted(const char *path, const filtra_dataset_options *options,
                                     const ft_data_fit *fit, filtra_dataset **out) {
  *out = NULL;
  FT_TRY(FT_CHECK_RESERVED(filtra_dataset_options, options));
  if ((unsigned)options->file_split >= FILTRA_SPLIT_COUNT)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "file_split is %d, not a split", options->file_split);
  if ((unsigned)options->targets > FILTRA_TARGETS_LABELS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "targets is %d, not a filtra_targets",
                   (int)options->targets);
  filtra_dataset_options complete = *options; /* in *options 0 keeps its meaning */
  FT_TRY(ft_keys_complete(&ft_dataset_keys, &complete, "data set"));
  if (options->max_vocabulary && options->max_vocabulary <= FT_WORD_END_OF_LINE)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "data set: \"max_vocabulary\" is %u, accepted are 0, for 65536, and from %d on",
                   options->max_vocabulary, FT_WORD_END_OF_LINE + 1);
  filtra_dataset *ds = ft_calloc(1, sizeof *ds);
  if (!ds) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = read_dataset(path, options, fit, ds);
  if (status) filtra_dataset_close(&ds);
  *out = ds;
  return status;
}

filtra_status filtra_dataset_open(const char *path, const filtra_dataset_options *options,
                                  filtra_dataset **out) {
  static const filtra_dataset_options defaults;
  static const ft_data_fit none;
  FT_NEED(out);
  *out = NULL;
  FT_NEED(path);
  return ft_dataset_open_fitted(path, options ? options : &defaults, &none, out);
}

void filtra_dataset_close(filtra_dataset **dataset) {
  if (!dataset || !*dataset) return;
  filtra_dataset *ds = *dataset;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++) {
    free(ds->samples[i].tokens.ids);
    free(ds->samples[i].values);
    free(ds->samples[i].bytes);
    for (size_t k = 0; k < ds->samples[i].file_count; k++)
      free(ds->samples[i].files[k].path);
    free(ds->samples[i].files);
    ft_free_names(ds->samples[i].names, ds->samples[i].name_count);
    free(ds->samples[i].label_ids);
    free(ds->samples[i].sets);
    free(ds->samples[i].rows);
    free(ds->samples[i].weights);
    free(ds->splits[i].rows);
  }
  ft_free_names(ds->owned_class_names, ds->owned_class_names ? ds->info.classes : 0);
  ft_tokenizer_free(ds->owned_tokenizer);
  free(ds->said_columns);
  ft_table_fit_free(ds->table);
  free(ds->feature_mean);
  free(ds->feature_factor);
  free(ds->feature_scale);
  free(ds->feature_offset);
  free(ds);
  *dataset = NULL;
}

const filtra_dataset_info *filtra_dataset_get_info(const filtra_dataset *dataset) {
  return dataset ? &dataset->info : NULL;
}

const char *filtra_dataset_class_name(const filtra_dataset *dataset, uint32_t label) {
  if (!dataset) return NULL;
  return label < dataset->info.classes ? dataset->class_names[label] : NULL;
}

const ft_sample_row *ft_dataset_row(const filtra_dataset *dataset, filtra_split split,
                                    uint64_t index) {
  if ((unsigned)split < FILTRA_SPLIT_COUNT && index < dataset->splits[split].count) {
    const ft_split *s = &dataset->splits[split];
    return &s->samples->rows[s->rows ? s->rows[index] : index];
  }
  ft_fail(FILTRA_ERROR_ARGUMENT, "sample %llu of %s does not exist", (unsigned long long)index,
          filtra_split_name(split));
  return NULL;
}

float ft_sample_weight(const filtra_dataset *dataset, filtra_split split, uint64_t index) {
  const ft_samples *samples = dataset->splits[split].samples;
  return samples->weights ? samples->weights[ft_dataset_row(dataset, split, index) - samples->rows]
                          : 1.0f;
}

filtra_status filtra_dataset_sample(const filtra_dataset *dataset, filtra_split split,
                                    uint64_t index, filtra_sample *sample) {
  FT_NEED(dataset, sample);
  const ft_sample_row *row = ft_dataset_row(dataset, split, index);
  if (!row) return FILTRA_ERROR_ARGUMENT;
  const ft_samples *samples = dataset->splits[split].samples;
  *sample = (filtra_sample){.length = row->length,
                            .second_length = row->second_length,
                            .second_at = row->second_at,
                            .edge_count = row->edges,
                            .name = sample_name(samples, row)};
  if (dataset->info.target == FILTRA_TARGET_CLASS) sample->label = row->label;
  if (dataset->info.target == FILTRA_TARGET_VALUE) sample->value = row->value;
  if (dataset->info.target == FILTRA_TARGET_LABELS) {
    sample->label = row->label < 0 ? -1 : 0;
    uint32_t count[2];
    sample->labels = ft_samples_labels(samples, row->label, count);
    sample->label_count = count[0];
    sample->unknown_count = count[1];
  }
  if (dataset->info.input != FILTRA_INPUT_TOKENS) return FILTRA_OK;
  sample->tokens = samples->tokens.ids + row->first;
  if (dataset->info.sequences == 2) sample->second = sample->tokens + row->length;
  if (dataset->info.edge_types) sample->edges = sample->tokens + row->length;
  return FILTRA_OK;
}

filtra_status filtra_dataset_sample_features(const filtra_dataset *dataset, filtra_split split,
                                             uint64_t index, float *features) {
  FT_NEED(dataset, features);
  const ft_sample_row *row = ft_dataset_row(dataset, split, index);
  if (!row) return FILTRA_ERROR_ARGUMENT;
  if (dataset->info.input != FILTRA_INPUT_FEATURES)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "the samples of %s are tokens, not features",
                   dataset->info.format);
  const ft_samples *samples = dataset->splits[split].samples;
  size_t count = (size_t)row->length * dataset->info.features;
  if (ft_samples_are_made(dataset, samples)) {
    uint8_t *pixels;
    FT_TRY(ft_sample_pixels(dataset, samples, row, &pixels));
    ft_scale_bytes(dataset, pixels, count, features);
    free(pixels);
  } else if (samples->bytes) {
    ft_scale_bytes(dataset, samples->bytes + row->first, count, features);
  } else {
    memcpy(features, samples->values + row->first, count * sizeof *features);
  }
  return FILTRA_OK;
}
