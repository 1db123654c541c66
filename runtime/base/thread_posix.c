/* Starting threads on POSIX, where only the program's own threads may take signals. */
#define _GNU_SOURCE
#include "base/thread.h"

#include <signal.h>

unsigned ft_threads_start(ft_thread *threads, unsigned most, void *(*run)(void *), void *user) {
  sigset_t all, before;
  unsigned started = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* new threads inherit the mask */
  while (started < most && pthread_create(&threads[started], NULL, run, user) == 0)
    started++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}
