/* Datasets, inside: how samples are kept, and what a file format provides. A new format is one file
 * with one ft_dataset_format, listed in dataset.c. */
#ifndef FT_DATA_DATASET_H
#define FT_DATA_DATASET_H

#include "data/tokenizer.h"

/** A sample's place in its ft_samples, and its target. */
typedef struct ft_sample_row {
  uint64_t first;         /* of its tokens; of its features, in numbers; its place in `files` */
  uint32_t length;        /* in tokens */
  uint32_t second_length; /* of a pair's other sequence, whose tokens follow; else 0 */
  union {
    int32_t label;
    float value;
  };
} ft_sample_row;

/** An image that stays in its file until its pixels are wanted. */
typedef struct ft_listed_image {
  char *path;
  uint64_t mark; /* a hash of the file's size and first bytes, see image_file.h */
} ft_listed_image;

/** The samples of one file, packed, in file order. Features are kept as numbers or, where they come
 * as such (pixels), as bytes, or left in their files. */
typedef struct ft_samples {
  ft_tokens tokens;
  float *values;
  size_t value_count, value_capacity;
  uint8_t *bytes;
  size_t byte_count, byte_capacity;
  ft_listed_image *files;
  size_t file_count, file_capacity;
  ft_sample_row *rows;
  size_t count, capacity;
} ft_samples;

/** Which samples make up a split. */
typedef struct ft_split {
  const ft_samples *samples;
  uint32_t *rows; /* [count] indices into samples, ascending; NULL: all of them */
  size_t count;
} ft_split;

struct filtra_dataset {
  filtra_dataset_info info;
  const char *const *class_names;    /* [info.classes] */
  char **owned_class_names;          /* freed with the dataset, where the data names its classes */
  filtra_tokenizer *owned_tokenizer; /* freed with the dataset, where the data makes it */
  /* [info.features] each, once standardised: what was subtracted, then multiplied by. */
  double *feature_mean, *feature_factor;
  /* [info.features] each; what is kept stands for scale * x + offset. NULL: for itself. */
  float *feature_scale, *feature_offset;
  uint32_t stored_height, stored_width; /* of images, before they are resized */
  uint32_t image_size; /* side of the square that images are resized to; 0: they stay as they are */
  float crop_pct;      /* see filtra_dataset_options */
  filtra_normalization normalize;
  bool hold_out_last;                     /* validation is the end of training, not drawn */
  bool standardise;                       /* to be done once the splits are known: ft_standardise */
  ft_samples samples[FILTRA_SPLIT_COUNT]; /* by the file they were read from */
  ft_split splits[FILTRA_SPLIT_COUNT];
};

/** What a probe may look at: the name, and a file's first bytes or a folder's entries. */
typedef struct ft_dataset_probe {
  const char *path;
  bool directory;
  char head[256]; /* NUL-terminated, without a byte order mark */
  char **names;   /* [count], sorted */
  size_t count;
  filtra_status *failed; /* set by one that could not look for want of memory, say */
} ft_dataset_probe;

typedef struct ft_dataset_format {
  const char *name;
  const char *holds; /* what such a path is, as help and errors list it */
  bool (*probe)(const ft_dataset_probe *probe);
  /** Fills samples and what of info says what they are (tokenizer, classes and class_names, or
   * features; sequences and the rest where they differ from one labelled sequence). On failure the
   * caller frees. */
  filtra_status (*open)(const char *path, const filtra_dataset_options *options,
                        filtra_dataset *dataset);
} ft_dataset_format;

/** A sample's row. NULL, with the message set, where there is none. */
const ft_sample_row *ft_dataset_row(const filtra_dataset *dataset, filtra_split split,
                                    uint64_t index);

/** Tokens of the longer of its sequences. */
uint32_t ft_row_length(const ft_sample_row *row);

/** What was found in other data, to be used in place of what these would give. */
typedef struct ft_data_fit {
  const char *const *classes; /* names in the order of their labels */
  uint32_t class_count;       /* 0: the data's own */
  const double *mean, *factor;
  uint32_t features; /* 0: none */
} ft_data_fit;

/** As filtra_dataset_open. Fails with INPUT where a sample's class is none of the fit's, or the
 * number of features differs. */
filtra_status ft_dataset_open_fitted(const char *path, const filtra_dataset_options *options,
                                     const ft_data_fit *fit, filtra_dataset **out);

/** Makes the splits of the samples that were read; where there is none for validation and
 * `hold_out` is set, that share of the training samples becomes it (0: a tenth). */
filtra_status ft_make_splits(filtra_dataset *ds, bool hold_out, float share, uint64_t seed);
/** What that share of `count` is, to the nearest and at least one; 0 of a single one. */
size_t ft_hold_out_count(size_t count, float share);
/** Takes that many of the training split as validation split: of each class its part. */
filtra_status ft_hold_out(filtra_dataset *ds, float share, uint64_t seed);
/** Fails with ARGUMENT where it is not 0 (a tenth) or within (0, 1). */
filtra_status ft_check_share(float share);

/** Bytes of features -> numbers, standardised; `count` is a multiple of info.features. */
void ft_scale_bytes(const filtra_dataset *ds, const uint8_t *bytes, size_t count, float *features);

/** Brings each feature to mean 0 and deviation 1 (of samples, n - 1, plus 2.2e-16) over all steps
 * of the training split; without one, of the first split that has samples. Numbers are changed in
 * place, for bytes scale and offset are filled. A feature that is constant, or missing (NaN),
 * becomes 0. Where the fit has moments, these are used. */
filtra_status ft_standardise(filtra_dataset *ds, const ft_data_fit *fit);

/** A number for what training and validation samples are, with their targets and in their order. */
uint64_t ft_dataset_fingerprint(const filtra_dataset *dataset);

/** A number as ft_standardise leaves it; NaN counts as the mean. */
float ft_standard(double mean, double factor, float x);
/** The same of a number that came as a byte. */
float ft_standard_byte(double mean, double factor, uint8_t x);

extern const ft_dataset_format ft_format_lra_listops, ft_format_listops, ft_format_ts;
extern const ft_dataset_format ft_format_hyperpartisan;
extern const ft_dataset_format ft_format_aan_pairs, ft_format_fasta, ft_format_table;
extern const ft_dataset_format ft_format_text_folders, ft_format_text_lm;
extern const ft_dataset_format ft_format_cifar10, ft_format_idx, ft_format_pathfinder;
extern const ft_dataset_format ft_format_image_folder, ft_format_image_table;

#endif
