/* Decodes all images that training would decode on the fly, so that a damaged one cannot end a run
 * in mid-epoch. Called by train/run.c before the first step of a new run. */
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "data/image.h"

#include <stdlib.h>

typedef struct check {
  const filtra_dataset *ds;
  const ft_split *split;
  size_t next, step, looked, bad; /* `next`: index in the split; threads take one at a time */
  size_t first;                   /* lowest index that failed */
  filtra_status status;           /* of `first` */
  char *text;
  ft_mutex mutex;
} check;

static bool take(check *c, size_t *index) {
  ft_lock(&c->mutex);
  const bool more = c->next < c->split->count;
  *index = c->next;
  if (more) {
    c->next += c->step;
    c->looked++;
  }
  ft_unlock(&c->mutex);
  return more;
}

static void keep_failure(check *c, size_t index, filtra_status status) {
  char *text = ft_strdup(filtra_error_message());
  ft_lock(&c->mutex);
  if (!c->bad++ || index < c->first) {
    free(c->text);
    c->text = text;
    c->first = index;
    c->status = text ? status : FILTRA_ERROR_HOST_MEMORY;
    text = NULL;
  }
  ft_unlock(&c->mutex);
  free(text);
}

static void *decode(void *user) {
  check *c = user;
  for (size_t i; take(c, &i);) {
    ft_image image;
    const ft_sample_row *row = &c->split->samples->rows[c->split->rows ? c->split->rows[i] : i];
    filtra_status status = ft_sample_image(c->ds, c->split->samples, row, &image);
    if (status)
      keep_failure(c, i, status);
    else
      free(image.pixels);
  }
  return NULL;
}

filtra_status ft_images_check(const filtra_dataset *ds, filtra_split split, size_t first,
                              size_t step) {
  enum { MOST = 64 };
  ft_thread threads[MOST];
  const ft_split *s = &ds->splits[split];
  if (!s->count || !s->samples->files) return FILTRA_OK;
  check c = {.ds = ds, .split = s, .next = first, .step = step};
  const unsigned more = ft_processors() - 1;
  ft_mutex_make(&c.mutex);
  const unsigned started = ft_threads_start(threads, more < MOST ? more : MOST, decode, &c);
  decode(&c);
  ft_threads_join(threads, started);
  ft_mutex_free(&c.mutex);
  if (c.status && c.bad > 1 && c.text)
    ft_fail(c.status, "%s (%zu of %zu images of the %s split cannot be decoded)", c.text, c.bad,
            c.looked, filtra_split_name(split));
  else if (c.status)
    ft_fail(c.status, "%s", c.text ? c.text : "out of host memory");
  free(c.text);
  return c.status;
}
