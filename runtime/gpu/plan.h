/* The capability override, "key=value,@profile,...": one table of keys, from which parsing, errors
 * and help are made. docs/devices.md has what each means. */
#ifndef FT_GPU_PLAN_H
#define FT_GPU_PLAN_H

#include "gpu/gpu.h"

typedef enum ft_cap_kind {
  FT_CAP_SWITCH, /* 0 or 1: masks a bool of ft_caps */
  FT_CAP_LIMIT,  /* shrinks a number of ft_caps, from what the device has down to `low` */
  FT_CAP_POWER,  /* a power of two from `low` to `high` */
  FT_CAP_NUMBER, /* from `low` to `high` */
  FT_CAP_NAME    /* one of `names` */
} ft_cap_kind;

typedef struct ft_cap_key {
  const char *name;
  ft_cap_kind kind;
  size_t offset, bytes; /* of what it masks or shrinks */
  uint64_t low, high;   /* limits: the device says how high */
  const char *names[9]; /* by the enum's value; ends with NULL */
  const char *meaning;
} ft_cap_key;

extern const ft_cap_key ft_cap_keys[];
extern const size_t ft_cap_key_count;

enum { FT_CAP_TEXT = 160 };
/** What the key takes, "0 or 1" say, on the device or, with NULL, on any. */
void ft_cap_range(const ft_cap_key *key, const ft_caps *caps, char text[FT_CAP_TEXT]);

/** Applies "key=value,@profile,..." (NULL or "": nothing) and decides what follows from it. */
filtra_status ft_caps_override(ft_caps *caps, const char *text);

/** What filtra_device_open would open with these options, without opening it. */
filtra_status ft_device_caps(const filtra_device_options *options, ft_caps *caps);

/** A profile of this device: lines of "key = value" that make another device be planned for as it
 * is; caller frees; NULL when out of memory (message set). */
char *ft_caps_profile(const ft_caps *caps);
/** What was decided, in one line: devices with the same plan run the same kernels with the same
 * grids. Caller frees; NULL when out of memory (message set). */
char *ft_caps_plan(const ft_caps *caps);

/* ---- profiles (gpu/profile.c): profiles/NAME.caps, embedded when the library is built ---- */

typedef struct ft_profile {
  const char *name, *text;
} ft_profile;

/** Sorted; ends with a NULL name. */
extern const ft_profile ft_profiles[];

/** Takes one line of a profile. */
typedef filtra_status (*ft_profile_line)(void *to, const char *key, const char *value);
/** Gives every line of the profile of that name, or else of the file at that path, to `take`.
 * Errors name file and line. */
filtra_status ft_profile_read(const char *name, ft_profile_line take, void *to);

#endif
