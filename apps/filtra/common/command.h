/* Declarations shared by the subcommands of `filtra`.
 *
 * A subcommand is a file with one function, and a line in main.c's table. The function parses its
 * options, writes its result to standard output (with --json, one object and nothing else), and
 * returns an exit code. Warnings and errors go to standard error. */
#ifndef FILTRA_COMMAND_H
#define FILTRA_COMMAND_H

#include "base/status.h"

#include <filtra/device.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>

enum {
  COMMAND_DONE = 0,
  COMMAND_FAILED = 1,
  COMMAND_USAGE = 2, /* wrong usage, input or path */
  COMMAND_NO_DEVICE = 3,
  COMMAND_DEVICE_LOST = 4,
  COMMAND_RANK = 5 /* another process of the run ended, hangs or differs */
};

/** The commit of the build: twelve hexadecimal digits, then "-dirty" if files differed; "unknown"
 * outside a checkout (cmake/Commit.cmake). */
extern const char filtra_commit[];

/** Exit code for a status. */
int command_exit_code(filtra_status status);
/** Prints the error message of a failed call; returns the exit code for `status`. */
int command_fail(const char *name, filtra_status status);
/** Prints a message about wrong usage and a hint at --help; returns COMMAND_USAGE. */
int command_misused(const char *name, const char *format, ...) FT_PRINTF(2, 3);
/** For getopt_long's '?', after it printed the error: prints a hint at --help; returns
 * COMMAND_USAGE. */
int command_bad_option(const char *name);
/** Reads an option's value as a whole number from `low` to `high`; otherwise prints an error and
 * returns false. */
bool command_number(const char *name, const char *option, const char *text, uint64_t low,
                    uint64_t high, uint64_t *value);
/** As command_number, for a number with decimals. */
bool command_real(const char *name, const char *option, const char *text, double low, double high,
                  float *value);
/** From now on replaces control characters in results by "?" if they go to a terminal. */
void command_guard_terminal(void);
/** Reserves standard output for results, such as the object of --json: from now on whatever others
 * print there, such as layers of a Vulkan driver, goes to standard error. */
void command_set_results_apart(void);
/** The stream for results: standard output, as modified by the two functions above. No part of the
 * command calls printf. */
FILE *command_results(void);
/** As printf, to command_results. */
int command_print(const char *format, ...) FT_PRINTF(1, 2);
/** Prints to standard error, with "?" for control characters except tab and line feed: for names of
 * files and folders. Messages of failed calls contain none. */
void command_say(const char *format, ...) FT_PRINTF(1, 2);
/** Prints a name to standard output so that it stays one field of one line: a tab as \t, a line end
 * as \n, a backslash as \\, other control characters as \x1b. `width`: cuts or pads the field to
 * that many characters; 0: no change. */
void command_print_field(const char *name, int width);
/** Whether standard error is a terminal that can clear a line ("\r\033[K"). */
bool command_rewrites_line(void);
/** From now on the first Ctrl-C, SIGTERM or SIGHUP only sets command_interrupted, so that work can
 * end in order; the second ends the program. Signals that are ignored stay ignored. */
void command_catch_interrupts(void);
bool command_interrupted(void);
/** Whether Jansson ever ran out of memory. Then any JSON may be incomplete, since the calls that
 * add to lists and objects are not checked. */
bool command_json_starved(void);
/** Prints the object of --json and releases it; NULL means that building it failed. Returns the
 * exit code. */
int command_print_json(const char *name, json_t *root);
/** As command_print_json, with all digits, for data that are read again; command_print_json prints
 * nine. */
int command_print_exact_json(const char *name, json_t *root);
/** Fails with ARGUMENT if there is a file at `path`, neither empty nor special, that begins with
 * none of the `count` texts that files of this command begin with. `option` gave the path; NULL: no
 * file is written. */
filtra_status command_check_replaced(const char *option, const char *path, const char *const *heads,
                                     size_t count);

/* ---- options of every subcommand that opens a device (device_options.c) ---- */

enum {
  OPTION_DEVICE = 256,
  OPTION_CAPS,
  OPTION_CACHE_DIR,
  OPTION_TUNING,
  OPTION_VALIDATION,
  OPTION_DRIVER_THREADS,
  OPTION_FIRST_FREE
};

/** Rows of getopt_long's table. */
#define DEVICE_OPTIONS                                                                             \
  {"device", required_argument, NULL, OPTION_DEVICE},                                              \
      {"caps", required_argument, NULL, OPTION_CAPS},                                              \
      {"cache-dir", required_argument, NULL, OPTION_CACHE_DIR},                                    \
      {"tuning", required_argument, NULL, OPTION_TUNING},                                          \
      {"driver-threads", required_argument, NULL, OPTION_DRIVER_THREADS}, {                        \
    "validation", no_argument, NULL, OPTION_VALIDATION                                             \
  }

/** Lines for these options in a subcommand's help. */
extern const char device_options_help[];

/** Takes an option for a code that getopt_long returned. False after an error, which it prints. */
bool take_device_option(const char *command, int code, const char *value,
                        filtra_device_options *options);

/** Whether it is Mesa's CPU driver, lavapipe. */
bool device_is_lavapipe(const filtra_device_info *info);

/** Describes a device and its capabilities as JSON (devices.c). */
json_t *command_device_json(const filtra_device_info *info);
/** Print the keys of --caps, the profiles, and the chosen device's profile (profiles.c); return the
 * exit code. */
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
int run_export(int argc, char **argv);
int run_import(int argc, char **argv);
int run_presets(int argc, char **argv);
int run_eval(int argc, char **argv);
int run_sweep(int argc, char **argv);
int run_compare(int argc, char **argv);
int run_report(int argc, char **argv);
int run_metrics(int argc, char **argv);
int run_predict(int argc, char **argv);
int run_tokens(int argc, char **argv);
int run_generate(int argc, char **argv);
int run_analyze(int argc, char **argv);
int run_check(int argc, char **argv);
int run_kernels(int argc, char **argv);
int run_bench(int argc, char **argv);
int run_tune(int argc, char **argv);

#endif
