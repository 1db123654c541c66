#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/tokenizer.h"
#include "support/harness.h"

static filtra_status encode(const char *name, const char *text, int32_t *tokens, size_t *count) {
  return filtra_tokenizer_encode(filtra_tokenizer_find(name), text, strlen(text), tokens, 32,
                                 count);
}

TEST(test_ids_are_fixed) {
  static const char *const symbols[] = {"",     "0",    "1",   "2", "3",      "4",
                                        "5",    "6",    "7",   "8", "9",      "[MIN",
                                        "[MAX", "[MED", "[SM", "]", "[FIRST", "[LAST"};
  const filtra_tokenizer *lra = filtra_tokenizer_find("listops");
  const filtra_tokenizer *original = filtra_tokenizer_find("listops-original");
  assert_int_equal(filtra_tokenizer_size(lra), 16);
  assert_int_equal(filtra_tokenizer_size(original), 18);
  assert_string_equal(filtra_tokenizer_name(lra), "listops");
  for (uint32_t id = 0; id < 18; id++)
    assert_string_equal(filtra_tokenizer_symbol(original, id), symbols[id]);
  assert_null(filtra_tokenizer_symbol(lra, 16));
}

TEST(test_unknown_names) {
  assert_null(filtra_tokenizer_find("byte"));
  assert_non_null(strstr(filtra_error_message(), "listops-original, bytes"));
  assert_null(filtra_tokenizer_find("words"));
  assert_non_null(strstr(filtra_error_message(), "made from data"));
  assert_null(filtra_tokenizer_find(NULL));
}

TEST(test_encode) {
  static const int32_t expected[] = {12, 3, 11, 5, 8, 15, 1, 15};
  static const char *const texts[] = {
      "[MAX 2 [MIN 4 7 ] 0 ]",
      "  [MAX 2\t[MIN 4 7 ]  0 ]\r\n",
      "( ( ( ( [MAX 2 ) ( ( ( [MIN 4 ) 7 ) ] ) ) 0 ) ] )",
  };
  for (size_t i = 0; i < FT_COUNT(texts); i++) {
    int32_t tokens[32];
    size_t count;
    assert_ok(encode("listops", texts[i], tokens, &count));
    assert_int_equal(count, FT_COUNT(expected));
    assert_memory_equal(tokens, expected, sizeof expected);
  }
}

TEST(test_encode_counts_what_does_not_fit) {
  int32_t tokens[3] = {0, 0, -1};
  size_t count;
  const filtra_tokenizer *t = filtra_tokenizer_find("listops");
  assert_ok(filtra_tokenizer_encode(t, "[SM 1 2 3 ]", 11, tokens, 2, &count));
  assert_int_equal(count, 5);
  assert_int_equal(tokens[1], 2);
  assert_int_equal(tokens[2], -1);
  assert_ok(filtra_tokenizer_encode(t, "[SM 1 2 3 ]", 11, NULL, 0, &count));
  assert_int_equal(count, 5);
}

TEST(test_errors_say_what_and_where) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "empty"},
      {" ( ) ", "empty"},
      {"[MAX 1 [FOO 2 ] ]", "unknown symbol '[FOO' at column 8"},
      {"[MAX 1 10 ]", "unknown symbol '10' at column 8"},
      {"[MAX 1 2]", "unknown symbol '2]' at column 8"},
      {"[MAX 1 [FIRST 2 ] ]", "unknown symbol '[FIRST'"},
      {"[MAX 1 \x01\xff ]", "unknown symbol '\?\?'"},
      {"[MAX 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ]", "'aaaaaaaaaaaaaaaaaaaa...'"},
      {"[MAX 1 2", "'[MAX' at column 1 is not closed"},
      {"[MAX 1 [MIN 2 ]", "'[MAX' at column 1 is not closed"},
      {"[MAX ]", "'[MAX' at column 1 has no arguments"},
      {"]", "']' at column 1 closes nothing"},
      {"1 2", "'2' at column 3 follows a complete expression"},
      {"[MAX 1 ] ]", "']' at column 10 follows a complete expression"},
      {"[MAX 1 ] [MAX 2 ]", "'[MAX' at column 10 follows a complete expression"},
      {"( [MAX 1 ] ) )", "')' at column 14 closes nothing"},
      {"( ( [MAX 1 ] )", "1 '(' are not closed"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    int32_t tokens[32];
    size_t count;
    assert_fails(encode("listops", cases[i].text, tokens, &count), FILTRA_ERROR_INPUT,
                 cases[i].part);
    assert_int_equal(count, 0);
  }
}

/* ---- bytes, printable, dna ---- */

TEST(test_bytes) {
  const filtra_tokenizer *t = filtra_tokenizer_find("bytes");
  char all[256], back[300];
  int32_t tokens[256];
  size_t count, length;
  for (int i = 0; i < 256; i++)
    all[i] = (char)i;
  assert_int_equal(filtra_tokenizer_size(t), 257);
  assert_ok(filtra_tokenizer_encode(t, all, 256, tokens, 256, &count));
  assert_int_equal(count, 256);
  for (int i = 0; i < 256; i++)
    assert_int_equal(tokens[i], i + 1);
  assert_ok(filtra_tokenizer_decode(t, tokens, count, back, sizeof back, &length));
  assert_int_equal(length, 256);
  assert_memory_equal(all, back, 256);
  assert_string_equal(filtra_tokenizer_symbol(t, 0), "");
  assert_string_equal(filtra_tokenizer_symbol(t, 'a' + 1), "a");
  assert_string_equal(filtra_tokenizer_symbol(t, '\n' + 1), "\\x0a");
  assert_string_equal(filtra_tokenizer_symbol(t, '~' + 1), "~");
  assert_string_equal(filtra_tokenizer_symbol(t, 0x7f + 1), "\\x7f");
  assert_string_equal(filtra_tokenizer_symbol(t, 256), "\\xff");
}

TEST(test_printable) {
  static const int32_t expected[] = {1, 95, 1, 1, 34};
  int32_t tokens[32];
  size_t count;
  assert_ok(encode("printable",
                   " ~\t\r\n\xc3\xa9"
                   "A\x7f\x01",
                   tokens, &count));
  assert_int_equal(count, FT_COUNT(expected));
  assert_memory_equal(tokens, expected, sizeof expected);
  assert_int_equal(filtra_tokenizer_size(filtra_tokenizer_find("printable")), 96);
}

TEST(test_dna) {
  static const int32_t expected[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 4, 5, 5};
  const filtra_tokenizer *t = filtra_tokenizer_find("dna");
  int32_t tokens[32];
  size_t count, length;
  char text[16];
  assert_ok(encode("dna", "ACGTNacgtuRy", tokens, &count));
  assert_int_equal(count, FT_COUNT(expected));
  assert_memory_equal(tokens, expected, sizeof expected);
  assert_ok(filtra_tokenizer_decode(t, tokens, 5, text, sizeof text, &length));
  assert_string_equal(text, "ACGTN");
  assert_int_equal(filtra_tokenizer_size(t), 6);
  assert_fails(encode("dna", "ACGX", tokens, &count), FILTRA_ERROR_INPUT, "'X' at column 4");
  assert_fails(encode("dna", "A-", tokens, &count), FILTRA_ERROR_INPUT, "'-' at column 2");
  assert_fails(encode("dna", "A\x80", tokens, &count), FILTRA_ERROR_INPUT, "'\\x80' at column 2");
}

TEST(test_decode) {
  const filtra_tokenizer *t = filtra_tokenizer_find("listops");
  const int32_t tokens[] = {12, 3, 0, 15, 0};
  char text[8];
  size_t length;
  assert_ok(filtra_tokenizer_decode(t, tokens, 5, NULL, 0, &length));
  assert_int_equal(length, 8);
  assert_ok(filtra_tokenizer_decode(t, tokens, 5, text, sizeof text, &length));
  assert_int_equal(length, 8);
  assert_string_equal(text, "[MAX 2 ");
  assert_ok(filtra_tokenizer_decode(t, tokens, 0, text, sizeof text, &length));
  assert_string_equal(text, "");
  const int32_t wrong[] = {3, 16}, negative[] = {-1};
  assert_fails(filtra_tokenizer_decode(t, wrong, 2, text, 8, &length), FILTRA_ERROR_ARGUMENT,
               "token 1 is 16; the ids of \"listops\" are 0 to 15");
  assert_fails(filtra_tokenizer_decode(t, negative, 1, text, 8, &length), FILTRA_ERROR_ARGUMENT,
               "is -1");
}

/* ---- made from data ---- */

static void check_next(const filtra_tokenizer *t, int32_t previous, int32_t token,
                       const char *want) {
  char text[16];
  size_t length;
  assert_ok(filtra_tokenizer_decode_next(t, previous, token, text, sizeof text, &length));
  assert_string_equal(text, want);
  assert_int_equal(length, strlen(want));
}

static filtra_tokenizer *make_most(const char *name, const char *text, uint32_t most_ids) {
  ft_vocabulary *v;
  filtra_tokenizer *t;
  assert_ok(ft_vocabulary_create(name, most_ids, &v));
  assert_ok(ft_vocabulary_count(v, text, strlen(text)));
  assert_ok(ft_vocabulary_make(v, &t));
  ft_vocabulary_free(v);
  return t;
}

static filtra_tokenizer *make(const char *name, const char *text) {
  return make_most(name, text, 0);
}

static void assert_symbols(const filtra_tokenizer *t, const char *const *symbols, uint32_t count) {
  assert_int_equal(filtra_tokenizer_size(t), count);
  for (uint32_t id = 0; id < count; id++)
    assert_string_equal(filtra_tokenizer_symbol(t, id), symbols[id]);
}

/* What is encoded decodes to `back`. */
static void assert_round_trip(const filtra_tokenizer *t, const char *text, const char *back) {
  int32_t tokens[64];
  char decoded[128];
  size_t count, length;
  assert_ok(filtra_tokenizer_encode(t, text, strlen(text), tokens, 64, &count));
  assert_ok(filtra_tokenizer_decode(t, tokens, count, decoded, sizeof decoded, &length));
  assert_string_equal(decoded, back);
}

TEST(test_characters) {
  static const char *const symbols[] = {
      "", "\n", " ", "a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
  const char *text = "b\xf0\x9f\x98\x80"
                     "a \xe2\x82\xac\n\xc3\xa9"
                     "aab";
  filtra_tokenizer *t = make("characters", text);
  assert_string_equal(filtra_tokenizer_name(t), "characters");
  assert_true(filtra_tokenizer_is_fitted(t));
  assert_symbols(t, symbols, FT_COUNT(symbols));
  assert_round_trip(t, text, text);
  int32_t tokens[8];
  size_t count;
  assert_fails(filtra_tokenizer_encode(t,
                                       "\xc3\xa9"
                                       "c",
                                       3, tokens, 8, &count),
               FILTRA_ERROR_INPUT, "the character 'c' U+0063 at column 2");
  assert_fails(filtra_tokenizer_encode(t, "a\0", 2, tokens, 8, &count), FILTRA_ERROR_INPUT,
               "the character U+0000 at column 2");
  assert_fails(filtra_tokenizer_encode(t, "\xc3\xa9\xc3", 3, tokens, 8, &count), FILTRA_ERROR_INPUT,
               "byte 0xc3 at column 2");
  filtra_tokenizer_destroy(&t);
  assert_null(t);
}

TEST(test_words) {
  static const char *const symbols[] = {"", "<unk>", "<eos>", "the", "a", "cat"};
  filtra_tokenizer *t = make("words", " the cat\tthe <unk> \n\n the a a");
  assert_symbols(t, symbols, FT_COUNT(symbols));
  assert_round_trip(t, "the  cat\r\n a dog\n", "the cat\na <unk>\n");
  assert_round_trip(t, "", "");
  assert_round_trip(t, "\n \n", "\n\n");
  assert_round_trip(t, "cat <eos> the", "cat\nthe");
  check_next(t, -1, 3, "the"); /* one by one, a text keeps its spaces */
  check_next(t, 3, 4, " a");
  check_next(t, 4, 2, "\n");
  check_next(t, 2, 3, "the");
  char text[4];
  size_t length;
  assert_fails(filtra_tokenizer_decode_next(t, 99, 3, text, 4, &length), FILTRA_ERROR_ARGUMENT,
               "is 99");
  int32_t tokens[8];
  size_t count;
  assert_fails(filtra_tokenizer_encode(t, "a \xff", 3, tokens, 8, &count), FILTRA_ERROR_INPUT,
               "byte 0xff at column 3");
  assert_fails(filtra_tokenizer_encode(t, "a cat\xff", 6, tokens, 8, &count), FILTRA_ERROR_INPUT,
               "byte 0xff at column 6");
  filtra_tokenizer_destroy(&t);
}

/* More words than ids: the rarest, and of those the last ones, have none. */
TEST(test_most_frequent_words) {
  enum { WORDS = 70000 };
  char *text = ft_calloc(WORDS, 16), *to = text;
  for (int i = 0; i < WORDS; i++)
    to += sprintf(to, "w%05d ", i);
  strcpy(to, "w69999 w69998 w69999");
  filtra_tokenizer *t = make("words", text);
  assert_int_equal(filtra_tokenizer_size(t), 65536);
  assert_string_equal(filtra_tokenizer_symbol(t, 3), "w69999");
  assert_string_equal(filtra_tokenizer_symbol(t, 4), "w69998");
  assert_string_equal(filtra_tokenizer_symbol(t, 5), "w00000");
  assert_string_equal(filtra_tokenizer_symbol(t, 65535), "w65530");
  assert_round_trip(t, "w65530 w65531", "w65530 <unk>");
  filtra_tokenizer_destroy(&t);
  t = make_most("words", text, 4);
  assert_int_equal(filtra_tokenizer_size(t), 4);
  assert_round_trip(t, "w69999 w69998", "w69999 <unk>");
  filtra_tokenizer_destroy(&t);
  t = make_most("words", text, 1 << 20);
  assert_int_equal(filtra_tokenizer_size(t), 3 + WORDS);
  assert_string_equal(filtra_tokenizer_symbol(t, 65536 + 5), "w65536");
  assert_round_trip(t, "w00000 w65536 w69997", "w00000 w65536 w69997");
  free(text);
  filtra_tokenizer_destroy(&t);
}

/* As many characters as Unicode has, but for NUL and surrogates. */
TEST(test_every_character) {
  enum { CODE_POINTS = 0x110000, SURROGATES = 0x800 };
  char *text = ft_calloc(CODE_POINTS, 4), *to = text;
  for (uint32_t c = 1; c < CODE_POINTS; c++)
    if (c < 0xd800 || c > 0xdfff) to += ft_utf8_write(c, to);
  filtra_tokenizer *t = make("characters", text);
  assert_int_equal(filtra_tokenizer_size(t), CODE_POINTS - SURROGATES);
  assert_round_trip(t, "a\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf", "a\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
  free(text);
  filtra_tokenizer_destroy(&t);
}

TEST(test_long_words_have_no_symbol) {
  char text[300] = "a ";
  memset(text + 2, 'x', 129);
  filtra_tokenizer *t = make("words", text);
  assert_int_equal(filtra_tokenizer_size(t), 4);
  assert_round_trip(t, text, "a <unk>");
  filtra_tokenizer_destroy(&t);
  text[130] = '\0';
  t = make("words", text);
  assert_int_equal(filtra_tokenizer_size(t), 5);
  filtra_tokenizer_destroy(&t);
}

TEST(test_vocabulary_wants_text) {
  static const char *const names[] = {"characters", "words"};
  static const char *const texts[] = {"ab \xff", "ab \xed\xa0\x80", "ab \xc0\x80", "ab \xe2\x82"};
  for (size_t i = 0; i < FT_COUNT(names) * FT_COUNT(texts); i++) {
    ft_vocabulary *v;
    const char *text = texts[i / 2];
    assert_ok(ft_vocabulary_create(names[i % 2], 0, &v));
    assert_fails(ft_vocabulary_count(v, text, strlen(text)), FILTRA_ERROR_INPUT, "at column 4");
    ft_vocabulary_free(v);
  }
  ft_vocabulary *v;
  filtra_tokenizer *t;
  assert_ok(ft_vocabulary_create("characters", 0, &v));
  assert_fails(ft_vocabulary_make(v, &t), FILTRA_ERROR_INPUT, "0 symbols");
  assert_null(t);
  ft_vocabulary_free(v);
}

TEST(test_save_and_load) {
  char path[512];
  snprintf(path, sizeof path, "%s/tokenizer.json", test_folder());
  static const char *const names[] = {"characters", "words"};
  const char *text = "say \"\\\n\x01 \xc3\xa9 \xf0\x9f\x98\x80 say";
  for (size_t i = 0; i < FT_COUNT(names); i++) {
    filtra_tokenizer *made = make(names[i], text), *loaded;
    assert_ok(filtra_tokenizer_save(made, path));
    assert_ok(filtra_tokenizer_load(path, &loaded));
    assert_string_equal(filtra_tokenizer_name(loaded), names[i]);
    assert_symbols(loaded, made->symbols, made->size);
    assert_round_trip(loaded, text, text);
    filtra_tokenizer_destroy(&made);
    filtra_tokenizer_destroy(&loaded);
  }
  assert_fails(filtra_tokenizer_save(filtra_tokenizer_find("bytes"), path), FILTRA_ERROR_ARGUMENT,
               "constant");
}

TEST(test_damaged_files) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "tokenizer.json"},
      {"[]", "needs \"tokenizer\""},
      {"{\"tokenizer\": \"bytes\", \"symbols\": [\"a\"]}", "characters or words"},
      {"{\"tokenizer\": \"words\", \"symbols\": 3}", "a list"},
      {"{\"tokenizer\": \"words\", \"symbols\": [\"<unk>\", 3]}", "entry 1"},
      {"{\"tokenizer\": \"words\", \"symbols\": [\"<unk>\"]}", "1 symbols"},
      {"{\"tokenizer\": \"words\", \"symbols\": [\"<eos>\", \"<unk>\"]}", "cannot be symbol 1"},
      {"{\"tokenizer\": \"words\", \"symbols\": [\"<unk>\", \"<eos>\", \"\"]}", "symbol 3"},
      {"{\"tokenizer\": \"words\", \"symbols\": [\"<unk>\", \"<eos>\", \"a b\"]}", "symbol 3"},
      {"{\"tokenizer\": \"words\", \"symbols\": [\"<unk>\", \"<eos>\", \"a\", \"a\"]}", "symbol 4"},
      {"{\"tokenizer\": \"characters\", \"symbols\": []}", "0 symbols"},
      {"{\"tokenizer\": \"characters\", \"symbols\": [\"ab\"]}", "cannot be symbol 1"},
      {"{\"tokenizer\": \"characters\", \"symbols\": [\"b\", \"a\"]}", "cannot be symbol 2"},
      {"{\"tokenizer\": \"characters\", \"symbols\": [\"a\", \"a\"]}", "cannot be symbol 2"},
  };
  char path[512];
  snprintf(path, sizeof path, "%s/tokenizer.json", test_folder());
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_tokenizer *t;
    assert_ok(ft_file_write(path, cases[i].text, strlen(cases[i].text)));
    assert_fails(filtra_tokenizer_load(path, &t), FILTRA_ERROR_INPUT, cases[i].part);
    assert_non_null(strstr(filtra_error_message(), "tokenizer.json"));
    assert_null(t);
  }
}

TEST_MAIN(NULL, test_teardown)
