/* Reads the XML that data sets use, as a stream of events, with limits on depth and size. Called by
 * hyperpartisan.c. */
#include "data/xml.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { NOTHING = -1 };

filtra_status ft_xml_open(const char *path, ft_xml **xml) {
  ft_xml *x = *xml = ft_calloc(1, sizeof *x);
  if (!x) return FILTRA_ERROR_HOST_MEMORY;
  x->path = path;
  x->line = 1;
  filtra_status status = ft_source_open(path, &x->source);
  if (status) ft_xml_close(xml);
  return status;
}

void ft_xml_close(ft_xml **xml) {
  if (!*xml) return;
  ft_source_close(&(*xml)->source);
  free((*xml)->text);
  free(*xml);
  *xml = NULL;
}

const char *ft_xml_name(const ft_xml *x, ft_xml_event event) {
  return x->name[event == FT_XML_START ? x->depth - 1 : x->depth];
}

const char *ft_xml_attribute(const ft_xml *x, const char *name) {
  for (size_t i = 0; i < x->attributes; i++)
    if (!strcmp(x->attribute[i], name)) return x->text + x->value[i];
  return NULL;
}

filtra_status ft_xml_fail(const ft_xml *x, filtra_status status) {
  return ft_fail_context(status, "%s:%llu", x->path, (unsigned long long)x->line);
}

/* ---- characters ---- */

/* The next byte, not consumed; NOTHING at the end. */
static filtra_status peek(ft_xml *x, int *byte) {
  *byte = NOTHING;
  if (x->at == x->end) {
    x->at = 0;
    FT_TRY(ft_source_read(x->source, x->chunk, sizeof x->chunk, &x->end));
  }
  if (x->at == x->end) return FILTRA_OK;
  *byte = (unsigned char)x->chunk[x->at];
  return *byte ? FILTRA_OK : ft_fail(FILTRA_ERROR_INPUT, "a NUL byte; is this a text file?");
}

static filtra_status take(ft_xml *x, int *byte) {
  FT_TRY(peek(x, byte));
  x->at += *byte != NOTHING;
  x->line += *byte == '\n';
  return FILTRA_OK;
}

static filtra_status append_text(ft_xml *x, const char *bytes, size_t count) {
  if (count > FT_XML_LIMIT - x->length)
    return ft_fail(FILTRA_ERROR_INPUT, "more than %d MiB without a tag", FT_XML_LIMIT >> 20);
  size_t wanted = x->length + count + 1;
  if (wanted > x->capacity) {
    char *text = ft_realloc(x->text, 2 * wanted, 1);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    x->text = text;
    x->capacity = 2 * wanted;
  }
  memcpy(x->text + x->length, bytes, count);
  x->length += count;
  x->text[x->length] = '\0';
  return FILTRA_OK;
}

static filtra_status fail_reference(const char *name) {
  return ft_fail(FILTRA_ERROR_INPUT,
                 "\"&%.12s\" is no character; known are &amp; &lt; &gt; &quot; &apos; and numbers",
                 name);
}

/* Appends the character of a reference "#38" or "#x26". */
static filtra_status append_number(ft_xml *x, const char *name) {
  bool hex = name[1] == 'x';
  const char *digits = name + 1 + hex;
  char *end, text[4];
  unsigned long number = strtoul(digits, &end, hex ? 16 : 10);
  if (strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") == 0 || *end)
    return fail_reference(name);
  if (number == 0 || number > 0x10ffff || (number >= 0xd800 && number < 0xe000))
    return fail_reference(name);
  return append_text(x, text, ft_utf8_write((uint32_t)number, text));
}

/* Reads and appends a reference, after its ampersand. */
static filtra_status append_reference(ft_xml *x) {
  static const char *const names[] = {"amp", "lt", "gt", "quot", "apos"};
  char name[12] = "";
  int byte = 0;
  for (size_t length = 0; byte != ';';) {
    FT_TRY(take(x, &byte));
    if (byte == NOTHING || length + 1 == sizeof name) return fail_reference(name);
    if (byte != ';') name[length++] = (char)byte;
  }
  if (name[0] == '#') return append_number(x, name);
  for (size_t i = 0; i < FT_COUNT(names); i++)
    if (!strcmp(name, names[i])) return append_text(x, &"&<>\"'"[i], 1);
  return fail_reference(name);
}

/* Appends characters up to `stop`, which is not consumed; *found: whether it came. Skips a CR
 * before LF. */
static filtra_status append_until(ft_xml *x, int stop, bool *found) {
  for (;;) {
    int byte, next;
    FT_TRY(peek(x, &byte));
    *found = byte == stop;
    if (*found || byte == NOTHING) return FILTRA_OK;
    FT_TRY(take(x, &byte));
    if (byte == '<') return ft_fail(FILTRA_ERROR_INPUT, "'<' within an attribute");
    FT_TRY(peek(x, &next));
    const char one = (char)byte;
    if (byte == '&')
      FT_TRY(append_reference(x));
    else if (byte != '\r' || next != '\n')
      FT_TRY(append_text(x, &one, 1));
  }
}

/* ---- tags ---- */

static bool is_space(int byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static filtra_status skip_spaces(ft_xml *x, int *next) {
  FT_TRY(peek(x, next));
  while (is_space(*next)) {
    FT_TRY(take(x, next));
    FT_TRY(peek(x, next));
  }
  return FILTRA_OK;
}

static filtra_status read_name(ft_xml *x, char name[FT_XML_NAME]) {
  size_t length = 0;
  int byte;
  for (;;) {
    FT_TRY(peek(x, &byte));
    if (byte == NOTHING || is_space(byte) || strchr("<>/=\"'?!&", byte)) break;
    if (length + 1 == FT_XML_NAME)
      return ft_fail(FILTRA_ERROR_INPUT, "a name of more than %d bytes", FT_XML_NAME - 1);
    FT_TRY(take(x, &byte));
    name[length++] = (char)byte;
  }
  name[length] = '\0';
  return length ? FILTRA_OK : ft_fail(FILTRA_ERROR_INPUT, "a name is missing in a tag");
}

static filtra_status expect(ft_xml *x, int wanted) {
  int byte;
  FT_TRY(take(x, &byte));
  if (byte == wanted) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "'%c' is missing in a tag", wanted);
}

static filtra_status read_attribute(ft_xml *x) {
  int quote;
  bool found;
  if (x->attributes == FT_XML_ATTRIBUTES)
    return ft_fail(FILTRA_ERROR_INPUT, "an element with more than %d attributes",
                   FT_XML_ATTRIBUTES);
  FT_TRY(read_name(x, x->attribute[x->attributes]));
  FT_TRY(skip_spaces(x, &quote));
  FT_TRY(expect(x, '='));
  FT_TRY(skip_spaces(x, &quote));
  if (quote != '"' && quote != '\'')
    return ft_fail(FILTRA_ERROR_INPUT, "a quote is missing in a tag");
  FT_TRY(expect(x, quote));
  x->value[x->attributes++] = x->length;
  FT_TRY(append_until(x, quote, &found));
  FT_TRY(expect(x, quote));
  return append_text(x, "", 1);
}

static filtra_status read_start(ft_xml *x) {
  int next;
  if (x->depth + 1 == FT_XML_DEPTH)
    return ft_fail(FILTRA_ERROR_INPUT, "more than %d elements inside each other", FT_XML_DEPTH - 1);
  FT_TRY(read_name(x, x->name[x->depth]));
  x->depth++;
  for (;;) {
    FT_TRY(skip_spaces(x, &next));
    if (next == '>' || next == '/' || next == NOTHING) break;
    FT_TRY(read_attribute(x));
  }
  x->closing = next == '/';
  if (x->closing) FT_TRY(expect(x, '/'));
  return expect(x, '>');
}

static filtra_status read_end(ft_xml *x) {
  char name[FT_XML_NAME];
  int next;
  FT_TRY(expect(x, '/'));
  FT_TRY(read_name(x, name));
  FT_TRY(skip_spaces(x, &next));
  FT_TRY(expect(x, '>'));
  if (x->depth == 0 || strcmp(name, x->name[x->depth - 1]))
    return ft_fail(FILTRA_ERROR_INPUT, "</%s> where %s%s%s is expected", name,
                   x->depth ? "</" : "no end", x->depth ? x->name[x->depth - 1] : "",
                   x->depth ? ">" : "");
  x->depth--;
  return FILTRA_OK;
}

/* Skips everything up to and including `end`. */
static filtra_status skip_to(ft_xml *x, const char *end) {
  size_t length = strlen(end);
  char last[4] = "";
  while (memcmp(last, end, length)) {
    int byte;
    FT_TRY(take(x, &byte));
    if (byte == NOTHING)
      return ft_fail(FILTRA_ERROR_INPUT, "the file ends where \"%s\" is missing", end);
    memmove(last, last + 1, length - 1);
    last[length - 1] = (char)byte;
  }
  return FILTRA_OK;
}

/* Skips a comment, after "<!"; fails for anything else. */
static filtra_status skip_comment(ft_xml *x) {
  int first, second;
  FT_TRY(expect(x, '!'));
  FT_TRY(take(x, &first));
  FT_TRY(take(x, &second));
  if (first != '-' || second != '-')
    return ft_fail(FILTRA_ERROR_INPUT, "document types and CDATA sections are not accepted");
  return skip_to(x, "-->");
}

/* ---- events ---- */

static filtra_status read_tag(ft_xml *x, ft_xml_event *event, bool *skipped) {
  int next;
  *skipped = false;
  FT_TRY(expect(x, '<'));
  FT_TRY(peek(x, &next));
  *skipped = next == '?' || next == '!';
  if (next == '?') return skip_to(x, "?>");
  if (next == '!') return skip_comment(x);
  *event = next == '/' ? FT_XML_END : FT_XML_START;
  return next == '/' ? read_end(x) : read_start(x);
}

static filtra_status next_event(ft_xml *x, ft_xml_event *event) {
  bool tag, skipped;
  do {
    FT_TRY(append_until(x, '<', &tag));
    if (x->length > 0) {
      *event = FT_XML_TEXT;
      return FILTRA_OK;
    }
    *event = FT_XML_DONE;
    if (!tag && x->depth > 0)
      return ft_fail(FILTRA_ERROR_INPUT, "the file ends within <%s>", x->name[x->depth - 1]);
    if (!tag) return FILTRA_OK;
    FT_TRY(read_tag(x, event, &skipped));
  } while (skipped);
  return FILTRA_OK;
}

filtra_status ft_xml_next(ft_xml *x, ft_xml_event *event) {
  x->length = x->attributes = 0;
  if (x->closing) {
    x->closing = false;
    x->depth--;
    *event = FT_XML_END;
    return FILTRA_OK;
  }
  filtra_status status = next_event(x, event);
  return status ? ft_xml_fail(x, status) : FILTRA_OK;
}
