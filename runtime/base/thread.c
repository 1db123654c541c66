/* thread.h except the parts that differ between systems (thread_posix.c, thread_win32.c). Uses
 * POSIX threads, which mingw-w64 provides on Windows. Called by everything that has threads. */
#include "base/thread.h"

#include <stdlib.h>

void ft_mutex_make(ft_mutex *mutex) {
  pthread_mutex_init(mutex, NULL);
}

void ft_mutex_free(ft_mutex *mutex) {
  pthread_mutex_destroy(mutex);
}

void ft_lock(ft_mutex *mutex) {
  pthread_mutex_lock(mutex);
}

void ft_unlock(ft_mutex *mutex) {
  pthread_mutex_unlock(mutex);
}

void ft_condition_make(ft_condition *condition) {
  pthread_cond_init(condition, NULL);
}

void ft_condition_free(ft_condition *condition) {
  pthread_cond_destroy(condition);
}

void ft_condition_wait(ft_condition *condition, ft_mutex *mutex) {
  pthread_cond_wait(condition, mutex);
}

void ft_condition_signal(ft_condition *condition) {
  pthread_cond_signal(condition);
}

void ft_condition_wake_all(ft_condition *condition) {
  pthread_cond_broadcast(condition);
}

void ft_threads_join(ft_thread *threads, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    pthread_join(threads[i], NULL);
}

static pthread_key_t freed;

static void make_key(void) {
  pthread_key_create(&freed, free);
}

void ft_free_with_thread(void *pointer) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  pthread_setspecific(freed, pointer);
}
