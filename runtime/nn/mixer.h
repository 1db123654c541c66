/* Token mixers: layers that take the place of attention. Each of Filtra's own has one file in
 * mixer/ and one entry in the list below; mixers that applications register follow. */
#ifndef FT_NN_MIXER_H
#define FT_NN_MIXER_H

#include "base/keys.h"
#include "nn/layers.h"

/* Most bytes of an option struct; most keys, "name" included. */
enum { FT_MIXER_OPTIONS = 3328, FT_MIXER_KEYS = 24 };

/** The key `talking_heads`, for mixers that use ft_formed_attention. */
#define FT_TALKING_HEADS_KEY(type, member)                                                         \
  FT_BOOL_KEY(                                                                                     \
      type, member, "talking_heads", false,                                                        \
      "A linear layer over the heads mixes the scores before the softmax, and another the "        \
      "weights after it, as in CaiT. Forms a matrix of N x N for each head.",                      \
      .paper = "Shazeer et al. 2020")

/** Learned coefficients of a mixer's filter, for `filtra analyze`. */
typedef struct ft_mixer_coefficients {
  const char *parameter; /* below the mixer's scope */
  const char *index;     /* name of their index: "k", "head" */
  /* Converts the parameter's values to the filter's coefficients; NULL: they are the same. */
  void (*effective)(const void *options, float *values, size_t count);
} ft_mixer_coefficients;

/** The filter's response, as the papers plot it. */
typedef struct ft_mixer_filter {
  const char *argument; /* name of x */
  double low, high;
  bool per_head;
  /* `values`: effective coefficients in the class's order, NULL where the options have none; of a
   * head of `heads`. NaN: there is no filter. */
  double (*at)(const void *options, const float *const *values, int64_t heads, int64_t head,
               double x);
  const char *result; /* name of the result; NULL: gain */
} ft_mixer_filter;

enum { FT_MIXER_COEFFICIENTS = 8 }; /* kinds, at most */

/** A kind of mixer: the fields of filtra_mixer, and some that only Filtra's own mixers have. */
typedef struct ft_mixer_class {
  const char *name, *description;
  size_t options_size; /* at most FT_MIXER_OPTIONS */
  ft_keys keys;        /* the options in configuration files, fewer than FT_MIXER_KEYS */
  /* Why an option has no effect together with the others, as a clause: "with \"variant\" uv"; NULL:
   * it has one. `idle` NULL: every option always has an effect. */
  const char *(*idle)(const void *options, const char *name);
  bool narrow;             /* accepts x in the scope's precision; else only F32 */
  bool takes_bias;         /* adds filtra_mixer_input.bias to its scores */
  const char *not_causal;  /* why it cannot be causal, as a clause; NULL: it can */
  const char *not_decoded; /* why it cannot decode token by token; NULL: it can */
  void *context;           /* for filtra_mixer_input */
  const ft_mixer_coefficients *coefficients; /* those that exist with given options */
  size_t coefficient_count;
  const ft_mixer_filter *filter; /* NULL: none */
  filtra_tensor *(*build)(const filtra_scope *scope, const void *options,
                          const filtra_mixer_input *in, filtra_tensor **auxiliary);
  /** Builds complex features [B,N,C,2] for the Converter's block, without dropout and residual;
   * NULL if unsupported. */
  filtra_tensor *(*build_complex)(const ft_scope *scope, const void *options,
                                  const filtra_mixer_input *in, filtra_tensor **auxiliary);
  /** Weight a of the auxiliary loss, if the task's loss then has weight 1 - a. NULL: the task's
   * loss keeps weight 1. */
  float (*auxiliary_share)(const void *options);
} ft_mixer_class;

/** As filtra_mixer_qkv, but not by heads: queries and keys side by side, [B,N,2 W], and values,
 * [B,N,W], of width W; both are pieces of one tensor. */
void ft_mixer_sides(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *part[2]);
/** filtra_mixer_qkv with results of that type. */
void ft_mixer_qkv(const ft_scope *scope, const filtra_mixer_input *in, filtra_dtype dtype,
                  filtra_tensor *qkv[3]);
/** Type of attention's operands: the scope's precision, or F32 if keys and values are kept for
 * later tokens. */
filtra_dtype ft_mixer_precision(const ft_scope *scope);

/** The number of a head, from a list of one number for all heads, two for the halves (the first is
 * larger if the number of heads is odd), or one per head. */
float ft_head_number(const ft_floats *list, int64_t heads, int64_t head);
/** Fills in the number of each head. For a list of another length, fails the graph and returns
 * false. */
bool ft_mixer_spread(filtra_graph *g, const char *mixer, const char *key, const ft_floats *list,
                     int64_t heads, float out[FT_MOST_FLOATS]);

/** Reads the next number or range of a list such as "0, 4-7" and advances *at, to NULL after the
 * last. False if the text is not a range, or exceeds `most`. */
bool ft_next_range(const char **at, long most, long *first, long *last);
/** Marks the heads that such a list names; "": none. False if the text is not a list, or names a
 * head that does not exist. */
bool ft_mark_heads(const char *text, int64_t heads, bool marked[FT_MOST_FLOATS]);

/** A configured mixer. */
typedef struct ft_mixer {
  const ft_mixer_class *kind;
  _Alignas(8) unsigned char options[FT_MIXER_OPTIONS];
} ft_mixer;

/** The mixers of a model's layers. */
enum { FT_MOST_MIXERS = 4, FT_MOST_LAYERS = 256, FT_MIXERS_TEXT = 160 };
typedef struct ft_mixers {
  ft_mixer list[FT_MOST_MIXERS];
  size_t count;
  uint8_t of_layer[FT_MOST_LAYERS]; /* index in the list; `count`: the layer is not named */
  size_t usual;                     /* index for all layers that are not named; `count`: none */
} ft_mixers;

/** Filtra's own, in the order of lists; the first is the default. mixer/NAME.c defines
 * ft_mixer_NAME. */
#define FT_OWN_MIXERS(each)                                                                        \
  each(softmax) each(gfsa) each(plaplacian) each(agf) each(synvolution) each(kernelution)          \
      each(linear) each(cosformer) each(fnet) each(performer) each(linformer) each(nystrom)        \
          each(flowformer) each(synthesizer) each(luna) each(primal) each(paramixer)

#define FT_DECLARE_MIXER(name) extern const ft_mixer_class ft_mixer_##name;
FT_OWN_MIXERS(FT_DECLARE_MIXER)
#undef FT_DECLARE_MIXER

/** The i-th of filtra_mixer_count(); the first is the default. */
const ft_mixer_class *ft_mixer_at(size_t i);
/** The mixer of that name; NULL: there is none. */
const ft_mixer_class *ft_mixer_find(const char *name);

/** Reads a mixer from JSON: a name, or an object with "name" and the mixer's options; NULL is
 * softmax. `context` goes before field names in errors. */
filtra_status ft_mixer_read(const json_t *json, const char *context, ft_mixer *out);
/** The mixer as a JSON object with all options; NULL when out of memory. */
json_t *ft_mixer_write(const ft_mixer *mixer);

/** Reads the mixers of all layers: one as ft_mixer_read, or a list of mixers with "layers", such as
 * "10-11" or "0, 4-7", counted from 0; a mixer without "layers" is for all other layers. */
filtra_status ft_mixers_read(const json_t *json, const char *context, ft_mixers *out);
/** Fails with INPUT if one of `layers` layers has no mixer, or a layer beyond them is named. */
filtra_status ft_mixers_check(const ft_mixers *mixers, int64_t layers, const char *context);
/** The mixers as JSON: an object, or a list with "layers"; NULL when out of memory. */
json_t *ft_mixers_write(const ft_mixers *mixers);
/** Their names: "softmax", "softmax+agf". */
const char *ft_mixers_name(const ft_mixers *mixers, char text[FT_MIXERS_TEXT]);
/** The mixer of a layer. */
const ft_mixer *ft_mixers_at(const ft_mixers *mixers, int64_t layer);

#endif
