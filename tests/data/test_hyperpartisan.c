/* News articles with labels in a second file, and the XML of both. */
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/xml.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

static const char small_articles[] =
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- news --><articles>\n"
    "<article id=\"0000000\" title=\"A &amp; B\">\r\nOne <p>two &lt;&#51;&#x20AC;</p></article>\n"
    "<article title='&quot;' id='0000012' ><a href=\"x\"/>three<p></p>four</article >\n"
    "</articles>\n";
static const char small_labels[] =
    "<articles><article hyperpartisan=\"false\" id=\"12\" url=\"u?a=1&amp;b=2\"/>\n"
    "<article id=\"0\" hyperpartisan=\"true\"/></articles>";

static void write_set(const char *folder, const char *split, const char *articles,
                      const char *labels) {
  test_write_text(folder, test_text("articles-%s-x.xml", split), articles);
  test_write_text(folder, test_text("ground-truth-%s-x.xml", split), labels);
}

TEST(test_articles) {
  const char *folder = test_folder();
  write_set(folder, "training", small_articles, small_labels);
  write_set(folder, "test", "<articles><article id='3'>so</article></articles>",
            "<articles><article id='3' hyperpartisan='false'/></articles>");
  test_write_bytes(folder, "article.xsd", "<x/>", 4);
  owned_dataset *ds = test_open_dataset(folder, "hyperpartisan", NULL);
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_string_equal(filtra_tokenizer_name(info->tokenizer), "characters");
  assert_int_equal(info->classes, 2);
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN] + info->count[FILTRA_SPLIT_VAL], 2);
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 0, 1, "\nOne  two <3\xe2\x82\xac");
  test_text_row(ds, FILTRA_SPLIT_TRAIN, 1, 0, "three four");
  test_text_row(ds, FILTRA_SPLIT_TEST, 0, 0, "so");
}

static void refuse(const char *articles, const char *labels, const char *part) {
  static const char *folder;
  if (!folder) folder = test_folder();
  write_set(folder, "training", articles, labels);
  test_refuse_dataset(folder, NULL, part);
}

TEST(test_what_is_wrong) {
  static const struct {
    const char *articles, *part;
  } cases[] = {
      {"<a>\n<article id='0'>x</article><article id='1'>y</article></a>", ":2: article 1 has no"},
      {"<article id='0'>x</article>", "lacks article 12, which has a label"},
      {"<article id='0'>x</article><article id='0'>x</article>", "article 0 comes twice"},
      {"<article id='0'><article id='12'>x</article></article>", "an article within an article"},
      {"<article>x</article>", "an id of 1 to 18 digits"},
      {"<article id='1234567890123456789'>x</article>", "an id of 1 to 18 digits"},
      {"<article id='0x'>x</article>", "an id of 1 to 18 digits"},
      {"<a><article id='0'/><article id='12'>x</article></a>", "the text is empty"},
      {"<article id='0'>x\n</p></article>", ":2: </p> where </article> is expected"},
      {"</article>", "</article> where no end is expected"},
      {"<article id='0'>\nx", ":2: the file ends within <article>"},
      {"<article id='0'>&nbsp;</article>", "\"&nbsp\" is no character"},
      {"<article id='0'>&#0;</article>", "\"&#0\" is no character"},
      {"<article id='0'>&#xD800;</article>", "is no character"},
      {"<article id='0'>&#99999999;</article>", "is no character"},
      {"<article id='0'>&#x;</article>", "is no character"},
      {"<article id='0'>&amp</article>", "is no character"},
      {"<article id='0", "'' is missing in a tag"},
      {"<article id=0>x</article>", "a quote is missing"},
      {"<article id='a<b'>x</article>", "'<' within an attribute"},
      {"<article id>x</article>", "'=' is missing"},
      {"<>x</>", "a name is missing"},
      {"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "document types and CDATA sections are not accepted"},
      {"<article id='0'><![CDATA[x]]></article>", "CDATA sections are not accepted"},
      {"<!-- comment", "\"-->\" is missing"},
      {"<?xml", "\"?>\" is missing"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    refuse(cases[i].articles, small_labels, cases[i].part);
  refuse(small_articles, "<a/>", "ground-truth-training-x.xml has no labels");
  refuse(small_articles, "<article id='0'/>", "\"hyperpartisan\" must be true or false");
  refuse(small_articles, "<article id='0' hyperpartisan='mixed'/>", "must be true or false");
  refuse(small_articles,
         "<article id='0' hyperpartisan='true'/><article id='0' hyperpartisan='true'/>",
         "two labels of article 0");
  refuse("", small_labels, "lacks article 0");
  const char *folder = test_folder();
  test_write_bytes(folder, "articles-training-a.xml", "<a/>", 4);
  assert_fails(test_try_dataset(folder, NULL), FILTRA_ERROR_PATH, "ground-truth-training-a");
  test_write_bytes(folder, "articles-training-b.xml", "<a/>", 4);
  test_refuse_dataset(folder, NULL, "more than one file");
}

/* Nesting, names and attributes have limits, whatever the file. */
TEST(test_limits) {
  enum { MANY = 20000 };
  char *text = ft_calloc(MANY, 8), *to = text;
  for (int i = 0; i < MANY; i++)
    to += sprintf(to, "<p>");
  refuse(text, small_labels, "more than 63 elements inside each other");
  to = text + sprintf(text, "<p");
  for (int i = 0; i < 100; i++)
    to += sprintf(to, " a='b'");
  refuse(text, small_labels, "more than 16 attributes");
  memset(text, 'n', MANY);
  text[0] = '<';
  text[MANY] = '\0';
  refuse(text, small_labels, "a name of more than 63 bytes");
  free(text);
}

/* Cut or changed anywhere, either file. */
TEST(test_damaged) {
  const char *folder = test_folder();
  ft_rng rng = ft_rng_make(3, 3);
  static const char telling[] = "<>/='\"&;!?- #x\0\xff";
  for (int round = 0; round < 400; round++) {
    char articles[512], labels[512];
    strcpy(articles, small_articles);
    strcpy(labels, small_labels);
    char *which = round % 2 ? articles : labels;
    size_t size = strlen(which);
    for (size_t i = 0; i < 1 + ft_rng_below(&rng, 3); i++)
      which[ft_rng_below(&rng, size)] = telling[ft_rng_below(&rng, sizeof telling - 1)];
    if (round % 3 == 0) size = ft_rng_below(&rng, size);
    test_write_bytes(folder, "articles-training-x.xml", articles,
                     round % 2 ? size : strlen(small_articles));
    test_write_bytes(folder, "ground-truth-training-x.xml", labels,
                     round % 2 ? strlen(small_labels) : size);
    filtra_status status = test_try_dataset(folder, NULL);
    if (status) assert_fails(status, FILTRA_ERROR_INPUT, "-training-x.xml");
  }
}

TEST(test_memory_failures) {
  const char *folder = test_folder();
  write_set(folder, "training", small_articles, small_labels);
  test_dataset_memory(folder, &(filtra_dataset_options){.format = "hyperpartisan"});
}

TEST(test_shared) {
  owned_dataset *ds = test_open_dataset(test_shared_data("longdoc/hyperpartisan"), NULL, NULL);
  const ft_samples *samples = &ds->samples[FILTRA_SPLIT_TRAIN];
  size_t count[2] = {0}, longer[2] = {0};
  for (size_t i = 0; i < samples->count; i++) {
    count[samples->rows[i].label]++;
    longer[0] += samples->rows[i].length > 4000;
    longer[1] += samples->rows[i].length > 16384;
  }
  assert_int_equal(count[0], 407);
  assert_int_equal(count[1], 238);
  assert_int_equal(longer[0], 201);
  assert_int_equal(longer[1], 5);
}

TEST_MAIN(NULL, test_teardown)
