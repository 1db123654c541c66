/* Makes tokenizer.json from a vocabulary and configuration files, as `transformers` does for a
 * folder without one. Called by pretrained_files.c. */
#include "base/memory.h"
#include "data/pretrained_folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- families ---- */

typedef struct family {
  const char *class,
      *model; /* in tokenizer_config.json, without "Fast"; model_type in config.json */
  enum { BERT, ROBERTA, GPT2 } kind;
} family;

static const family families[] = {
    {"BertTokenizer", "bert", BERT},          {"DistilBertTokenizer", "distilbert", BERT},
    {"ElectraTokenizer", "electra", BERT},    {"MobileBertTokenizer", "mobilebert", BERT},
    {"RobertaTokenizer", "roberta", ROBERTA}, {"LongformerTokenizer", "longformer", ROBERTA},
    {"GPT2Tokenizer", "gpt2", GPT2},
};

static const family *find_class(const char *name) {
  for (size_t i = 0; i < FT_COUNT(families); i++) {
    const size_t length = strlen(families[i].class);
    if (!strncmp(name, families[i].class, length) &&
        (!name[length] || !strcmp(name + length, "Fast")))
      return &families[i];
  }
  return NULL;
}

/* That of config.json's "model_type". */
static const family *find_model(const ft_pretrained_folder *f) {
  const char *model = ft_json_string(f->model, "model_type");
  for (size_t i = 0; i < FT_COUNT(families); i++)
    if (!strcmp(model, families[i].model)) return &families[i];
  return NULL;
}

static filtra_status find_family(const ft_pretrained_folder *f, const family **out) {
  const char *class = ft_json_string(f->config, "tokenizer_class");
  const family *own = find_model(f);
  *out = *class ? find_class(class) : NULL;
  if (*class && (!*out || f->bpe == ((*out)->kind == BERT)))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s/tokenizer_config.json: \"tokenizer_class\" is \"%.64s\"; known %s", f->path,
                   class,
                   f->bpe ? "with merges are GPT2Tokenizer and RobertaTokenizer"
                          : "with vocab.txt are BertTokenizer and DistilBertTokenizer");
  if (!*out && own && f->bpe == (own->kind != BERT)) *out = own;
  if (!*out && f->bpe && json_object_get(f->vocabulary, "<s>") &&
      json_object_get(f->vocabulary, "</s>"))
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: has <s> and </s> in its vocabulary, but no file says whether they go around "
        "texts; write {\"tokenizer_class\": \"RobertaTokenizer\"} or \"GPT2Tokenizer\" "
        "into tokenizer_config.json",
        f->path);
  if (!*out) *out = find_class(f->bpe ? "GPT2Tokenizer" : "BertTokenizer");
  return FILTRA_OK;
}

/* ---- special tokens ---- */

/* The role of a special token, and its default text: BERT's, RoBERTa's, GPT-2's. */
static const struct {
  const char *key, *usual[3];
} roles[] = {
    {"bos_token", {NULL, "<s>", "<|endoftext|>"}}, {"eos_token", {NULL, "</s>", "<|endoftext|>"}},
    {"unk_token", {"[UNK]", "<unk>", NULL}},       {"sep_token", {"[SEP]", "</s>", NULL}},
    {"pad_token", {"[PAD]", "<pad>", NULL}},       {"cls_token", {"[CLS]", "<s>", NULL}},
    {"mask_token", {"[MASK]", "<mask>", NULL}},
};
enum { BOS = 0, UNK = 2, SEP = 3, CLS = 5, MASK = 6 };

/* The value that a file gives for a role, a text or an object; NULL: none. */
static json_t *said_of(const ft_pretrained_folder *f, const char *key) {
  json_t *value = json_object_get(f->config, key);
  if (!value || json_is_null(value)) value = json_object_get(f->special, key);
  return json_is_null(value) ? NULL : value;
}

/* The text of a role; NULL: it has none. `kind` NULL: no text is usual. */
static const char *text_of(const ft_pretrained_folder *f, const family *kind, int role) {
  const json_t *said = said_of(f, roles[role].key);
  if (json_is_object(said)) said = json_object_get(said, "content");
  return said ? json_string_value(said) : kind ? roles[role].usual[kind->kind] : NULL;
}

static const json_t *find_added(const json_t *list, const char *content) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!strcmp(ft_json_string(json_array_get(list, i), "content"), content))
      return json_array_get(list, i);
  return NULL;
}

/* The id of a token in the vocabulary, the list of added tokens or added_tokens.json; -1: none. */
static json_int_t id_of(const ft_pretrained_folder *f, const json_t *list, const char *content) {
  const json_t *id = json_object_get(f->vocabulary, content);
  if (!id) id = json_object_get(find_added(list, content), "id");
  if (!id) id = json_object_get(f->added, content);
  return json_is_integer(id) ? json_integer_value(id) : -1;
}

/* Fails if a file gives a token another id than the vocabulary or the list does. */
static filtra_status check_id(const ft_pretrained_folder *f, const json_t *list, const char *file,
                              const char *content, json_int_t id) {
  const json_t *own = json_object_get(f->vocabulary, content);
  if (!own) own = json_object_get(find_added(list, content), "id");
  if (!own || json_integer_value(own) == id) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s/%s: \"%.40s\" has the id %lld, and %lld elsewhere",
                 f->path, file, content, (long long)id, (long long)json_integer_value(own));
}

/* Appends a token; missing flags become false. */
static void append_token(json_t **list, json_t *token) {
  json_t *flags = json_pack("{sb sb sb sb sb}", "single_word", 0, "lstrip", 0, "rstrip", 0,
                            "normalized", 0, "special", 0);
  const bool failed = !token || !flags || json_object_update_missing(token, flags);
  json_decref(flags);
  if (failed) {
    json_decref(token);
    token = NULL;
  }
  ft_json_append(list, token);
}

static void add_token(json_t **list, const char *content, json_int_t id, bool special,
                      bool lstrip) {
  append_token(list, json_pack("{sI ss sb sb sb}", "id", id, "content", content, "special",
                               (int)special, "normalized", (int)!special, "lstrip", (int)lstrip));
}

/* Tokens of tokenizer_config.json's "added_tokens_decoder", {"5": {"content": ...}}. */
static filtra_status add_decoder(const ft_pretrained_folder *f, json_t **list) {
  static const char FILE_NAME[] = "tokenizer_config.json";
  json_t *decoder = json_object_get(f->config, "added_tokens_decoder"), *value;
  const char *key;
  json_object_foreach(decoder, key, value) {
    char *end;
    const long long id = strtoll(key, &end, 10);
    if (*end || !*key || !json_is_object(value))
      return ft_fail(
          FILTRA_ERROR_INPUT,
          "%s/%s: \"added_tokens_decoder\": \"%.40s\" must be an id, and its value an object",
          f->path, FILE_NAME, key);
    const char *content = ft_json_string(value, "content");
    FT_TRY(check_id(f, *list, FILE_NAME, content, id));
    if (find_added(*list, content)) continue;
    json_t *token = json_copy(value);
    if (token && json_object_set_new(token, "id", json_integer(id))) {
      json_decref(token);
      token = NULL;
    }
    append_token(list, token);
  }
  return FILTRA_OK;
}

/* Adds a special token that has no role: a text, or an object with flags. */
static filtra_status add_extra(const ft_pretrained_folder *f, const char *key, const json_t *said,
                               json_t **list) {
  const bool flagged = json_is_object(said);
  const char *content = flagged                ? ft_json_string(said, "content")
                        : json_is_string(said) ? json_string_value(said)
                                               : "";
  if (!*content)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: an entry of \"%s\" is no text, nor an object with a "
                   "\"content\"",
                   f->path, key);
  if (find_added(*list, content)) return FILTRA_OK;
  const json_int_t id = id_of(f, *list, content);
  if (id < 0)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"%s\" has \"%.40s\", which has no id: neither the vocabulary nor "
                   "added_tokens.json has it",
                   f->path, key, content);
  json_t *token = flagged ? json_copy((json_t *)said) : json_pack("{ss}", "content", content);
  if (token) json_object_del(token, "__type");
  append_token(list, ft_json_join(token, json_pack("{sI sb}", "id", id, "special", 1)));
  return FILTRA_OK;
}

/* Special tokens without a role: a list of them or, in the second key, an object of their names. */
static filtra_status add_extras(const ft_pretrained_folder *f, json_t **list) {
  static const char *const KEYS[] = {"additional_special_tokens", "extra_special_tokens"};
  for (size_t k = 0; k < FT_COUNT(KEYS); k++) {
    json_t *said = said_of(f, KEYS[k]), *value;
    const char *name;
    if (said && !json_is_array(said) && !(k && json_is_object(said)))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be a list of special tokens", f->path,
                     KEYS[k]);
    for (size_t i = 0; i < json_array_size(said); i++)
      FT_TRY(add_extra(f, KEYS[k], json_array_get(said, i), list));
    json_object_foreach(said, name, value) FT_TRY(add_extra(f, KEYS[k], value, list));
  }
  return FILTRA_OK;
}

/* Adds the special tokens that have a role. Beside tokenizer.json (`kind` NULL) one without an id
 * is left out: no text can have it. */
static filtra_status add_roles(const ft_pretrained_folder *f, const family *kind, json_t **list) {
  for (int role = 0; role < (int)FT_COUNT(roles); role++) {
    const json_t *said = said_of(f, roles[role].key);
    const char *content = text_of(f, kind, role);
    if (!content || !*content || find_added(*list, content)) continue;
    const json_int_t id = id_of(f, *list, content);
    if (id < 0 && said && kind)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is \"%.40s\", which has no id", f->path,
                     roles[role].key, content);
    if (id < 0) continue;
    const bool lstrip = json_is_object(said) ? json_is_true(json_object_get(said, "lstrip"))
                                             : role == MASK && kind && kind->kind == ROBERTA;
    add_token(list, content, id, true, lstrip);
  }
  return FILTRA_OK;
}

/* Tokens of added_tokens.json, {"content": 5}. */
static filtra_status add_rest(const ft_pretrained_folder *f, json_t **list) {
  const char *content;
  json_t *value;
  json_object_foreach(f->added, content, value) {
    const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    FT_TRY(check_id(f, *list, "added_tokens.json", content, id));
    if (!find_added(*list, content)) add_token(list, content, id, false, false);
  }
  return FILTRA_OK;
}

static filtra_status make_added(const ft_pretrained_folder *f, const family *kind, json_t **list) {
  *list = json_array();
  FT_TRY(add_decoder(f, list));
  FT_TRY(add_extras(f, list));
  FT_TRY(add_roles(f, kind, list));
  FT_TRY(add_rest(f, list));
  return *list ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* ---- tokenizer.json ---- */

/* A value of tokenizer_config.json, or the default. */
static json_t *configured(const ft_pretrained_folder *f, const char *key, json_t *usual) {
  json_t *value = json_object_get(f->config, key);
  if (!value) return usual;
  json_decref(usual);
  return json_incref(value);
}

static filtra_status make_frame(const ft_pretrained_folder *f, const family *kind,
                                const json_t *added, json_t **out) {
  static const int parts[] = {SEP, CLS};
  const char *names[2];
  json_int_t ids[2];
  for (int i = 0; i < 2; i++) {
    names[i] = text_of(f, kind, parts[i]);
    ids[i] = names[i] ? id_of(f, added, names[i]) : -1;
    if (ids[i] < 0)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: has no id for \"%s\" (\"%.40s\")", f->path,
                     roles[parts[i]].key, names[i] ? names[i] : "");
  }
  *out = json_pack("{ss s[sI] s[sI]}", "type",
                   kind->kind == BERT ? "BertProcessing" : "RobertaProcessing", "sep", names[0],
                   ids[0], "cls", names[1], ids[1]);
  if (kind->kind == BERT) return FILTRA_OK;
  *out = ft_json_join(*out, json_pack("{sb so}", "trim_offsets", 1, "add_prefix_space",
                                      configured(f, "add_prefix_space", json_false())));
  return FILTRA_OK;
}

/* An item of a template: a "SpecialToken" or a "Sequence". */
static json_t *item_of(const char *kind, const char *id) {
  return json_pack("{s{ss si}}", kind, "id", id, "type_id", 0);
}

/* GPT-2's texts begin with a token if tokenizer_config.json says so, each of a pair. */
static filtra_status make_beginning(const ft_pretrained_folder *f, const family *kind,
                                    const json_t *added, json_t **out) {
  const char *name = text_of(f, kind, BOS);
  const json_int_t id = name ? id_of(f, added, name) : -1;
  *out = json_null();
  if (json_is_true(json_object_get(f->config, "add_eos_token")))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s/tokenizer_config.json: \"add_eos_token\" true is not known", f->path);
  if (!json_is_true(json_object_get(f->config, "add_bos_token"))) return FILTRA_OK;
  if (id < 0)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: has no id for \"bos_token\" (\"%.40s\")", f->path,
                   name ? name : "");
  json_t *begin = item_of("SpecialToken", name);
  json_t *a = item_of("Sequence", "A");
  json_t *b = item_of("Sequence", "B");
  *out = json_pack("{ss s[OO] s[OOOO] s{s{ss s[I] s[s]}}}", "type", "TemplateProcessing", "single",
                   begin, a, "pair", begin, a, begin, b, "special_tokens", name, "id", name, "ids",
                   id, "tokens", name);
  json_decref(begin);
  json_decref(a);
  json_decref(b);
  return *out ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static json_t *make_bert(const ft_pretrained_folder *f, const family *kind, json_t *added,
                         json_t *frame) {
  return json_pack("{s{ss so so so so} s{ss} s{ss ss sb} s{ss ss ss si sO} sO so}", "normalizer",
                   "type", "BertNormalizer", "clean_text", json_true(), "handle_chinese_chars",
                   configured(f, "tokenize_chinese_chars", json_true()), "strip_accents",
                   configured(f, "strip_accents", json_null()), "lowercase",
                   configured(f, "do_lower_case", json_true()), "pre_tokenizer", "type",
                   "BertPreTokenizer", "decoder", "type", "WordPiece", "prefix", "##", "cleanup", 1,
                   "model", "type", "WordPiece", "unk_token", text_of(f, kind, UNK),
                   "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab",
                   f->vocabulary, "added_tokens", added, "post_processor", frame);
}

static json_t *make_bpe(const ft_pretrained_folder *f, json_t *added, json_t *frame) {
  return json_pack("{s{ss so sb sb} s{ss sb sb sb} s{ss sO sO} sO so}", "pre_tokenizer", "type",
                   "ByteLevel", "add_prefix_space", configured(f, "add_prefix_space", json_false()),
                   "trim_offsets", 1, "use_regex", 1, "decoder", "type", "ByteLevel",
                   "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1, "model", "type", "BPE",
                   "vocab", f->vocabulary, "merges", f->merges, "added_tokens", added,
                   "post_processor", frame);
}

filtra_status ft_pretrained_make(const ft_pretrained_folder *f, json_t **root) {
  const family *kind;
  json_t *added = NULL, *frame = NULL;
  FT_TRY(find_family(f, &kind));
  filtra_status status = make_added(f, kind, &added);
  if (!status)
    status = kind->kind == GPT2 ? make_beginning(f, kind, added, &frame)
                                : make_frame(f, kind, added, &frame);
  if (!status) {
    *root = kind->kind == BERT ? make_bert(f, kind, added, frame) : make_bpe(f, added, frame);
    if (!*root) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  json_decref(added);
  return status;
}

/* ---- overriding an existing tokenizer.json ---- */

filtra_status ft_pretrained_add(const ft_pretrained_folder *f, json_t *root) {
  json_t *own = json_object_get(root, "added_tokens");
  if (own && !json_is_null(own) && !json_is_array(own)) return FILTRA_OK; /* refused later */
  json_t *list = json_is_array(own) ? json_incref(own) : json_array();
  filtra_status status = add_decoder(f, &list);
  if (!status) status = add_extras(f, &list);
  if (!status) status = add_roles(f, NULL, &list);
  if (!status) status = add_rest(f, &list);
  if (!status && (!list || json_object_set(root, "added_tokens", list)))
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  json_decref(list);
  return status;
}

/* Sets the part's key to what the configuration says or, where it says nothing, to what the class
 * does without a word; `usual` NULL: the key stays then. */
static filtra_status set_from(json_t *part, const char *key, const json_t *config, const char *name,
                              json_t *usual) {
  json_t *value = json_object_get(config, name);
  if (!value) value = usual;
  if (!part || !value || !json_object_set(part, key, value)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Whether a class of `transformers` is none of a model's, and so takes tokenizer.json as it is;
 * those of models set what their options say. */
static bool is_plain(const char *class) {
  static const char *const plain[] = {"PreTrainedTokenizerFast", "PreTrainedTokenizer",
                                      "TokenizersBackend"};
  for (size_t i = 0; i < FT_COUNT(plain); i++)
    if (!strcmp(class, plain[i])) return true;
  return false;
}

#define TOKEN_ID "{sO s[O] s[O]}"

/* BertProcessing as a template. */
static json_t *as_template(const json_t *bert) {
  const json_t *cls = json_object_get(bert, "cls"), *sep = json_object_get(bert, "sep");
  json_t *c = json_array_get(cls, 0), *s = json_array_get(sep, 0);
  if (!json_is_string(c) || !json_is_string(s)) return json_deep_copy(bert); /* refused later */
  json_t *a = item_of("Sequence", "A");
  json_t *b = item_of("Sequence", "B");
  json_t *begin = item_of("SpecialToken", json_string_value(c));
  json_t *end = item_of("SpecialToken", json_string_value(s));
  json_t *ids = json_object();
  int failed =
      json_object_set_new(ids, json_string_value(c),
                          json_pack(TOKEN_ID, "id", c, "ids", json_array_get(cls, 1), "tokens", c));
  failed |=
      json_object_set_new(ids, json_string_value(s),
                          json_pack(TOKEN_ID, "id", s, "ids", json_array_get(sep, 1), "tokens", s));
  json_t *made = json_pack("{ss s[OOO] s[OOOOO] sO}", "type", "TemplateProcessing", "single", begin,
                           a, end, "pair", begin, a, end, b, end, "special_tokens", ids);
  json_t *const parts[] = {a, b, begin, end, ids};
  for (size_t i = 0; i < FT_COUNT(parts); i++)
    json_decref(parts[i]);
  if (!failed) return made;
  json_decref(made);
  return NULL;
}

/* Gives all tokens of pairs the type 0. */
static int clear_types(json_t *processor) {
  int failed = 0;
  if (!strcmp(ft_json_string(processor, "type"), "BertProcessing")) {
    json_t *made = as_template(processor);
    failed = !made || json_object_clear(processor) || json_object_update(processor, made);
    json_decref(made);
  }
  json_t *list = json_object_get(processor, "processors"),
         *pair = json_object_get(processor, "pair");
  for (size_t i = 0; i < json_array_size(list); i++)
    failed |= clear_types(json_array_get(list, i));
  for (size_t i = 0; i < json_array_size(pair); i++) {
    json_t *item = json_object_iter_value(json_object_iter(json_array_get(pair, i)));
    failed |= json_is_object(item) && json_object_set_new(item, "type_id", json_integer(0));
  }
  return failed;
}

/* Whether the model is given other inputs than token types: by the list or, without one, by the
 * class. */
static bool lacks_types(const json_t *config) {
  const json_t *names = json_object_get(config, "model_input_names");
  const char *class = ft_json_string(config, "tokenizer_class");
  const family *kind = find_class(class);
  if (!json_is_array(names))
    return is_plain(class) || (kind && (kind->kind != BERT || !strcmp(kind->model, "distilbert")));
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *name = json_string_value(json_array_get(names, i));
    if (name && !strcmp(name, "token_type_ids")) return false;
  }
  return true;
}

filtra_status ft_pretrained_set_types(json_t *root, const json_t *config) {
  if (!lacks_types(config) || !clear_types(json_object_get(root, "post_processor")))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

filtra_status ft_pretrained_set_side(json_t *root, const json_t *config) {
  const json_t *said = json_object_get(config, "truncation_side");
  const char *side = ft_json_string(config, "truncation_side");
  if (!said || json_is_null(said)) return FILTRA_OK;
  if (!strcmp(side, "right")) {
    json_object_del(root, "truncation");
    return FILTRA_OK;
  }
  if (strcmp(side, "left") != 0)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "tokenizer_config.json: \"truncation_side\" is %s%.40s; accepted are left and "
                   "right",
                   json_is_string(said) ? "" : "no text", side);
  if (!json_object_set_new(root, "truncation", json_pack("{ss}", "direction", "Left")))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

filtra_status ft_pretrained_configure(const ft_pretrained_folder *f, json_t *root) {
  const char *class = ft_json_string(f->config, "tokenizer_class");
  const family *kind = *class ? find_class(class) : find_model(f);
  json_t *normalizer = json_object_get(root, "normalizer");
  json_t *splitter = json_object_get(root, "pre_tokenizer");
  if (json_is_true(json_object_get(f->config, "split_special_tokens")))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "tokenizer_config.json: \"split_special_tokens\" true is not known: a special "
                   "token that a text spells becomes that token");
  if (is_plain(class)) return FILTRA_OK;
  if (strcmp(ft_json_string(normalizer, "type"), "BertNormalizer") != 0) normalizer = NULL;
  if (strcmp(ft_json_string(splitter, "type"), "ByteLevel") != 0) splitter = NULL;
  const bool bert = kind && kind->kind == BERT, bpe = kind && kind->kind != BERT;
  json_t *yes = bert ? json_true() : NULL;
  FT_TRY(set_from(normalizer, "lowercase", f->config, "do_lower_case", yes));
  FT_TRY(
      set_from(normalizer, "strip_accents", f->config, "strip_accents", bert ? json_null() : NULL));
  FT_TRY(set_from(normalizer, "handle_chinese_chars", f->config, "tokenize_chinese_chars", yes));
  return set_from(splitter, "add_prefix_space", f->config, "add_prefix_space",
                  bpe ? json_false() : NULL);
}
