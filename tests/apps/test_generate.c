/* `filtra generate` as a shell sees it: text and JSON, prompts, seeds, what is refused. */
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>

static const char *common(void) {
  static const char *cache;
  if (!cache) cache = test_folder();
  return test_text("--device cpu --cache-dir %s", cache);
}

/* A run on `text`, thirty times over, or on a data set. */
static const char *make_run(const char *text, const char *data, const char *more) {
  const char *folder = test_new_run();
  if (text) {
    char whole[8192] = "";
    for (int i = 0; i < 30; i++)
      strncat(whole, text, sizeof whole - strlen(whole) - 1);
    data = test_path(test_folder(), "text.txt");
    test_write(data, whole, strlen(whole));
  }
  assert_code(test_filtra("train %s --data %s --out %s --steps 30 --set layers=1 "
                          "--set width=16 --set batch_size=4 "
                          "--set learning_rate=0.01 %s 2>&1",
                          common(), data, folder, more),
              0);
  return folder;
}

static const char PHRASE[] = "we go on \xc3\xa4nd on\n";

static const char *characters_run(void) {
  static const char *folder;
  if (!folder) folder = make_run(PHRASE, NULL, "--set max_length=20");
  return folder;
}

static int generate(const char *before, const char *run, const char *more) {
  return test_run_command(before, test_text("generate %s --run %s %s", common(), run, more));
}

/* Unicode characters, of which a text of that alphabet consists. */
static size_t characters(const char *text, const char *alphabet) {
  size_t count = 0;
  for (const char *c = text; *c; c++) {
    if ((*c & 0xc0) == 0x80) continue;
    char one[3] = {*c};
    if (*c == '\xc3') one[1] = c[1];
    if (!strstr(alphabet, one)) fail_msg("\"%s\" is not of the alphabet", c);
    count++;
  }
  return count;
}

TEST(text_follows_the_prompt) {
  assert_code(generate("", characters_run(), "--prompt 'we go' --tokens 50"), 0);
  assert_memory_equal(test_output, "we go", 5);
  assert_int_equal(characters(test_output, PHRASE), 5 + 50 + 1); /* longer than max_length */
  assert_int_equal(test_output[strlen(test_output) - 1], '\n');
  owned char *first = strdup(test_output);
  assert_code(generate("printf 'we go' |", characters_run(), "--prompt - --tokens 50"), 0);
  assert_string_equal(test_output, first);
  /* standard input is read as a text file is: without its mark, and with any line ends */
  assert_code(generate("printf 'on\\nwe' |", characters_run(), "--prompt - --tokens 9"), 0);
  owned char *lines = strdup(test_output);
  assert_code(
      generate("printf '\\357\\273\\277on\\r\\nwe' |", characters_run(), "--prompt - --tokens 9"),
      0);
  assert_string_equal(test_output, lines);
  assert_code(generate("", characters_run(), "--prompt 'we go' --tokens 50 --seed 1"), 0);
  assert_string_not_equal(test_output, first);
  assert_code(generate("", characters_run(), "--prompt 'we go' --tokens 50 --seed 0"), 0);
  assert_string_equal(test_output, first);
  /* a prompt longer than the model's longest */
  assert_code(
      generate("", characters_run(), "--prompt 'we go on and on we go on and on' --tokens 5 2>&1"),
      2); /* "and" has an a that the data did not have */
  assert_code(generate("", characters_run(),
                       "--prompt 'we go on \xc3\xa4nd on we go on \xc3\xa4nd on' --tokens 5"),
              0);
  assert_int_equal(characters(test_output, PHRASE), 31 + 5 + 1);
}

TEST(limits_make_it_certain) {
  assert_code(generate("", characters_run(), "--prompt w --tokens 40 --temperature 0"), 0);
  owned char *greedy = strdup(test_output);
  static const char *const same[] = {"--temperature 0 --seed 5", "--top-k 1", "--top-p 0.0001",
                                     "--temperature 0.00001"};
  for (size_t i = 0; i < FT_COUNT(same); i++) {
    assert_code(generate("", characters_run(), test_text("--prompt w --tokens 40 %s", same[i])), 0);
    assert_string_equal(test_output, greedy);
  }
}

TEST(json_is_one_object) {
  assert_code(generate("", characters_run(), "--prompt 'go \xc3\xa4' --tokens 30 --seed 3"), 0);
  owned char *plain = strdup(test_output);
  assert_code(generate("", characters_run(), "--prompt 'go \xc3\xa4' --tokens 30 --seed 3 --json"),
              0);
  json_auto_t *root = test_output_json();
  const char *prompt, *text, *run;
  json_int_t tokens, seed;
  double rate;
  assert_int_equal(json_unpack(root, "{ss ss ss sI sI sF !}", "run", &run, "prompt", &prompt,
                               "text", &text, "tokens", &tokens, "seed", &seed, "tokens_per_second",
                               &rate),
                   0);
  assert_string_equal(run, characters_run());
  assert_string_equal(prompt, "go \xc3\xa4");
  assert_string_equal(test_text("%s%s\n", prompt, text), plain);
  assert_int_equal(tokens, 30);
  assert_int_equal(seed, 3);
  assert_true(rate > 0);
}

TEST(words_come_with_spaces) {
  const char *run = make_run("one two <unk> four\n", NULL, "--set max_length=16");
  assert_code(generate("", run, "--prompt 'one two' --tokens 60 --temperature 3"), 0);
  assert_memory_equal(test_output, "one two", 7);
  assert_null(strstr(test_output, "  "));
  size_t words = 0;
  for (char *word = strtok(test_output, " \n"); word; word = strtok(NULL, " \n"), words++)
    assert_non_null(strstr("one two <unk> four", word));
  assert_between(words, 30, 62); /* the rest are line ends */
}

TEST(unknown_words_are_said) {
  const char *run =
      make_run("one two three four\n", NULL, "--set max_length=16 --set tokenizer=words");
  assert_code(generate("", run, "--prompt 'one six two ten' --tokens 2 2>&1"), 0);
  assert_printed("prompt: 2 of 4 words are unknown to the vocabulary of the tokenizer \"words\"");
  assert_code(generate("", run, "--prompt 'one two' --tokens 2 2>&1"), 0);
  assert_null(strstr(test_output, "unknown"));
}

/* What the bytes make together need not be UTF-8. */
TEST(bytes_stay_bytes) {
  json_error_t error;
  const char *run = make_run(PHRASE, NULL, "--set max_length=16 --set tokenizer=bytes");
  assert_code(generate("", run, "--prompt 'a\xc3' --tokens 200 --temperature 50 --json"), 0);
  json_auto_t *root = json_loads(test_output, JSON_ALLOW_NUL, &error);
  assert_non_null(root);
  assert_string_equal(json_string_value(json_object_get(root, "prompt")), "a\xef\xbf\xbd");
  const json_t *text = json_object_get(root, "text");
  assert_non_null(memmem(json_string_value(text), json_string_length(text), "\xef\xbf\xbd", 3));
}

static void refuse(const char *run, const char *more, const char *part) {
  assert_code(generate("", run, test_text("%s 2>&1", more)), 2);
  if (!strstr(test_output, part)) fail_msg("\"%s\" is not in:\n%s", part, test_output);
}

TEST(mistakes_are_told) {
  const char *run = characters_run();
  refuse(run, "--prompt 'we X'", "prompt: the character 'X' U+0058 at column 4");
  refuse(run, "--prompt ''", "prompt: it has no token");
  refuse(run, "", "--prompt TEXT is missing");
  refuse(run, "--prompt w more", "what is \"more\"?");
  refuse(run, "--prompt w --tokens 0", "--tokens is \"0\"");
  refuse(run, "--prompt w --temperature -1", "--temperature is \"-1\", not a number from 0 to");
  refuse(run, "--prompt w --temperature nan", "--temperature is \"nan\"");
  refuse(run, "--prompt w --temperature ''", "--temperature is \"\"");
  refuse(run, "--prompt w --top-p 1.5", "--top-p is \"1.5\"");
  refuse(run, "--prompt w --top-k -1", "--top-k is \"-1\"");
  refuse(run, "--prompt w --seed x", "--seed is \"x\"");
  refuse(run, "--prompt w --prompt on", "--prompt is given twice, as \"w\" and \"on\"");
  refuse(run, "--prompt w --tokens 5 --tokens 8", "--tokens is given twice, as \"5\" and \"8\"");
  refuse(run, "--nothing", "filtra generate --help");
  refuse("nowhere", "--prompt w", "nowhere is not a run folder");
  assert_prints(test_run_command("", "generate --prompt w 2>&1"), 2, "which run?");
  refuse(make_run(NULL, test_listops(), ""), "--prompt 1",
         "only language models generate, and its model is none");
  assert_prints(generate("", run, "--help"), 0, "--temperature");
}

TEST_MAIN(NULL, test_teardown)
