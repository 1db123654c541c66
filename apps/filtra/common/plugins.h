/* Mixers of one's own in the command: modules that --plugin names. */
#ifndef FILTRA_PLUGINS_H
#define FILTRA_PLUGINS_H

/** Takes each --plugin FILE out of the arguments, and loads these modules and those of the
 * environment variable FILTRA_PLUGINS, a list with ":" between, which then has all of them for the
 * processes that the command starts. Returns COMMAND_DONE, or the exit code of what was printed. */
int command_load_plugins(int *argc, char **argv);

#endif
