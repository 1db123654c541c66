/* Queues of applications, to which others submit, too. */
#ifndef FT_GPU_QUEUE_H
#define FT_GPU_QUEUE_H

#include "base/status.h"

struct filtra_vulkan_device;

/** An application's queue and its locks, shared by all devices on it. */
typedef struct ft_queue ft_queue;

/** Fails with ARGUMENT where a device on the same queue has other locks. */
filtra_status ft_queue_share(const struct filtra_vulkan_device *vulkan, ft_queue **out);
/** Sets *queue to NULL. */
void ft_queue_release(ft_queue **queue);

/** Begin and end a submission; do nothing for NULL, a queue of Filtra's own. Fails with ARGUMENT
 * where another thread is submitting, which the locks should have kept out. */
filtra_status ft_queue_enter(ft_queue *queue);
void ft_queue_leave(ft_queue *queue);

#endif
