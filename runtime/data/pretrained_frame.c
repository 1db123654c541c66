/* Reads the special tokens around texts from tokenizer.json's post-processor. Called by
 * pretrained_read.c. */
#include "data/pretrained_models.h"

#include <string.h>

static const char where[] = "post_processor";

/* The id of a special token, which must be that of its symbol. */
static filtra_status check_token(const ft_pretrained *p, const char *name, const json_t *value,
                                 int32_t *id) {
  const json_int_t given = json_is_integer(value) ? json_integer_value(value) : -1;
  if (!name || given < 0 || given >= (json_int_t)p->size || strcmp(p->symbols[given], name) != 0)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" gives \"%.40s\" an id that is not its own", where,
                   name ? name : "");
  *id = (int32_t)given;
  return FILTRA_OK;
}

static filtra_status read_trimming(ft_pretrained *p, const json_t *object) {
  FT_TRY(ft_pretrained_bool(object, where, "trim_offsets", true, &p->trim_offsets));
  return ft_pretrained_bool(object, where, "add_prefix_space", true, &p->trim_prefix);
}

/* ---- BertProcessing and RobertaProcessing: "sep": ["[SEP]", 102], "cls": ["[CLS]", 101] ---- */

static filtra_status read_pair(const ft_pretrained *p, const json_t *object, const char *key,
                               int32_t *id) {
  const json_t *pair = json_object_get(object, key);
  return check_token(p, json_string_value(json_array_get(pair, 0)), json_array_get(pair, 1), id);
}

static filtra_status read_two(ft_pretrained *p, const json_t *object, bool roberta) {
  static const char *const known[] = {"type", "sep", "cls", "trim_offsets", "add_prefix_space",
                                      NULL};
  ft_frame *f = &p->frame;
  FT_TRY(ft_pretrained_keys(object, where, known));
  FT_TRY(read_pair(p, object, "cls", &f->begin));
  FT_TRY(read_pair(p, object, "sep", &f->end));
  f->middle[0] = f->middle[1] = f->end;
  f->middle_count = roberta ? 2 : 1;
  f->untyped = roberta;
  p->framed = true;
  return roberta ? read_trimming(p, object) : FILTRA_OK;
}

/* ---- TemplateProcessing ---- */

/* Ids of a template's special tokens, and the positions of its texts among them; -1: absent. */
enum { MOST_TOKENS = 4 };
typedef struct template {
  int32_t ids[MOST_TOKENS];
  int count, a, b;
  json_int_t types[2]; /* of tokens before B; of B and behind it */
  bool mixed;          /* there are other types */
}
template;

static filtra_status fail_template(void) {
  return ft_fail(FILTRA_ERROR_INPUT,
                 "\"%s\": known are templates with at most a token before the texts, one behind "
                 "them and two between",
                 where);
}

static filtra_status read_special(const ft_pretrained *p, const json_t *tokens, const char *name,
                                  int32_t *id) {
  const json_t *ids = json_object_get(json_object_get(tokens, name), "ids");
  if (json_array_size(ids) != 1)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%s\": \"special_tokens\" must give \"%.40s\" one id",
                   where, name);
  return check_token(p, name, json_array_get(ids, 0), id);
}

static filtra_status read_template(const ft_pretrained *p, const json_t *object, const char *key,
                                   template *t) {
  const json_t *list = json_object_get(object, key);
  *t = (template){.a = -1, .b = -1, .types = {-1, -1}};
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i), *text = json_object_get(item, "Sequence");
    const char *name = ft_json_string(json_object_get(item, "SpecialToken"), "id");
    const char *which = ft_json_string(text, "id");
    const json_t *type =
        json_object_get(text ? text : json_object_get(item, "SpecialToken"), "type_id");
    json_int_t *const types = &t->types[t->b >= 0 || !strcmp(which, "B")];
    int *place = !strcmp(which, "A") ? &t->a : &t->b;
    if (text && (*place >= 0 || (place == &t->a && t->b >= 0) ||
                 (strcmp(which, "A") != 0 && strcmp(which, "B") != 0)))
      return fail_template();
    if (!text && t->count == MOST_TOKENS) return fail_template();
    if (*types >= 0 && *types != json_integer_value(type)) t->mixed = true;
    *types = json_integer_value(type);
    if (text)
      *place = t->count;
    else
      FT_TRY(read_special(p, json_object_get(object, "special_tokens"), name, &t->ids[t->count++]));
  }
  return FILTRA_OK;
}

static filtra_status read_templates(ft_pretrained *p, const json_t *object) {
  static const char *const known[] = {"type", "single", "pair", "special_tokens", NULL};
  template one, two;
  ft_frame *f = &p->frame;
  FT_TRY(ft_pretrained_keys(object, where, known));
  FT_TRY(read_template(p, object, "single", &one));
  FT_TRY(read_template(p, object, "pair", &two));
  const int after = one.count - one.a, middle = two.b - two.a;
  if (one.a < 0 || one.a > 1 || one.b >= 0 || after > 1 || two.a != one.a || middle < 0 ||
      middle > 2 || two.count - two.b != after)
    return fail_template();
  *f = (ft_frame){.begin = one.a ? one.ids[0] : -1,
                  .middle_count = (uint32_t)middle,
                  .untyped = !two.mixed && two.types[1] == 0,
                  .odd = two.mixed || two.types[0] != 0 || two.types[1] > 1,
                  .end = after ? one.ids[one.a] : -1};
  for (int i = 0; i < middle; i++)
    f->middle[i] = two.ids[two.a + i];
  if ((one.a && two.ids[0] != f->begin) || (after && two.ids[two.b] != f->end))
    return fail_template();
  p->framed = one.count + two.count > 0;
  return FILTRA_OK;
}

/* ---- all ---- */

static filtra_status read_one(ft_pretrained *p, const json_t *object) {
  static const char *const known[] = {"type", "add_prefix_space", "trim_offsets", "use_regex",
                                      NULL};
  const char *type = ft_json_string(object, "type");
  if (!strcmp(type, "BertProcessing")) return read_two(p, object, false);
  if (!strcmp(type, "RobertaProcessing")) return read_two(p, object, true);
  if (!strcmp(type, "TemplateProcessing")) return read_templates(p, object);
  if (strcmp(type, "ByteLevel") != 0)
    return ft_pretrained_type(object, where,
                              "BertProcessing, RobertaProcessing, TemplateProcessing, ByteLevel "
                              "and a Sequence of them");
  FT_TRY(ft_pretrained_keys(object, where, known));
  return read_trimming(p, object);
}

filtra_status ft_pretrained_frame(ft_pretrained *p, const json_t *object) {
  static const char *const known[] = {"type", "processors", NULL};
  if (!object || json_is_null(object)) return FILTRA_OK;
  if (strcmp(ft_json_string(object, "type"), "Sequence") != 0) return read_one(p, object);
  const json_t *list = json_object_get(object, "processors");
  FT_TRY(ft_pretrained_keys(object, where, known));
  for (size_t i = 0; i < json_array_size(list); i++) {
    if (p->framed && strcmp(ft_json_string(json_array_get(list, i), "type"), "ByteLevel") != 0)
      return ft_fail(FILTRA_ERROR_INPUT, "\"%s\": two of the Sequence add tokens", where);
    FT_TRY(read_one(p, json_array_get(list, i)));
  }
  return FILTRA_OK;
}
