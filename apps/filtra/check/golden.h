/* Golden cases: files with inputs, parameters, upstream gradients and expected results. */
#ifndef FILTRA_GOLDEN_H
#define FILTRA_GOLDEN_H

#include "base/safetensors.h"
#include "nn/layers.h"

#include <filtra/filtra.h>
#include <jansson.h>

enum { GOLDEN_MAX = 512 };

/** A golden file on disk (data NULL), or one embedded in the command. */
typedef struct golden_file {
  const char *name; /* path, or name of the case */
  const unsigned char *data;
  size_t bytes;
} golden_file;

/** The embedded ones, at least one per op and mixer; ends with a NULL name. */
extern const golden_file golden_files[];

/** A golden tensor that is compared with a named parameter, or a part of it. */
typedef struct golden_binding {
  char golden[64], parameter[96];
  int part, parts;  /* part `part` of the parameter's first axis; golden may have more rows */
  bool interleaved; /* rows part, part + parts, .. instead */
} golden_binding;

/** A golden tensor that is an input of the graph, or an output. */
typedef struct golden_port {
  const ft_safetensor *tensor;
  filtra_tensor *device;
  const float *host; /* an output computed on the host; else NULL */
} golden_port;

typedef struct golden {
  filtra_device *device;
  const char *path;
  ft_safetensors *file;
  filtra_precision precision; /* precision of layers and models */
  bool narrowed;              /* something in the case uses `precision` */
  filtra_graph *graph;
  filtra_parameters *params;
  golden_port inputs[GOLDEN_MAX], outputs[GOLDEN_MAX];
  golden_binding bindings[GOLDEN_MAX];
  size_t input_count, output_count, binding_count;
} golden;

/** The comparison of one tensor. */
typedef struct golden_result {
  char name[96];
  double error, allowed; /* largest |got - expected|; its tolerance */
  double scale; /* largest |expected|, which relative errors refer to: of this tensor, or of
                   all gradients if this one is zero up to rounding */
  bool zero;    /* the scale is that of all gradients */
} golden_result;

typedef struct golden_report {
  char name[128], op[64]; /* names of the case and its op */
  golden_result *results; /* freed by golden_report_free */
  size_t count;
  bool pass;
  bool skipped; /* nothing in it computes in the requested precision */
} golden_report;

/** Runs a file on the device. Fails with INPUT if the file is not a golden file, with UNSUPPORTED
 * for an unknown op or setting. A mismatch only sets pass to false. */
filtra_status golden_run(filtra_device *device, const golden_file *file, filtra_precision precision,
                         golden_report *report);
void golden_report_free(golden_report *report);

/* ---- for the builders, golden_*.c ---- */

typedef filtra_status (*golden_build_fn)(golden *c);
typedef struct golden_op {
  const char *name;
  golden_build_fn build;
} golden_op;
/** The ops of each family; ends with a NULL name. */
extern const golden_op golden_attention[], golden_plaplacian[], golden_gfsa[], golden_converter[],
    golden_converter_parts[], golden_mixers[];

/* Errors in the file become the graph's sticky error. */

/** The file's tensor as an input of the graph, with a gradient for in.* and param.*. */
filtra_tensor *golden_input(golden *c, const char *name);
/** As golden_input, for I32 ids from 0 to limit - 1. */
filtra_tensor *golden_ids(golden *c, const char *name, int64_t limit);
/** fixed.mask; NULL if the file has none. */
filtra_tensor *golden_mask(golden *c);
bool golden_has(const golden *c, const char *name);
/** Dimension `axis` of a tensor in the file. */
int64_t golden_dim(const golden *c, const char *name, int axis);
/** Compares `t` with out.NAME. */
void golden_output(golden *c, const char *name, filtra_tensor *t);
/** As golden_output, for `count` values computed on the host; they must stay valid. */
void golden_host_output(golden *c, const char *name, const float *values, int64_t count);
/** The F32 content of a tensor in the file; NULL, with a sticky error, unless it has `count`
 * elements. */
const float *golden_values(golden *c, const char *name, int64_t count);
/** Binds param.GOLDEN to part `part` of `parts` of a parameter. */
void golden_bind(golden *c, const char *golden_name, const char *parameter, int part, int parts);
/** Binds param.GOLDEN to rows part, part + parts, .. of a parameter. */
void golden_bind_rows(golden *c, const char *golden_name, const char *parameter, int part,
                      int parts);
/** A tensor's name in the file and its parameter's name, without prefixes. */
typedef struct golden_name_pair {
  const char *golden, *parameter;
} golden_name_pair;
/** Binds several tensors to whole parameters. */
void golden_bind_pairs(golden *c, const char *golden_prefix, const char *prefix,
                       const golden_name_pair *pairs, size_t count);

/** The scope for layers and models, in the requested precision. */
ft_scope golden_scope(golden *c);
/** As golden_input, in the requested precision. */
filtra_tensor *golden_operand(golden *c, const char *name);

/** Builds a mixer from its configuration, which is released; sets *in and the mixer's output. */
filtra_status golden_build_mixer(golden *c, json_t *json, filtra_mixer_input *in,
                                 filtra_tensor **y);
/** As golden_build_mixer, with output y; binds attention's packed projection and the pairs. */
filtra_status golden_mixer(golden *c, json_t *json, const golden_name_pair *pairs, size_t count);
/** Binds param.wq to param.bv to the packed projection of attention mixers. */
void golden_bind_qkv(golden *c);

/** Settings from the metadata, or the fallback if absent: a number, a whole number of at least 1, a
 * flag (fallback false), text. */
double golden_number(const golden *c, const char *key, double fallback);
int64_t golden_count(const golden *c, const char *key, int64_t fallback);
bool golden_flag(const golden *c, const char *key);
const char *golden_text(const golden *c, const char *key, const char *fallback);
/** Index of a setting in `names`, NULL-terminated; fails for another value. */
filtra_status golden_choose(const golden *c, const char *key, const char *fallback,
                            const char *const *names, int *out);

/* ---- parts shared by the Converter's ops (golden_converter_parts.c) ---- */

void golden_bind_siren(golden *c, const char *golden_prefix, const char *prefix);
void golden_bind_gffn(golden *c, const char *golden_prefix, const char *prefix);
void golden_bind_gru(golden *c, const char *golden_prefix, const char *prefix, int64_t layers);
/** Reads the setting softplus_threshold. */
filtra_status golden_softplus(golden *c, filtra_activation *activation);

#endif
