/* Readers of runtime/base. */
#include "base/json.h"
#include "base/lines.h"
#include "base/safetensors.h"
#include "data/rows.h"
#include "data/text.h"
#include "data/xml.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void read_json(const uint8_t *data, size_t size) {
  json_t *root;
  filtra_status status = ft_json_parse((const char *)data, size, "x.json", &root);
  fuzz_failed(status);
  fuzz_check(!status == (root != NULL), "a document or a failure");
  if (root) { /* what was read can be written, and reads as the same */
    json_t *again = NULL;
    char *text = json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY);
    fuzz_check(text && !ft_json_parse(text, strlen(text), "again", &again), "writing");
    fuzz_check(json_equal(root, again), "reading again");
    json_decref(again);
    free(text);
  }
  json_decref(root);
}

static void read_safetensors(const uint8_t *data, size_t size) {
  ft_safetensors *file;
  filtra_status status = ft_safetensors_copy("x.safetensors", data, size, &file);
  fuzz_failed(status);
  fuzz_check(!status == (file != NULL), "a file or a failure");
  uint64_t sum = 0;
  for (size_t i = 0; file && i < ft_safetensors_count(file); i++) {
    const ft_safetensor *t = ft_safetensors_at(file, i);
    fuzz_check(ft_safetensors_find(file, t->name) == t, "a tensor is found by its name");
    for (uint64_t k = 0; k < t->bytes; k++)
      sum += ((const uint8_t *)t->data)[k];
  }
  fuzz_check(sum <= 255 * size, "tensors lie within the file and do not overlap");
  ft_safetensors_close(&file);
}

static void read_source(const uint8_t *data, size_t size) {
  ft_source *source;
  const char *path = fuzz_file("x.gz", data, size);
  filtra_status status = ft_source_open(path, &source);
  static char chunk[1 << 16];
  size_t got = 1;
  while (!status && got)
    status = ft_source_read(source, chunk, sizeof chunk, &got);
  fuzz_failed(status);
  ft_source_close(&source);
}

static void read_lines(const uint8_t *data, size_t size) {
  ft_lines lines;
  bool more = true;
  filtra_status status = ft_lines_open(fuzz_file("x.txt", data, size), &lines);
  fuzz_failed(status);
  if (status) return;
  while (!status && more) {
    status = ft_lines_next(&lines, &more);
    if (!status && more) fuzz_check(strlen(lines.line) == lines.length, "a line ends with NUL");
  }
  fuzz_failed(status);
  ft_lines_close(&lines);
}

static void read_rows(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {"x.csv", "x.tsv", "x.txt", "x.jsonl"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    ft_row_reader rows;
    bool more = true;
    filtra_status status = ft_rows_open(fuzz_file(NAMES[i], data, size), (ft_row_form){0}, &rows);
    fuzz_failed(status);
    if (status) continue;
    while (!status && more) {
      status = ft_rows_next(&rows, &more);
      for (size_t k = 0; !status && more && k < rows.count; k++)
        fuzz_check(strlen(rows.fields[k]) <= size * 20, "fields end with NUL");
    }
    fuzz_failed(status);
    ft_rows_close(&rows);
  }
}

static void read_text(const uint8_t *data, size_t size) {
  ft_text text;
  bool more = true;
  filtra_status status = ft_text_open(fuzz_file("x.txt", data, size), &text);
  fuzz_failed(status);
  if (status) return;
  while (!status && more) {
    status = ft_text_next(&text, &more);
    if (!status && more) fuzz_check(text.length && text.passage, "a piece is not empty");
  }
  fuzz_failed(status);
  ft_text_close(&text);
}

static void read_xml(const uint8_t *data, size_t size) {
  ft_xml *xml;
  ft_xml_event event = FT_XML_TEXT;
  filtra_status status = ft_xml_open(fuzz_file("x.xml", data, size), &xml);
  while (!status && event != FT_XML_DONE) {
    status = ft_xml_next(xml, &event);
    if (status || event == FT_XML_DONE) continue;
    if (event != FT_XML_TEXT)
      fuzz_check(strlen(ft_xml_name(xml, event)) < FT_XML_NAME, "an element has a name");
    if (event == FT_XML_TEXT) fuzz_check(strlen(xml->text) <= size * 20, "text ends with NUL");
    if (event == FT_XML_START) ft_xml_attribute(xml, "id");
  }
  fuzz_failed(status);
  ft_xml_close(&xml);
}

const fuzz_reader fuzz_base[] = {{"json", read_json},   {"safetensors", read_safetensors},
                                 {"gzip", read_source}, {"lines", read_lines},
                                 {"rows", read_rows},   {"text", read_text},
                                 {"xml", read_xml},     {0}};
