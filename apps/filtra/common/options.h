/* The command line of a subcommand as a table: its options, and the members of the subcommand's
 * arguments that take their values. */
#ifndef FILTRA_OPTIONS_H
#define FILTRA_OPTIONS_H

#include "common/command.h"

#include <filtra/model.h>
#include <stddef.h>

/** Help text of --precision. */
extern const char precision_option_help[];

typedef enum command_option_kind {
  OPTION_FLAG,      /* no value; sets a bool */
  OPTION_TEXT,      /* const char * */
  OPTION_NUMBER,    /* uint64_t or int64_t from `low` to `high` */
  OPTION_REAL,      /* float from `least` to `most` */
  OPTION_PRECISION, /* const filtra_precision *; NULL if not given */
  OPTION_KEY,       /* passed to `take` */
  OPTION_SET        /* KEY=VALUE, equivalent to --KEY VALUE, as `filtra train` takes keys */
} command_option_kind;

typedef struct command_option {
  const char *name; /* after the two dashes */
  size_t offset;    /* in the struct of arguments */
  uint64_t low, high;
  double least, most;
  void (*take)(void *arguments, const char *name, const char *value);
  command_option_kind kind;
  char letter; /* short form; 0: none */
} command_option;

/** Rows of the table: name of the option, type of the arguments, member. */
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

#define COMMAND_SET                                                                                \
  { "set", 0, 0, 0, 0, 0, NULL, OPTION_SET, 0 }

typedef struct command_line {
  const command_option *options;
  size_t count;
  void (*print_help)(void);
  int (*print_topic)(const char *topic); /* for --help TOPIC; NULL: no topics */
  bool opens_device; /* takes device options; the arguments begin with filtra_device_options */
  bool words;        /* accepts further words, from argv[optind] on */
  size_t run; /* offset of the required run folder, given with --run or as first word; 0: no run */
} command_line;

/** Parses all options. Returns -1, or the exit code if the command ends here, such as after
 * --help. */
int command_take(int argc, char **argv, const command_line *line, void *arguments);

/** Whether a comma-separated list of an option is "all" or contains `name`; false for NULL. */
bool command_listed(const char *list, const char *name);
/** Whether all names of a list exist; else *unknown is one that does not exist. */
enum { COMMAND_LISTED = 64 };
bool command_all_known(const char *list, bool (*exists)(const char *name),
                       char unknown[COMMAND_LISTED]);

#endif
