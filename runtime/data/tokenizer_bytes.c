/* The tokenizers "bytes", "printable" and "dna", with one id per byte. Listed in tokenizer.c. */
#include "base/status.h"
#include "data/tokenizer.h"

#include <stdio.h>

/* Symbols are for display: printable characters as they are, other bytes as \x and two digits. */
#define ROW(digit)                                                                                 \
  "\\x" digit "0", "\\x" digit "1", "\\x" digit "2", "\\x" digit "3", "\\x" digit "4",             \
      "\\x" digit "5", "\\x" digit "6", "\\x" digit "7", "\\x" digit "8", "\\x" digit "9",         \
      "\\x" digit "a", "\\x" digit "b", "\\x" digit "c", "\\x" digit "d", "\\x" digit "e",         \
      "\\x" digit "f"

#define PRINTABLE                                                                                  \
  " ", "!", "\"", "#", "$", "%", "&", "'", "(", ")", "*", "+", ",", "-", ".", "/", "0", "1", "2",  \
      "3", "4", "5", "6", "7", "8", "9", ":", ";", "<", "=", ">", "?", "@", "A", "B", "C", "D",    \
      "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V",    \
      "W", "X", "Y", "Z", "[", "\\", "]", "^", "_", "`", "a", "b", "c", "d", "e", "f", "g", "h",   \
      "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z",    \
      "{", "|", "}", "~"

static const char *const byte_symbols[257] = {"",       ROW("0"), ROW("1"), PRINTABLE, "\\x7f",
                                              ROW("8"), ROW("9"), ROW("a"), ROW("b"),  ROW("c"),
                                              ROW("d"), ROW("e"), ROW("f")};

static const char *const printable_symbols[96] = {"", PRINTABLE};

static const char *const dna_symbols[6] = {"", "A", "C", "G", "T", "N"};

static filtra_status encode_bytes(const filtra_tokenizer *tokenizer, const char *text,
                                  size_t length, ft_tokens *tokens) {
  (void)tokenizer;
  FT_TRY(ft_tokens_reserve(tokens, length));
  for (size_t i = 0; i < length; i++)
    tokens->ids[tokens->count++] = (int32_t)((unsigned char)text[i] + 1);
  return FILTRA_OK;
}

static filtra_status encode_printable(const filtra_tokenizer *tokenizer, const char *text,
                                      size_t length, ft_tokens *tokens) {
  (void)tokenizer;
  FT_TRY(ft_tokens_reserve(tokens, length));
  for (size_t i = 0; i < length; i++) {
    int c = text[i] == '\t' || text[i] == '\n' ? ' ' : text[i];
    if (c >= ' ' && c <= '~') tokens->ids[tokens->count++] = (int32_t)(c - ' ' + 1);
  }
  return FILTRA_OK;
}

/* Id of a nucleotide; ambiguous IUPAC 1984 codes count as N. 0: not a code. */
static int32_t nucleotide(char c) {
  switch (c & ~0x20) { /* upper case */
  case 'A':
    return 1;
  case 'C':
    return 2;
  case 'G':
    return 3;
  case 'T':
  case 'U':
    return 4;
  case 'N':
  case 'R':
  case 'Y':
  case 'S':
  case 'W':
  case 'K':
  case 'M':
  case 'B':
  case 'D':
  case 'H':
  case 'V':
    return 5;
  default:
    return 0;
  }
}

static filtra_status encode_dna(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                                ft_tokens *tokens) {
  (void)tokenizer;
  FT_TRY(ft_tokens_reserve(tokens, length));
  for (size_t i = 0; i < length; i++) {
    int32_t id = nucleotide(text[i]);
    if (id == 0) {
      char shown[8];
      snprintf(shown, sizeof shown, text[i] > ' ' && text[i] <= '~' ? "%c" : "\\x%02x",
               (unsigned char)text[i]);
      return ft_fail(FILTRA_ERROR_INPUT,
                     "'%s' at column %zu is no nucleotide; accepted are A, C, G, T, U, N and the "
                     "ambiguity codes",
                     shown, i + 1);
    }
    tokens->ids[tokens->count++] = id;
  }
  return FILTRA_OK;
}

const filtra_tokenizer ft_tokenizer_bytes = {.name = "bytes",
                                             .symbols = byte_symbols,
                                             .size = 257,
                                             .encode = encode_bytes,
                                             .join = FT_JOIN_BYTES};
const filtra_tokenizer ft_tokenizer_printable = {.name = "printable",
                                                 .symbols = printable_symbols,
                                                 .size = 96,
                                                 .encode = encode_printable,
                                                 .join = FT_JOIN_DIRECTLY};
const filtra_tokenizer ft_tokenizer_dna = {.name = "dna",
                                           .symbols = dna_symbols,
                                           .size = 6,
                                           .encode = encode_dna,
                                           .join = FT_JOIN_DIRECTLY};
