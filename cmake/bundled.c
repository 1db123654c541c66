/* For libfiltra with static libraries in it (FILTRA_BUNDLED). Debian compiles these for programs,
 * which may have a copy of a shared library's variable, as a shared library may not: so the linker
 * (--wrap) takes these two for C's, which libpng and Jansson name. */
#include <stdio.h>

extern FILE *__real_stdin, *__real_stderr;
FILE *__wrap_stdin, *__wrap_stderr;

__attribute__((constructor)) static void take_streams(void) {
  __wrap_stdin = __real_stdin;
  __wrap_stderr = __real_stderr;
}
