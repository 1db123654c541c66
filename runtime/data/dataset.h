/* Internals of datasets: how samples are stored, and what a file format provides. A new format is
 * one file with one ft_dataset_format, which dataset.c lists. */
#ifndef FT_DATA_DATASET_H
#define FT_DATA_DATASET_H

#include "data/tokenizer.h"

enum { FT_MOST_EDGE_TYPES = 64 };
/** Fails with INPUT unless each edge joins two of `nodes` nodes, has one of `types` types, and
 * occurs once; the reverse edge counts as the same. */
filtra_status ft_check_edges(const int32_t *edges, uint32_t count, uint32_t nodes, uint32_t types);

/** A sample: where its data begin in ft_samples, and its target. */
typedef struct ft_sample_row {
  uint64_t first;         /* index of its first token or number, or its index in `files` */
  uint32_t length;        /* in tokens */
  uint32_t second_length; /* length of a pair's second sequence, stored after the first; else 0 */
  uint32_t second_at;     /* token at which a second text begins within the sequence; else 0 */
  uint32_t edges;         /* of a graph, FT_EDGE_WORDS numbers each, after its tokens; else 0 */
  union {
    int32_t label;
    float value;
  };
} ft_sample_row;

/** An image that stays in its file until its pixels are needed. */
typedef struct ft_listed_image {
  char *path;
  uint64_t mark; /* a hash of the file's size and first bytes, see image_file.h */
} ft_listed_image;

/** A set of labels: those that apply, ascending, then those that are unknown, ascending. */
typedef struct ft_label_set {
  uint64_t end;   /* in label_ids; the set begins where the one before it ends */
  uint32_t known; /* labels that apply */
} ft_label_set;

/** The samples of one file, packed, in file order. Features are stored as numbers, pixels as bytes;
 * pixels of image files may stay in their files. */
typedef struct ft_samples {
  ft_tokens tokens;
  float *values;
  size_t value_count, value_capacity;
  uint8_t *bytes;
  size_t byte_count, byte_capacity;
  ft_listed_image *files;
  size_t file_count, file_capacity;
  char **names; /* [name_count]: the samples' names in the data; see ft_samples_add_name */
  size_t name_count, name_capacity;
  /* With FILTRA_TARGET_LABELS: all sets of labels one after the other. A row's label is the index
   * of its set. */
  int32_t *label_ids;
  size_t label_count, label_capacity;
  ft_label_set *sets; /* [set_count] */
  size_t set_count, set_capacity;
  ft_sample_row *rows;
  float *weights; /* [count], weights in the loss; NULL: all 1 */
  size_t count, capacity;
} ft_samples;

/** The samples of a split. */
typedef struct ft_split {
  const ft_samples *samples;
  uint32_t *rows; /* [count] indices into samples, ascending; NULL: all of them */
  size_t count;
} ft_split;

struct filtra_dataset {
  filtra_dataset_info info;
  const char *const *class_names; /* [info.classes] */
  char **owned_class_names;       /* class names from the data, freed with the dataset; or NULL */
  filtra_tokenizer *owned_tokenizer; /* fitted to the data, freed with the dataset; or NULL */
  /* [ft_feature_count] each, of a standardised dataset: it stores (x - mean) * factor for x. */
  double *feature_mean, *feature_factor;
  /* Number of steps of a sample if each step is a column of a table, with its own mean and factor;
   * else 0. */
  uint32_t columns;
  char *said_columns;            /* info.columns */
  struct ft_table_fit *table;    /* how the columns of a table were read; else NULL */
  const struct ft_data_fit *fit; /* while the dataset is opened: properties that replace its own */
  /* [info.features] each: a stored x means scale * x + offset. NULL: it means x. */
  float *feature_scale, *feature_offset;
  uint32_t stored_height, stored_width; /* of images before resizing */
  uint32_t image_size; /* side of the square that images are resized to; 0: not resized */
  float crop_pct;      /* see filtra_dataset_options */
  filtra_normalization normalize;
  uint64_t deep_count; /* images of 16 bits per channel that were decoded when they were added */
  uint8_t deep_most;   /* their largest value, of the 8 bits that are kept */
  uint64_t alpha_count, ink_count; /* likewise images with an alpha channel; those with `ink` */
  bool hold_out_last; /* hold out the end of the training data instead of random samples */
  bool joined;        /* samples are two texts in one sequence */
  bool truncate;      /* cut longer sequences, as the options say */
  bool standardise;   /* call ft_standardise once the splits are known */
  bool untargeted;    /* the data hold no targets; those of the training data tell their kind */
  /* Words taken for classes may be something else: with `unlabelled`, targets count as unknown if
   * the training data have none of these classes. */
  bool guessed_classes;
  ft_samples samples[FILTRA_SPLIT_COUNT]; /* indexed by the split of the file they were read from */
  ft_split splits[FILTRA_SPLIT_COUNT];
};

/** Input of a probe: the path, and a file's first bytes or a folder's files. */
typedef struct ft_dataset_probe {
  const char *path;
  const filtra_dataset_options *options;
  bool directory;
  char head[256]; /* NUL-terminated, without a byte order mark */
  char **names;   /* [count] names from ft_list_files */
  size_t count;
  filtra_status *failed; /* set by a probe that cannot look, for example when out of memory */
} ft_dataset_probe;

typedef struct ft_dataset_format {
  const char *name;
  const char *holds; /* one line that describes such paths, for help and errors */
  /** Whether the path has this format. */
  bool (*probe)(const ft_dataset_probe *probe);
  /** Fills samples, and those fields of info that describe them: tokenizer or features, classes
   * with class_names, and whatever differs from one labelled sequence per sample. On failure the
   * caller frees. */
  filtra_status (*open)(const char *path, const filtra_dataset_options *options,
                        filtra_dataset *dataset);
} ft_dataset_format;

/** A sample's row; NULL, with the message set, if the index is out of range. */
const ft_sample_row *ft_dataset_row(const filtra_dataset *dataset, filtra_split split,
                                    uint64_t index);

/** A sample's weight in the loss; the index must be in range. */
float ft_sample_weight(const filtra_dataset *dataset, filtra_split split, uint64_t index);

/** Adds a name of `length` bytes. A format names all samples of a file, in order, or none. */
filtra_status ft_samples_add_name(ft_samples *samples, const char *name, size_t length);

/** Adds a label to the current set, one that applies or is unknown. Repeated labels count once. */
filtra_status ft_samples_add_label(ft_samples *samples, int32_t label, bool known);
/** Ends the current set; *set goes into the sample's row as its label. */
filtra_status ft_samples_end_set(ft_samples *samples, int32_t *set);
/** The labels of a set: count[0] that apply, then count[1] unknown ones. Set -1, of a sample
 * without target, has none. */
const int32_t *ft_samples_labels(const ft_samples *samples, int32_t set, uint32_t count[2]);
/** Renumbers the labels of all sets. */
void ft_samples_map_labels(ft_samples *samples, const int32_t *map);

/** Fails with INPUT for a class name that is not UTF-8, which model files and reports need. */
filtra_status ft_check_class_name(const char *name, size_t length);
/** Names classes or labels; NULL: "0", "1" and so on. */
filtra_status ft_name_classes(filtra_dataset *ds, uint32_t count, const char *const *names);
/** As ft_check_class_name, for all classes; the error names `path`. */
filtra_status ft_check_class_names(const filtra_dataset *ds, const char *path);
/** Warns of two classes whose names look alike. */
filtra_status ft_warn_of_alike_classes(const filtra_dataset *ds, const char *path);

/** Number of tokens of the sample's longer sequence. */
uint32_t ft_row_length(const ft_sample_row *row);

/** The padded lengths [*count] of batches: the given ones, which must ascend, or with `given_count`
 * 0 the powers of two that some sample needs. Caller frees, also on failure. */
filtra_status ft_buckets_make(const filtra_dataset *ds, const uint32_t *given, size_t given_count,
                              uint32_t **buckets, size_t *count);

/** Fails with INPUT if the split has no samples, and names those that have some. */
filtra_status ft_check_split(const filtra_dataset *dataset, const char *path, filtra_split split);
/** Fails with INPUT if samples of the split have no known target. */
filtra_status ft_check_labelled(const filtra_dataset *dataset, filtra_split split);

/** Properties of other data, usually the training data, that replace a dataset's own. */
typedef struct ft_data_fit {
  const char *const *classes; /* names in the order of their labels */
  uint32_t class_count;       /* 0: the data's own */
  bool values;                /* targets are numbers */
  bool labels;                /* targets are any number of labels */
  const double *mean, *factor;
  uint32_t features;                /* of `mean` and `factor`; 0: none */
  bool columns;                     /* these belong to steps, which are the columns of rows */
  bool plain;                       /* numbers are not standardised */
  const struct ft_table_fit *table; /* columns of the training table; NULL: the data's own */
  uint32_t height, width;           /* of images; 0: the data's own */
  bool bytes;                       /* features were bytes of images; false: or it is unknown */
} ft_data_fit;

/** Advice about a sequence longer than max_length, which a trained model fixes; ends an error
 * message. */
#define FT_LENGTH_ADVICE_TRAINED "cut it, or train with a larger max_length or with truncate"
static inline const char *ft_length_advice(const filtra_dataset *ds) {
  return ds->fit ? FT_LENGTH_ADVICE_TRAINED : "raise max_length or set truncate";
}

/** As filtra_dataset_open, with the properties of `fit`. Fails with INPUT for a class that `fit`
 * lacks, and for another number of features. */
filtra_status ft_dataset_open_fitted(const char *path, const filtra_dataset_options *options,
                                     const ft_data_fit *fit, filtra_dataset **out);

/** Whether the data's classes were only guessed and the training data have none of them. */
filtra_status ft_fit_foreign(const filtra_dataset *ds, const ft_data_fit *fit, bool *foreign);
void ft_fit_drop_classes(filtra_dataset *ds);
/** Renumbers labels to those of the training data's classes, and checks sizes. */
filtra_status ft_fit_apply(filtra_dataset *ds, const char *path, const ft_data_fit *fit);

/** Names of classes and standardisation, as a JSON object; NULL when out of memory. `classes`: of
 * the model; those that the data do not name are called by their numbers. */
json_t *ft_dataset_fit_write(const filtra_dataset *dataset, int64_t classes);
/** A tokenizer as ft_tokenizer_described reads it, NULL too; NULL when out of memory. */
json_t *ft_tokenizer_describe(const filtra_tokenizer *tokenizer);
/** As ft_dataset_fit_write, with the tokenizer and whether long texts are cut, as JSON text; caller
 * frees. */
filtra_status ft_dataset_describe(const filtra_dataset *dataset, int64_t classes, char **text);

/** The default of filtra_dataset_options.validation_share. */
#define FT_VALIDATION_SHARE 0.1f

/** Makes the splits from the samples read. Without validation samples and with `hold_out`, that
 * fraction of the training samples (0: a tenth) becomes the validation split. Warns of one that is
 * not used, unless it is the default. */
filtra_status ft_make_splits(filtra_dataset *ds, bool hold_out, float share, uint64_t seed);
/** That fraction of `count`, rounded to nearest, at least 1; 0 for a count of 1. */
size_t ft_hold_out_count(size_t count, float share);
/** Moves that fraction of the training samples to the validation split, the same fraction of each
 * class. */
filtra_status ft_hold_out(filtra_dataset *ds, float share, uint64_t seed);
/** Fails with ARGUMENT unless the fraction is 0 (a tenth) or 1e-6 to 0.9, as the key of files. */
filtra_status ft_check_share(float share);

/** Converts features from bytes to numbers, standardised ones if those of the dataset are; `count`
 * is a multiple of info.features. */
void ft_scale_bytes(const filtra_dataset *ds, const uint8_t *bytes, size_t count, float *features);

/** Number of values in a sample that have their own mean each: info.features, or the columns of a
 * table. */
uint32_t ft_feature_count(const filtra_dataset *ds);
/** Standardises each feature by mean and deviation (with n - 1, plus 2.2e-16) over all steps of the
 * training split, or of the first split that has samples, or by those of `fit`. Changes numbers in
 * place; for bytes, sets feature_scale and feature_offset. Constant features and missing values
 * (NaN) become 0. If `fit` is plain, numbers stay as they are. */
filtra_status ft_standardise(filtra_dataset *ds, const ft_data_fit *fit);
/** Mean and factor of red, green and blue in 0 to 255, for IMAGENET and HALF. */
void ft_fixed_moments(filtra_normalization kind, double mean[3], double factor[3]);

/** A hash of all training and validation samples, with their targets, in order. */
uint64_t ft_dataset_fingerprint(const filtra_dataset *dataset);

/** (x - mean) * factor; 0 for NaN. */
float ft_standard(double mean, double factor, float x);
/** As ft_standard, for a byte. */
float ft_standard_byte(double mean, double factor, uint8_t x);

extern const ft_dataset_format ft_format_lra_listops, ft_format_listops, ft_format_ts;
extern const ft_dataset_format ft_format_ucr, ft_format_numpy, ft_format_hyperpartisan;
extern const ft_dataset_format ft_format_aan_pairs, ft_format_fasta, ft_format_table;
extern const ft_dataset_format ft_format_text_folders, ft_format_text_lm;
extern const ft_dataset_format ft_format_cifar10, ft_format_idx, ft_format_pathfinder;
extern const ft_dataset_format ft_format_image_folder, ft_format_image_table;
extern const ft_dataset_format ft_format_image_files, ft_format_text_files, ft_format_tu;

#endif
