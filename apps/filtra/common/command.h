/* What the subcommands of `filtra` share.
 *
 * A subcommand is a file of its own with one function and a line in main.c's table. The function
 * parses its options with getopt_long, writes its result to standard output (with --json one object
 * and nothing else) and returns an exit code. Warnings and errors go to standard error.
 */
#ifndef FILTRA_COMMAND_H
#define FILTRA_COMMAND_H

#include "base/status.h"

#include <filtra/device.h>
#include <getopt.h>
#include <jansson.h>

enum {
  COMMAND_DONE = 0,
  COMMAND_FAILED = 1,
  COMMAND_USAGE = 2, /* wrong usage, input or path */
  COMMAND_NO_DEVICE = 3,
  COMMAND_DEVICE_LOST = 4,
  COMMAND_RANK = 5 /* another process of the run died, hangs or does something else */
};

/** The commit that was built: twelve hexadecimal digits, "-dirty" behind them where files differed;
 * "unknown" outside a checkout (cmake/Commit.cmake). */
extern const char filtra_commit[];

/** The exit code that tells scripts of `status`. */
int command_exit_code(filtra_status status);
/** Prints the error message of a call that came to `status`; returns the exit code. */
int command_fail(const char *name, filtra_status status);
/** Prints a sentence about wrong usage and where help is; returns COMMAND_USAGE. */
int command_misused(const char *name, const char *format, ...) FT_PRINTF(2, 3);
/** What getopt_long's '?' means: it has said what is wrong; adds where help is. */
int command_bad_option(const char *name);
/** Reads an option's value as a whole number from `low` to `high`. False: it is none, said so. */
bool command_number(const char *name, const char *option, const char *text, uint64_t low,
                    uint64_t high, uint64_t *value);
/** The same for a number with decimals. */
bool command_real(const char *name, const char *option, const char *text, double low, double high,
                  float *value);
/** From here on standard output shows control characters as "?" where it is a terminal. */
void command_guard_terminal(void);
/** From here on the first Ctrl-C, SIGTERM or SIGHUP only makes command_interrupted true, so that
 * what is under way can end in order; the second ends the program. What is ignored stays so. */
void command_catch_interrupts(void);
bool command_interrupted(void);
/** Whether memory ever ran out in Jansson: whatever is made of JSON may lack something then, since
 * who adds to a list or an object does not look. */
bool command_json_starved(void);
/** Prints the one object of --json and gives it up; NULL says that making it failed. Returns the
 * exit code. */
int command_print_json(const char *name, json_t *root);
/** The same with all digits, for what is read again: the other is for people, with nine. */
int command_print_exact_json(const char *name, json_t *root);

/* ---- options of every subcommand that opens a device (device_options.c) ---- */

enum {
  OPTION_DEVICE = 256,
  OPTION_CAPS,
  OPTION_CACHE_DIR,
  OPTION_TUNING,
  OPTION_VALIDATION,
  OPTION_FIRST_FREE
};

/** Rows for the table of getopt_long. */
#define DEVICE_OPTIONS                                                                             \
  {"device", required_argument, NULL, OPTION_DEVICE},                                              \
      {"caps", required_argument, NULL, OPTION_CAPS},                                              \
      {"cache-dir", required_argument, NULL, OPTION_CACHE_DIR},                                    \
      {"tuning", required_argument, NULL, OPTION_TUNING}, {                                        \
    "validation", no_argument, NULL, OPTION_VALIDATION                                             \
  }

/** Lines for the subcommand's help. */
extern const char device_options_help[];

/** Takes an option that getopt_long returned; false when it is none of these. */
bool take_device_option(int code, const char *value, filtra_device_options *options);

/** What a device is and can do (devices.c). */
json_t *command_device_json(const filtra_device_info *info);
/** What --caps takes, its profiles, and that of the chosen device (profiles.c); return the exit
 * code. */
int list_cap_keys(bool json);
int list_profiles(const filtra_device_options *options, bool json);
int print_profile(const filtra_device_options *options);

/* ---- subcommands ---- */

int run_data(int argc, char **argv);
int run_data_inspect(int argc, char **argv);
int run_data_listops(int argc, char **argv);
int run_data_pathfinder(int argc, char **argv);
int run_devices(int argc, char **argv);
int run_train(int argc, char **argv);
int run_convert(int argc, char **argv);
int run_presets(int argc, char **argv);
int run_eval(int argc, char **argv);
int run_sweep(int argc, char **argv);
int run_compare(int argc, char **argv);
int run_report(int argc, char **argv);
int run_predict(int argc, char **argv);
int run_generate(int argc, char **argv);
int run_analyze(int argc, char **argv);
int run_check(int argc, char **argv);
int run_kernels(int argc, char **argv);
int run_bench(int argc, char **argv);
int run_tune(int argc, char **argv);

#endif
