/* Reads the models of tokenizer.json: BPE with its merges, and WordPiece. Called by
 * pretrained_read.c. */
#include "data/pretrained_models.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "data/pretrained_bpe.h"

#include <stdlib.h>
#include <string.h>

static filtra_status find_unknown(ft_pretrained *p, const json_t *model) {
  const char *unknown = json_string_value(json_object_get(model, "unk_token"));
  if (!unknown) return FILTRA_OK;
  p->unknown = ft_symbol_id(p, unknown);
  if (p->unknown >= 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "\"unk_token\" is \"%.40s\", which \"vocab\" does not have",
                 unknown);
}

/* ---- merges ---- */

static filtra_status find_bytes(ft_pretrained *p, bool *lacking) {
  *lacking = false;
  for (unsigned byte = 0; byte < 256; byte++) {
    char symbol[5] = "";
    ft_utf8_write(ft_bpe_character((unsigned char)byte), symbol);
    p->bytes[byte] = ft_symbol_id(p, symbol);
    if (p->bytes[byte] >= 0) continue;
    *lacking = true;
    p->bytes[byte] = p->unknown;
    if (p->unknown < 0)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "\"vocab\" has no symbol \"%s\" for the byte 0x%02x, and no \"unk_token\": "
                     "the byte would be lost",
                     symbol, byte);
  }
  return FILTRA_OK;
}

/* The two symbols of a merge, "a b" or ["a", "b"]. */
typedef struct merge_text {
  const char *left, *right;
  size_t left_length, right_length;
} merge_text;

static bool read_merge_text(const json_t *value, merge_text *m) {
  if (json_is_array(value) && json_array_size(value) == 2) {
    m->left = json_string_value(json_array_get(value, 0));
    m->right = json_string_value(json_array_get(value, 1));
    if (!m->left || !m->right) return false;
    m->left_length = strlen(m->left);
  } else {
    m->left = json_string_value(value);
    const char *blank = m->left ? strchr(m->left, ' ') : NULL;
    if (!blank || strchr(blank + 1, ' ')) return false;
    m->left_length = (size_t)(blank - m->left);
    m->right = blank + 1;
  }
  m->right_length = strlen(m->right);
  return m->left_length && m->right_length;
}

/* Reads merge number `rank`; made[id]: the symbol is a byte or the result of an earlier merge. */
static filtra_status read_merge(ft_pretrained *p, const json_t *value, uint32_t rank,
                                uint8_t *made) {
  merge_text m;
  int32_t ids[3];
  if (!read_merge_text(value, &m))
    return ft_fail(FILTRA_ERROR_INPUT, "merge %u must be two symbols with a blank between",
                   rank + 1);
  const uint32_t hash = ft_hash_more(FT_HASH_BEGIN, m.left, m.left_length);
  ids[0] = ft_symbol_find(p, hash, m.left, m.left_length, "", 0);
  ids[1] = ft_symbol_find(p, ft_hash_more(FT_HASH_BEGIN, m.right, m.right_length), m.right,
                          m.right_length, "", 0);
  ids[2] = ft_symbol_find(p, ft_hash_more(hash, m.right, m.right_length), m.left, m.left_length,
                          m.right, m.right_length);
  for (int i = 0; i < 3; i++) {
    const char *text = i == 1 ? m.right : m.left;
    const int length = i == 1 ? (int)m.right_length : (int)m.left_length;
    if (ids[i] < 0)
      return ft_fail(FILTRA_ERROR_INPUT, "merge %u: \"vocab\" has no symbol \"%.*s%s\"", rank + 1,
                     length, text, i == 2 ? m.right : "");
    if (i < 2 && !made[ids[i]])
      return ft_fail(FILTRA_ERROR_INPUT,
                     "merge %u joins \"%.*s\", which no merge before it makes: the merges are out "
                     "of order or some are missing",
                     rank + 1, length, text);
  }
  made[ids[2]] = 1;
  if (ft_bpe_keep(p, ids[0], ids[1], rank, ids[2])) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "merge %u joins the same symbols as one before it", rank + 1);
}

static filtra_status read_merges(ft_pretrained *p, const json_t *merges) {
  const size_t count = json_array_size(merges);
  if (!json_is_array(merges) || count > FT_MOST_IDS)
    return ft_fail(FILTRA_ERROR_INPUT, "\"model\": \"merges\" must be a list");
  for (p->merge_mask = 255; p->merge_mask < 2 * count; p->merge_mask = 2 * p->merge_mask + 1)
    ;
  p->merges = ft_calloc(p->merge_mask + 1, sizeof *p->merges);
  uint8_t *made = ft_calloc(p->size, 1);
  filtra_status status = p->merges && made ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i <= p->merge_mask && !status; i++)
    p->merges[i].id = -1;
  for (int byte = 0; byte < 256 && !status; byte++)
    made[p->bytes[byte]] = 1;
  for (size_t i = 0; i < count && !status; i++)
    status = read_merge(p, json_array_get(merges, i), (uint32_t)i, made);
  free(made);
  return status;
}

/* ---- models ---- */

/* Fails unless a key is missing or has a value with which it has no effect. */
static filtra_status check_off(const json_t *model, const char *key) {
  const json_t *value = json_object_get(model, key);
  const char *text = json_string_value(value);
  if (!value || json_is_null(value) || json_is_false(value) || (text && !*text) ||
      (json_is_number(value) && json_number_value(value) == 0.0))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "\"model\": \"%s\" is set, which is not known of BPE here",
                 key);
}

static filtra_status read_bpe(ft_pretrained *p, const json_t *model) {
  static const char *const known[] = {"type",
                                      "dropout",
                                      "unk_token",
                                      "fuse_unk",
                                      "vocab",
                                      "merges",
                                      "byte_fallback",
                                      "continuing_subword_prefix",
                                      "ignore_merges",
                                      "end_of_word_suffix",
                                      NULL};
  static const char *const off[] = {"dropout", "byte_fallback", "ignore_merges",
                                    "continuing_subword_prefix", "end_of_word_suffix"};
  bool lacking;
  FT_TRY(ft_pretrained_keys(model, "model", known));
  for (size_t i = 0; i < FT_COUNT(off); i++)
    FT_TRY(check_off(model, off[i]));
  FT_TRY(find_unknown(p, model));
  FT_TRY(find_bytes(p, &lacking));
  if (lacking) FT_TRY(check_off(model, "fuse_unk"));
  return read_merges(p, json_object_get(model, "merges"));
}

static filtra_status read_wordpiece(ft_pretrained *p, const json_t *model) {
  static const char *const known[] = {
      "type", "unk_token", "continuing_subword_prefix", "vocab", "max_input_chars_per_word", NULL};
  const json_t *most = json_object_get(model, "max_input_chars_per_word");
  const char *prefix = json_string_value(json_object_get(model, known[2]));
  FT_TRY(ft_pretrained_keys(model, "model", known));
  FT_TRY(find_unknown(p, model));
  if (p->unknown < 0) return ft_fail(FILTRA_ERROR_INPUT, "\"model\" has no \"unk_token\"");
  if (!prefix || !*prefix)
    return ft_fail(FILTRA_ERROR_INPUT, "\"model\" has no \"continuing_subword_prefix\"");
  if (most && (!json_is_integer(most) || json_integer_value(most) < 1 ||
               json_integer_value(most) > INT32_MAX))
    return ft_fail(FILTRA_ERROR_INPUT, "\"max_input_chars_per_word\" must be 1 to %d", INT32_MAX);
  p->prefix = prefix;
  p->prefix_hash = ft_hash_more(FT_HASH_BEGIN, prefix, strlen(prefix));
  p->most_characters = most ? (uint32_t)json_integer_value(most) : 100;
  return FILTRA_OK;
}

filtra_status ft_pretrained_model_type(ft_pretrained *p, const json_t *model) {
  const char *type = ft_json_string(model, "type");
  if (!json_is_object(model)) return ft_fail(FILTRA_ERROR_INPUT, "has no object \"model\"");
  p->bpe = !strcmp(type, "BPE") || (!*type && json_object_get(model, "merges"));
  if (p->bpe || !strcmp(type, "WordPiece") ||
      (!*type && json_object_get(model, "max_input_chars_per_word")))
    return FILTRA_OK;
  return ft_pretrained_type(model, "model", "BPE and WordPiece");
}

filtra_status ft_pretrained_model(ft_pretrained *p, const json_t *model) {
  return p->bpe ? read_bpe(p, model) : read_wordpiece(p, model);
}
