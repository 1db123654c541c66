/* Attention maps of chosen samples, for the page and for JSON. measure.c forms them. */
#include "analyze.h"

#include "base/json.h"
#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <stdlib.h>

/* ---- the page ---- */

static void write_sample(FILE *to, const analysis_sample *s, bool pair) {
  for (size_t i = 0; i < s->map_count; i++) {
    const analysis_map *map = &s->maps[i];
    char title[2 * FT_NAME_TEXT];
    snprintf(title, sizeof title, "Sample %llu%s, %s, head %lld", (unsigned long long)s->number,
             !pair     ? ""
             : s->text ? ", second text"
                       : ", first text",
             map->mixer->name, (long long)map->head);
    chart_write_map(to, &(chart_map){.title = title,
                                     .x_label = "attended token",
                                     .y_label = "token",
                                     .values = map->weights,
                                     .size = s->tokens,
                                     .names = (const char *const *)s->names});
  }
}

void analyze_write_maps(FILE *to, const analysis *a) {
  const bool pair = a->model->config.task == FILTRA_TASK_PAIR_CLASSIFICATION;
  if (!a->chosen_count) return;
  fputs("<h3>Attention in chosen samples</h3>\n", to);
  if (!a->chosen->map_count) {
    char names[FT_MIXERS_TEXT];
    fprintf(to,
            "<p>The mixer %s forms no matrix of tokens by tokens, or one that is not shown, as of "
            "graphs, windows, stages, relative positions and heads that talk.</p>\n",
            ft_mixers_name(&a->model->mixers, names));
    return;
  }
  fputs(
      "<p>A row for each token: the weights that the head gives to the tokens that it attends to, "
      "the softmax of its scores, which GFSA and p-LaT filter further.</p>\n"
      "<div class=\"charts\">\n",
      to);
  for (size_t i = 0; i < a->chosen_count; i++)
    write_sample(to, &a->chosen[i], pair);
  fputs("</div>\n", to);
}

/* ---- JSON ---- */

static json_t *weights_json(const analysis_map *map, size_t tokens) {
  json_t *rows = json_array();
  for (size_t i = 0; i < tokens; i++) {
    json_t *row = json_array();
    for (size_t j = 0; j < tokens; j++)
      ft_json_append(&row, json_real(map->weights[i * tokens + j]));
    ft_json_append(&rows, row);
  }
  return json_pack("{ss sI so}", "mixer", map->mixer->name, "head", (json_int_t)map->head,
                   "weights", rows);
}

static json_t *sample_json(const analysis_sample *s) {
  json_t *names = s->names ? json_array() : json_null(), *maps = json_array();
  for (size_t i = 0; s->names && i < s->tokens; i++)
    ft_json_append(&names, json_string(s->names[i]));
  for (size_t i = 0; i < s->map_count; i++)
    ft_json_append(&maps, weights_json(&s->maps[i], s->tokens));
  return json_pack("{sI sI so so}", "sample", (json_int_t)s->number, "text", (json_int_t)s->text,
                   "tokens", names, "maps", maps);
}

json_t *analyze_maps_json(const analysis *a) {
  json_t *list = json_array();
  for (size_t i = 0; i < a->chosen_count; i++)
    ft_json_append(&list, sample_json(&a->chosen[i]));
  return list;
}
