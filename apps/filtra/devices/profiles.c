/* filtra devices: prints the keys of --caps, the built-in profiles, and a device's own profile. */
#include "common/command.h"

#include "base/memory.h"
#include "gpu/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int list_cap_keys(bool json) {
  json_t *list = json_array();
  for (size_t i = 0; i < ft_cap_key_count; i++) {
    const ft_cap_key *key = &ft_cap_keys[i];
    char range[FT_CAP_TEXT];
    ft_cap_range(key, NULL, range);
    if (!json) command_print("  %-22s %s\n  %22s %s\n", key->name, key->meaning, "", range);
    json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "key", key->name, "meaning",
                                          key->meaning, "accepted", range));
  }
  if (json) return command_print_json("filtra devices", json_pack("{s:o}", "caps", list));
  json_decref(list);
  return COMMAND_DONE;
}

/* The comment in a profile's first line, which names the device. */
static char *title_of(const ft_profile *profile) {
  const char *text = profile->text + strspn(profile->text, "# ");
  return ft_format("%.*s", (int)strcspn(text, "\n"), text);
}

/* The plan for this device under the profile; NULL: the device cannot use the profile. */
static char *plan_of(const ft_caps *device, const ft_profile *profile) {
  ft_caps caps = *device;
  char item[128];
  snprintf(item, sizeof item, "@%s", profile->name);
  return ft_caps_override(&caps, item) ? NULL : ft_caps_plan(&caps);
}

static json_t *profile_json(const ft_profile *profile, const char *title, const char *plan) {
  return json_pack("{s:s, s:s, s:s?, s:s}", "name", profile->name, "title", title, "plan", plan,
                   "text", profile->text);
}

int list_profiles(const filtra_device_options *options, bool json) {
  filtra_device_options plain = *options;
  if (!plain.caps) plain.caps = ""; /* ignore FILTRA_CAPS */
  ft_caps device;
  filtra_status status = ft_device_caps(&plain, &device);
  if (status) return command_fail("filtra devices", status);
  json_t *list = json_array();
  for (const ft_profile *p = ft_profiles; p->name; p++) {
    char *title = title_of(p), *plan = plan_of(&device, p);
    const char *shown = plan ? plan : filtra_error_message();
    if (!json) command_print("@%s\n    %s\n    here: %s\n", p->name, title ? title : "", shown);
    json_array_append_new(list, profile_json(p, title ? title : "", plan));
    free(title);
    free(plan);
  }
  if (json)
    return command_print_json(
        "filtra devices", json_pack("{s:s, s:o}", "device", device.info.name, "profiles", list));
  json_decref(list);
  return COMMAND_DONE;
}

int print_profile(const filtra_device_options *options) {
  ft_caps caps;
  filtra_status status = ft_device_caps(options, &caps);
  char *text = status ? NULL : ft_caps_profile(&caps);
  if (!status && !text) status = FILTRA_ERROR_HOST_MEMORY;
  if (status) return command_fail("filtra devices", status);
  fputs(text, command_results());
  free(text);
  return COMMAND_DONE;
}
