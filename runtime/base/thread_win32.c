/* Starting threads on Windows, which has no signals to block. */
#include "base/thread.h"

unsigned ft_threads_start(ft_thread *threads, unsigned most, void *(*run)(void *), void *user) {
  unsigned started = 0;
  while (started < most && pthread_create(&threads[started], NULL, run, user) == 0)
    started++;
  return started;
}
