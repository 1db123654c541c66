/* `filtra import`, `train --init-from`, `predict --embeddings` and `export` as a shell sees them,
 * on a tiny Hugging Face BERT with a vocabulary of its own. */
#include "support/command.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/pretrained.h"
#include "support/run.h"

#include "base/file.h"
#include "base/json.h"

static const char VOCABULARY[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nfine\nfilm\nbad\nword\n"
                                 "##s\nand\nthe\ngood\none\ntwo\nnot\n.\n,\n!\n";
static const char TABLE[] = "text,label\na fine film,yes\nbad words,no\nthe good one,yes\n"
                            "not good,no\ntwo bad films,no\n";

static const char TEXTS[] = "A fine film!\nBad words, bad film.\n";

/* The folder that somebody brings. */
static const char *brought(void) {
  static const char *const FILES[] = {"config.json", "model.safetensors"};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(FILES); i++) {
    size_t size;
    owned char *bytes =
        test_read(test_text("%s/golden/pretrained/bert/%s", TEST_SOURCE_DIR, FILES[i]), &size);
    test_write(test_path(folder, FILES[i]), bytes, size);
  }
  test_write(test_path(folder, "vocab.txt"), VOCABULARY, strlen(VOCABULARY));
  test_write(test_path(folder, "tokenizer_config.json"), "{\"do_lower_case\": true}", 23);
  return folder;
}

static const char *imported(const char *more) {
  const char *run = test_path(test_folder(), "run");
  assert_code(
      test_filtra("import %s --device cpu --cache-dir '' --out %s %s 2>&1", brought(), run, more),
      0);
  assert_printed("made from");
  return run;
}

TEST(a_run_is_made_and_answers) {
  const char *run = imported(""), *file = test_path(test_folder(), "vectors.npy"),
             *lines = test_path(test_folder(), "lines.txt");
  size_t size;
  test_write(lines, TEXTS, strlen(TEXTS));
  assert_code(
      test_filtra("predict --device cpu --cache-dir '' --run %s --input %s 2>&1", run, lines), 0);
  assert_printed("\tA fine film!");
  assert_code(test_filtra("predict --device cpu --cache-dir '' --run %s --input %s "
                          "--embeddings %s --normalise 2>&1",
                          run, lines, file),
              0);
  owned char *bytes = test_read(file, &size);
  assert_int_equal(size, 128 + 2 * 8 * sizeof(float));
  for (int row = 0; row < 2; row++) {
    float vector[8];
    double square = 0;
    memcpy(vector, bytes + 128 + row * (int)sizeof vector, sizeof vector);
    for (int i = 0; i < 8; i++)
      square += (double)vector[i] * (double)vector[i];
    assert_true(fabs(square - 1) < 1e-5);
  }
  assert_code(test_filtra("tokens %s %s --special 2>&1", run, lines), 0);
  assert_printed("[2, 5, 6, 7, 19, 3]");
}

TEST(a_filter_is_plugged_in_and_trained) {
  const char *data = test_path(test_folder(), "table.csv"), *out = test_path(test_folder(), "run"),
             *again = test_path(test_folder(), "run");
  test_write(data, TABLE, strlen(TABLE));
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --mixer gfsa "
                          "--steps 2 --set batch_size=2 --set 'freeze=embeddings' --out %s 2>&1",
                          brought(), data, out),
              0);
  assert_printed("new, with initial values");
  assert_printed("layers.0-1.mixer.w0");
  assert_printed("head.2.weight");
  assert_code(test_filtra("train --device cpu --cache-dir '' --resume %s --steps 3 2>&1", out), 0);
  assert_code(test_run_command("printf 'not a good film\\n' |",
                               test_text("predict --device cpu --cache-dir '' %s 2>&1", out)),
              0);
  assert_printed("\tnot a good film");
  /* A run begins with another one as well. */
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --steps 1 "
                          "--set batch_size=2 --out %s 2>&1",
                          out, data, again),
              0);
  assert_null(strstr(test_output, "new, with initial values"));
  const char *folder = test_path(test_folder(), "hf");
  assert_code(test_filtra("export %s --out %s 2>&1", out, folder), 0);
  assert_true(ft_file_exists(test_path(folder, "filtra_filters.py")));
}

TEST(a_model_goes_out_again) {
  const char *folder = test_path(test_folder(), "hf");
  assert_code(test_filtra("export %s %s --format hf 2>&1", imported(""), folder), 0);
  static const char *const FILES[] = {"config.json", "model.safetensors", "tokenizer.json"};
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    assert_true(ft_file_exists(test_path(folder, FILES[i])));
  assert_false(ft_file_exists(test_path(folder, "filtra_filters.py")));
  const char *run = test_path(test_folder(), "run");
  assert_code(test_filtra("import %s --device cpu --cache-dir '' --out %s 2>&1", folder, run), 0);
}

/* A tokenizer of Filtra's own has no form there, which is said. */
TEST(own_tokenizers_stay) {
  static const char TEXT[] = "we go on\nand on\nwe go on\nand on\n";
  const char *text = test_path(test_folder(), "text.txt"), *run = test_path(test_folder(), "run");
  const char *out = test_path(test_folder(), "hf");
  test_write(text, TEXT, strlen(TEXT));
  assert_code(test_filtra("train --device cpu --cache-dir '' --data %s --out %s --steps 1 "
                          "--set width=8 --set layers=1 --set max_length=8 --set batch_size=2 "
                          "--set tie_embeddings=true --set no_head_bias=true "
                          "--set activation=gelu_tanh 2>&1",
                          text, run),
              0);
  assert_prints(test_filtra("export %s %s 2>&1", run, out), 0,
                "is not in Hugging Face's format and is left out");
  assert_false(ft_file_exists(test_path(out, "tokenizer.json")));
}

/* transformers' problem_type says that a model is of several labels. */
TEST(labels_go_out_and_in) {
  const char *out = test_path(test_folder(), "hf"), *run = test_path(test_folder(), "run");
  assert_code(test_filtra("export %s %s 2>&1", imported("--set task=multi_label"), out), 0);
  owned char *config = test_read(test_path(out, "config.json"), NULL);
  assert_non_null(strstr(config, "\"problem_type\": \"multi_label_classification\""));
  assert_code(test_filtra("import %s --device cpu --cache-dir '' --out %s 2>&1", out, run), 0);
  owned char *again = test_read(test_path(run, "config.json"), NULL);
  assert_non_null(strstr(again, "\"task\": \"multi_label\""));
  assert_code(
      test_run_command("printf 'a film\n' |",
                       test_text("predict --device cpu --cache-dir '' %s 2>/dev/null", run)),
      0);
  float p[3];
  const char *tab = strchr(test_output, '\t');
  assert_true(tab && sscanf(tab, "\t%f,%f,%f\ta film", p, p + 1, p + 2) == 3);
}

/* A head stays where it is for the data's classes in their order; else it is new, and said. */
TEST(heads_go_by_names) {
  static const struct {
    const char *table;
    bool stays;
  } cases[] = {{"text,label\na film,0\nbad,1\nfine,2\na good film,0\nnot,1\n", true},
               {"text,label\na film,a\nbad,b\nfine,c\na good film,a\nnot,b\n", false}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *data = test_path(test_folder(), "table.csv"),
               *out = test_path(test_folder(), "out");
    test_write(data, cases[i].table, strlen(cases[i].table));
    assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --steps 1 "
                            "--set task=classification --set batch_size=2 --out %s 2>&1",
                            brought(), data, out),
                0);
    assert_true(!strstr(test_output, "head.2.weight") == cases[i].stays);
  }
}

/* What an import had to draw is drawn again by a run that begins with it, and said until then. */
TEST(new_heads_are_said) {
  const char *run = imported("--set classes=2"), *data = test_path(test_folder(), "table.csv"),
             *out = test_path(test_folder(), "out");
  assert_printed("head.2.weight");
  assert_code(
      test_run_command("printf 'a film\tbad film\na film bad film\n' |",
                       test_text("predict --device cpu --cache-dir '' %s --logits 2>&1", run)),
      0);
  assert_printed("means nothing until it is trained");
  const char *pair = strstr(test_output, "\ta film\tbad film"),
             *text = strstr(test_output, "\ta film bad film");
  assert_true(pair && text && pair < text);
  test_write(data, TABLE, strlen(TABLE));
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --steps 1 "
                          "--set batch_size=2 --set heads=4 --out %s 2>&1",
                          run, data, out),
              0);
  assert_printed("head.2.weight");
  assert_printed("\"heads\" is 4 where the pretrained model has 2");
  assert_code(test_run_command("printf 'a film\n' |",
                               test_text("predict --device cpu --cache-dir '' %s 2>&1", out)),
              0);
  assert_null(strstr(test_output, "means nothing"));
}

/* Ids mean nothing without the tokenizer of the model. */
TEST(tokenizers_belong_to_models) {
  const char *data = test_path(test_folder(), "table.csv"), *out = test_path(test_folder(), "out");
  test_write(data, TABLE, strlen(TABLE));
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s/golden/pretrained/bert "
                          "--data %s --steps 1 --out %s 2>&1",
                          TEST_SOURCE_DIR, data, out),
              2);
  assert_printed("has no tokenizer, and only the one that it was trained with says");
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --steps 1 "
                          "--set tokenizer=bytes --out %s 2>&1",
                          brought(), data, out),
              2);
  assert_printed("has its own, \"wordpiece\": leave it out");
  assert_code(test_filtra("import --device cpu --cache-dir '' %s/golden/pretrained/bert --out %s "
                          "2>&1",
                          TEST_SOURCE_DIR, out),
              0);
  assert_printed("has no tokenizer: the model reads token ids alone");
}

/* Nodes of graphs are numbered in their files: a run on them begins another without a tokenizer. */
TEST(graphs_need_no_tokenizer) {
  const char *folder = test_folder(), *out = test_path(folder, "a"), *next = test_path(folder, "b");
  const char *data = test_path(folder, "x");
  assert_code(test_run_command(
                  test_text("mkdir %s; cd %s; printf '1,2\n2,1\n3,4\n4,3\n5,6\n6,5\n' >x_A.txt;"
                            "printf '1\n1\n2\n2\n3\n3\n' >x_graph_indicator.txt;"
                            "printf '0\n1\n0\n' >x_graph_labels.txt;",
                            data, data),
                  test_text("train --device cpu --cache-dir '' --data %s --steps 1 --set layers=1 "
                            "--set width=8 --set heads=1 --set batch_size=2 --out %s 2>&1",
                            data, out)),
              0);
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --steps 1 "
                          "--set batch_size=2 --out %s 2>&1",
                          out, data, next),
              0);
  const char *text = test_write_text(folder, "a.csv", "text,label\na,0\nb,1\na,0\n");
  assert_code(test_filtra("train --device cpu --cache-dir '' --init-from %s --data %s --steps 1 "
                          "--set batch_size=2 --out %s 2>&1",
                          out, text, test_path(folder, "c")),
              2);
  assert_printed("has no tokenizer, and only the one that it was trained with says");
}

/* What a file says of its model counts before what lies beside it. */
TEST(own_models_beside_foreign_ones) {
  const char *folder = brought(), *own = test_path(folder, "own.safetensors");
  size_t size;
  owned char *bytes = test_read(test_path(imported(""), "model.safetensors"), &size);
  test_write(own, bytes, size);
  assert_code(test_filtra("import %s --out %s --device cpu 2>&1", own, test_new_run()), 0);
  test_write(own, bytes, size / 2);
  assert_prints(test_filtra("import %s --out %s --device cpu 2>&1", own, test_new_run()), 2,
                "own.safetensors: tensor ");
}

TEST(mistakes_are_told) {
  const char *folder = brought(), *run = imported("--set classes=4 --mixer plaplacian");
  static const struct {
    const char *arguments, *part;
  } cases[] = {
      {"import $F", "needs --out DIR"},
      {"import $R/none --out $F/x --device cpu",
       "none is not there; give a folder with config.json"},
      {"import bert-base-uncased --out $F/x --device cpu", "nothing is downloaded here"},
      {"import $F/config.json --out $F/x --device cpu", "config.json is one file of a model"},
      {"import $F/model.safetensors --out $F/x --device cpu", "beside it: give the folder, "},
      {"import $F/.. --out $F/x --device cpu", "is a folder without a model"},
      {"import $F --out $F/x --set max_length=99 --device cpu",
       "\"max_length\" is 99, and the model has learned positions of at most 12 tokens"},
      {"import $F --out $R --device cpu", "holds a run already"},
      {"import $F --out $F/x --set hidden=3 --device cpu", "\"hidden\""},
      {"export $R", "needs --out DIR"},
      {"export $R $F", "is there already"},
      {"export $R $F/y --format onnx", "--format is \"onnx\", accepted is hf"},
      {"predict $R --pool first", "go with --embeddings FILE"},
      {"predict $R --embeddings v.csv", "names that end with .npy"},
      {"predict $R --embeddings v.npy --pool last", "accepted are mean, first and head"},
      {"predict $R --embeddings v.npy --json", "leave out --output, --json"},
      {"eval $R --device cpu", "is an imported model without data"},
  };
  setenv("F", folder, 1); /* for the shell */
  setenv("R", run, 1);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_code(test_filtra("%s 2>&1", cases[i].arguments), 2);
    assert_printed(cases[i].part);
  }
}

/* A table's columns have the places of those that the first model was trained on. */
TEST(test_columns_of_a_start) {
  const char *folder = test_folder();
  const char *begin =
      "rows() { for i in 1 2 3 4 5 6 7 8; do echo $i,$((i * i % 7)),c$((i % 2)); done; }; "
      "(echo a,b,label; rows) >%s/ab.csv; (echo b,a,label; rows) >%s/ba.csv; "
      "(echo c,d,label; rows) >%s/cd.csv";
  assert_int_equal(system(test_text(begin, folder, folder, folder)), 0);
  const char *train = "train --device cpu --cache-dir '' --data %s/%s.csv --steps 1 --set width=8 "
                      "--set validation_share=0.25 --out %s/%s %s 2>&1";
  assert_code(test_filtra(train, folder, "ab", folder, "ab", ""), 0);
  const char *start = test_text("--init-from %s/ab", folder);
  assert_code(test_filtra(train, folder, "ba", folder, "ba", start), 2);
  assert_non_null(
      strstr(test_output, "column \"b\" stands where the model of \"init_from\" reads \"a\""));
  assert_code(test_filtra(train, folder, "cd", folder, "cd", start), 0);
  assert_non_null(strstr(test_output, "column \"c\" takes the place of \"a\""));
  /* Data that changed, answers in place of data, and no length. */
  assert_int_equal(system(test_text("echo 9,4,c1 >>%s/ab.csv", folder)), 0);
  assert_code(test_filtra("eval %s/ab --device cpu --split train 2>&1", folder), 0);
  assert_non_null(strstr(test_output, "ab.csv has changed since the model was trained on it"));
  assert_code(test_filtra("predict %s/ab --device cpu --data %s/ab.csv --output %s/ab.csv 2>&1",
                          folder, folder, folder),
              2);
  assert_non_null(strstr(test_output, "would replace a file of the data"));
  assert_code(test_filtra("train --device cpu --data %s/ab.csv --steps 0 --out %s/none 2>&1",
                          folder, folder),
              2);
  assert_non_null(strstr(test_output, "it has at least one step"));
}

/* A GPT-2 whose tokenizer knows a few letters, and puts a token before texts or none. */
static const char *imported_gpt2(bool begins) {
  static const char TEMPLATE[] =
      ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": "
      "{\"id\": \"<|endoftext|>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": "
      "0}}], \"pair\": [{\"SpecialToken\": {\"id\": \"<|endoftext|>\", \"type_id\": 0}}, "
      "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"B\", "
      "\"type_id\": 1}}], \"special_tokens\": {\"<|endoftext|>\": {\"id\": \"<|endoftext|>\", "
      "\"ids\": [0], \"tokens\": [\"<|endoftext|>\"]}}}";
  const char *folder = test_copy_pretrained("gpt2"), *run = test_path(test_folder(), "run");
  char vocabulary[512] = "\"<|endoftext|>\": 0";
  for (int i = 1; i < 20; i++)
    snprintf(vocabulary + strlen(vocabulary), 24, ", \"%c\": %d", 'a' + i - 1, i);
  const char *text = test_text(
      "{\"added_tokens\": [{\"id\": 0, \"content\": \"<|endoftext|>\", "
      "\"special\": true}], \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
      "\"add_prefix_space\": false}, \"model\": {\"type\": \"BPE\", \"unk_token\": \"a\", "
      "\"vocab\": {%s}, \"merges\": []}%s}",
      vocabulary, begins ? TEMPLATE : "");
  test_write(test_path(folder, "tokenizer.json"), text, strlen(text));
  assert_code(test_filtra("import %s --device cpu --cache-dir '' --out %s 2>&1", folder, run), 0);
  return run;
}

static const char *generated(const char *run, const char *prompt) {
  assert_code(test_filtra("generate --device cpu --cache-dir '' --run %s --prompt '%s' "
                          "--temperature 0 --tokens 6 --past-end --json",
                          run, prompt),
              0);
  json_auto_t *answer = test_output_json();
  return test_text("%s", ft_json_string(answer, "text"));
}

TEST(prompts_need_a_tokenizer) {
  const char *folder = test_copy_pretrained("gpt2"), *run = test_path(test_folder(), "run");
  assert_code(test_filtra("import %s --device cpu --cache-dir '' --out %s 2>&1", folder, run), 0);
  assert_code(test_filtra("generate --device cpu --cache-dir '' --run %s --prompt a 2>&1", run), 2);
  assert_printed("prompt: the run has no tokenizer");
}

/* A prompt begins with the token that the tokenizer puts before texts. */
TEST(prompts_begin_as_texts) {
  const char *with = imported_gpt2(true), *without = imported_gpt2(false);
  static const char *const PROMPTS[] = {"ab", "cafe", "noon"};
  int same = 0;
  for (size_t i = 0; i < FT_COUNT(PROMPTS); i++) {
    const char *text = generated(with, PROMPTS[i]);
    assert_string_equal(generated(without, test_text("<|endoftext|>%s", PROMPTS[i])), text);
    same += !strcmp(generated(without, PROMPTS[i]), text);
  }
  assert_true(same < (int)FT_COUNT(PROMPTS));
}

TEST_MAIN(NULL, test_teardown)
