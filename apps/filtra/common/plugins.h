/* Loading a user's own mixers: modules that --plugin names. */
#ifndef FILTRA_PLUGINS_H
#define FILTRA_PLUGINS_H

/** Removes each --plugin FILE from the arguments and loads these modules, and those of the
 * environment variable FILTRA_PLUGINS, a list separated by ":". Stores all of them in the variable
 * for child processes. Returns COMMAND_DONE, or the exit code after printing an error. */
int command_load_plugins(int *argc, char **argv);

#endif
