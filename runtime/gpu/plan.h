/* The capability override, "key=value,@profile,...": one table of keys, used for parsing, errors
 * and help. docs/devices.md explains the keys. */
#ifndef FT_GPU_PLAN_H
#define FT_GPU_PLAN_H

#include "gpu/gpu.h"

typedef enum ft_cap_kind {
  FT_CAP_SWITCH, /* 0 or 1: can turn off a bool of ft_caps */
  FT_CAP_LIMIT,  /* lowers a number of ft_caps, from the device's down to `low` */
  FT_CAP_POWER,  /* a power of two from `low` to `high` */
  FT_CAP_NUMBER, /* from `low` to `high` */
  FT_CAP_NAME    /* one of `names` */
} ft_cap_kind;

typedef struct ft_cap_key {
  const char *name;
  ft_cap_kind kind;
  size_t offset, bytes; /* of the member of ft_caps */
  uint64_t low, high;   /* of a limit, the device defines `high` */
  const char *names[9]; /* by the enum's values; NULL-terminated */
  const char *meaning;
} ft_cap_key;

extern const ft_cap_key ft_cap_keys[];
extern const size_t ft_cap_key_count;

enum { FT_CAP_TEXT = 160 };
/** The values that a key accepts, such as "0 or 1", on the device; `caps` NULL: on any. */
void ft_cap_range(const ft_cap_key *key, const ft_caps *caps, char text[FT_CAP_TEXT]);

/** Applies the override "key=value,@profile,..." (NULL or "": none) and makes the decisions that
 * follow from the capabilities. */
filtra_status ft_caps_override(ft_caps *caps, const char *text);

/** The capabilities that filtra_device_open would use with these options; does not open a
 * device. */
filtra_status ft_device_caps(const filtra_device_options *options, ft_caps *caps);

/** This device's profile: lines of "key = value" that make another device plan like this one.
 * Caller frees; NULL when out of memory (message set). */
char *ft_caps_profile(const ft_caps *caps);
/** The decisions, in one line. Devices with the same line run the same kernels with the same grids.
 * Caller frees; NULL when out of memory (message set). */
char *ft_caps_plan(const ft_caps *caps);

/* ---- profiles (gpu/profile.c): profiles/NAME.caps, embedded when the library is built ---- */

typedef struct ft_profile {
  const char *name, *text;
} ft_profile;

/** Sorted by name; ends with a NULL name. */
extern const ft_profile ft_profiles[];

/** Receives one line of a profile. */
typedef filtra_status (*ft_profile_line)(void *to, const char *key, const char *value);
/** Calls `take` for each line of the profile of that name, or else of the file at that path. Errors
 * name file and line. */
filtra_status ft_profile_read(const char *name, ft_profile_line take, void *to);

#endif
