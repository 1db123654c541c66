/* Locks around submissions to an application's queue. Called by adopt.c and submit.c. */
#include "gpu/queue.h"

#include "base/memory.h"
#include "base/thread.h"

#include <filtra/vulkan.h>
#include <stdatomic.h>
#include <stdlib.h>

struct ft_queue {
  VkQueue handle;
  void (*lock)(void *user);
  void (*unlock)(void *user);
  void *user;
  unsigned users; /* devices on this queue */
  atomic_bool busy;
  ft_queue *next;
};

static ft_mutex list_lock = FT_MUTEX_INIT;
static ft_queue *list;

static ft_queue *find(VkQueue handle) {
  ft_queue *q = list;
  while (q && q->handle != handle)
    q = q->next;
  return q;
}

static filtra_status add(const filtra_vulkan_device *vulkan, ft_queue **out) {
  ft_queue *q = ft_calloc(1, sizeof *q);
  if (!q) return FILTRA_ERROR_HOST_MEMORY;
  q->handle = vulkan->queue;
  q->lock = vulkan->lock;
  q->unlock = vulkan->unlock;
  q->user = vulkan->user;
  atomic_init(&q->busy, false);
  q->next = list;
  *out = list = q;
  return FILTRA_OK;
}

filtra_status ft_queue_share(const filtra_vulkan_device *vulkan, ft_queue **out) {
  filtra_status status = FILTRA_OK;
  ft_lock(&list_lock);
  ft_queue *q = find(vulkan->queue);
  if (!q)
    status = add(vulkan, &q);
  else if (q->lock != vulkan->lock || q->unlock != vulkan->unlock || q->user != vulkan->user)
    status = ft_fail(FILTRA_ERROR_ARGUMENT,
                     "a filtra_device on the same VkQueue has other locks (lock, unlock, user); "
                     "all on a queue take the same");
  if (!status) {
    q->users++;
    *out = q;
  }
  ft_unlock(&list_lock);
  return status;
}

void ft_queue_release(ft_queue **queue) {
  ft_queue *q = *queue;
  *queue = NULL;
  if (!q) return;
  ft_lock(&list_lock);
  if (--q->users == 0) {
    ft_queue **at = &list;
    while (*at != q)
      at = &(*at)->next;
    *at = q->next;
    free(q);
  }
  ft_unlock(&list_lock);
}

filtra_status ft_queue_enter(ft_queue *queue) {
  if (!queue) return FILTRA_OK;
  if (queue->lock) queue->lock(queue->user);
  if (!atomic_exchange(&queue->busy, true)) return FILTRA_OK;
  if (queue->unlock) queue->unlock(queue->user);
  return ft_fail(FILTRA_ERROR_ARGUMENT, "two threads submit to one VkQueue at once: %s",
                 queue->lock ? "the application's lock lets both in"
                             : "give lock and unlock, or use the queue from one thread");
}

void ft_queue_leave(ft_queue *queue) {
  if (!queue) return;
  atomic_store(&queue->busy, false);
  if (queue->unlock) queue->unlock(queue->user);
}
