/* Golden cases: files with inputs, parameters, upstream gradients and what must come out. */
#ifndef FILTRA_GOLDEN_H
#define FILTRA_GOLDEN_H

#include "base/safetensors.h"
#include "nn/layers.h"

#include <filtra/filtra.h>
#include <jansson.h>

enum { GOLDEN_MAX = 512 };

/** A golden file on disk (data NULL), or one that comes with the command. */
typedef struct golden_file {
  const char *name; /* path, or case */
  const unsigned char *data;
  size_t bytes;
} golden_file;

/** Those that come along, each op and mixer once at least; a NULL name ends them. */
extern const golden_file golden_files[];

/** A golden tensor whose device side is (part of) a named parameter. */
typedef struct golden_binding {
  char golden[64], parameter[96];
  int part, parts;  /* part `part` of the parameter's first axis; golden may have rows more */
  bool interleaved; /* rows part, part + parts, .. instead */
} golden_binding;

/** A golden tensor fed to the graph, or an output. */
typedef struct golden_port {
  const ft_safetensor *tensor;
  filtra_tensor *device;
  const float *host; /* an output that was computed on the host instead */
} golden_port;

typedef struct golden {
  filtra_device *device;
  const char *path;
  ft_safetensors *file;
  filtra_precision precision; /* of layers and models, */
  bool narrowed;              /* which the case has */
  filtra_graph *graph;
  filtra_parameters *params;
  golden_port inputs[GOLDEN_MAX], outputs[GOLDEN_MAX];
  golden_binding bindings[GOLDEN_MAX];
  size_t input_count, output_count, binding_count;
} golden;

/** How one tensor compares. */
typedef struct golden_result {
  char name[96];
  double error, allowed; /* largest |got - expected|, and how large it may be */
  double scale;          /* what a relative error refers to: largest |expected| of this tensor, or
                            of all gradients where this one is zero but for rounding noise */
  bool zero;             /* it is such a gradient */
} golden_result;

typedef struct golden_report {
  char name[128], op[64]; /* the case and its op */
  golden_result *results; /* freed by golden_report_free */
  size_t count;
  bool pass;
  bool skipped; /* it has nothing that computes in the precision asked for */
} golden_report;

/** Runs a file on the device. Fails with INPUT when it is no golden file, UNSUPPORTED when its op
 * or a setting is not known; a mismatch is no failure but pass = false. */
filtra_status golden_run(filtra_device *device, const golden_file *file, filtra_precision precision,
                         golden_report *report);
void golden_report_free(golden_report *report);

/* ---- for the builders, golden_*.c ---- */

typedef filtra_status (*golden_build_fn)(golden *c);
typedef struct golden_op {
  const char *name;
  golden_build_fn build;
} golden_op;
/** The ops of each family; a NULL name ends it. */
extern const golden_op golden_attention[], golden_plaplacian[], golden_gfsa[], golden_converter[],
    golden_converter_parts[], golden_mixers[];

/* What is missing or wrong in the file becomes the graph's sticky error. */

/** The file's tensor as a graph input, with gradient for in.* and param.*. */
filtra_tensor *golden_input(golden *c, const char *name);
/** The same for I32 ids, which must be 0 to limit - 1. */
filtra_tensor *golden_ids(golden *c, const char *name, int64_t limit);
/** fixed.mask; NULL where the file has none. */
filtra_tensor *golden_mask(golden *c);
bool golden_has(const golden *c, const char *name);
/** Dimension `axis` of a tensor in the file. */
int64_t golden_dim(const golden *c, const char *name, int axis);
/** Declares what stands against out.NAME. */
void golden_output(golden *c, const char *name, filtra_tensor *t);
/** The same for values that the host computes, `count` of them; they must stay valid. */
void golden_host_output(golden *c, const char *name, const float *values, int64_t count);
/** The F32 content of a tensor in the file; NULL (and a sticky error) when there is none with
 * `count` elements. */
const float *golden_values(golden *c, const char *name, int64_t count);
/** Ties param.GOLDEN to part `part` of `parts` of a parameter. */
void golden_bind(golden *c, const char *golden_name, const char *parameter, int part, int parts);
/** Ties param.GOLDEN to the rows part, part + parts, .. of a parameter. */
void golden_bind_rows(golden *c, const char *golden_name, const char *parameter, int part,
                      int parts);
/** Names in the file and in the model, each below its prefix. */
typedef struct golden_name_pair {
  const char *golden, *parameter;
} golden_name_pair;
/** Ties several to whole parameters. */
void golden_bind_pairs(golden *c, const char *golden_prefix, const char *prefix,
                       const golden_name_pair *pairs, size_t count);

/** What layers and models are built on, in the precision asked for. */
ft_scope golden_scope(golden *c);
/** golden_input, in the precision asked for. */
filtra_tensor *golden_operand(golden *c, const char *name);

/** A mixer as a configuration would name it, which is taken over: what it is given, and gives. */
filtra_status golden_build_mixer(golden *c, json_t *json, filtra_mixer_input *in,
                                 filtra_tensor **y);
/** The same, as output y; ties attention's packed projection and these pairs. */
filtra_status golden_mixer(golden *c, json_t *json, const golden_name_pair *pairs, size_t count);
/** Ties param.wq to param.bv to the packed projection of attention's mixers. */
void golden_bind_qkv(golden *c);

/** Settings from the metadata, the fallback when absent: a number, a whole number of at least 1,
 * false (the fallback) or true, text. */
double golden_number(const golden *c, const char *key, double fallback);
int64_t golden_count(const golden *c, const char *key, int64_t fallback);
bool golden_flag(const golden *c, const char *key);
const char *golden_text(const golden *c, const char *key, const char *fallback);
/** One of `names`, NULL-terminated, by its index; fails when the file has another. */
filtra_status golden_choose(const golden *c, const char *key, const char *fallback,
                            const char *const *names, int *out);

/* ---- parts of the Converter that several of its ops have (golden_converter_parts.c) ---- */

void golden_bind_siren(golden *c, const char *golden_prefix, const char *prefix);
void golden_bind_gffn(golden *c, const char *golden_prefix, const char *prefix);
void golden_bind_gru(golden *c, const char *golden_prefix, const char *prefix, int64_t layers);
/** The setting softplus_threshold. */
filtra_status golden_softplus(golden *c, filtra_activation *activation);

#endif
