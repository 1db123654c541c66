/* Filtra's mixers and those that applications register. Entries are written under a lock before the
 * count includes them, and never change, so reading takes no lock. Called for configurations
 * (nn/mixer.c), lists and applications. */
#include "nn/mixer.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/thread.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(name) &ft_mixer_##name,
static const ft_mixer_class *const own[] = {FT_OWN_MIXERS(ENTRY)};
#undef ENTRY

enum { MOST_MIXERS = 64, MOST_REGISTERED = MOST_MIXERS - FT_COUNT(own), LONGEST_NAME = 31 };

static const ft_mixer_class *registered[MOST_REGISTERED];
static atomic_size_t registered_count;
static ft_mutex registering = FT_MUTEX_INIT;

/* ---- enumeration ---- */

size_t filtra_mixer_count(void) {
  return FT_COUNT(own) + atomic_load(&registered_count);
}

const ft_mixer_class *ft_mixer_at(size_t i) {
  if (i >= filtra_mixer_count()) return NULL;
  return i < FT_COUNT(own) ? own[i] : registered[i - FT_COUNT(own)];
}

const ft_mixer_class *ft_mixer_find(const char *name) {
  for (size_t i = 0; i < filtra_mixer_count(); i++)
    if (!strcmp(ft_mixer_at(i)->name, name)) return ft_mixer_at(i);
  return NULL;
}

const char *filtra_mixer_name(size_t i) {
  const ft_mixer_class *kind = ft_mixer_at(i);
  return kind ? kind->name : NULL;
}

const char *filtra_mixer_description(size_t i) {
  const ft_mixer_class *kind = ft_mixer_at(i);
  return kind ? kind->description : NULL;
}

/* ---- checks ---- */

static bool letter(char c) {
  return c >= 'a' && c <= 'z';
}

static bool proper_name(const char *name) {
  size_t length = strlen(name);
  if (!length || length > LONGEST_NAME || !letter(name[0])) return false;
  for (size_t i = 0; i < length; i++)
    if (!letter(name[i]) && !(name[i] >= '0' && name[i] <= '9') && name[i] != '_') return false;
  return true;
}

/* Size and alignment of an option's field; 0: no such type. */
static size_t field_size(filtra_option_type type) {
  switch (type) {
  case FILTRA_OPTION_INT:
    return sizeof(int64_t);
  case FILTRA_OPTION_FLOAT:
    return sizeof(float);
  case FILTRA_OPTION_BOOL:
    return sizeof(bool);
  case FILTRA_OPTION_ENUM:
    return sizeof(int);
  }
  return 0;
}

/* Whether the text means something other than text as a value of JSON, or of --set. */
static bool reads_as_json(const char *text) {
  json_error_t error;
  bool starved;
  json_auto_t *value = ft_json_decode(text, strlen(text), JSON_DECODE_ANY, &error, &starved);
  return value && !json_is_string(value);
}

/* Fails unless the values of an ENUM are distinct and can be written. */
static filtra_status check_names(const filtra_mixer *m, const filtra_mixer_option *o) {
  if (!o->names || !o->names[0])
    return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": option \"%s\": names has no value",
                   m->name, o->name);
  for (size_t i = 0; o->names[i]; i++) {
    if (!*o->names[i] || reads_as_json(o->names[i]))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "mixer \"%s\": option \"%s\": names[%zu] is \"%s\", which is no word", m->name,
                     o->name, i, o->names[i]);
    for (size_t k = 0; k < i; k++)
      if (!strcmp(o->names[k], o->names[i]))
        return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": option \"%s\": names has \"%s\" twice",
                       m->name, o->name, o->names[i]);
  }
  return FILTRA_OK;
}

/* Fails unless the range of an INT or a FLOAT is one that its field can hold. */
static filtra_status check_range(const filtra_mixer *m, const filtra_mixer_option *o) {
  const bool whole = o->type == FILTRA_OPTION_INT;
  const double most = whole ? 9223372036854774784.0 : (double)FLT_MAX; /* next to 2^63 */
  if (o->low >= -most && o->high <= most && o->low <= o->high) return FILTRA_OK;
  if (o->low > o->high)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": option \"%s\": low is %g, high %g",
                   m->name, o->name, o->low, o->high);
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "mixer \"%s\": option \"%s\" accepts %g to %g, more than %s holds; bounds "
                 "are at most %.19g",
                 m->name, o->name, o->low, o->high, whole ? "an int64_t" : "a float", most);
}

static bool in_range(const filtra_mixer_option *o) {
  double count = 0;
  if (o->type == FILTRA_OPTION_BOOL) return o->fallback == 0 || o->fallback == 1;
  if (o->type == FILTRA_OPTION_INT && o->fallback != floor(o->fallback)) return false;
  if (o->type != FILTRA_OPTION_ENUM) return o->low <= o->fallback && o->fallback <= o->high;
  for (const char *const *name = o->names; *name; name++)
    count++;
  return o->fallback >= 0 && o->fallback < count;
}

static filtra_status check_option(const filtra_mixer *m, size_t i) {
  const filtra_mixer_option *o = &m->options[i];
  if (!o->name || !proper_name(o->name) || !strcmp(o->name, "name"))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "mixer \"%s\": option %zu needs a name of 1 to %d lower-case letters, digits "
                   "and underscores, a letter first, other than name",
                   m->name, i, LONGEST_NAME);
  const size_t size = field_size(o->type);
  for (size_t k = 0; k < i; k++) {
    if (!strcmp(m->options[k].name, o->name))
      return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": two options are called \"%s\"", m->name,
                     o->name);
  }
  if (!size || o->offset % size || o->offset > m->options_size ||
      size > m->options_size - o->offset)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "mixer \"%s\": option \"%s\" must be INT, FLOAT, BOOL or ENUM and lie, aligned, "
                   "within the %zu bytes of options_size",
                   m->name, o->name, m->options_size);
  if (o->type == FILTRA_OPTION_ENUM) FT_TRY(check_names(m, o));
  if (o->type == FILTRA_OPTION_INT || o->type == FILTRA_OPTION_FLOAT) FT_TRY(check_range(m, o));
  if (!in_range(o))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "mixer \"%s\": the fallback %g of option \"%s\" is not among what it accepts",
                   m->name, o->fallback, o->name);
  for (size_t k = 0; k < i; k++) {
    const filtra_mixer_option *other = &m->options[k];
    if (o->offset < other->offset + field_size(other->type) && other->offset < o->offset + size)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "mixer \"%s\": options \"%s\" and \"%s\" share a field, at offset %zu",
                     m->name, other->name, o->name, o->offset);
  }
  return ft_check_reserved("filtra_mixer_option", o->reserved, FT_COUNT(o->reserved));
}

static filtra_status check(const filtra_mixer *m) {
  if (!proper_name(m->name))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "mixer \"%.40s\": a name is 1 to %d lower-case letters, digits and underscores, "
                   "a letter first",
                   m->name, LONGEST_NAME);
  if (!m->build) return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": build is NULL", m->name);
  if (m->options_size > FT_MIXER_OPTIONS)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "mixer \"%s\": %zu bytes of options, accepted are at most %d", m->name,
                   m->options_size, FT_MIXER_OPTIONS);
  if (m->option_count && !m->options)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": options is NULL, option_count %zu",
                   m->name, m->option_count);
  if (m->description && strpbrk(m->description, "\r\n"))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": description has more than one line",
                   m->name);
  if (m->option_count >= FT_MIXER_KEYS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": %zu options, accepted are 0 to %d",
                   m->name, m->option_count, FT_MIXER_KEYS - 1);
  for (size_t i = 0; i < m->option_count; i++)
    FT_TRY(check_option(m, i));
  return ft_check_reserved("filtra_mixer", m->reserved, FT_COUNT(m->reserved));
}

/* ---- registration ---- */

static ft_key field_of(const filtra_mixer_option *o) {
  static const ft_key_type TYPES[] = {[FILTRA_OPTION_INT] = FT_KEY_INT,
                                      [FILTRA_OPTION_FLOAT] = FT_KEY_FLOAT,
                                      [FILTRA_OPTION_BOOL] = FT_KEY_BOOL,
                                      [FILTRA_OPTION_ENUM] = FT_KEY_ENUM};
  return (ft_key){.name = o->name,
                  .type = TYPES[o->type],
                  .offset = o->offset,
                  .size = field_size(o->type),
                  .fallback = o->fallback,
                  .low = o->low,
                  .high = o->high,
                  .names = o->names,
                  .help = o->help};
}

/* Allocates the mixer and its keys as one block. */
static ft_mixer_class *class_of(const filtra_mixer *m) {
  ft_mixer_class *kind = ft_calloc(1, sizeof *kind + m->option_count * sizeof(ft_key));
  if (!kind) return NULL;
  ft_key *keys = (ft_key *)(kind + 1);
  for (size_t i = 0; i < m->option_count; i++)
    keys[i] = field_of(&m->options[i]);
  *kind = (ft_mixer_class){.name = m->name,
                           .description = m->description,
                           .options_size = m->options_size,
                           .keys = {keys, m->option_count},
                           .takes_bias = m->takes_bias,
                           .not_causal = m->not_causal,
                           .not_decoded = m->not_decoded,
                           .context = m->context,
                           .build = m->build};
  return kind;
}

static filtra_status add_mixer(ft_mixer_class *kind) {
  size_t count = atomic_load(&registered_count);
  if (ft_mixer_find(kind->name))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "there is a mixer \"%s\" already", kind->name);
  if (count == MOST_REGISTERED)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "mixer \"%s\": there are %d already, as many as can be",
                   kind->name, MOST_MIXERS);
  registered[count] = kind;
  atomic_store(&registered_count, count + 1);
  return FILTRA_OK;
}

filtra_status filtra_mixer_register(const filtra_mixer *mixer) {
  FT_NEED(mixer);
  FT_NEED(mixer->name);
  FT_TRY(check(mixer));
  ft_mixer_class *kind = class_of(mixer);
  if (!kind) return FILTRA_ERROR_HOST_MEMORY;
  ft_lock(&registering);
  filtra_status status = add_mixer(kind);
  ft_unlock(&registering);
  if (status) free(kind);
  return status;
}
