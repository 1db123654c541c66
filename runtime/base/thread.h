/* Threads, as much of them as is needed here. What is the system's own stands in this header's
 * three types and in thread_posix.c. */
#ifndef FT_BASE_THREAD_H
#define FT_BASE_THREAD_H

#include <pthread.h>

typedef pthread_t ft_thread;
typedef pthread_mutex_t ft_mutex;
typedef pthread_cond_t ft_condition;
#define FT_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER /* for static ones, which are never freed */

void ft_mutex_make(ft_mutex *mutex);
void ft_mutex_free(ft_mutex *mutex);
void ft_lock(ft_mutex *mutex);
void ft_unlock(ft_mutex *mutex);

void ft_condition_make(ft_condition *condition);
void ft_condition_free(ft_condition *condition);
/** Unlocks while waiting. May return without a signal, so the caller looks again. */
void ft_condition_wait(ft_condition *condition, ft_mutex *mutex);
/** Wakes one who waits. */
void ft_condition_signal(ft_condition *condition);
/** Wakes all who wait. */
void ft_condition_wake_all(ft_condition *condition);

/** Starts up to `most` threads and returns how many the system granted. The program's signals stay
 * with its own threads. */
unsigned ft_threads_start(ft_thread *threads, unsigned most, void *(*run)(void *), void *user);
void ft_threads_join(ft_thread *threads, unsigned count);
/** Frees this when the calling thread ends, in place of what was to be freed before. */
void ft_free_with_thread(void *pointer);

#endif
