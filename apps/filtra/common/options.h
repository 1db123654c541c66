/* The command line of a subcommand as a table: what options there are, and where in the
 * subcommand's arguments their values go. */
#ifndef FILTRA_OPTIONS_H
#define FILTRA_OPTIONS_H

#include "common/command.h"

#include <filtra/model.h>
#include <stddef.h>

/** What --help says of --precision. */
extern const char precision_option_help[];

typedef enum command_option_kind {
  OPTION_FLAG,      /* no value; a bool becomes true */
  OPTION_TEXT,      /* const char * */
  OPTION_NUMBER,    /* uint64_t or int64_t from `low` to `high` */
  OPTION_REAL,      /* float from `least` to `most` */
  OPTION_PRECISION, /* const filtra_precision *; stays NULL where it is not given */
  OPTION_KEY        /* handed to `take` */
} command_option_kind;

typedef struct command_option {
  const char *name; /* behind the two dashes */
  size_t offset;    /* in the arguments */
  uint64_t low, high;
  double least, most;
  void (*take)(void *arguments, const char *name, const char *value);
  command_option_kind kind;
  char letter; /* short for the name; 0: none */
} command_option;

/** Rows of the table: the option's name, the arguments' type, and the member. */
#define COMMAND_FLAG(name, type, member)                                                           \
  { name, offsetof(type, member), 0, 0, 0, 0, NULL, OPTION_FLAG, 0 }
#define COMMAND_TEXT(name, type, member)                                                           \
  { name, offsetof(type, member), 0, 0, 0, 0, NULL, OPTION_TEXT, 0 }
/** --out, or -o */
#define COMMAND_OUT(type, member)                                                                  \
  { "out", offsetof(type, member), 0, 0, 0, 0, NULL, OPTION_TEXT, 'o' }
#define COMMAND_NUMBER(name, type, member, low, high)                                              \
  { name, offsetof(type, member), low, high, 0, 0, NULL, OPTION_NUMBER, 0 }
#define COMMAND_REAL(name, type, member, least, most)                                              \
  { name, offsetof(type, member), 0, 0, least, most, NULL, OPTION_REAL, 0 }
/** --precision */
#define COMMAND_PRECISION(type, member)                                                            \
  { "precision", offsetof(type, member), 0, 0, 0, 0, NULL, OPTION_PRECISION, 0 }
#define COMMAND_KEY(name, take)                                                                    \
  { name, 0, 0, 0, 0, 0, take, OPTION_KEY, 0 }

typedef struct command_line {
  const command_option *options;
  size_t count;
  void (*print_help)(void);
  int (*print_topic)(const char *topic); /* of --help TOPIC; NULL: there are none */
  bool opens_device; /* the arguments begin with filtra_device_options, and its options are taken */
  bool words;        /* what is no option is left from argv[optind] on, not refused */
  size_t run; /* where a run folder goes that is given without --run; one is needed. 0: none is */
} command_line;

/** Takes the options, and --help. Returns -1, or where the command ends here its exit code. */
int command_take(int argc, char **argv, const command_line *line, void *arguments);

/** Of options that take a list: whether it is "all" or has `name` in it; NULL has nothing. */
bool command_listed(const char *list, const char *name);
/** Whether every name of a list exists; *unknown is one that does not. */
enum { COMMAND_LISTED = 64 };
bool command_all_known(const char *list, bool (*exists)(const char *name),
                       char unknown[COMMAND_LISTED]);

#endif
