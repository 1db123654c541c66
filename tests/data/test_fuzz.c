/* Text formats under random damage: whatever the bytes, the result is a data set with consistent
 * samples, or an error that names the file. AddressSanitizer detects memory errors. */
#include "base/memory.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"

enum { ROUNDS = 400, MOST_BYTES = 4096 };

static const struct {
  const char *format, *tokenizer, *text;
} seeds[] = {
    {"lra-listops", NULL, "Source\tTarget\n( ( ( [MAX 2 ) 9 ) ] )\t9\n( ( [SM 8 ) ] )\t8\n"},
    {"listops", NULL, "9\t( ( ( [MAX 2 ) 9 ) ] )\n3\t3\n8\t( ( ( [LAST 0 ) 8 ) ] )\n"},
    {"ts", NULL,
     "#c\n@problemName x\n@timeStamps false\n@univariate false\n@dimensions 2\n"
     "@equalLength false\n@classLabel true a b\n@data\n1,2.5,?:3,-1e3,4:a\n1,2:0.5,NaN:b\n"},
    {"ts", NULL,
     "@timeStamps true\n@data\n(0,1),(1,2):(0,3),(1,?):a\n(2000-01-01 00:00:00,1):(0,2):b\n"},
    {"ucr", NULL, "1\t0.5\t-1e1\tNaN\n2\t3\tNaN\t5\n"},
    {"ucr", NULL, " 1.0e+00  5 6\n -1.0e+00 7 8\n"},
    {"aan-pairs", "bytes", "1.0\tP01\tP02\tab c\tde\n0.0\tP03\tP04\tf\tghi\n"},
    {"aan-pairs", "words", "1.0\tP01\tP02\tab c\tde\n0.0\tP03\tP04\tf\tg hi\n"},
    {"fasta", NULL, ">a|1\nACGT\nNN\n>b|2\nacgt\n\n>c 1\nA\n"},
    {"fasta", "characters", ">a|1\nMKV\nL*\n>b|2\nMM\n"},
    {"text-lm", "bytes", "some text\r\nof <unk> lines \xc3\xa9\n"},
    {"text-lm", "characters", "some text\r\nof lines \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n"},
    {"text-lm", "words", "some text\r\nof <unk> lines \xc3\xa9\n"},
    {"table", NULL, "id,text,label\n1,\"a, \"\"b\"\"\nc\",x\n2,d,y\n3,e,x\n"},
    {"table", NULL, "sep=;\ntext;value\na;1.000,5\nb;$0,25\nc;12\n"},
    {"table", NULL, "a\tb\ty\n0.5\tred\tx\n1e3\t\tz\nNA\tblue\tx\n"},
};

/* Bytes that mean something somewhere. */
static const char telling[] = "\0\t\n\r \xff\xc3\xed\xf4\"'#%>|:,;?()[]@-+.0159eENa\x1f\x8b";

static void damage_once(ft_rng *rng, char *bytes, size_t *size) {
  size_t at = ft_rng_below(rng, *size + 1), count = 1 + ft_rng_below(rng, 8);
  if (count > *size - at) count = *size - at;
  char byte = (char)ft_rng_below(rng, 256);
  if (ft_rng_below(rng, 2)) byte = telling[ft_rng_below(rng, sizeof telling - 1)];
  switch (ft_rng_below(rng, 5)) {
  case 0: /* another byte */
    if (at < *size) bytes[at] = byte;
    break;
  case 1: /* one more */
    memmove(bytes + at + 1, bytes + at, *size - at);
    bytes[at] = byte;
    ++*size;
    break;
  case 2: /* some less */
    memmove(bytes + at, bytes + at + count, *size - at - count);
    *size -= count;
    break;
  case 3: /* some twice */
    memmove(bytes + at + count, bytes + at, *size - at);
    *size += count;
    break;
  default: /* no more */
    if (ft_rng_below(rng, 8) == 0) *size = at;
  }
}

static const char *write_damaged(ft_rng *rng, const char *text) {
  static char path[512], bytes[MOST_BYTES];
  if (!path[0]) snprintf(path, sizeof path, "%s/fuzz", test_folder());
  size_t size = strlen(text), times = 1 + ft_rng_below(rng, 6);
  strcpy(bytes, text);
  for (size_t i = 0; i < times; i++)
    damage_once(rng, bytes, &size);
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(bytes, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
  return path;
}

static void check_tokens(const filtra_dataset_info *info, const int32_t *tokens, uint32_t length) {
  assert_between(length, 1, info->longest);
  for (uint32_t i = 0; i < length; i++)
    assert_between(tokens[i], 1, filtra_tokenizer_size(info->tokenizer) - 1);
}

static void check_sample(const filtra_dataset *ds, filtra_split split, uint64_t index) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_sample s = test_sample(ds, split, index);
  if (info->target == FILTRA_TARGET_CLASS) assert_between(s.label, 0, info->classes - 1);
  if (info->input == FILTRA_INPUT_TOKENS) {
    check_tokens(info, s.tokens, s.length);
    if (info->sequences == 2) check_tokens(info, s.second, s.second_length);
    return;
  }
  owned float *features = ft_calloc((size_t)s.length * info->features, sizeof *features);
  assert_ok(filtra_dataset_sample_features(ds, split, index, features));
}

TEST(test_damaged_text) {
  ft_rng rng = ft_rng_make(20260729, 1);
  for (size_t i = 0; i < FT_COUNT(seeds); i++)
    for (int round = 0; round < ROUNDS; round++) {
      const filtra_dataset_options options = {.format = seeds[i].format,
                                              .tokenizer = seeds[i].tokenizer,
                                              .max_length = round % 3 ? 0 : 3,
                                              .truncate = round % 2 == 0};
      owned_dataset *ds = NULL;
      filtra_status status = filtra_dataset_open(write_damaged(&rng, seeds[i].text), &options, &ds);
      if (status) {
        assert_null(ds);
        assert_fails(status, FILTRA_ERROR_INPUT, "/fuzz");
        continue;
      }
      const filtra_dataset_info *info = filtra_dataset_get_info(ds);
      for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
        for (uint64_t k = 0; k < info->count[split]; k++)
          check_sample(ds, split, k);
    }
}

TEST_MAIN(NULL, test_teardown)
