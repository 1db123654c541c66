/* Identity of a run: a hash of settings and data, and the comparison when a run is resumed, and
 * between ranks. Called by train/run.c. */
#include "train/identity.h"

#include "base/memory.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that may change between start and resumption. `data` (a path), `log_every` and
 * `checkpoint_every` change no result. `shares`, like the number of ranks, changes only rounding.
 */
static const char *const FREE_KEYS[] = {"data", "log_every", "checkpoint_every", "shares"};

/* NULL when out of memory. */
static char *text_of(const json_t *value) {
  return ft_json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
}

filtra_status ft_run_identify(const ft_run_config *config, const filtra_dataset *data,
                              ft_run_identity *out) {
  uint64_t fingerprint = ft_dataset_fingerprint(data);
  *out = (ft_run_identity){.settings = ft_run_config_write(config)};
  for (size_t i = 0; i < FT_COUNT(FREE_KEYS); i++)
    json_object_del(out->settings, FREE_KEYS[i]);
  char *text = out->settings ? text_of(out->settings) : NULL;
  if (!text) {
    ft_run_identity_free(out);
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  snprintf(out->data, sizeof out->data, "%016llx", (unsigned long long)fingerprint);
  snprintf(out->id, sizeof out->id, "%016llx",
           (unsigned long long)ft_hash_bytes(fingerprint, text, strlen(text)));
  free(text);
  return FILTRA_OK;
}

void ft_run_identity_free(ft_run_identity *identity) {
  json_decref(identity->settings);
  *identity = (ft_run_identity){0};
}

json_t *ft_run_identity_write(const ft_run_identity *identity) {
  return json_pack("{si ss ss}", "format", FT_RUN_FORMAT, "id", identity->id, "data",
                   identity->data);
}

/* ---- reading ---- */

static filtra_status parse(const char *path, const char *text, json_t **out) {
  int format;
  const char *id, *data;
  filtra_status status = text ? ft_json_parse(text, strlen(text), path, out) : FILTRA_OK;
  if (!status)
    status = ft_json_unpack(*out, path, "{si ss ss}", "format", &format, "id", &id, "data", &data);
  if (status == FILTRA_ERROR_HOST_MEMORY) return status;
  if (status)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: metadata \"" FT_RUN_KEY "\" is missing or damaged; it was not written by a "
                   "run",
                   path);
  if (format == FT_RUN_FORMAT) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: is of format %d; this version of filtra reads %d", path,
                 format, FT_RUN_FORMAT);
}

filtra_status ft_run_identity_read(const char *path, json_t **out) {
  ft_safetensors *file;
  *out = NULL;
  FT_TRY(ft_safetensors_open(path, &file));
  filtra_status status = parse(path, ft_safetensors_meta(file, FT_RUN_KEY), out);
  ft_safetensors_close(&file);
  if (!status) return FILTRA_OK;
  json_decref(*out);
  *out = NULL;
  return status;
}

/* ---- resuming ---- */

/* Lists the settings that differ. Skips keys that the older file lacks: its version did not have
 * them. */
static filtra_status list_changes(const json_t *then, const json_t *now, const char *outer,
                                  char *list, size_t size) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)now, key, value) {
    const json_t *before = json_object_get(then, key);
    if (!before || json_equal(before, value)) continue;
    if (json_is_object(before) && json_is_object(value)) {
      FT_TRY(list_changes(before, value, "mixer.", list, size));
      continue;
    }
    char *was = text_of(before), *is = text_of(value);
    size_t used = strlen(list);
    if (was && is)
      snprintf(list + used, size - used, "%s\"%s%s\" was %s and is %s", used ? ", " : "", outer,
               key, was, is);
    free(was);
    free(is);
    if (!was || !is) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  return FILTRA_OK;
}

filtra_status ft_run_identity_resume(ft_run_identity *now, const json_t *checkpoint,
                                     const char *path, bool allow_changes) {
  char changes[1024] = "";
  const char *data = json_string_value(json_object_get(checkpoint, "data"));
  FT_TRY(list_changes(json_object_get(checkpoint, "settings"), now->settings, "", changes,
                      sizeof changes));
  snprintf(now->id, sizeof now->id, "%s", json_string_value(json_object_get(checkpoint, "id")));
  if (allow_changes) return FILTRA_OK;
  if (*changes)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: settings changed since: %s; undo that, or resume with allow_changes (--allow-changes)",
        path, changes);
  if (strcmp(data, now->data) != 0)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: was trained on other data than \"data\" holds now (fingerprint %s, now "
                   "%s); bring them back, or resume with allow_changes (--allow-changes)",
                   path, data, now->data);
  return FILTRA_OK;
}

filtra_status ft_run_warn_changed(const char *model, const char *name, const filtra_dataset *data) {
  char now[17];
  json_t *trained = NULL;
  const filtra_status status = ft_run_identity_read(model, &trained);
  if (status) return status == FILTRA_ERROR_HOST_MEMORY ? status : FILTRA_OK; /* of no run */
  snprintf(now, sizeof now, "%016llx", (unsigned long long)ft_dataset_fingerprint(data));
  if (strcmp(json_string_value(json_object_get(trained, "data")), now) != 0)
    ft_log(FILTRA_LOG_WARNING,
           "%s has changed since the model was trained on it: a split that was drawn from it may "
           "now hold samples of the training",
           name);
  json_decref(trained);
  return FILTRA_OK;
}

/* ---- several ranks ---- */

/* Compares this rank with another; `rank` and `peer` are their numbers. */
static filtra_status compare(const ft_run_meeting *own, int rank, const ft_run_meeting *other,
                             int peer) {
  const bool named = !strcmp(own->init_from, other->init_from);
  const bool same = !strcmp(own->id, other->id) && !strcmp(own->version, other->version) &&
                    own->step == other->step;
  if (!named || (same && own->start != other->start))
    return ft_fail(FILTRA_ERROR_RANK,
                   "rank %d begins with another model (\"init_from\" %s) than rank %d (%s%s)", peer,
                   other->init_from, rank, own->init_from,
                   named ? ", which holds other values there" : "");
  if (same) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_RANK,
      "rank %d has other settings, data or another version of filtra (run %s, step %llu, "
      "version %s) than rank %d (%s, %llu, %s)",
      peer, other->id, (unsigned long long)other->step, other->version, rank, own->id,
      (unsigned long long)own->step, own->version);
}

filtra_status ft_run_identity_meet(const ft_run_identity *identity, const ft_ranks *ranks,
                                   ft_run_meeting *own) {
  const filtra_transport *t = ranks->transport;
  ft_run_meeting *all = ft_calloc((size_t)t->size, sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  snprintf(own->id, sizeof own->id, "%s", identity->id);
  snprintf(own->version, sizeof own->version, "%s", filtra_version());
  all[t->rank] = *own;
  filtra_status status = ft_ranks_gather(ranks, all, sizeof *all);
  for (int i = 0; i < t->size && !status; i++)
    status = compare(own, t->rank, &all[i], i);
  free(all);
  return status;
}
