/* Folders of pretrained tokenizers: each way in which files describe them, and damaged files. */
#include "base/utf8.h"
#include "data/pretrained_bpe.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

/* ---- one file, each of its parts given ---- */

static const char MODEL[] = "{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
                            "\"continuing_subword_prefix\": \"##\", \"vocab\": {\"[UNK]\": 0, "
                            "\"a\": 1, \"##b\": 2, \"[S]\": 3}}";
static const char SPLIT[] = "{\"type\": \"BertPreTokenizer\"}";

/* Loads a tokenizer.json of these; `more` are other parts, with a comma before. */
static filtra_status load(const char *model, const char *split, const char *more,
                          filtra_tokenizer **t) {
  const char *text =
      test_text("{\"model\": %s, \"pre_tokenizer\": %s%s}", model, split ? split : SPLIT, more);
  return filtra_tokenizer_load(test_write_text(test_folder(), "tokenizer.json", text), t);
}

static void refuse(const char *model, const char *split, const char *more, const char *part) {
  filtra_tokenizer *t;
  assert_fails(load(model, split, more, &t), FILTRA_ERROR_INPUT, part);
  assert_non_null(strstr(filtra_error_message(), "tokenizer.json"));
  assert_null(t);
}

/* A model with this vocabulary, which needs an [UNK]. */
static const char *wordpiece(const char *vocabulary) {
  return test_text("{\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
                   "\"continuing_subword_prefix\": \"##\", \"vocab\": {%s}}",
                   vocabulary);
}

TEST(test_unknown_parts_are_refused_by_name) {
  static const struct {
    const char *split, *more, *part;
  } cases[] = {
      {NULL, ", \"normalizer\": {\"type\": \"NFKC\"}", "\"normalizer\" is of type \"NFKC\""},
      {NULL, ", \"normalizer\": {\"type\": \"BertNormalizer\", \"x\": 1}",
       "has \"x\", which is not"},
      {NULL, ", \"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": 1}",
       "\"lowercase\" must be true or false"},
      {"{\"type\": \"Metaspace\"}", "", "\"pre_tokenizer\" is of type \"Metaspace\""},
      {"{\"type\": \"ByteLevel\"}", "", "known is BertPreTokenizer with WordPiece"},
      {"null", "", "\"pre_tokenizer\" is of type \"\""},
      {NULL, ", \"decoder\": {\"type\": \"CTC\"}", "\"decoder\" is of type \"CTC\""},
      {NULL, ", \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"@@\"}", "that of the model"},
      {NULL, ", \"post_processor\": {\"type\": \"Odd\"}", "\"post_processor\" is of type \"Odd\""},
      {NULL, ", \"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": \"X\"}]}",
       "is of type \"X\""},
      {NULL, ", \"surprise\": 1", "has \"surprise\", which is not known"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    refuse(MODEL, cases[i].split, cases[i].more, cases[i].part);
  refuse("{\"type\": \"Unigram\"}", NULL, "", "\"model\" is of type \"Unigram\"; known is BPE and");
  refuse("3", NULL, "", "has no object \"model\"");
}

TEST(test_damaged_vocabularies) {
  static const struct {
    const char *vocabulary, *part;
  } cases[] = {
      {"", "1 to 16777215 symbols"},
      {"\"[UNK]\": 0, \"a\": 2", "the id of \"a\" must be one of 0 to 1"},
      {"\"[UNK]\": 0, \"a\": -1", "must be one of 0 to 1"},
      {"\"[UNK]\": 0, \"a\": \"1\"", "must be one of 0 to 1"},
      {"\"[UNK]\": 0, \"a\": 0", "\"[UNK]\" and \"a\" both have the id 0"},
      {"\"[UNK]\": 0, \"[UNK]\": 1", "duplicate"},
      {"\"a\": 0", "\"unk_token\" is \"[UNK]\", which \"vocab\" does not have"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    refuse(wordpiece(cases[i].vocabulary), NULL, "", cases[i].part);
  refuse("{\"type\": \"WordPiece\", \"unk_token\": \"a\", \"vocab\": {\"a\": 0}}", NULL, "",
         "no \"continuing_subword_prefix\"");
  refuse("{\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}", NULL, "", "no \"unk_token\"");
}

TEST(test_damaged_added_tokens) {
  static const struct {
    const char *added, *part;
  } cases[] = {
      {"3", "is no list"},
      {"[{\"id\": 4}]", "has no \"content\""},
      {"[{\"id\": 2, \"content\": \"a\"}]", "\"a\" has the id 1 in \"vocab\", another in"},
      {"[{\"id\": 1, \"content\": \"new\"}]", "\"a\" and \"new\" both have the id 1"},
      {"[{\"id\": 9, \"content\": \"new\"}]", "the id of \"new\" must be one of 0 to 4"},
      {"[{\"id\": 1, \"content\": \"a\"}, {\"id\": 1, \"content\": \"a\"}]", "\"a\" twice"},
      {"[{\"id\": 1, \"content\": \"a\", \"x\": 1}]", "has \"x\", which is not known"},
      {"[{\"id\": 1, \"content\": \"a\", \"lstrip\": 1}]", "\"lstrip\" must be true or false"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    refuse(MODEL, NULL, test_text(", \"added_tokens\": %s", cases[i].added), cases[i].part);
  refuse(wordpiece("\"[UNK]\": 0, \"a\": 3"), NULL,
         ", \"added_tokens\": [{\"id\": 1, \"content\": \"x\"}, {\"id\": 1, \"content\": \"x\"}]",
         "\"x\" and \"x\" both have the id 1");
}

#define TEMPLATE(single, pair, ids)                                                                \
  ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single                  \
  "], \"pair\": [" pair "], \"special_tokens\": {\"[S]\": {\"id\": \"[S]\", \"ids\": [" ids "]}}}"
#define S "{\"SpecialToken\": {\"id\": \"[S]\", \"type_id\": 0}}"
#define A "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"
#define B "{\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}"

TEST(test_frames_that_lie) {
  static const struct {
    const char *more, *part;
  } cases[] = {
      {", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"a\", 1], \"cls\": "
       "[\"[S]\", 2]}",
       "gives \"[S]\" an id that is not its own"},
      {", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"a\", 1]}", "gives \"\""},
      {TEMPLATE(S "," A, S "," A "," B, "9"), "gives \"[S]\" an id that is not its own"},
      {TEMPLATE(S "," A, S "," A "," B, "3, 3"), "must give \"[S]\" one id"},
      {TEMPLATE(S "," S "," A, A "," B, "3"), "known are templates"},
      {TEMPLATE(S "," A, A "," B, "3"), "known are templates"},
      {TEMPLATE(A "," A, A "," B, "3"), "known are templates"},
      {TEMPLATE(A, B "," A, "3"), "known are templates"},
      {TEMPLATE(A, A "," S "," S "," S "," B, "3"), "known are templates"},
      {TEMPLATE(S, S, "3"), "known are templates"},
      {TEMPLATE(A, S "," S "," S "," S "," S "," A "," B, "3"), "known are templates"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    refuse(MODEL, NULL, cases[i].more, cases[i].part);
  filtra_tokenizer *t;
  assert_ok(load(MODEL, NULL, TEMPLATE(A "," S, A "," S "," B "," S, "3"), &t));
  const ft_frame *f = ft_tokenizer_frame(t);
  assert_int_equal(f->begin, -1);
  assert_int_equal(f->middle_count, 1);
  assert_int_equal(f->end, 3);
  assert_true(f->odd && !f->untyped); /* the last token has type 0, the text before it 1 */
  ft_tokens tokens = {0};
  assert_fails(ft_tokenizer_encode_texts(t, &(ft_texts){"a", 1, "a", 1}, 9, false, &tokens, NULL),
               FILTRA_ERROR_INPUT, "gives the tokens of pairs other types than 0");
  free(tokens.ids);
  filtra_tokenizer_destroy(&t);
}

/* ---- BPE ---- */

/* A vocabulary with the symbols of all bytes but one (256: of all), in their order, and `more`. */
static const char *bytes_but(unsigned without, const char *more) {
  static char text[16384];
  char *to = text + sprintf(text, "{");
  for (unsigned byte = 0, id = 0; byte < 256; byte++) {
    char symbol[5] = "";
    if (byte == without) continue;
    ft_utf8_write(ft_bpe_character((unsigned char)byte), symbol);
    to += sprintf(to, "\"%s%s\": %u, ", byte == '"' || byte == '\\' ? "\\" : "", symbol, id++);
  }
  sprintf(to, "%s}", more);
  return text;
}

static void refuse_bpe(const char *merges, const char *more, const char *part) {
  filtra_tokenizer *t;
  static char text[20000];
  snprintf(text, sizeof text,
           "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", "
           "\"vocab\": %s, \"merges\": %s%s}}",
           bytes_but(256, "\"ab\": 256, \"abc\": 257"), merges, more);
  assert_fails(filtra_tokenizer_load(test_write_text(test_folder(), "tokenizer.json", text), &t),
               FILTRA_ERROR_INPUT, part);
  assert_null(t);
}

TEST(test_damaged_merges) {
  refuse_bpe("3", "", "\"merges\" must be a list");
  refuse_bpe("[\"ab\"]", "", "merge 1 must be two symbols");
  refuse_bpe("[\"a b c\"]", "", "merge 1 must be two symbols");
  refuse_bpe("[[\"a\"]]", "", "merge 1 must be two symbols");
  refuse_bpe("[\"a b\", \"xy c\"]", "", "merge 2: \"vocab\" has no symbol \"xy\"");
  refuse_bpe("[\"a b\", \"a c\"]", "", "merge 2: \"vocab\" has no symbol \"ac\"");
  refuse_bpe("[\"ab c\", \"a b\"]", "", "merge 1 joins \"ab\", which no merge before it makes");
  refuse_bpe("[\"a b\", [\"a\", \"b\"]]", "", "merge 2 joins the same symbols as one before");
  refuse_bpe("[]", ", \"dropout\": 0.1", "\"dropout\" is set");
  refuse_bpe("[]", ", \"ignore_merges\": true", "\"ignore_merges\" is set");
  refuse_bpe("[]", ", \"end_of_word_suffix\": \"</w>\"", "\"end_of_word_suffix\" is set");
  refuse_bpe("[]", ", \"surprise\": 1", "has \"surprise\"");
}

/* What cannot be read is told before what follows from it. */
TEST(test_bpe_of_characters) {
  static const char MODEL_OF[] =
      "{\"type\": \"BPE\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[UNK]\": 0, \"\u0436\": 1, "
      "\"b\": 2, \"\u0436b\": 3}, \"merges\": [[\"\u0436\", \"b\"]]}";
  refuse(MODEL_OF, "{\"type\": \"Whitespace\"}", "",
         "\"pre_tokenizer\" is of type \"Whitespace\"; known is ByteLevel with BPE, which joins "
         "bytes; BPE of characters is not read");
}

/* ---- folders ---- */

/* Loads a folder of these files: name, text, name, text, ..., NULL. */
static filtra_status load_folder(const char *const *files, filtra_tokenizer **t) {
  const char *folder = test_folder();
  for (; *files; files += 2)
    test_write_text(folder, files[0], files[1]);
  return filtra_tokenizer_load(folder, t);
}
#define load_files(t, ...) load_folder((const char *const[]){__VA_ARGS__, NULL}, t)

static void check_encoded(filtra_tokenizer *t, const char *text, const char *want) {
  int32_t ids[32];
  size_t count;
  char got[512] = "";
  assert_ok(
      filtra_tokenizer_encode_offsets(t, text, strlen(text), true, ids, NULL, NULL, 32, &count));
  for (size_t i = 0; i < count; i++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? "|" : "",
             filtra_tokenizer_symbol(t, (uint32_t)ids[i]));
  assert_string_equal(got, want);
  filtra_tokenizer_destroy(&t);
}

static const char LIST[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nA\n##b\ne\n\xc3\xa9\n";

TEST(test_vocab_txt) {
  filtra_tokenizer *t;
  assert_ok(load_files(&t, "vocab.txt", LIST));
  assert_int_equal(filtra_tokenizer_size(t), 10);
  check_encoded(t, "Ab [MASK]\xc3\xa9", "[CLS]|a|##b|[MASK]|e|[SEP]");
  assert_ok(load_files(&t, "vocab.txt", LIST, "tokenizer_config.json",
                       "{\"do_lower_case\": false, \"tokenizer_class\": \"BertTokenizer\"}"));
  check_encoded(t, "Ab \xc3\xa9", "[CLS]|A|##b|\xc3\xa9|[SEP]");
  assert_ok(load_files(&t, "vocab.txt", LIST, "tokenizer_config.json",
                       "{\"strip_accents\": false, \"cls_token\": {\"content\": \"[PAD]\"}}",
                       "special_tokens_map.json", "{\"sep_token\": \"[MASK]\"}"));
  check_encoded(t, "A\xc3\xa9 \xc3\xa9", "[PAD]|[UNK]|\xc3\xa9|[MASK]");
  assert_ok(load_files(&t, "vocab.txt", LIST, "added_tokens.json", "{\"<x>\": 10}"));
  check_encoded(t, "a<x>a", "[CLS]|a|<x>|a|[SEP]");
}

/* Special tokens without a role, which only these files name, are found in the text before it is
 * split and lower-cased, whichever of the files has them. */
TEST(test_additional_special_tokens) {
  static const char LONGER[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n[E1]\n[e]\n1\n]\n[\ne\n";
  static const char MAP[] = "special_tokens_map.json", CONFIG[] = "tokenizer_config.json";
  filtra_tokenizer *t;
  assert_ok(load_files(&t, "vocab.txt", LONGER));
  check_encoded(t, "a[E1]a", "[CLS]|a|[|[UNK]|]|a|[SEP]");
  assert_ok(load_files(&t, "vocab.txt", LONGER, MAP,
                       "{\"additional_special_tokens\": [\"[E1]\", \"[CLS]\"]}"));
  check_encoded(t, "a[E1]a", "[CLS]|a|[E1]|a|[SEP]");
  assert_ok(
      load_files(&t, "vocab.txt", LONGER, CONFIG,
                 "{\"additional_special_tokens\": [{\"content\": \"[E1]\", \"rstrip\": true, "
                 "\"__type\": \"AddedToken\"}], \"extra_special_tokens\": {\"x\": \"[e]\"}}"));
  check_encoded(t, "a[E1]  a[e]", "[CLS]|a|[E1]|a|[e]|[SEP]");
  assert_ok(load_files(&t, "vocab.txt", LONGER, "added_tokens.json", "{\"<New>\": 12}", MAP,
                       "{\"additional_special_tokens\": [\"<New>\"]}"));
  check_encoded(t, "a<New>", "[CLS]|a|<New>|[SEP]");
  assert_ok(load_files(&t, "vocab.txt", LONGER, CONFIG,
                       "{\"additional_special_tokens\": null, \"extra_special_tokens\": {}}"));
  filtra_tokenizer_destroy(&t);
}

static const char MERGES[] = "#version: 0.2\na b\r\n\xc4\xa0 ab\n";

static const char *roberta_vocabulary(void) {
  return bytes_but(256, "\"ab\": 256, \"\xc4\xa0"
                        "ab\": 257, \"<s>\": 258, \"</s>\": 259, \"<mask>\": 260, \"<pad>\": 261");
}

/* A class without a word about a space before texts has none, whatever tokenizer.json says. */
TEST(test_space_before_texts) {
  filtra_tokenizer *t;
  static char text[20000];
  snprintf(text, sizeof text,
           "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true}, "
           "\"model\": {\"type\": \"BPE\", \"vocab\": %s, \"merges\": []}}",
           bytes_but(256, "\"ab\": 256"));
  assert_ok(load_files(&t, "tokenizer.json", text));
  check_encoded(t, "b", "\xc4\xa0|b");
  assert_ok(load_files(&t, "tokenizer.json", text, "tokenizer_config.json",
                       "{\"tokenizer_class\": \"RobertaTokenizer\"}"));
  check_encoded(t, "b", "b");
}

TEST(test_beginning_of_texts) {
  filtra_tokenizer *t;
  const char *vocabulary = bytes_but(256, "\"<|endoftext|>\": 256, \"<e>\": 257");
  static const char CONFIG[] = "tokenizer_config.json", MERGE[] = "#version: 0.2\n";
  assert_ok(load_files(&t, "vocab.json", vocabulary, "merges.txt", MERGE, CONFIG,
                       "{\"tokenizer_class\": \"GPT2Tokenizer\", \"add_bos_token\": true}"));
  check_encoded(t, "ab", "<|endoftext|>|a|b");
  assert_ok(load_files(&t, "vocab.json", vocabulary, "merges.txt", MERGE, CONFIG,
                       "{\"add_bos_token\": true, \"bos_token\": \"<e>\"}"));
  check_encoded(t, "a", "<e>|a");
  assert_ok(load_files(&t, "vocab.json", vocabulary, "merges.txt", MERGE, CONFIG,
                       "{\"add_bos_token\": false}"));
  check_encoded(t, "a", "a");
  assert_fails(load_files(&t, "vocab.json", vocabulary, "merges.txt", MERGE, CONFIG,
                          "{\"add_eos_token\": true}"),
               FILTRA_ERROR_INPUT, "\"add_eos_token\" true is not known");
}

/* What is made of such files has every field that Hugging Face's own reader needs. */
TEST(test_made_tokenizers_are_whole) {
  static const char *const TOKENS[] = {"single_word", "lstrip", "rstrip", "normalized", "special"};
  const char *path = test_path(test_folder(), "saved.json");
  for (int kind = 0; kind < 2; kind++) {
    filtra_tokenizer *t;
    if (kind)
      assert_ok(load_files(&t, "vocab.txt", LIST));
    else
      assert_ok(load_files(&t, "vocab.json", roberta_vocabulary(), "merges.txt", MERGES,
                           "config.json", "{\"model_type\": \"roberta\"}"));
    assert_ok(filtra_tokenizer_save(t, path));
    filtra_tokenizer_destroy(&t);
    json_t *root;
    assert_ok(ft_json_load(path, &root));
    size_t i;
    const json_t *token;
    json_array_foreach(json_object_get(root, "added_tokens"), i, token) {
      for (size_t k = 0; k < FT_COUNT(TOKENS); k++)
        assert_true(json_is_boolean(json_object_get(token, TOKENS[k])));
    }
    assert_true(i > 2);
    const char *const part = kind ? "decoder" : "post_processor",
                      *field = kind ? "cleanup" : "trim_offsets";
    assert_true(json_is_true(json_object_get(json_object_get(root, part), field)));
    json_decref(root);
  }
}

/* What the configuration says goes over tokenizer.json, as in `transformers`, unless the class is
 * none of a model's. */
TEST(test_configuration_over_tokenizer_json) {
  filtra_tokenizer *t;
  const char *text = test_text("{\"model\": %s, \"pre_tokenizer\": %s, \"normalizer\": {\"type\": "
                               "\"BertNormalizer\", \"lowercase\": false}}",
                               wordpiece("\"[UNK]\": 0, \"a\": 1, \"A\": 2"), SPLIT);
  assert_ok(load_files(&t, "tokenizer.json", text));
  check_encoded(t, "a A", "a|A");
  assert_ok(
      load_files(&t, "tokenizer.json", text, "tokenizer_config.json", "{\"do_lower_case\": true}"));
  check_encoded(t, "a A", "a|a");
  assert_ok(load_files(&t, "tokenizer.json", text, "tokenizer_config.json",
                       "{\"do_lower_case\": true, \"tokenizer_class\": \"BertTokenizerFast\"}"));
  check_encoded(t, "a A", "a|a");
  static const char BERT[] = "{\"tokenizer_class\": \"BertTokenizer\"}";
  assert_ok(load_files(&t, "tokenizer.json", text, "tokenizer_config.json", BERT));
  check_encoded(t, "a A", "a|a");
  assert_ok(load_files(&t, "tokenizer.json", text, "config.json", "{\"model_type\": \"bert\"}"));
  check_encoded(t, "a A", "a|a");
  assert_ok(load_files(&t, "tokenizer.json", text, "tokenizer_config.json",
                       "{\"do_lower_case\": false, \"tokenizer_class\": \"BertTokenizer\"}"));
  check_encoded(t, "a A", "a|A");
  assert_fails(load_files(&t, "tokenizer.json", text, "tokenizer_config.json",
                          "{\"split_special_tokens\": true}"),
               FILTRA_ERROR_INPUT, "\"split_special_tokens\" true is not known");
  static const char *const plain[] = {"PreTrainedTokenizerFast", "PreTrainedTokenizer",
                                      "TokenizersBackend"};
  for (size_t i = 0; i < FT_COUNT(plain); i++) {
    const char *config =
        test_text("{\"do_lower_case\": true, \"tokenizer_class\": \"%s\"}", plain[i]);
    assert_ok(load_files(&t, "tokenizer.json", text, "tokenizer_config.json", config));
    check_encoded(t, "a A", "a|A");
  }
}

/* Tokens that only the files beside tokenizer.json have are read, too, as `transformers` does. */
TEST(test_tokens_beside_tokenizer_json) {
  static const char CONFIG[] = "tokenizer_config.json", ADDED[] = "added_tokens.json",
                    WHOLE[] = "tokenizer.json",
                    ATD[] = "{\"added_tokens_decoder\": {\"%d\": "
                            "{\"content\": \"%s\", \"special\": true}}}";
  filtra_tokenizer *t;
  const char *text = test_text(
      "{\"model\": %s, \"pre_tokenizer\": %s, \"added_tokens\": [{\"id\": 3, \"content\": "
      "\"<s>\", \"special\": true}]}",
      wordpiece("\"[UNK]\": 0, \"a\": 1, \"##b\": 2, \"<m>\": 4, \"ab\": 5"), SPLIT);
  assert_ok(load_files(&t, WHOLE, text));
  check_encoded(t, "ab <x><s> <m>", "ab|[UNK]|[UNK]|[UNK]|<s>|[UNK]|[UNK]|[UNK]");
  static const char X[] = "ab|<x>|<s>|[UNK]|[UNK]|[UNK]";
  const char *const two = "{\"<x>\": 6, \"<s>\": 3}";
  assert_ok(load_files(&t, WHOLE, text, ADDED, two));
  check_encoded(t, "ab <x><s> <m>", X);
  assert_ok(load_files(&t, WHOLE, text, CONFIG, test_text(ATD, 6, "<x>")));
  check_encoded(t, "ab <x><s> <m>", X);
  assert_ok(load_files(&t, WHOLE, text, CONFIG, test_text(ATD, 3, "<s>"), ADDED, two));
  assert_int_equal(filtra_tokenizer_size(t), 6); /* the decoder is whole */
  filtra_tokenizer_destroy(&t);
  static const char *const NAMED[] = {"{\"additional_special_tokens\": [\"<m>\", \"<s>\"]}",
                                      "{\"mask_token\": \"<m>\", \"pad_token\": \"[none]\"}"};
  for (size_t i = 0; i < 2 * FT_COUNT(NAMED); i++) {
    const char *file = i % 2 ? CONFIG : "special_tokens_map.json";
    assert_ok(load_files(&t, WHOLE, text, file, NAMED[i / 2]));
    check_encoded(t, "ab <m>a", "ab|<m>|a");
  }
  const struct {
    const char *file, *text, *part;
  } cases[] = {
      {ADDED, "{\"<s>\": 6}", "/added_tokens.json: \"<s>\" has the id 6, and 3 elsewhere"},
      {CONFIG, test_text(ATD, 6, "a"),
       "/tokenizer_config.json: \"a\" has the id 6, and 1 elsewhere"},
      {ADDED, "{\"<x>\": 9}", "the id of \"<x>\" must be one of 0 to 6"},
      {CONFIG, "{\"additional_special_tokens\": [\"<y>\"]}",
       "\"additional_special_tokens\" has \"<y>\", which has no id"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_fails(load_files(&t, WHOLE, text, cases[i].file, cases[i].text), FILTRA_ERROR_INPUT,
                 cases[i].part);
    assert_null(t);
  }
}

TEST(test_vocab_json_and_merges) {
  filtra_tokenizer *t;
  const char *plain = bytes_but(256, "\"ab\": 256, \"\xc4\xa0"
                                     "ab\": 257, \"<|endoftext|>\": 258");
  assert_ok(load_files(&t, "vocab.json", plain, "merges.txt", MERGES));
  assert_null(ft_tokenizer_frame(t));
  check_encoded(t, "ab ab<|endoftext|>",
                "ab|\xc4\xa0"
                "ab|<|endoftext|>");
  assert_ok(load_files(&t, "encoder.json", plain, "vocab.bpe", MERGES, "tokenizer_config.json",
                       "{\"add_prefix_space\": true, \"tokenizer_class\": \"GPT2TokenizerFast\"}"));
  check_encoded(t, "ab",
                "\xc4\xa0"
                "ab");
  assert_ok(load_files(&t, "vocab.json", roberta_vocabulary(), "merges.txt", MERGES, "config.json",
                       "{\"model_type\": \"roberta\"}"));
  check_encoded(t, "ab  <mask>ab", "<s>|ab|<mask>|ab|</s>");
  assert_ok(load_files(&t, "vocab.json", roberta_vocabulary(), "merges.txt", MERGES,
                       "tokenizer_config.json",
                       "{\"tokenizer_class\": \"RobertaTokenizer\", \"added_tokens_decoder\": "
                       "{\"262\": {\"content\": \"<x>\", \"special\": true}}}"));
  check_encoded(t, "<x>ab", "<s>|<x>|ab|</s>");
}

TEST(test_damaged_folders) {
  filtra_tokenizer *t;
  const struct {
    const char *files[7], *part;
  } cases[] = {
      {{"a.txt", "a"}, "has no tokenizer.json, no vocab.json with merges.txt and no vocab.txt"},
      {{"vocab.json", "{}"}, "has a vocabulary but no merges.txt"},
      {{"merges.txt", "a b"}, "has merges but no vocab.json"},
      {{"vocab.txt", "[UNK]\na\na\n"}, "vocab.txt:3: \"a\" is line 2 too"},
      {{"vocab.txt", "[UNK]\n\xff\n"}, "vocab.txt:2: is not UTF-8"},
      {{"vocab.txt", "[UNK]\na\n"}, "has no id for \"sep_token\" (\"[SEP]\")"},
      {{"vocab.txt", "a\n[SEP]\n[CLS]\n"}, "\"unk_token\" is \"[UNK]\", which \"vocab\" does not"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "[]"}, "config.json: must be a JSON object"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{"}, "tokenizer_config.json:1:1: not valid"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"mask_token\": \"<m>\"}"},
       "\"mask_token\" is \"<m>\", which has no id"},
      {{"vocab.txt", LIST, "special_tokens_map.json", "{\"additional_special_tokens\": [\"<x>\"]}"},
       "\"additional_special_tokens\" has \"<x>\", which has no id: neither the vocabulary"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"additional_special_tokens\": [3]}"},
       "an entry of \"additional_special_tokens\" is no text"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"additional_special_tokens\": {}}"},
       "\"additional_special_tokens\" must be a list of special tokens"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"tokenizer_class\": \"EsmTokenizer\"}"},
       "\"tokenizer_class\" is \"EsmTokenizer\""},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"tokenizer_class\": \"GPT2Tokenizer\"}"},
       "\"tokenizer_class\" is \"GPT2Tokenizer\""},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"do_lower_case\": \"no\"}"},
       "\"lowercase\" must be true or false"},
      {{"vocab.txt", LIST, "tokenizer_config.json", "{\"added_tokens_decoder\": {\"x\": {}}}"},
       "\"x\" must be an id"},
      {{"vocab.txt", LIST, "added_tokens.json", "{\"<x>\": 12}"}, "must be one of 0 to 10"},
      {{"vocab.json", roberta_vocabulary(), "merges.txt", MERGES}, "RobertaTokenizer"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_fails(load_folder(cases[i].files, &t), FILTRA_ERROR_INPUT, cases[i].part);
    assert_null(t);
  }
  assert_fails(load_files(&t, "vocab.json", bytes_but('q', "\"ab\": 255"), "merges.txt", MERGES),
               FILTRA_ERROR_INPUT, "no symbol \"q\" for the byte 0x71, and no \"unk_token\"");
  assert_fails(load_files(&t, "vocab.json", bytes_but(256, "\"ab\": 256"), "merges.txt", "ab a\n"),
               FILTRA_ERROR_INPUT, "merge 1");
}

TEST_MAIN(NULL, test_teardown)
