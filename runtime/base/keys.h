/* Keys: one table over an option struct. The table reads the struct from JSON, writes it to JSON,
 * checks one that a program filled in, and prints the help of each key. A new key is one row and
 * one field of the struct. */
#ifndef FT_BASE_KEYS_H
#define FT_BASE_KEYS_H

#include "base/json.h"

#include <stddef.h>

typedef enum ft_key_type {
  FT_KEY_OTHER,  /* a key whose value its owner reads and writes */
  FT_KEY_INT,    /* whole number: int64_t, uint64_t or uint32_t */
  FT_KEY_FLOAT,  /* float */
  FT_KEY_BOOL,   /* bool */
  FT_KEY_ENUM,   /* int or an enum: the index of one of the names */
  FT_KEY_STRING, /* char array */
  FT_KEY_LIST,   /* char array, comma-separated texts; also from a list, or from an object of
                    numbers as NAME=NUMBER */
  FT_KEY_FLOATS  /* ft_floats, from a list of numbers or from one number */
} ft_key_type;

enum { FT_MOST_FLOATS = 256 };
typedef struct ft_floats {
  int64_t count; /* 1 to FT_MOST_FLOATS */
  float values[FT_MOST_FLOATS];
} ft_floats;

/** A key and its field. */
typedef struct ft_key {
  const char *name;
  ft_key_type type;
  bool numbered;              /* of a text: also takes a whole number, such as a column's index */
  size_t offset, size;        /* of the field */
  double fallback, low, high; /* default; accepted range */
  const char *const *names;   /* of an enum, by value; NULL-terminated; "": value without a name */
  const float *list;          /* default of a list of numbers; ends with a NaN */
  const char *help;           /* what the key does, in sentences for people */
  const char *paper;          /* author, year, equation or section; NULL: none */
  const char *usual;          /* the default in words if it is computed; NULL: `fallback` */
} ft_key;

/** A table of keys. */
typedef struct ft_keys {
  const ft_key *list;
  size_t count;
} ft_keys;
#define FT_KEYS(array)                                                                             \
  { array, FT_COUNT(array) }

/* Rows of a table of keys. The help follows the range; then come `.paper` and `.usual`, if any. */
#define FT_KEY_ROW(kind, struct_type, member, key, ...)                                            \
  {                                                                                                \
    .name = key, .type = kind, .offset = offsetof(struct_type, member),                            \
    .size = sizeof(((struct_type *)0)->member), __VA_ARGS__                                        \
  }
#define FT_INT_KEY(type, member, key, usually, least, most, ...)                                   \
  FT_KEY_ROW(FT_KEY_INT, type, member, key, .fallback = usually, .low = least, .high = most,       \
             .help = __VA_ARGS__)
#define FT_FLOAT_KEY(type, member, key, usually, least, most, ...)                                 \
  FT_KEY_ROW(FT_KEY_FLOAT, type, member, key, .fallback = usually, .low = least, .high = most,     \
             .help = __VA_ARGS__)
#define FT_BOOL_KEY(type, member, key, usually, ...)                                               \
  FT_KEY_ROW(FT_KEY_BOOL, type, member, key, .fallback = usually, .help = __VA_ARGS__)
#define FT_ENUM_KEY(type, member, key, usually, all, ...)                                          \
  FT_KEY_ROW(FT_KEY_ENUM, type, member, key, .fallback = usually, .names = all, .help = __VA_ARGS__)
/** The default is "". */
#define FT_STRING_KEY(type, member, key, ...)                                                      \
  FT_KEY_ROW(FT_KEY_STRING, type, member, key, .help = __VA_ARGS__)
#define FT_LIST_KEY(type, member, key, ...)                                                        \
  FT_KEY_ROW(FT_KEY_LIST, type, member, key, .help = __VA_ARGS__)
#define FT_FLOATS_KEY(type, member, key, usually, least, most, ...)                                \
  FT_KEY_ROW(FT_KEY_FLOATS, type, member, key, .list = usually, .low = least, .high = most,        \
             .help = __VA_ARGS__)
#define FT_OTHER_KEY(key, ...)                                                                     \
  { .name = key, .type = FT_KEY_OTHER, .help = __VA_ARGS__ }

/** Reads the struct from an object: given keys are checked, absent ones get their defaults. A key
 * without a row is an error that suggests the nearest. */
filtra_status ft_keys_read(const json_t *object, const ft_keys *keys, void *out,
                           const char *context);
/** A new object with every key but FT_KEY_OTHER; NULL when out of memory (message set). */
json_t *ft_keys_write(const ft_keys *keys, const void *from);
/** Completes a struct that a program filled in: a number or enum of 0 becomes the default. Fails
 * with ARGUMENT and the messages of ft_keys_read for a value that the key does not accept. */
filtra_status ft_keys_complete(const ft_keys *keys, void *options, const char *context);

/** Whether the struct's field has the key's default. */
bool ft_key_is_default(const ft_key *key, const void *options);

enum { FT_KEY_TEXT = 256 };
/** What the key accepts, in words: "whole number, 1 to 256". */
void ft_key_accepted(const ft_key *key, char text[FT_KEY_TEXT]);
/** The key's default as JSON, or in words; "" for an empty string. */
void ft_key_default(const ft_key *key, char text[FT_KEY_TEXT]);

#endif
