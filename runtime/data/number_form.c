/* Reads numbers as people write them, and collects statistics of a column of them. Called by the
 * files of the format "table". */
#include "data/number_form.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 512, MINUS = 0x2212 };

/* A cell without sign, currency and per-cent sign. */
typedef struct cell {
  char text[LONGEST + 1]; /* ASCII; ' stands for any space or apostrophe between thousands */
  const char *digits;     /* start of the number in `text`, after the sign */
  size_t mantissa;        /* length before an exponent */
  bool negative, percent;
  uint32_t currency; /* code point; 0: none */
} cell;

bool ft_is_missing(const char *text, size_t length) {
  static const char *const words[] = {"", "?", "nan", "na", "n/a", "#n/a", "null", "none", "<na>"};
  for (size_t i = 0; i < FT_COUNT(words); i++)
    if (length == strlen(words[i]) && !ft_strncasecmp(text, words[i], length)) return true;
  return false;
}

/* ---- a cell ---- */

/* The ASCII character that replaces a character of a number; 0: the character is not part of
 * numbers. */
static char plain(uint32_t c) {
  static const uint32_t currencies[] = {'$', 0xa2, 0xa3, 0xa5, 0x20a9, 0x20ac, 0x20b9, 0x20bd};
  static const uint32_t gaps[] = {' ', '\'', 0xa0, 0x2009, 0x2019, 0x202f};
  for (size_t i = 0; i < FT_COUNT(currencies); i++)
    if (c == currencies[i]) return '$';
  for (size_t i = 0; i < FT_COUNT(gaps); i++)
    if (c == gaps[i]) return '\'';
  if (c == MINUS) return '-';
  if (c < 0x80 && c && strchr("0123456789.,eE+-%", (int)c)) return (char)c;
  return '\0';
}

/* Copies a cell in ASCII. */
static bool simplify(const char *text, size_t length, cell *c) {
  size_t count = 0, bytes;
  uint32_t code;
  for (size_t at = 0; at < length; at += bytes) {
    bytes = ft_utf8_next(text + at, length - at, &code);
    char ascii = '\0';
    if (bytes) ascii = plain(code);
    if (!ascii || count == LONGEST || (ascii == '$' && c->currency)) return false;
    if (ascii == '$') c->currency = code;
    c->text[count++] = ascii;
  }
  c->text[count] = '\0';
  return true;
}

static void skip_gaps(const char **at) {
  *at += strspn(*at, "'");
}

/* Removes sign and currency from the front, in either order. */
static void take_front(cell *c) {
  bool sign = false, currency = false;
  skip_gaps(&c->digits);
  for (; (!sign && strchr("+-", *c->digits)) || (!currency && *c->digits == '$'); c->digits++) {
    if (!*c->digits) return;
    c->negative = c->negative || *c->digits == '-';
    if (*c->digits == '$')
      currency = true;
    else
      sign = true;
    while (c->digits[1] == '\'')
      c->digits++;
  }
}

/* Removes a per-cent sign or currency from the end. */
static void take_end(cell *c) {
  size_t end = strlen(c->text);
  while (end > 0 && c->text[end - 1] == '\'')
    end--;
  if (end > 0 && strchr("%$", c->text[end - 1])) {
    c->percent = c->text[--end] == '%';
    while (end > 0 && c->text[end - 1] == '\'')
      end--;
  }
  c->text[end] = '\0';
}

/* Whether nothing or a valid exponent follows the mantissa. */
static bool ends_well(const char *rest) {
  if (!*rest) return true;
  rest += 1 + (rest[1] == '+' || rest[1] == '-');
  return isdigit((unsigned char)*rest) && rest[strspn(rest, "0123456789")] == '\0';
}

static bool read_cell(const char *text, size_t length, cell *c) {
  c->currency = 0;
  c->negative = c->percent = false;
  if (!simplify(text, length, c)) return false;
  c->digits = c->text;
  take_end(c);
  take_front(c);
  c->mantissa = strspn(c->digits, "0123456789.,'");
  char next = c->digits[c->mantissa];
  return (!next || next == 'e' || next == 'E') && ends_well(c->digits + c->mantissa);
}

/* ---- with either decimal sign ---- */

/* Whether `count` characters are whole thousands: 1,000 or 1,000,000, with one separator. */
static bool is_grouped(const char *text, size_t count, char decimal) {
  size_t first = strspn(text, "0123456789");
  if (first < 1 || first > 3 || *text == '0' || first >= count) return false;
  char separator = text[first];
  for (size_t at = first; at < count; at += 4)
    if (text[at] != separator || separator == decimal || at + 4 > count ||
        strspn(text + at + 1, "0123456789") < 3)
      return false;
  return true;
}

/* Whether the mantissa is a number with that decimal sign; *grouped: it has separators of
 * thousands. */
static bool reads(const cell *c, char decimal, bool *grouped) {
  const char *sign = memchr(c->digits, decimal, c->mantissa);
  size_t whole = sign ? (size_t)(sign - c->digits) : c->mantissa;
  size_t plain_digits = strspn(c->digits, "0123456789");
  *grouped = plain_digits < whole;
  if (*grouped && (c->digits[c->mantissa] || !is_grouped(c->digits, whole, decimal))) return false;
  size_t after = sign ? c->mantissa - whole - 1 : 0;
  return whole + after > 0 && (!sign || strspn(sign + 1, "0123456789") >= after);
}

/* The number, with its text with a decimal point; reads() must hold. */
static double value_of(const cell *c, char decimal, char text[LONGEST + 2]) {
  char *to = text, *end;
  if (c->negative) *to++ = '-';
  for (const char *at = c->digits; *at; at++)
    if (*at == decimal)
      *to++ = '.';
    else if (at >= c->digits + c->mantissa || isdigit((unsigned char)*at))
      *to++ = *at;
  *to = '\0';
  return ft_strtod(text, &end);
}

uint32_t ft_forms_unit(const ft_number_forms *forms) {
  return forms->percents ? '%' : forms->currency;
}

filtra_status ft_read_form(const char *text, size_t length, filtra_decimal decimal, uint32_t unit,
                           float *value) {
  cell c;
  char number[LONGEST + 2], sign = decimal == FILTRA_DECIMAL_COMMA ? ',' : '.';
  bool grouped;
  if (!read_cell(text, length, &c) || !reads(&c, sign, &grouped))
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.*s\" is not a number%s",
                   (int)(length < 40 ? length : 40), text,
                   sign == ',' ? " with a decimal comma" : "");
  value_of(&c, sign, number);
  if (c.percent != (unit == '%') || (c.currency && c.currency != unit))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "\"%.*s\" is in another unit than the training data's: those are %s",
                   (int)(length < 40 ? length : 40), text,
                   unit == '%' ? "per cents"
                   : unit      ? "amounts of another currency"
                               : "plain numbers");
  return ft_read_number(number, strlen(number), value);
}

bool ft_read_plain(const char *text, size_t length, filtra_decimal decimal, double *value) {
  cell c;
  char number[LONGEST + 2], sign = decimal == FILTRA_DECIMAL_COMMA ? ',' : '.';
  bool grouped;
  if (!read_cell(text, length, &c) || c.percent || c.currency || !reads(&c, sign, &grouped))
    return false;
  *value = value_of(&c, sign, number);
  return isfinite(*value);
}

/* ---- statistics of a column ---- */

static void keep(char to[48], uint64_t *line, const char *text, size_t length, uint64_t at) {
  if (*line) return;
  *line = at;
  snprintf(to, 48, "%.*s", (int)(length < 40 ? length : 40), text);
}

/* Whether the number is not whole, by its digits, since a double may have too few. */
static bool has_fraction(const cell *c, char decimal, double value) {
  const char *sign = memchr(c->digits, decimal, c->mantissa);
  if (c->digits[c->mantissa]) return value != floor(value);
  return sign && strspn(sign + 1, "0") < c->mantissa - (size_t)(sign + 1 - c->digits);
}

/* Finds numbers that are one double, though they are written otherwise, as are ids of 19 digits.
 * `number` has a decimal point and may have zeros at its end. */
static void add_beyond(ft_number_forms *f, int way, const char *number, double value) {
  size_t length = strlen(number);
  ft_spread *s = &f->spread[way];
  if (fabs(value) < 0x1p53 || strspn(number, "-0123456789.") < length) return;
  if (strchr(number, '.')) {
    while (number[length - 1] == '0')
      length--;
    length -= number[length - 1] == '.';
  }
  const uint64_t digits = ft_hash_bytes(ft_hash_text(""), number, length);
  s->twins += s->twin == value && f->beyond[way] != digits;
  s->twin = value;
  f->beyond[way] = digits;
}

static void add_number(ft_number_forms *f, int way, const cell *c, bool grouped) {
  char number[LONGEST + 2];
  double value = value_of(c, ".,"[way], number);
  const bool fraction = has_fraction(c, ".,"[way], value);
  f->readable[way]++;
  ft_spread_add(&f->spread[way], value);
  add_beyond(f, way, number, value);
  f->fractions[way] += fraction;
  f->grouped[way] += grouped;
}

static void add_marks(ft_number_forms *f, const cell *c) {
  f->percents += c->percent;
  f->currencies += c->currency != 0;
  if (!c->currency) return;
  if (!f->currency) f->currency = c->currency;
  f->currencies_differ = f->currencies_differ || f->currency != c->currency;
}

void ft_forms_add(ft_number_forms *f, const char *text, size_t length, uint64_t line) {
  cell c;
  char number[LONGEST + 2];
  bool grouped[2], way[2] = {false, false};
  if (ft_is_missing(text, length)) {
    f->missing++;
    keep(f->gap, &f->missing_line, text, length, line);
    return;
  }
  f->total++;
  bool possible = read_cell(text, length, &c);
  for (int i = 0; i < 2 && possible; i++)
    way[i] =
        reads(&c, ".,"[i], &grouped[i]) && fabs(value_of(&c, ".,"[i], number)) <= 3.402823466e38;
  if (!way[0] && !way[1]) {
    keep(f->other, &f->other_line, text, length, line);
    return;
  }
  f->numbers++;
  add_marks(f, &c);
  for (int i = 0; i < 2; i++)
    if (way[i]) add_number(f, i, &c, grouped[i]);
  if (way[0] != way[1])
    keep(f->sure[way[1]], &f->sure_line[way[1]], text, length, line);
  else if (memchr(c.digits, ',', c.mantissa))
    keep(f->open, &f->open_line, text, length, line);
  else if (memchr(c.digits, '.', c.mantissa))
    keep(f->point, &f->point_line, text, length, line);
  else
    f->plain += !c.digits[c.mantissa];
}

bool ft_forms_are_numbers(const ft_number_forms *f) {
  return f->numbers > 0 && f->numbers == f->total;
}

/* ---- choosing the decimal sign ---- */

filtra_status ft_forms_decide(const ft_number_forms *const *columns, size_t count, const char *path,
                              filtra_decimal given, filtra_decimal *decimal) {
  const ft_number_forms *sure[2] = {NULL, NULL}, *open = NULL, *point = NULL, *alike = NULL;
  *decimal = given;
  for (size_t i = 0; i < count; i++) {
    for (int way = 0; way < 2; way++)
      if (columns[i]->sure_line[way] && !sure[way]) sure[way] = columns[i];
    if (columns[i]->open_line && !open) open = columns[i];
    if (columns[i]->point_line && columns[i]->plain && !point) point = columns[i];
    if (columns[i]->point_line && !alike) alike = columns[i];
  }
  if (given != FILTRA_DECIMAL_AUTO) return FILTRA_OK;
  *decimal = sure[1] ? FILTRA_DECIMAL_COMMA : FILTRA_DECIMAL_POINT;
  if (sure[0] && sure[1])
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s:%llu: \"%s\" has a decimal point, but \"%s\" in line %llu a decimal comma; "
                   "write them alike, or set decimal to point or comma",
                   path, (unsigned long long)sure[0]->sure_line[0], sure[0]->sure[0],
                   sure[1]->sure[1], (unsigned long long)sure[1]->sure_line[1]);
  if (sure[0] || sure[1] || !(open || alike)) return FILTRA_OK;
  if (!open && !point)
    ft_log(FILTRA_LOG_WARNING,
           "%s:%llu: \"%s\", as all numbers, has a point before three digits, which is taken for a "
           "decimal point; if it is between thousands, set decimal to comma",
           path, (unsigned long long)alike->point_line, alike->point);
  if (!open && !point) return FILTRA_OK;
  const char *sign = open ? "comma" : "point";
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s:%llu: \"%s\" may have a %s between thousands or a decimal %s, and no other "
                 "number tells which; set decimal to point or comma",
                 path, (unsigned long long)(open ? open->open_line : point->point_line),
                 open ? open->open : point->point, sign, sign);
}

void ft_forms_warn(const ft_number_forms *f, const char *path, filtra_decimal decimal,
                   bool decimal_seen, bool thousands_seen) {
  static const char *const NAMES[] = {"point", "comma"};
  const int way = decimal == FILTRA_DECIMAL_COMMA;
  const uint64_t lines[] = {f->point_line, f->open_line}; /* by the sign before three digits */
  const char *const cells[] = {f->point, f->open};
  if (f->sure_line[way]) return;
  if (lines[!way] && !thousands_seen)
    ft_log(FILTRA_LOG_WARNING,
           "%s:%llu: \"%s\" is read with a %s between thousands, since the decimal sign is a "
           "%s%s; if it is a decimal %s, write a %s",
           path, (unsigned long long)lines[!way], cells[!way], NAMES[!way], NAMES[way],
           decimal_seen ? " in the training file" : "", NAMES[!way], NAMES[way]);
  else if (lines[way] && !decimal_seen)
    ft_log(
        FILTRA_LOG_WARNING,
        "%s:%llu: \"%s\" has a %s before three digits, which is taken for a decimal %s; if it is "
        "between thousands, write none there",
        path, (unsigned long long)lines[way], cells[way], NAMES[way], NAMES[way]);
}

filtra_status ft_forms_check(const ft_number_forms *f, const char *path, const char *column,
                             filtra_decimal decimal) {
  const int way = decimal == FILTRA_DECIMAL_COMMA;
  if (f->readable[way] < f->total)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s:%llu: column \"%s\": \"%s\" is no number with a decimal %s", path,
                   (unsigned long long)(f->sure_line[!way] ? f->sure_line[!way] : f->other_line),
                   column, f->sure_line[!way] ? f->sure[!way] : f->other, way ? "comma" : "point");
  if (f->percents && f->percents < f->total)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: column \"%s\": %llu of %llu numbers are per cent, and the others are not; "
                   "write them alike",
                   path, column, (unsigned long long)f->percents, (unsigned long long)f->total);
  if (f->currencies_differ)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: column \"%s\" holds amounts in more than one currency; convert them", path,
                   column);
  char *feature = ft_format("column \"%s\"", column);
  if (!feature) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_spread_check(&f->spread[way], path, feature);
  free(feature);
  return status;
}
