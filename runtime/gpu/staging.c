/* Copies between host memory and buffers, at most 16 MiB at a time, and waits. Called by graph/ and
 * train/ for setup and checkpoints. */
#include "gpu/internal.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BYTES = 64 << 10, PIECE_BYTES = 16 << 20 };

typedef struct ft_staging {
  ft_command_pool pool;
  ft_commands commands;
  uint64_t ticket;    /* of the last submission */
  ft_buffer up, down; /* created on first use */
} ft_staging;

/* Waits until commands and buffers are unused, even if the last wait failed. */
static filtra_status prepare(filtra_device *dev) {
  if (dev->staging) return ft_wait(dev, dev->staging->ticket);
  dev->staging = ft_calloc(1, sizeof *dev->staging);
  if (!dev->staging) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_commands_new(dev, &dev->staging->pool, 1, &dev->staging->commands);
  if (status) ft_staging_destroy(dev);
  return status;
}

void ft_staging_destroy(filtra_device *dev) {
  ft_staging *staging = dev->staging;
  if (!staging) return;
  ft_buffer_destroy(dev, &staging->up);
  ft_buffer_destroy(dev, &staging->down);
  ft_command_pool_destroy(dev, staging->pool);
  free(staging);
  dev->staging = NULL;
}

/* Resets the commands first: a failed copy may have left them half recorded. */
static filtra_status begin(filtra_device *dev) {
  FT_TRY(FT_VK(dev, dev->vk.vkResetCommandPool(dev->device, dev->staging->pool, 0)));
  return ft_commands_begin(dev, dev->staging->commands);
}

/* Submits and waits, with a barrier so that the host can read. If waiting fails it waits for an
 * idle device, since callers then free the buffers. */
static filtra_status run(filtra_device *dev) {
  ft_staging *staging = dev->staging;
  ft_commands_barrier(dev, staging->commands, FT_STAGE_ALL, FT_STAGE_HOST);
  FT_TRY(ft_commands_end(dev, staging->commands));
  FT_TRY(ft_submit(dev, &staging->commands, 1, &staging->ticket));
  filtra_status status = ft_wait(dev, staging->ticket);
  if (status) ft_wait_whatever(dev);
  return status;
}

static filtra_status check_range(const ft_buffer *buffer, uint64_t offset, uint64_t size,
                                 const char *what) {
  if (offset <= buffer->size && size <= buffer->size - offset) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s of %" PRIu64 " bytes at %" PRIu64 " leaves the buffer's %" PRIu64 " bytes",
                 what, size, offset, buffer->size);
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Grows the staging buffer, at most once: from 64 KiB for small copies to 16 MiB, or half of the
 * device's largest allocation if that is less. */
static filtra_status make_room(filtra_device *dev, ft_buffer *buffer, ft_memory_kind kind,
                               uint64_t size) {
  uint64_t wanted = least(PIECE_BYTES, dev->caps.info.max_allocation_bytes / 2);
  if (size <= SMALL_BYTES) wanted = SMALL_BYTES;
  if (buffer->size >= wanted) return FILTRA_OK;
  ft_buffer_destroy(dev, buffer);
  return ft_buffer_create(dev, wanted, kind, buffer);
}

static filtra_status copy_bytes(filtra_device *dev, const ft_buffer *from, uint64_t from_offset,
                                const ft_buffer *to, uint64_t to_offset, uint64_t size) {
  FT_TRY(begin(dev));
  ft_commands_copy(dev, dev->staging->commands, from, from_offset, to, to_offset, size);
  return run(dev);
}

filtra_status ft_upload(filtra_device *dev, const ft_buffer *to, uint64_t offset, const void *data,
                        uint64_t size) {
  FT_TRY(check_range(to, offset, size, "upload"));
  if (size == 0 || dev->compiler) return FILTRA_OK;
  if (to->mapped) { /* the next submission makes it visible */
    FT_TRY(ft_wait_idle(dev));
    memcpy((char *)to->mapped + offset, data, size);
    return ft_buffer_flush(dev, to);
  }
  FT_TRY(prepare(dev));
  ft_buffer *up = &dev->staging->up;
  FT_TRY(make_room(dev, up, FT_MEMORY_UPLOAD, size));
  for (uint64_t done = 0, bytes; done < size; done += bytes) {
    bytes = least(size - done, up->size);
    memcpy(up->mapped, (const char *)data + done, bytes);
    FT_TRY(ft_buffer_flush(dev, up));
    FT_TRY(copy_bytes(dev, up, 0, to, offset + done, bytes));
  }
  return FILTRA_OK;
}

filtra_status ft_download(filtra_device *dev, const ft_buffer *from, uint64_t offset, void *data,
                          uint64_t size) {
  FT_TRY(check_range(from, offset, size, "download"));
  if (size == 0) return FILTRA_OK;
  if (dev->compiler) return ft_fail(FILTRA_ERROR_UNSUPPORTED, "this device only compiles");
  FT_TRY(prepare(dev));
  /* Uncached mapped memory is read slower than it is copied first. */
  if (from->mapped && from->cached) {
    FT_TRY(begin(dev));
    FT_TRY(run(dev));
    FT_TRY(ft_buffer_invalidate(dev, from));
    memcpy(data, (const char *)from->mapped + offset, size);
    return FILTRA_OK;
  }
  ft_buffer *down = &dev->staging->down;
  FT_TRY(make_room(dev, down, FT_MEMORY_READBACK, size));
  for (uint64_t done = 0, bytes; done < size; done += bytes) {
    bytes = least(size - done, down->size);
    FT_TRY(copy_bytes(dev, from, offset + done, down, 0, bytes));
    FT_TRY(ft_buffer_invalidate(dev, down));
    memcpy((char *)data + done, down->mapped, bytes);
  }
  return FILTRA_OK;
}

filtra_status ft_fill(filtra_device *dev, const ft_buffer *to, uint64_t offset, uint64_t size,
                      uint32_t word) {
  FT_TRY(check_range(to, offset, size, "fill"));
  if (offset % 4 || size % 4) {
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "fill of %" PRIu64 " bytes at %" PRIu64 ": both must be multiples of 4", size,
                   offset);
  }
  if (size == 0 || dev->compiler) return FILTRA_OK;
  FT_TRY(prepare(dev));
  FT_TRY(begin(dev));
  ft_commands_fill(dev, dev->staging->commands, to, offset, size, word);
  return run(dev);
}

filtra_status ft_buffer_zeroed(filtra_device *dev, uint64_t size, ft_buffer *out) {
  FT_TRY(ft_buffer_create(dev, size, FT_MEMORY_DEVICE, out));
  filtra_status status = ft_fill(dev, out, 0, size, 0);
  if (!status) return FILTRA_OK;
  ft_buffer_destroy(dev, out);
  return status;
}
