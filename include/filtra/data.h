/* Data: labelled sequences from files or arrays, and batches of them.
 *
 *   filtra_dataset *data;  filtra_dataset_open("listops", NULL, &data);
 *   filtra_loader *loader; filtra_loader_create(data, &(filtra_loader_options){
 *       .split = FILTRA_SPLIT_TRAIN, .batch_size = 32, .shuffle = true, .seed = 1}, &loader);
 *   filtra_batch batch;
 *   while (training && !filtra_loader_next(loader, &batch)) step(&batch);
 *   filtra_loader_destroy(&loader);  filtra_dataset_close(&data);
 *
 * Formats that filtra_dataset_open knows:
 *   "lra-listops"  a folder with basic_train.tsv, basic_val.tsv, basic_test.tsv (any of them), or
 *                  one such file: header "Source<TAB>Target", then expression<TAB>label
 *   "listops"      original ListOps: no header, label<TAB>expression; one file, or a folder with at
 *                  most one each of train*.tsv, val*.tsv and test*.tsv
 *   "ucr"          time series as the UCR archive has them: NAME_TRAIN.tsv and NAME_TEST.tsv (.txt,
 *                  .csv, or no ending), found as in "ts". A line is a class, a whole number, and
 *                  the values, separated by tabs, commas or spaces. NaN at a line's end makes the
 *                  series shorter; elsewhere it is interpolated. Standardised as in "ts"
 *   "ts"           time series of the UEA and UCR archives: one file, or a folder with
 *                  NAME_TRAIN.ts and optionally NAME_TEST.ts (of several sets, the one named like
 *                  the folder). Opening NAME_TRAIN.ts also reads the test file beside it; opening
 *                  NAME_TEST.ts as test data also reads the training file. Series may differ in
 *                  length; test series are cut at the longest training series, or at max_length.
 *                  Each feature is standardised to mean 0 and deviation 1 over all steps of the
 *                  training split without its held-out samples. Missing values ('?', NaN) are
 *                  interpolated linearly; a feature that is missing in a whole series is 0 there.
 *                  Time stamps, (t,v) with numbers or dates, must be at equal steps, those of all
 *                  series, to a twentieth of a step. With `unlabelled`, series may have no target
 *                  (classLabel false) or "?" for it. Lines that begin with # or % are comments
 *   "cifar10"      CIFAR-10's binary version: a folder with data_batch_1.bin to _5.bin and
 *                  test_batch.bin (any of them), or one such file. The last tenth of the training
 *                  images is the validation split
 *   "idx"          MNIST's format: a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte
 *                  and the same two of t10k (or one pair), or one file of images with its file of
 *                  labels beside it. With `unlabelled`, images may have no labels
 *   "numpy"        arrays that NumPy saved: X and y in one .npz file, or a folder with X.npy and
 *                  y.npy, or with x_train, y_train, x_val, x_test ... (train_images, train_labels,
 *                  X_validation ...; in any case). X is numbers [samples, steps] or [samples,
 *                  steps, features], standardised as in "ts", or uint8 images [samples, height,
 *                  width] or [samples, height, width, 1 or 3]; whole numbers are not token ids. y
 *                  is [samples] or [samples, 1]: whole numbers, bools and text (U, S) are classes,
 *                  floats, and whole numbers where `targets` says so, are values. y of [samples,
 *                  labels] has 0 and 1 for each label, NaN where it is unknown; where each row has
 *                  a single 1, `targets` must say that these are labels. In X, NaN is a missing
 *                  value; steps at the end that are all NaN are none. bool, int8 to uint64 and
 *                  float16 to float64 are read, in any order of bytes and indices; Python objects
 *                  are refused. X alone can be predicted
 *   "pathfinder"   Long Range Arena's Pathfinder: a folder such as curv_contour_length_14 with
 *                  imgs/ and metadata/, or its parent. Shuffled the same way each time, then 80 %
 *                  train, 10 % val and 10 % test
 *   "tu"           graphs as TU Dortmund's collection distributes them, in one folder: NAME_A.txt,
 *                  an edge a line, as two nodes counted from 1 over all graphs;
 *                  NAME_graph_indicator.txt, each node's graph; NAME_graph_labels.txt, classes, or
 *                  NAME_graph_attributes.txt, a number each (with both, where `targets` says
 *                  values); and NAME_node_labels.txt and NAME_edge_labels.txt, if they are there.
 *                  A node's id is its label + 1, an edge's type its label, 0 to 63. Edges have no
 *                  direction; those from a node to itself are left out. Attributes of nodes and
 *                  edges are not read. All graphs are training data, or with `unlabelled`, where
 *                  neither classes nor numbers are there, test data
 *   "image-folder" PNG and JPEG files: CLASS/FILE, or train, val and test with such folders, which
 *                  may also be called training; valid, validation, validate, dev, eval; testing,
 *                  ind; in any case. All of one size, unless image_size resizes them. They are
 *                  turned upright as EXIF data say; CMYK becomes RGB as Pillow converts it;
 *                  transparent pixels of a PNG are blended with black; of its 16 bits per
 *                  channel the upper 8 are kept (a 257th of the value, rounded), with a warning
 *                  where none is then above 16. A test folder without classes beside a training
 *                  folder has unlabelled samples
 *   "image-files"  one PNG or JPEG file, or a folder of nothing else, with `unlabelled`: a test
 *                  split whose samples have the paths as names
 *   "text-files"   the same of .txt files, two or more in a folder. Tokenizer "bytes"
 *   "image-table"  trainLabels.csv (header id,label) and a folder train... with ID.png; images as
 *                  in "image-folder"
 *   "aan-pairs"    Long Range Arena's retrieval task: a folder with new_aan_pairs.train.tsv,
 *                  .eval.tsv and .test.tsv (any of them), or one such file:
 *                  label<TAB>id<TAB>id<TAB>text<TAB>text. Papers are cut at 4,000 tokens where
 *                  max_length is 0. Tokenizer "bytes"
 *   "fasta"        a folder of .fasta (.fa, .fas, .fna, .ffn, .faa) files, one class each, which
 *                  the name says: CLASS_train, CLASS_val (dev) and CLASS_test (ind), or CLASS for
 *                  training data. Or train, val and test files, or one file of any name, whose
 *                  headers end with the class: the text after the last |, or else the last word.
 *                  The header's first word is the sample's name. Lines that begin with ; or # are
 *                  comments; letters of both cases mean the same. Tokenizer "dna", for .faa
 *                  "characters". Without `tokenizer`, files in which codes for several nucleotides
 *                  (IUPAC, except N) are 5 % or more of the letters are refused: these letters can
 *                  also spell proteins. With `unlabelled`, headers of one word have no class; nor
 *                  have headers of which none ends with a class of the training data
 *   "hyperpartisan" SemEval-2019's news articles (task 4): a folder with
 *                  articles-training-NAME.xml, articles-validation-NAME.xml and
 *                  articles-test-NAME.xml (any of them) and ground-truth- files of the same names.
 *                  Samples are the articles' texts, with a space for each tag. Tokenizer
 *                  "characters"
 *   "text-folders" documents as .txt files in a folder per class (IMDb's aclImdb): DIR/CLASS/, or
 *                  DIR/train, val and test with such folders, called as in "image-folder". Classes
 *                  in the order of their names; a folder unsup is ignored. Tokenizer "bytes"
 *   "text-lm"      text for language models: one file, whose last tenth is the validation text, or
 *                  a folder with at most one file for each of train, valid (val, validation) and
 *                  test. Their names are these words, or end with one, then .txt, .text, .tokens or
 *                  .raw: wiki.train.tokens. Tokenizer "words" where `<unk>` occurs, else
 *                  "characters"; words are those of the first of these files that exists,
 *                  held-out part included, characters those of all. Samples are windows of
 *                  max_length tokens (0: 256)
 *   "table"        one sample per row (RFC 4180): one file, or a folder with train.csv, val.csv and
 *                  test.csv (or .tsv; any of them). The delimiter is what gives the first rows
 *                  equally many fields: comma, tab, semicolon or pipe. Files that end in .jsonl or
 *                  .ndjson have a flat JSON object a row, whose keys, those of the first row, are
 *                  the columns; null and a missing key are a missing field. The text is the column
 *                  called smiles, sequence, seq, text, sentence, review or document; the target is
 *                  the one called label, class, target, category, sentiment, value, y, or "measured
 *                  ..."; a column called id or index names the samples. text_column, target_column
 *                  and id_column name others. Where several columns could be the text or the
 *                  target, a warning says which was taken. In a file of two columns one such name
 *                  is enough; without any, the file has no header, and the longer field of its
 *                  first row is the text. Other files have the first file's columns, by name, in
 *                  any order.
 *                  Several target columns, each 0 or 1, or texts with a label_separator are any
 *                  number of labels. Other targets are values if all are numbers and some are not
 *                  whole or are amounts (12 %, $3); otherwise classes, sorted as whole numbers or
 *                  as strings. White space around fields is dropped. Tokenizer "characters".
 *                  Without a text, the other columns are features, one number a step, each
 *                  standardised by its own mean and deviation in the training split; a column of
 *                  few different texts becomes a number for each, 1 or 0; a missing field (empty,
 *                  NA, NaN, null, none, ?) is the column's mean. With group_column the rows of a
 *                  group are a series instead, of a step a row, whose missing fields are
 *                  interpolated as in "ts".
 *                  docs/tables.md shows what is read and what is refused
 *
 * Names that begin with a dot, __MACOSX, Thumbs.db and desktop.ini are left out everywhere. Class
 * names are UTF-8. Files are read strictly: an error gives FILTRA_ERROR_INPUT and a message that
 * starts "file:line:". A UTF-8 byte order mark, CRLF line ends and a last line without an end are
 * accepted. Files packed by gzip are unpacked; they may grow to 20 times their size plus 64 MiB, or
 * to another multiple that the environment variable FILTRA_UNPACKED_TIMES sets. */
#ifndef FILTRA_DATA_H
#define FILTRA_DATA_H

#include <filtra/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- datasets ----------------------------------------------------------------------------- */

typedef enum filtra_split {
  FILTRA_SPLIT_TRAIN = 0,
  FILTRA_SPLIT_VAL,
  FILTRA_SPLIT_TEST
} filtra_split;
enum { FILTRA_SPLIT_COUNT = 3 };

/** "train", "val" or "test". Thread-safe. */
FILTRA_API const char *filtra_split_name(filtra_split split);
/** The split with that name. Fails with ARGUMENT for an unknown name. Thread-safe. */
FILTRA_API filtra_status filtra_split_from_name(const char *name, filtra_split *split);

/** The elements of a sequence. */
typedef enum filtra_input {
  FILTRA_INPUT_TOKENS = 0, /**< ids of a vocabulary, below 16,777,216 */
  FILTRA_INPUT_FEATURES    /**< vectors of `features` numbers: steps of time series, pixels */
} filtra_input;

/** What a model learns to predict for a sample. */
typedef enum filtra_target {
  FILTRA_TARGET_CLASS = 0, /**< one of `classes` */
  FILTRA_TARGET_VALUE,     /**< a number */
  FILTRA_TARGET_NEXT,      /**< the next token at every position: language modelling */
  FILTRA_TARGET_LABELS     /**< any number of `classes`: none, one or several */
} filtra_target;

/** What the data say of one of several labels of a sample. */
typedef enum filtra_label {
  FILTRA_LABEL_ABSENT = 0, /**< it does not apply */
  FILTRA_LABEL_APPLIES,
  FILTRA_LABEL_UNKNOWN /**< left out of losses and scores */
} filtra_label;

/** How the pixels of images are read. */
typedef enum filtra_pixels {
  /** As tokens 0 to 255: floor(255.5 (0.2989 r + 0.5870 g + 0.1140 b) / 255), as in Long Range
   * Arena. Token 0 is a black pixel, not padding: only lengths say where a sequence ends. */
  FILTRA_PIXELS_GREY = 0,
  /** As one number, the grey value, standardised by the training images. For a file of validation
   * or test images, the training images are looked for beside it; without them, the file's own
   * images are used. */
  FILTRA_PIXELS_GREY_FEATURES,
  FILTRA_PIXELS_RGB /**< as three numbers, red, green and blue, each standardised like grey ones */
} filtra_pixels;

/** Mean and deviation by which pixels as numbers are standardised. */
typedef enum filtra_normalization {
  /** Those of the training images, all of which are read once to compute them. */
  FILTRA_NORMALIZE_DATA = 0,
  /** Those commonly used for ImageNet: means 0.485, 0.456 and 0.406 of red, green and blue,
   * deviations 0.229, 0.224 and 0.225, times 255. Needs FILTRA_PIXELS_RGB. */
  FILTRA_NORMALIZE_IMAGENET,
  /** Means and deviations of 0.5 times 255, as of ViT: numbers from -1 to 1. Needs
   * FILTRA_PIXELS_RGB. */
  FILTRA_NORMALIZE_HALF
} filtra_normalization;

/** What the targets of a table are. */
typedef enum filtra_targets {
  FILTRA_TARGETS_AUTO = 0, /**< values if all are numbers and not all are whole; else classes */
  FILTRA_TARGETS_CLASSES,  /**< refuses fractions; a class for each row if there are so many */
  FILTRA_TARGETS_VALUES,   /**< numbers, whole ones too: counts, ages */
  FILTRA_TARGETS_LABELS    /**< any number of labels a row; see `label_separator` */
} filtra_targets;

/** What separates the fields of a table. */
typedef enum filtra_delimiter {
  FILTRA_DELIMITER_AUTO = 0, /**< what gives each of the first rows equally many fields */
  FILTRA_DELIMITER_COMMA,
  FILTRA_DELIMITER_TAB,
  FILTRA_DELIMITER_SEMICOLON,
  FILTRA_DELIMITER_PIPE
} filtra_delimiter;

/** What a quote at the start of a table's field means. */
typedef enum filtra_quoting {
  /** A quoted field, as RFC 4180 has it; in a file of tabs only where its first rows are so. */
  FILTRA_QUOTING_AUTO = 0,
  /** Nothing: quotes are text, and each line is a row, as with pandas' QUOTE_NONE. Fields in excess
   * of the first row's number are left out, with a warning. */
  FILTRA_QUOTING_NONE,
  FILTRA_QUOTING_FULL /**< a quoted field, which may hold delimiters and line ends */
} filtra_quoting;

/** The sign before a fraction in a table's numbers. */
typedef enum filtra_decimal {
  FILTRA_DECIMAL_AUTO = 0, /**< the one that the column's numbers show */
  FILTRA_DECIMAL_POINT,    /**< 1,000.5 */
  FILTRA_DECIMAL_COMMA     /**< 1.000,5 */
} filtra_decimal;

/** Labelled sequences in host memory: 4 bytes per token, 4 per feature, 1 per pixel feature. Images
 * of "image-folder" and "image-table" that are read as numbers stay in their files and are decoded
 * on each use; only paths and labels are in memory. Constant once open: any number of threads and
 * loaders may read it. */
typedef struct filtra_dataset filtra_dataset;

/** Options of filtra_dataset_open; all zero is the default. */
typedef struct filtra_dataset_options {
  const char *format; /**< a name from the list above; NULL: detected from the content */
  /** A name from tokenizer.h, or a path for filtra_tokenizer_load, whose special tokens then go
   * around each text that has a class or a value, within `max_length`; NULL: the format's. */
  const char *tokenizer;
  /** A tokenizer that was fitted to other data, used instead of `tokenizer`; must outlive the
   * dataset. NULL: none. */
  const filtra_tokenizer *fitted;
  uint32_t max_length; /**< longest sequence accepted, in tokens; 0: any */
  bool truncate;       /**< cut longer sequences at max_length instead of failing */
  /** ListOps: compute each label from its expression, fail on a mismatch. Files of images: decode
   * each, and fail for one that is damaged, instead of when it is first used. */
  bool verify_labels;
  /** The split of a path to one file. FILTRA_SPLIT_TRAIN: training data, of which a part is held
   * out for validation. FILTRA_SPLIT_VAL, FILTRA_SPLIT_TEST: all of that split. A folder of graphs
   * ("tu") counts as one file; ignored for other folders. */
  filtra_split file_split;
  uint64_t seed;        /**< chooses the held-out samples */
  filtra_pixels pixels; /**< of images; other data accept only the default */
  /** Columns of a table, by name or by number from 1; NULL: found by their names, see "table"
   * above. Other formats refuse them. text_column may be two with a comma between: their texts
   * become one sequence with the special tokens of a pretrained tokenizer, as in [CLS] A [SEP] B
   * [SEP]. */
  const char *text_column, *target_column;
  /** Fraction of the training samples or text that is held out for validation where there is no
   * validation data, at most 0.9; 0: 0.1. Held out from each class alike; from text and CIFAR-10
   * the end. */
  float validation_share;
  /** Most ids of the tokenizer "words", 3 to 1,048,576, including padding, `<unk>` and `<eos>`;
   * rarer words become `<unk>`. 0: 65,536. Refused with another tokenizer; ignored with `fitted`.
   */
  uint32_t max_vocabulary;
  /** Side of the squares that images are resized to, at most 1024. The central square, whose side
   * is `crop_pct` of the image's shorter side, is resampled by bicubic interpolation (Keys 1981,
   * with the parameter -0.5) and antialiasing, as Pillow does but rounded once, not between its two
   * passes. The square is cut out first: pixels beyond it do not count. 0: images are not resized
   * and must have one size. */
  uint32_t image_size;
  float crop_pct; /**< 0.05 to 1; 0: 0.875 */
  filtra_normalization normalize;
  /** Accept samples whose target is unknown, which can be predicted but not trained or evaluated
   * with: their label is -1, their value NaN. */
  bool unlabelled;
  /** Of a table, each by name or by number from 1. `feature_columns`: those that are read as
   * numbers, with commas between; NULL: without a text column all others. `group_column`: rows with
   * the same value there are steps of one series, in the order of `time_column` (NULL: of the
   * file). `id_column`: names of samples; NULL: one called id or index. */
  const char *feature_columns, *group_column, *time_column, *id_column;
  filtra_delimiter delimiter;
  filtra_decimal decimal;
  filtra_targets targets;
  /** One character between the labels of a target such as "cats;sun"; "space" and "tab" name these.
   * Targets are then FILTRA_TARGET_LABELS: an empty field has no label, and lists as Python prints
   * them, ['cats', 'sun'], are read too. NULL: with FILTRA_TARGETS_LABELS the one of ; | and , that
   * the column has. Labels are also what a target_column of several columns, with commas between,
   * holds: each names a label and is 0, 1 or, where it is unknown, an empty field. */
  const char *label_separator;
  filtra_quoting quoting;
  uint64_t reserved[6]; /**< 0 */
} filtra_dataset_options;

typedef struct filtra_dataset_info {
  const char *format;
  filtra_input input;
  filtra_target target;
  uint32_t sequences;                 /**< per sample: 1, or 2 for pairs */
  const filtra_tokenizer *tokenizer;  /**< NULL: the input is features, or ids from arrays */
  uint32_t features;                  /**< numbers per token; 0: the input is tokens */
  uint32_t height, width;             /**< of images, stored row by row; else 0 */
  uint32_t classes;                   /**< labels are 0 to classes - 1; 0: no classes */
  uint64_t count[FILTRA_SPLIT_COUNT]; /**< samples of each split */
  uint32_t longest;                   /**< tokens of the longest sequence of any split */
  uint32_t max_length;                /**< as given to filtra_dataset_open */
  bool validation_held_out;           /**< validation samples come from the training file */
  /** Types of edges, where samples are graphs whose nodes are the tokens; 0: they are sequences. */
  uint32_t edge_types;
  uint64_t unlabelled[FILTRA_SPLIT_COUNT]; /**< samples of each split whose target is unknown */
  /** Of a table, which columns are read, for people: "area, rooms; target price"; else NULL. */
  const char *columns;
  uint64_t reserved[7]; /**< 0 */
} filtra_dataset_info;

/** One sample; its tokens stay valid while the dataset is open. */
typedef struct filtra_sample {
  /** [length]; NULL: the input is features. With FILTRA_TARGET_NEXT, one more token follows, the
   * target of the last position. */
  const int32_t *tokens;
  uint32_t length;
  uint32_t edge_count;   /**< of a graph; else 0 */
  const int32_t *second; /**< [second_length], the other sequence of a pair; else NULL */
  uint32_t second_length;
  /** With FILTRA_TARGET_CLASS; -1: unknown. With FILTRA_TARGET_LABELS -1: labels are unknown. */
  int32_t label;
  float value;        /**< with FILTRA_TARGET_VALUE; NaN: unknown */
  const char *name;   /**< what the data call it: an id, a file, a FASTA header; NULL: nothing */
  uint32_t second_at; /**< token at which the second of two texts begins in `tokens`; 0: one text */
  /** With FILTRA_TARGET_LABELS, while the dataset is open: the label_count labels that apply, then
   * the unknown_count that are unknown. */
  uint32_t label_count;
  const int32_t *labels;
  /** [edge_count, 3] of a graph: two nodes, 0 to length - 1, and the type of the edge between them,
   * 0 to edge_types - 1. NULL: the sample is a sequence. */
  const int32_t *edges;
  uint32_t unknown_count;
  uint32_t reserved[1]; /**< 0 */
} filtra_sample;

/** Name and one-line description of format `index`, in the order in which filtra_dataset_open tries
 * them. NULL beyond the last. Thread-safe. */
FILTRA_API const char *filtra_dataset_format_name(size_t index);
FILTRA_API const char *filtra_dataset_format_description(size_t index);

/** Reads a file or a folder. `options` may be NULL. If there is a training file and no validation
 * file, a tenth of the training samples, or `validation_share` of them, drawn by `seed`, becomes
 * the validation split (for language models the end of the text). Test data is never used for it.
 * Caller closes. */
FILTRA_API filtra_status filtra_dataset_open(const char *path,
                                             const filtra_dataset_options *options,
                                             filtra_dataset **dataset);
/** Samples in a caller's arrays; start from zeros. Sequences are concatenated without padding. */
typedef struct filtra_samples {
  uint64_t count;          /**< samples; 0: the split is empty */
  const uint32_t *lengths; /**< [count] tokens of each, at least 1; with FILTRA_TARGET_NEXT 2 */
  const int32_t *tokens;   /**< [sum of lengths] ids, 0 to 16777215; 0 is padding */
  /** [sum of lengths, features]. NaN: missing, which needs `standardise`: interpolated as in "ts",
   * with `columns` the column's mean. */
  const float *features;
  const int32_t *second; /**< the second sequences of pairs, as `tokens`; NULL: no pairs */
  const uint32_t *second_lengths;
  const int32_t *labels; /**< [count], 0 to classes - 1, with FILTRA_TARGET_CLASS */
  const float *values;   /**< [count], with FILTRA_TARGET_VALUE */
  /** [count, classes] of labels, each a filtra_label; at least one of a split is known. */
  const uint8_t *targets;
  /** [count], 1e-20 to 1e20: weights in the loss, for loaders with `sample_weights`, as those of
   * runs' training data. NULL: 1 each. */
  const float *weights;
  /** Of graphs, whose nodes are the tokens: [count] edges of each, and [sum of edge_counts, 3] with
   * two nodes, from 0, and a type, 0 to edge_types - 1. An edge has no direction, joins two
   * different nodes, and is given once. NULL: no graphs; `edges` alone: no edges. */
  const uint32_t *edge_counts;
  const int32_t *edges;
  uint64_t reserved[4]; /**< 0 */
} filtra_samples;

/** A dataset in a caller's arrays; start from zeros. */
typedef struct filtra_dataset_arrays {
  filtra_samples splits[FILTRA_SPLIT_COUNT];
  /** With FILTRA_TARGET_NEXT a sequence's last token is only predicted. */
  filtra_target target;
  uint32_t features; /**< numbers per token; 0: token ids */
  uint32_t classes;  /**< at least 2 with FILTRA_TARGET_CLASS, 1 with FILTRA_TARGET_LABELS */
  const char *const *class_names; /**< [classes]; NULL: "0", "1" and so on */
  /** The tokenizer of the ids, for filtra_dataset_info; must outlive the dataset. NULL: unknown. */
  const filtra_tokenizer *tokenizer;
  bool standardise;       /**< features to mean 0 and deviation 1, as in "ts" */
  bool hold_out;          /**< hold validation samples out where `splits` has none */
  float validation_share; /**< fraction held out, as in filtra_dataset_options */
  uint64_t seed;          /**< draws the held-out samples */
  /** With `standardise` and one feature: each step by a mean and deviation of its own, as the
   * columns of a table. All samples have one length. */
  bool columns;
  /** Of images, stored row by row: each sample has height * width pixels. 0: no images. If all
   * pixels are 1 or 3 whole numbers, 0 to 255, loaders augment them as those of files; of other
   * numbers they only mix samples. */
  uint32_t height, width;
  uint32_t edge_types; /**< of graphs, at most 64; 0: no graphs */
  /** With `standardise`, [features], or with `columns` [columns]: x becomes (x - feature_mean) *
   * feature_factor, as in the data of a model that reads these. NULL: by the training split, which
   * has samples then. */
  const double *feature_mean, *feature_factor;
  uint64_t reserved[11]; /**< 0 */
} filtra_dataset_arrays;

/** Copies the arrays, which may be freed after the call. Fails with INPUT, naming the sample.
 * Caller closes. */
FILTRA_API filtra_status filtra_dataset_create(const filtra_dataset_arrays *arrays,
                                               filtra_dataset **dataset);
/** Frees everything; sets *dataset to NULL. Destroy its loaders first. */
FILTRA_API void filtra_dataset_close(filtra_dataset **dataset);
/** Valid while the dataset is open. */
FILTRA_API const filtra_dataset_info *filtra_dataset_get_info(const filtra_dataset *dataset);
/** Name of a class, NULL when out of range. */
FILTRA_API const char *filtra_dataset_class_name(const filtra_dataset *dataset, uint32_t label);
/** Sample `index` of a split, in file order. Fails with ARGUMENT when out of range. */
FILTRA_API filtra_status filtra_dataset_sample(const filtra_dataset *dataset, filtra_split split,
                                               uint64_t index, filtra_sample *sample);
/** Copies the standardised features [length, features] of a sample. Fails with ARGUMENT when out of
 * range or when the input is tokens, with INPUT or IO, naming the file, when an image can no longer
 * be read. */
FILTRA_API filtra_status filtra_dataset_sample_features(const filtra_dataset *dataset,
                                                        filtra_split split, uint64_t index,
                                                        float *features);

/* ---- batches ------------------------------------------------------------------------------ */

/** Samples padded to one length. A plain struct of pointers, which a loader or a caller fills in.
 */
typedef struct filtra_batch {
  uint32_t size;      /**< rows, fillers included */
  uint32_t length;    /**< tokens per sequence, padding included */
  uint32_t count;     /**< rows that are samples; they come first, then fillers */
  uint32_t sequences; /**< S per row: 2 for pairs; 0 and 1: one */
  /** [S * size * length], 0 after each sequence's end: the first sequences of all rows, then the
   * second ones. NULL: the input is features. */
  const int32_t *tokens;
  const float *features;  /**< [size * length * features], 0 after each end; else NULL */
  const int32_t *lengths; /**< [S * size] tokens without padding */
  /** [size] classes; or [size * length] next tokens, -1 where there is none; or NULL. */
  const int32_t *labels;
  const float *values; /**< [size] targets of regression; else NULL */
  /** [size]: of samples 1 or their class's weight; 0 for fillers, which complete a last partial
   * batch. A filler repeats the first row, so that every row is a valid sequence. */
  const float *weights;
  const uint32_t
      *indices;   /**< [size] positions in the split; may be NULL in a caller's own batch */
  uint64_t epoch; /**< counts from 0 */
  /** For rows that mix two samples (mixup, CutMix), [size] each, else NULL: the class of the second
   * sample, and the fraction of the first, whose class is in `labels`, 0 to 1. Loaders give
   * fractions of at least 0.5. */
  const int32_t *other_labels;
  const float *label_fractions;
  /** [size], of rows that hold two texts one after the other: where the second begins, at most the
   * row's length; 0: there is one text, or the tokenizer gives both type 0. Tokens of the second
   * have token type 1, others 0 (filtra_model_config.token_types). NULL: one text in every row. */
  const int32_t *second;
  /** [size, classes] for models of several labels, else NULL: 0 where a label does not apply; where
   * it does 1, or another weight above 0 of its part of the loss, as `pos_weight` of PyTorch's
   * BCEWithLogitsLoss; -1 where it is unknown. */
  const float *targets;
  /** Of graphs, whose nodes are the tokens: [size] edges of each row, and as filtra_samples.edges
   * those of all rows. NULL: no graphs; `edges` alone: no edges. */
  const uint32_t *edge_counts;
  const int32_t *edges;
  uint64_t reserved[2]; /**< 0 */
} filtra_batch;

/** Iterates over a split in batches, epoch after epoch without end. Samples are grouped by length
 * into buckets; a batch holds samples of one bucket, padded to the bucket's length. The loader's
 * own thread prepares the next batches; images are decoded and augmented by one thread per
 * processor. Batches depend on dataset, options and position only. One thread at a time per loader.
 */
typedef struct filtra_loader filtra_loader;

/** Random changes of images before batching, applied in the order of these fields; a field of 0
 * skips its step. They depend on (seed, epoch, sample) only, so a resumed run sees the same images.
 * Needs images that are read as numbers. docs/config.md has the accepted ranges, under the keys of
 * the same names. */
typedef struct filtra_augmentation {
  /** Random resized crop (Szegedy et al. 2015) instead of image_size's central square: a box of at
   * least this fraction of the image's area, with an aspect ratio of at most `crop_ratio` (0: 4/3),
   * resized to the size of all images. 0 or 1: none. */
  float crop_scale, crop_ratio;
  float hflip; /**< probability of flipping left and right */
  /** RandAugment (Cubuk et al. 2020): number of operations, each applied with probability 0.5, with
   * a magnitude drawn from N(rand_augment_magnitude, rand_augment_std) and limited to 0 to 10. */
  uint32_t rand_augment;
  float rand_augment_magnitude, rand_augment_std;
  /** Random erasing (Zhong et al. 2020): probability of filling a box with N(0, 1) noise. The box
   * has 2 % to a third of the area and an aspect ratio of at most 10/3. */
  float random_erasing;
  /** The parameter a of mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019). They mix samples i
   * and count - 1 - i by a fraction drawn from Beta(a, a) for the whole batch. If both are set,
   * each batch draws one of them. */
  float mixup, cutmix;
  float mixup_prob; /**< probability of mixing a batch; 0: 1 */
  /** Repeated augmentation (Hoffer et al. 2020): rows that an image has one after the other, each
   * augmented in another way, at most 16. Epochs keep their length: one has a part of the images,
   * drawn anew. Needs shuffling. 0: 1. */
  uint32_t repeats;
  uint64_t reserved[7]; /**< 0 */
} filtra_augmentation;

typedef struct filtra_loader_options {
  filtra_split split;
  uint32_t batch_size; /**< rows of a batch, at least 1 */
  /** Padded lengths, ascending; the last must hold the split's longest sequence. NULL: the powers
   * of two from 16 that some sample of any split needs, so that all loaders of a dataset agree. The
   * last is at most the dataset's max_length, or, where that is 0, the longest sequence of
   * features. Models pad the same way in prediction. */
  const uint32_t *buckets;
  size_t bucket_count;
  bool shuffle; /**< a new order every epoch, drawn by (seed, epoch); else file order */
  uint64_t seed;
  bool drop_last;                          /**< leave out each bucket's last partial batch */
  uint32_t prefetch;                       /**< batches prepared ahead; 0: 3 */
  const filtra_augmentation *augmentation; /**< of images, copied; NULL: none */
  /** [classes], copied: weights of samples by their class, above 0: the loss becomes the weighted
   * mean, as do the scores of training. Not with mixup and cutmix. NULL: 1 each. With
   * FILTRA_TARGET_LABELS what filtra_batch.targets has where a label applies. */
  const float *class_weights;
  bool sample_weights;  /**< multiply weights by those of the samples (filtra_samples.weights) */
  uint64_t reserved[6]; /**< 0 */
} filtra_loader_options;

/** Position of a loader. Setting it continues with exactly the batches that would have followed. */
typedef struct filtra_loader_position {
  uint64_t epoch;       /**< of the next batch */
  uint64_t batch;       /**< its index in the epoch, below filtra_loader_batch_count */
  uint64_t reserved[2]; /**< 0 */
} filtra_loader_position;

/** The dataset must stay open while the loader exists. Caller destroys. */
FILTRA_API filtra_status filtra_loader_create(const filtra_dataset *dataset,
                                              const filtra_loader_options *options,
                                              filtra_loader **loader);
/** Stops the thread and frees everything; sets *loader to NULL. */
FILTRA_API void filtra_loader_destroy(filtra_loader **loader);
/** The padded lengths of batches, ascending. A model compiles one graph for each. */
FILTRA_API const uint32_t *filtra_loader_buckets(const filtra_loader *loader, size_t *count);
/** Batches per epoch, the same in every epoch. */
FILTRA_API uint64_t filtra_loader_batch_count(const filtra_loader *loader);
/** The next batch; its arrays stay valid until the next call on this loader. Fails, naming the
 * file, when an image can no longer be read; later calls fail too, until a position is set. */
FILTRA_API filtra_status filtra_loader_next(filtra_loader *loader, filtra_batch *batch);
FILTRA_API filtra_loader_position filtra_loader_get_position(const filtra_loader *loader);
/** Continues from `position`. Fails with ARGUMENT when position.batch is beyond the epoch. */
FILTRA_API filtra_status filtra_loader_set_position(filtra_loader *loader,
                                                    filtra_loader_position position);

#ifdef __cplusplus
}
#endif
#endif
