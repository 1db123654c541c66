/* Queues of applications, to which other code submits as well. */
#ifndef FT_GPU_QUEUE_H
#define FT_GPU_QUEUE_H

#include "base/status.h"

struct filtra_vulkan_device;

/** An application's queue and its locks, shared by all devices on it. */
typedef struct ft_queue ft_queue;

/** Finds or adds the queue. Fails with ARGUMENT if a device on the same queue has other locks. */
filtra_status ft_queue_share(const struct filtra_vulkan_device *vulkan, ft_queue **out);
/** Sets *queue to NULL. */
void ft_queue_release(ft_queue **queue);

/** Begin and end a submission; do nothing for NULL, a queue of Filtra's own. Fails with ARGUMENT if
 * another thread is submitting, which the locks should have prevented. */
filtra_status ft_queue_enter(ft_queue *queue);
void ft_queue_leave(ft_queue *queue);

#endif
