/* filtra presets: lists the library's recipes. */
#include "base/json.h"
#include "common/options.h"

#include <filtra/run.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *preset, const char *key) {
  const char *text = json_string_value(json_object_get(preset, key));
  return text ? text : "";
}

/* Prints text indented by four, wrapped at spaces before column 100. */
static void print_paragraph(const char *label, const char *text) {
  int column = command_print("    %s", label);
  while (*text) {
    int length = 0;
    while (text[length] && text[length] != ' ')
      length++;
    if (column + length > 99) {
      command_print("\n");
      column = command_print("      ");
    }
    column += command_print("%.*s ", length, text);
    text += length + (text[length] == ' ');
  }
  command_print("\n");
}

static void print_preset(const char *name, const json_t *preset) {
  command_print("%s\n    %s; %s\n", name, text_of(preset, "title"), text_of(preset, "paper"));
  print_paragraph("data: ", text_of(preset, "data"));
  if (json_object_get(preset, "note")) print_paragraph("note: ", text_of(preset, "note"));
}

static void print_help(void) {
  command_print(
      "Usage: filtra presets [OPTION]...\n"
      "Lists the papers' recipes that 'filtra train --preset NAME' takes: what each is, the data\n"
      "that it wants, and where it differs from the paper.\n\n"
      "  --json             print one JSON object, with all keys of each\n");
}

typedef struct presets_arguments {
  bool json;
} presets_arguments;

static const command_option OPTIONS[] = {COMMAND_FLAG("json", presets_arguments, json)};

static int list_presets(bool json) {
  json_t *list = json_array();
  for (size_t i = 0; filtra_preset_name(i); i++) {
    json_t *preset;
    const char *name = filtra_preset_name(i), *text = filtra_preset_json(name);
    filtra_status status = ft_json_parse(text, strlen(text), name, &preset);
    if (status) {
      json_decref(list);
      return command_fail("filtra presets", status);
    }
    if (!json) print_preset(name, preset);
    json_object_set_new(preset, "name", json_string(name));
    json_array_append_new(list, preset);
  }
  if (json) return command_print_json("filtra presets", json_pack("{so}", "presets", list));
  json_decref(list);
  return COMMAND_DONE;
}

int run_presets(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help};
  presets_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  return code >= 0 ? code : list_presets(a.json);
}
