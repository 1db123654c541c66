/* Reads tokenizer.json: the vocabulary, added tokens, normaliser and other settings;
 * pretrained_models.c reads the models. Called by tokenizer.c. */
#include "base/memory.h"
#include "data/pretrained_added.h"
#include "data/pretrained_models.h"
#include "data/pretrained_wordpiece.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- symbols ---- */

/* Gives a symbol its id. There are as many ids as symbols, so none stays free. */
static filtra_status put_symbol(ft_pretrained *p, const char *symbol, const json_t *value) {
  const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
  if (id < 0 || id >= (json_int_t)p->size)
    return ft_fail(FILTRA_ERROR_INPUT, "the id of \"%.40s\" must be one of 0 to %u", symbol,
                   p->size - 1);
  if (p->symbols[id])
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.40s\" and \"%.40s\" both have the id %lld",
                   p->symbols[id], symbol, (long long)id);
  p->symbols[id] = symbol;
  p->lengths[id] = (uint32_t)strlen(symbol);
  if (p->lengths[id] > p->longest) p->longest = p->lengths[id];
  return FILTRA_OK;
}

static void put_entry(ft_pretrained *p, int32_t id) {
  const uint32_t hash = ft_hash_more(FT_HASH_BEGIN, p->symbols[id], p->lengths[id]);
  uint32_t at = hash & p->table_mask;
  while (p->table[at].id >= 0)
    at = (at + 1) & p->table_mask;
  p->table[at] = (ft_symbol_entry){hash, id};
}

static filtra_status make_symbols(ft_pretrained *p, size_t in_model) {
  for (p->table_mask = 255; p->table_mask < 2 * in_model; p->table_mask = 2 * p->table_mask + 1)
    ;
  p->symbols = ft_calloc(p->size, sizeof *p->symbols);
  p->lengths = ft_calloc(p->size, sizeof *p->lengths);
  p->table = ft_calloc((size_t)p->table_mask + 1, sizeof *p->table);
  if (!p->symbols || !p->lengths || !p->table) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i <= p->table_mask; i++)
    p->table[i].id = -1;
  return FILTRA_OK;
}

/* Number of added tokens that the model's vocabulary lacks. */
static size_t count_new(const json_t *added, const json_t *vocabulary) {
  size_t count = 0;
  for (size_t i = 0; i < json_array_size(added); i++)
    count += !json_object_get(vocabulary, ft_json_string(json_array_get(added, i), "content"));
  return count;
}

static filtra_status read_vocabulary(ft_pretrained *p, json_t *vocabulary, const json_t *added) {
  const size_t in_model = json_object_size(vocabulary);
  const size_t size = in_model + count_new(added, vocabulary);
  const char *key;
  json_t *value;
  if (!in_model || size >= FT_MOST_IDS)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "\"model\": \"vocab\" must be an object of 1 to %d symbols and their ids",
                   FT_MOST_IDS - 1);
  p->size = (uint32_t)size;
  FT_TRY(make_symbols(p, in_model));
  json_object_foreach(vocabulary, key, value) {
    FT_TRY(put_symbol(p, key, value));
    put_entry(p, (int32_t)json_integer_value(value));
  }
  return FILTRA_OK;
}

/* ---- added tokens ---- */

static filtra_status read_flags(const json_t *object, ft_added_token *token) {
  static const char where[] = "added_tokens";
  static const char *const known[] = {"id",     "content", "single_word", "lstrip",
                                      "rstrip", "special", "normalized",  NULL};
  bool special;
  FT_TRY(ft_pretrained_keys(object, where, known));
  FT_TRY(ft_pretrained_bool(object, where, "single_word", false, &token->single_word));
  FT_TRY(ft_pretrained_bool(object, where, "lstrip", false, &token->lstrip));
  FT_TRY(ft_pretrained_bool(object, where, "rstrip", false, &token->rstrip));
  FT_TRY(ft_pretrained_bool(object, where, "special", false, &special));
  return ft_pretrained_bool(object, where, "normalized", !special, &token->normalized);
}

/* Normalises an added token, to be found in normalised text. If nothing is left of it, it is never
 * found. */
static filtra_status normalize_token(const ft_pretrained *p, ft_added_token *token) {
  ft_scratch s = {0};
  filtra_status status = ft_bert_normalize(p, &s, token->text, token->length, 0);
  if (!status) token->owned = ft_calloc(s.length + 1, 1);
  if (token->owned) memcpy(token->owned, s.text, s.length);
  token->text = token->owned;
  token->length = s.length;
  free(s.text);
  free(s.marks);
  return status ? status : token->owned ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status read_added_token(ft_pretrained *p, const json_t *object) {
  const char *content = ft_json_string(object, "content");
  const json_t *id = json_object_get(object, "id");
  ft_added_token token = {.text = content, .length = strlen(content)};
  FT_TRY(read_flags(object, &token));
  if (!*content)
    return ft_fail(FILTRA_ERROR_INPUT, "an entry of \"added_tokens\" has no \"content\"");
  token.id = ft_symbol_id(p, content);
  if (token.id < 0) {
    FT_TRY(put_symbol(p, content, id));
    token.id = (int32_t)json_integer_value(id);
  } else if (!json_is_integer(id) || json_integer_value(id) != token.id) {
    return ft_fail(FILTRA_ERROR_INPUT,
                   "\"%.40s\" has the id %d in \"vocab\", another in \"added_tokens\"", content,
                   token.id);
  }
  if (token.normalized && p->normalizes) FT_TRY(normalize_token(p, &token));
  if (token.length) return ft_added_put(p, token);
  free(token.owned);
  return FILTRA_OK;
}

static filtra_status read_added(ft_pretrained *p, const json_t *added) {
  if (added && !json_is_array(added) && !json_is_null(added))
    return ft_fail(FILTRA_ERROR_INPUT, "\"added_tokens\" is no list");
  for (size_t i = 0; i < json_array_size(added); i++)
    FT_TRY(read_added_token(p, json_array_get(added, i)));
  return FILTRA_OK;
}

/* ---- normaliser and splitting ---- */

static filtra_status read_normalizer(ft_pretrained *p, const json_t *object) {
  static const char where[] = "normalizer";
  static const char *const known[] = {"type",          "clean_text", "handle_chinese_chars",
                                      "strip_accents", "lowercase",  NULL};
  if (!object || json_is_null(object)) return FILTRA_OK;
  if (p->bpe || strcmp(ft_json_string(object, "type"), "BertNormalizer") != 0)
    return ft_pretrained_type(object, where,
                              p->bpe ? "none (null) with BPE" : "BertNormalizer, or null");
  p->normalizes = true;
  FT_TRY(ft_pretrained_keys(object, where, known));
  FT_TRY(ft_pretrained_bool(object, where, "clean_text", true, &p->clean));
  FT_TRY(ft_pretrained_bool(object, where, "handle_chinese_chars", true, &p->chinese));
  FT_TRY(ft_pretrained_bool(object, where, "lowercase", true, &p->lower));
  return ft_pretrained_bool(object, where, "strip_accents", p->lower, &p->strip);
}

static filtra_status read_pre_tokenizer(ft_pretrained *p, const json_t *object) {
  static const char where[] = "pre_tokenizer";
  static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex",
                                      NULL};
  const char *wanted = p->bpe ? "ByteLevel" : "BertPreTokenizer";
  bool pattern;
  if (strcmp(ft_json_string(object, "type"), wanted) != 0)
    return ft_pretrained_type(object, where,
                              p->bpe
                                  ? "ByteLevel with BPE, which joins bytes; BPE of characters is "
                                    "not read"
                                  : "BertPreTokenizer with WordPiece");
  FT_TRY(ft_pretrained_keys(object, where, known));
  if (!p->bpe) return FILTRA_OK;
  FT_TRY(ft_pretrained_bool(object, where, "add_prefix_space", true, &p->prefix_space));
  FT_TRY(ft_pretrained_bool(object, where, "use_regex", true, &pattern));
  if (pattern) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "\"pre_tokenizer\": \"use_regex\" is false; known is only "
                                     "GPT-2's pattern, which true names");
}

static filtra_status read_decoder(ft_pretrained *p, const json_t *object) {
  static const char where[] = "decoder";
  static const char *const known[] = {"type",         "prefix",    "cleanup", "add_prefix_space",
                                      "trim_offsets", "use_regex", NULL};
  if (!object || json_is_null(object)) return FILTRA_OK;
  if (strcmp(ft_json_string(object, "type"), p->bpe ? "ByteLevel" : "WordPiece") != 0)
    return ft_pretrained_type(object, where,
                              p->bpe ? "ByteLevel with BPE" : "WordPiece with WordPiece");
  FT_TRY(ft_pretrained_keys(object, where, known));
  if (p->bpe) return FILTRA_OK;
  if (strcmp(ft_json_string(object, "prefix"), p->prefix) != 0)
    return ft_fail(FILTRA_ERROR_INPUT, "\"decoder\": \"prefix\" must be that of the model, \"%s\"",
                   p->prefix);
  return ft_pretrained_bool(object, where, "cleanup", true, &p->cleanup);
}

/* ---- all of it ---- */

/* Whether texts are cut at their beginning. */
static bool cuts_left(const json_t *root) {
  return !strcmp(ft_json_string(json_object_get(root, "truncation"), "direction"), "Left");
}

static filtra_status read_parts(ft_pretrained *p, const json_t *root) {
  static const char *const known[] = {
      "version",       "truncation", "padding", "added_tokens",   "normalizer",
      "pre_tokenizer", "model",      "decoder", "post_processor", NULL};
  json_t *model = json_object_get(root, "model");
  const json_t *added = json_object_get(root, "added_tokens");
  FT_TRY(ft_pretrained_keys(root, "tokenizer.json", known));
  FT_TRY(ft_pretrained_model_type(p, model));
  FT_TRY(read_vocabulary(p, json_object_get(model, "vocab"), added));
  /* First, as it is the reason why merges of characters cannot be read. */
  const json_t *splitter = json_object_get(root, "pre_tokenizer");
  if (json_is_object(splitter)) FT_TRY(read_pre_tokenizer(p, splitter));
  FT_TRY(ft_pretrained_model(p, model));
  FT_TRY(read_normalizer(p, json_object_get(root, "normalizer")));
  if (!json_is_object(splitter)) FT_TRY(read_pre_tokenizer(p, splitter));
  FT_TRY(read_decoder(p, json_object_get(root, "decoder")));
  FT_TRY(read_added(p, added));
  FT_TRY(ft_pretrained_frame(p, json_object_get(root, "post_processor")));
  p->left = cuts_left(root);
  return FILTRA_OK;
}

/* Keeps on which side texts are cut, and that no length is given for it. */
static json_t *keep_side(json_t *kept) {
  return ft_json_join(kept,
                      json_pack("{s{ss si ss si}}", "truncation", "direction", "Left", "max_length",
                                INT32_MAX, "strategy", "LongestFirst", "stride", 0));
}

/* Keeps the parts that ids depend on, and drops others, such as padding. */
static json_t *keep_source(const json_t *root) {
  static const char *const keys[] = {"added_tokens",   "normalizer", "pre_tokenizer",
                                     "post_processor", "decoder",    "model"};
  json_t *kept = json_pack("{ss}", "version", "1.0");
  for (size_t i = 0; kept && i < FT_COUNT(keys); i++) {
    json_t *value = json_object_get(root, keys[i]);
    if (!json_object_set_new(kept, keys[i], value ? json_incref(value) : json_null())) continue;
    json_decref(kept);
    kept = NULL;
  }
  if (cuts_left(root)) kept = keep_side(kept);
  if (!kept) ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return kept;
}

static filtra_status encode(const filtra_tokenizer *t, const char *text, size_t length,
                            ft_tokens *tokens) {
  return ft_pretrained_encode(t->pretrained, text, length, tokens, NULL);
}

filtra_status ft_pretrained_read(const json_t *root, filtra_tokenizer **out) {
  filtra_tokenizer *t = ft_calloc(1, sizeof *t);
  ft_pretrained *p = ft_calloc(1, sizeof *p);
  *out = NULL;
  if (!t || !p) {
    free(t);
    free(p);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  t->pretrained = p;
  ft_mutex_make(&p->lock);
  p->unknown = -1;
  for (uint32_t c = 0; c < FT_COUNT(p->ascii); c++)
    p->ascii[c] = (uint8_t)ft_unicode(c);
  p->source = keep_source(root);
  filtra_status status = p->source ? read_parts(p, root) : FILTRA_ERROR_HOST_MEMORY;
  if (status) {
    ft_tokenizer_free(t);
    return status;
  }
  t->name = p->bpe ? "bpe" : "wordpiece";
  t->symbols = p->symbols;
  t->size = p->size;
  t->encode = encode;
  *out = t;
  return FILTRA_OK;
}
