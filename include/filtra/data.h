/* Data: labelled token sequences from files, batches of them, and the ListOps generator.
 *
 *   filtra_dataset *data;  filtra_dataset_open("listops", NULL, &data);
 *   filtra_loader *loader; filtra_loader_create(data, &(filtra_loader_options){
 *       .split = FILTRA_TRAIN, .batch_size = 32, .shuffle = true, .seed = 1}, &loader);
 *   filtra_batch batch;
 *   while (training && !filtra_loader_next(loader, &batch)) step(&batch);
 *   filtra_loader_destroy(&loader);  filtra_dataset_close(&data);
 *
 * Formats that filtra_dataset_open knows:
 *   "lra-listops"  a folder with basic_train.tsv, basic_val.tsv, basic_test.tsv (any of them), or
 *                  one such file: header "Source<TAB>Target", then expression<TAB>label
 *   "listops"      original ListOps: no header, label<TAB>expression; one file, or a folder with at
 *                  most one each of train*.tsv, val*.tsv and test*.tsv
 *   "ts"           time series of the UEA and UCR archives: a folder with NAME_TRAIN.ts and, if
 *                  there is one, NAME_TEST.ts (of several sets, the one named as the folder), or
 *                  one file. NAME_TRAIN.ts brings the test file beside it along, NAME_TEST.ts
 *                  opened as test data the training file. Series may differ in length; test series
 *                  are cut at the longest of the training file, or at max_length. Each feature gets
 *                  mean 0 and deviation 1 over all steps of the training split, held-out samples
 *                  not among them. Missing values ('?', NaN) lie on the line between their
 *                  neighbours; a feature that is missing throughout a series is 0 there.
 *                  Lines that begin with # or % are comments
 *   "cifar10"      CIFAR-10's binary version: a folder with data_batch_1.bin to _5.bin and
 *                  test_batch.bin (any of them), or one such file. The last tenth of the training
 *                  images is the validation split
 *   "idx"          MNIST and its kin: a folder with train-images-idx3-ubyte,
 *                  train-labels-idx1-ubyte and the same of t10k (or one pair), or one file of
 *                  images, whose labels lie beside it
 *   "pathfinder"   Long Range Arena's Pathfinder: a folder such as curv_contour_length_14 with
 *                  imgs/ and metadata/, or one above it. Shuffled, then 80 % train, 10 % val and
 *                  10 % test, the same in every run
 *   "image-folder" PNG and JPEG files: CLASS/FILE, or train, val and test with such folders. All of
 *                  one size, or of any where image_size says what they become. What is transparent
 *                  in a PNG is laid on black
 *   "image-table"  trainLabels.csv (header id,label) and a folder train... with ID.png, likewise
 *   "aan-pairs"    Long Range Arena's retrieval task: a folder with new_aan_pairs.train.tsv,
 *                  .eval.tsv and .test.tsv (any of them), or one such file:
 *                  label<TAB>id<TAB>id<TAB>text<TAB>text. Papers are cut at 4,000 tokens where
 *                  max_length is 0. Tokenizer "bytes"
 *   "fasta"        a folder of .fasta (.fa, .fas, .fna, .ffn) files, each of one class by its name:
 *                  CLASS_train, CLASS_val (dev) and CLASS_test (ind), or CLASS for training data.
 *                  Or train, val and test files, or one file of any name, where each header ends
 *                  with the class: what is behind the last |, or else the last word. Tokenizer
 *                  "dna"
 *   "hyperpartisan" SemEval-2019's news articles (task 4): a folder with
 *                  articles-training-NAME.xml, articles-validation-NAME.xml and
 *                  articles-test-NAME.xml (any of them) and ground-truth- files of the same names.
 *                  Samples are the articles' text, each tag a space. Tokenizer "characters"
 *   "text-folders" documents per class, a .txt file each (IMDb's aclImdb): DIR/CLASS/, or
 *                  DIR/train, val (valid, validation, dev) and test with such folders. Classes in
 *                  the order of their names; unsup is passed over. Tokenizer "bytes"
 *   "text-lm"      text to model: one file, whose last tenth is the validation text, or a folder
 *                  with at most one text each whose name is, or ends with, train, valid (val,
 *                  validation) and test, then .txt, .text, .tokens or .raw: wiki.train.tokens.
 *                  Tokenizer "words" where `<unk>` occurs, else "characters"; made from the
 *                  first of these files that is there, held-out part included. Samples are windows
 *                  of max_length tokens (0: 256)
 *   "table"        a row a sample, comma-, tab- or semicolon-separated (RFC 4180): train.csv,
 *                  val.csv, test.csv in a folder (or .tsv; any of them), or one file. The text is
 *                  the column called smiles, sequence, seq, text, sentence, review or document, the
 *                  target the one called label, class, target, category, sentiment, value, y, or
 *                  "measured ..."; text_column and target_column say otherwise. In a file of two
 *                  columns one name is enough; without any there is no header and the longer field
 *                  of the first row is the text. Targets that are numbers, not all of them whole,
 *                  are values, others classes: sorted as whole numbers where all are, else as
 *                  strings. White space around fields is dropped. Tokenizer "characters"
 *
 * Files are read strictly: whatever is wrong ends in FILTRA_ERROR_INPUT with a message that starts
 * "file:line:". A UTF-8 byte order mark, CRLF line ends and a last line without an end are fine; CR
 * before LF is dropped. Files that are packed by gzip are read as what is inside, which is at most
 * 20 times as long and 64 MiB more; the environment variable FILTRA_UNPACKED_TIMES says another
 * number.
 */
#ifndef FILTRA_DATA_H
#define FILTRA_DATA_H

#include <filtra/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tokenizers --------------------------------------------------------------------------- */

/** Turns text into token ids and back. Id 0 is padding in every tokenizer but "pixels". All
 * functions but filtra_tokenizer_destroy are thread-safe.
 *
 * Constant ones, known by name:
 * "listops": ids 1 to 10 are the digits 0 to 9, then 11 [MIN, 12 [MAX, 13 [MED, 14 [SM, 15 ].
 * "listops-original": the same, and 16 [FIRST, 17 [LAST.
 * "pixels": the grey values 0 to 255, written as numbers; 0 is a black pixel.
 *   ListOps' symbols are separated by white space; the parentheses of the binary form carry no
 *   information and are dropped. Expressions must be complete: balanced, one root, at least one
 *   argument per operator.
 * "bytes": byte + 1, 257 ids; takes any text.
 * "printable": the 95 printable characters of ASCII, space (id 1) to ~; tabs and line ends read as
 *   spaces, all else is left out.
 * "dna": 1 A, 2 C, 3 G, 4 T (or U), 5 N; either case. The ambiguity codes RYSWKMBDHV read as N.
 *
 * Made from data, by filtra_dataset_open (the training text, and its own once it is loaded):
 * "characters": the Unicode characters of the data in code point order. Closed: a character that
 *   the data did not have is an error.
 * "words": 1 `<unk>`, 2 `<eos>` for a line's end, then the words (between ASCII white space) of the
 *   training data, the most frequent first, at most 65,536 ids in all, padding included, or
 *   `max_vocabulary`. Others, and words over 128 bytes, read as `<unk>`. */
typedef struct filtra_tokenizer filtra_tokenizer;

/** A constant tokenizer, never freed. NULL, with the error message listing the names, when there is
 * none of this name. */
FILTRA_API const filtra_tokenizer *filtra_tokenizer_find(const char *name);
FILTRA_API const char *filtra_tokenizer_name(const filtra_tokenizer *tokenizer);
/** Number of ids, padding included: rows of an embedding table. */
FILTRA_API uint32_t filtra_tokenizer_size(const filtra_tokenizer *tokenizer);
/** Text of one id, to be shown ("bytes" has `\x0a` for a line's end); "" for padding, NULL when out
 * of range. */
FILTRA_API const char *filtra_tokenizer_symbol(const filtra_tokenizer *tokenizer, uint32_t id);
/** Encodes `length` bytes of text. *count is the number of tokens the text has; the first
 * min(*count, capacity) are stored in `tokens` (NULL with capacity 0 to ask for the number).
 * Fails with INPUT, naming the symbol and its column. */
FILTRA_API filtra_status filtra_tokenizer_encode(const filtra_tokenizer *tokenizer,
                                                 const char *text, size_t length, int32_t *tokens,
                                                 size_t capacity, size_t *count);
/** The text of `count` ids, padding left out: words are joined by spaces, and `<eos>` ends a line;
 * the other tokenizers give back what they were given. *length is the number of bytes the text has;
 * those that fit before a final NUL are stored in `text` (NULL with capacity 0 to ask for the
 * number). Fails with ARGUMENT when an id is out of range. */
FILTRA_API filtra_status filtra_tokenizer_decode(const filtra_tokenizer *tokenizer,
                                                 const int32_t *tokens, size_t count, char *text,
                                                 size_t capacity, size_t *length);
/** Whether it was made from data: such a one must be kept to read other text as it does. */
FILTRA_API bool filtra_tokenizer_is_made(const filtra_tokenizer *tokenizer);
/** Writes one that was made from data to a JSON file, atomically. */
FILTRA_API filtra_status filtra_tokenizer_save(const filtra_tokenizer *tokenizer, const char *path);
/** Reads what filtra_tokenizer_save wrote. Caller destroys, after the datasets that were opened
 * with it. */
FILTRA_API filtra_status filtra_tokenizer_load(const char *path, filtra_tokenizer **tokenizer);
/** Frees one that was loaded; sets *tokenizer to NULL. */
FILTRA_API void filtra_tokenizer_destroy(filtra_tokenizer **tokenizer);

/* ---- datasets ----------------------------------------------------------------------------- */

typedef enum filtra_split { FILTRA_TRAIN = 0, FILTRA_VAL, FILTRA_TEST } filtra_split;
enum { FILTRA_SPLITS = 3 };

/** "train", "val" or "test". Thread-safe. */
FILTRA_API const char *filtra_split_name(filtra_split split);
/** The split of that name. Fails with ARGUMENT where there is none. Thread-safe. */
FILTRA_API filtra_status filtra_split_find(const char *name, filtra_split *split);

/** What a sequence consists of. */
typedef enum filtra_input {
  FILTRA_INPUT_TOKENS = 0, /**< ids of a vocabulary, below 16,777,216 */
  FILTRA_INPUT_FEATURES    /**< vectors of `features` numbers: time series, pixels */
} filtra_input;

/** What is to be predicted of a sample. */
typedef enum filtra_target {
  FILTRA_TARGET_CLASS = 0, /**< one of `classes` */
  FILTRA_TARGET_VALUE,     /**< a number */
  FILTRA_TARGET_NEXT       /**< each token's successor: language modelling */
} filtra_target;

/** What the pixels of images become. */
typedef enum filtra_pixels {
  /** tokens 0 to 255: floor(255.5 (0.2989 r + 0.5870 g + 0.1140 b) / 255), as in Long Range Arena.
   * Token 0 is a black pixel and no padding: lengths tell where a sequence ends. */
  FILTRA_PIXELS_GREY = 0,
  /** the grey value as one number, standardised by the training images, which are looked for beside
   * a file of others; by the images themselves where there are none */
  FILTRA_PIXELS_GREY_FEATURES,
  FILTRA_PIXELS_RGB /**< three numbers: red, green and blue, standardised likewise */
} filtra_pixels;

/** What pixels as numbers are standardised by. */
typedef enum filtra_normalization {
  /** mean and deviation of the training images, for which all of them are read once */
  FILTRA_NORMALIZE_DATA = 0,
  /** ImageNet's, which the field has agreed on: of red, green and blue the means 0.485, 0.456 and
   * 0.406 and the deviations 0.229, 0.224 and 0.225, times 255. Needs FILTRA_PIXELS_RGB */
  FILTRA_NORMALIZE_IMAGENET
} filtra_normalization;

/** Labelled sequences in host memory: 4 bytes a token, 4 a feature, 1 where that is a pixel's.
 * Pixels as numbers of "image-folder" and "image-table" stay in their files, of which paths and
 * labels are kept; they are read whenever they are asked for. Constant once open: any number of
 * threads and loaders may read it. */
typedef struct filtra_dataset filtra_dataset;

/** Options of filtra_dataset_open; all zero is the default. */
typedef struct filtra_dataset_options {
  const char *format;    /**< a name from the list above; NULL: found out from the content */
  const char *tokenizer; /**< a name from the list above; NULL: what the format has */
  /** One that was made from other data, to be used as it is in place of `tokenizer`; must outlive
   * the dataset. NULL: none. */
  const filtra_tokenizer *fitted;
  uint32_t max_length; /**< longest sequence accepted, in tokens; 0: any */
  bool truncate;       /**< cut longer sequences at max_length instead of failing */
  bool verify_labels;  /**< recompute each label from its expression and fail on a mismatch */
  /** What a path to one file is. FILTRA_TRAIN: training data, and validation is held out of it.
   * FILTRA_VAL, FILTRA_TEST: that split, all of it. Ignored for folders. */
  filtra_split file_split;
  uint64_t seed;        /**< chooses the held-out samples */
  filtra_pixels pixels; /**< of images; of other data only the default is accepted */
  /** Which columns of a table are meant, by name or number from 1; NULL: those that the table calls
   * so (see "table" above). Other formats refuse them. */
  const char *text_column, *target_column;
  /** Of the training samples, or text, becomes validation where there is none, at most 0.9; 0: 0.1.
   * Of each class its part, to a sample; of text and CIFAR-10 the end. */
  float validation_share;
  /** Ids that "words" makes at most, 3 to 1,048,576, padding, `<unk>` and `<eos>` included; rarer
   * words read as `<unk>`. 0: 65,536. Refused where the tokenizer is another; `fitted` has what it
   * has. */
  uint32_t max_vocabulary;
  /** Images of any size become squares of this side, at most 1024: the middle square whose side is
   * `crop_pct` of the shorter side, resampled by bicubic interpolation (Keys 1981, a -0.5), widened
   * where it shrinks, as Pillow's is. 0: images stay as they are, and all have one size. */
  uint32_t image_size;
  float crop_pct; /**< 0.05 to 1; 0: 0.875 */
  filtra_normalization normalize;
  uint64_t reserved[7]; /**< 0 */
} filtra_dataset_options;

typedef struct filtra_dataset_info {
  const char *format;
  filtra_input input;
  filtra_target target;
  uint32_t sequences;                /**< per sample: 1, or 2 where pairs are classified */
  const filtra_tokenizer *tokenizer; /**< NULL: the input is features, or ids from arrays */
  uint32_t features;                 /**< numbers per token; 0 where the input is tokens */
  uint32_t height, width;            /**< of images, whose pixels come row by row; else 0 */
  uint32_t classes;                  /**< labels are 0 to classes - 1; 0: no classes */
  uint64_t count[FILTRA_SPLITS];     /**< samples of each split, 0 where there is none */
  uint32_t longest;                  /**< tokens of the longest sequence of any split */
  uint32_t max_length;               /**< as given to filtra_dataset_open */
  bool validation_held_out;          /**< validation was taken from the training file */
  uint64_t reserved[8];              /**< 0 */
} filtra_dataset_info;

/** One sample; its tokens stay valid while the dataset is open. */
typedef struct filtra_sample {
  /** [length]; NULL where the input is features. Where each token's successor is the target, one
   * more token follows than `length` says. */
  const int32_t *tokens;
  uint32_t length;
  const int32_t *second; /**< [second_length], the other sequence of a pair; else NULL */
  uint32_t second_length;
  int32_t label;        /**< where the target is a class */
  float value;          /**< where the target is a value */
  uint64_t reserved[4]; /**< 0 */
} filtra_sample;

/** Name of a format, in the order in which a path is tried, and in a line what such a path is. NULL
 * beyond the last. Thread-safe. */
FILTRA_API const char *filtra_dataset_format_name(size_t index);
FILTRA_API const char *filtra_dataset_format_holds(size_t index);

/** Reads a file or a folder. `options` may be NULL. Where a training file but no validation file
 * exists, a tenth of the training samples, or `validation_share` of them, drawn by `seed`, becomes
 * the validation split (of a text to model: its end); test data is never used for it. Caller
 * closes. */
FILTRA_API filtra_status filtra_dataset_open(const char *path,
                                             const filtra_dataset_options *options,
                                             filtra_dataset **dataset);
/** Samples in a caller's arrays; start from zeros. Sequences lie one behind the other, without
 * padding. */
typedef struct filtra_samples {
  uint64_t count;          /**< 0: the split has none */
  const uint32_t *lengths; /**< [count] tokens of each, 1 and more; with successors 2 and more */
  const int32_t *tokens;   /**< [sum of lengths] ids, 0 to 16777215; 0 is padding */
  const float *features;   /**< [sum of lengths, features]; NaN: missing, where standardised */
  const int32_t *second;   /**< the other sequences of pairs, as `tokens`; NULL: no pairs */
  const uint32_t *second_lengths;
  const int32_t *labels; /**< [count], 0 to classes - 1, where the target is a class */
  const float *values;   /**< [count], where it is a value */
  uint64_t reserved[8];  /**< 0 */
} filtra_samples;

/** A data set in a caller's arrays; start from zeros. */
typedef struct filtra_dataset_arrays {
  filtra_samples splits[FILTRA_SPLITS];
  /** With FILTRA_TARGET_NEXT a sequence's last token is only predicted. */
  filtra_target target;
  uint32_t features;              /**< numbers per token; 0: token ids */
  uint32_t classes;               /**< where the target is a class: 2 and more */
  const char *const *class_names; /**< [classes]; NULL: "0", "1" and so on */
  /** What made the ids, for filtra_dataset_info; must outlive the data set. NULL: not known. */
  const filtra_tokenizer *tokenizer;
  bool standardise; /**< features, as "ts" does */
  bool hold_out;    /**< validation out of the training samples where there is none of its own */
  float validation_share; /**< how much, as in filtra_dataset_options */
  uint64_t seed;          /**< chooses these */
  uint64_t reserved[16];  /**< 0 */
} filtra_dataset_arrays;

/** Copies the arrays, which may be freed after the call. Fails with INPUT, naming the sample.
 * Caller closes. */
FILTRA_API filtra_status filtra_dataset_create(const filtra_dataset_arrays *arrays,
                                               filtra_dataset **dataset);
/** Frees everything; sets *dataset to NULL. Its loaders must have been destroyed before. */
FILTRA_API void filtra_dataset_close(filtra_dataset **dataset);
/** Valid while the dataset is open. */
FILTRA_API const filtra_dataset_info *filtra_dataset_get_info(const filtra_dataset *dataset);
/** Name of a class, NULL when out of range. */
FILTRA_API const char *filtra_dataset_class_name(const filtra_dataset *dataset, uint32_t label);
/** Sample `index` of a split, in file order. Fails with ARGUMENT when out of range. */
FILTRA_API filtra_status filtra_dataset_sample(const filtra_dataset *dataset, filtra_split split,
                                               uint64_t index, filtra_sample *sample);
/** Its features [length, features], standardised as the format says, into room for so many. Fails
 * with ARGUMENT when out of range or when the input is tokens, and with INPUT or IO, naming the
 * file, where an image cannot be read any more. */
FILTRA_API filtra_status filtra_dataset_features(const filtra_dataset *dataset, filtra_split split,
                                                 uint64_t index, float *features);

/* ---- batches ------------------------------------------------------------------------------ */

/** Samples of one padded length. A plain view: loaders fill it in, and so may a caller, from arrays
 * of his own. */
typedef struct filtra_batch {
  uint32_t size;      /**< rows, fillers included */
  uint32_t length;    /**< tokens per sequence, padding included */
  uint32_t count;     /**< rows that are samples; they come first */
  uint32_t sequences; /**< S per row: 2 for pairs; 0 and 1: one */
  /** [S * size * length], 0 behind each sequence: the first sequences of all rows, then the second
   * ones. NULL where the input is features. */
  const int32_t *tokens;
  const float *features;  /**< [size * length * features], 0 behind each sequence; else NULL */
  const int32_t *lengths; /**< [S * size] tokens without padding */
  /** [size] classes; or [size * length] successors, -1 where there is none; or NULL. */
  const int32_t *labels;
  const float *values; /**< [size] targets of regression; else NULL */
  /** [size]: 1 for samples, 0 for the fillers of a last partial batch. A filler repeats the first
   * row, so that every row is a valid sequence. */
  const float *weights;
  const uint32_t
      *indices;   /**< [size] positions in the split; may be NULL in a caller's own batch */
  uint64_t epoch; /**< counts from 0 */
  /** Of samples that are mixtures of two, [size] each, else NULL: the class of one part, and the
   * share of the other, whose class is in `labels`: 0 to 1, of loaders 0.5 at least. */
  const int32_t *other_labels;
  const float *label_shares;
  uint64_t reserved[6]; /**< 0 */
} filtra_batch;

/** Walks a split in batches, forever, one epoch after the other. Samples are grouped by length into
 * buckets; a batch holds samples of one bucket, padded to the bucket's length. A thread of the
 * loader's own prepares the next batches, with one for each processor where images are decoded or
 * augmented; nothing else is allocated after creation. What is seen is a function of dataset,
 * options and position alone. One thread at a time per loader. */
typedef struct filtra_loader filtra_loader;

/** What is done to images at random before they are batched, each time anew: a function of (seed,
 * epoch, sample), so neither of the thread that does it nor of where a run was resumed. In the
 * order of these fields; a field of 0 leaves its step out. For samples that are images of features;
 * the ranges are those that the keys of the same names have in docs/config.md. */
typedef struct filtra_augmentation {
  /** Random resized crop (Szegedy et al. 2015): a box with this share of the image's area at least,
   * whose sides have a ratio of `crop_ratio` (0: 4/3) at most, resized to the size of all images.
   * Takes the place of image_size's middle square. 0 or 1: none. */
  float crop_scale, crop_ratio;
  float hflip; /**< probability that left and right change sides */
  /** RandAugment (Cubuk et al. 2020): so many operations, each applied with probability 0.5, of a
   * magnitude drawn from N(rand_augment_magnitude, rand_augment_std), limited to 0 to 10. */
  uint32_t rand_augment;
  float rand_augment_magnitude, rand_augment_std;
  /** Random erasing (Zhong et al. 2020): the probability that a box of 2 % to a third of the area,
   * its sides in a ratio of 10/3 at most, is filled by N(0, 1), as pixels are standardised. */
  float random_erasing;
  /** mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019) of samples i and count - 1 - i of a
   * batch, by a share that is drawn from Beta(a, a) for the whole batch; of two one is drawn. */
  float mixup, cutmix;
  float mixup_prob;     /**< of a batch to be mixed at all; 0: 1 */
  uint64_t reserved[8]; /**< 0 */
} filtra_augmentation;

typedef struct filtra_loader_options {
  filtra_split split;
  uint32_t batch_size; /**< rows of a batch, at least 1 */
  /** Padded lengths, ascending; the last must hold the split's longest sequence. NULL: powers of
   * two from 16 up (the last at most the dataset's max_length; where that is 0, of features its
   * longest), as models pad in prediction, those that some sample of any split falls in, so that
   * all loaders of a dataset agree. */
  const uint32_t *buckets;
  size_t bucket_count;
  bool shuffle; /**< a new order every epoch, drawn from (seed, epoch); else file order */
  uint64_t seed;
  bool drop_last;                          /**< leave out each bucket's last partial batch */
  uint32_t prefetch;                       /**< batches prepared ahead; 0: 3 */
  const filtra_augmentation *augmentation; /**< of images, copied; NULL: none */
  uint64_t reserved[7];                    /**< 0 */
} filtra_loader_options;

/** Where a loader stands: enough to continue with exactly the batches that would have followed. */
typedef struct filtra_loader_position {
  uint64_t epoch;       /**< of the next batch */
  uint64_t batch;       /**< its place in the epoch, below filtra_loader_batches */
  uint64_t reserved[2]; /**< 0 */
} filtra_loader_position;

/** The dataset must stay open while the loader exists. Caller destroys. */
FILTRA_API filtra_status filtra_loader_create(const filtra_dataset *dataset,
                                              const filtra_loader_options *options,
                                              filtra_loader **loader);
/** Stops the thread and frees everything; sets *loader to NULL. */
FILTRA_API void filtra_loader_destroy(filtra_loader **loader);
/** The padded lengths that batches can have, ascending: one graph each. */
FILTRA_API const uint32_t *filtra_loader_buckets(const filtra_loader *loader, size_t *count);
/** Batches per epoch, the same in every epoch. */
FILTRA_API uint64_t filtra_loader_batches(const filtra_loader *loader);
/** The next batch; its arrays stay valid until the next call on this loader. Fails, naming the
 * file, where an image of it cannot be read any more; so do later calls, until a position is
 * set. */
FILTRA_API filtra_status filtra_loader_next(filtra_loader *loader, filtra_batch *batch);
FILTRA_API filtra_loader_position filtra_loader_get_position(const filtra_loader *loader);
/** Continues from there. Fails with ARGUMENT when position.batch is beyond the epoch. */
FILTRA_API filtra_status filtra_loader_set_position(filtra_loader *loader,
                                                    filtra_loader_position position);

/* ---- generating ListOps ------------------------------------------------------------------- */

/** Called now and then on the calling thread; returning false stops with CANCELLED. */
typedef bool (*filtra_progress_fn)(void *user, uint64_t done, uint64_t total);

/** Options of filtra_listops_generate; zeros give Long Range Arena's task (Tay et al. 2021). */
typedef struct filtra_listops_options {
  uint64_t train, val, test; /**< trees in each file; 0: 96000, 2000, 2000 */
  /** Kept are trees with min_length < length < max_length, where length counts operators, digits
   * and closing brackets; 0: 500 and 2000. At most 1048576. */
  uint32_t min_length, max_length;
  uint32_t max_depth; /**< levels of the tree, the digits' included, 1 to 64; 0: 10 */
  uint32_t max_args;  /**< arguments of an operator, 2 to 1000; 0: 10 */
  uint64_t seed;
  uint32_t threads;            /**< 0: one per processor; the result is the same for any number */
  filtra_progress_fn progress; /**< trees found and wanted; may be NULL */
  void *progress_user;
  uint64_t reserved[4]; /**< 0 */
} filtra_listops_options;

/** Writes basic_train.tsv, basic_val.tsv and basic_test.tsv into `directory`, which is made if need
 * be. All trees are distinct and the split is random. The files appear, each atomically, when all
 * are complete; on failure or cancellation nothing is left behind. Refuses with ARGUMENT where one
 * of them is there already, and what is impossible (no tree in range, fewer distinct trees than
 * wanted). Thread-safe. */
FILTRA_API filtra_status filtra_listops_generate(const char *directory,
                                                 const filtra_listops_options *options);

/* ---- generating Pathfinder ---------------------------------------------------------------- */

/** Options of filtra_pathfinder_generate; zeros give Long Range Arena's task (Linsley et al. 2018;
 * Tay et al. 2021): 32 x 32 grey pixels, two long contours of dashes, short ones to distract. */
typedef struct filtra_pathfinder_options {
  uint64_t count;          /**< images; 0: 200000 */
  uint32_t contour_length; /**< dashes of a long contour, 3 to 20; published: 6, 9, 14; 0: 14 */
  uint64_t seed;
  uint32_t threads;            /**< 0: one per processor; the result is the same for any number */
  filtra_progress_fn progress; /**< images drawn and wanted; may be NULL */
  void *progress_user;
  uint64_t reserved[4]; /**< 0 */
} filtra_pathfinder_options;

/** Writes DIRECTORY/curv_contour_length_N, made with its parents, in the published layout:
 * imgs/K/sample_I.png, 1000 images to a folder, and metadata/K.npy. It must not exist yet and
 * appears when all is complete; on failure or cancellation nothing is left behind. Label 1: both
 * markers are on the ends of one contour. Thread-safe. */
FILTRA_API filtra_status filtra_pathfinder_generate(const char *directory,
                                                    const filtra_pathfinder_options *options);

#ifdef __cplusplus
}
#endif
#endif
