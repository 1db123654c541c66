/* Threads, mutexes and condition variables. Another operating system needs other versions of this
 * header's three types, of thread.c and of ft_threads_start. */
#ifndef FT_BASE_THREAD_H
#define FT_BASE_THREAD_H

#include <pthread.h>

typedef pthread_t ft_thread;
typedef pthread_mutex_t ft_mutex;
typedef pthread_cond_t ft_condition;
#define FT_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER /* for static mutexes, which are never freed */

void ft_mutex_make(ft_mutex *mutex);
void ft_mutex_free(ft_mutex *mutex);
void ft_lock(ft_mutex *mutex);
void ft_unlock(ft_mutex *mutex);

void ft_condition_make(ft_condition *condition);
void ft_condition_free(ft_condition *condition);
/** Unlocks the mutex while waiting. May return without a signal: check the condition again. */
void ft_condition_wait(ft_condition *condition, ft_mutex *mutex);
/** Wakes one waiting thread. */
void ft_condition_signal(ft_condition *condition);
/** Wakes all waiting threads. */
void ft_condition_wake_all(ft_condition *condition);

/** Starts up to `most` threads; returns how many started. They block all signals, so that the
 * program's own threads get them. */
unsigned ft_threads_start(ft_thread *threads, unsigned most, void *(*run)(void *), void *user);
void ft_threads_join(ft_thread *threads, unsigned count);
/** Registers a pointer to be freed when the calling thread ends; replaces the one registered
 * earlier. */
void ft_free_with_thread(void *pointer);

#endif
