/* From an ONNX file to an unbound graph.
 *
 * What the graph is like:
 * - Inputs and initialisers keep their names. An initialiser that is also listed as an input is no input.
 * - Initialisers are ONS_PARAMETER (a weight), ONS_BUFFER (running statistics) or ONS_CONSTANT, with the reason; nodes
 *   that only state a constant are gone, their outputs being ONS_CONSTANT values. Float tensors of branches, bodies
 *   and functions are values of this graph, captured by the others: ons_stated_place; other initialisers of branches
 *   are ONS_CONSTANT.
 * - Nodes are in today's form of their operators, in an order in which everything is made before it is used; those
 *   without a name, or with a name used before, get one. Identities are still there.
 * - Calls of the model's own functions are replaced by their nodes; names from inside a call begin with the call's
 *   name.
 * - Types are known for inputs, initialisers and constants alone. Dimensions that are not numbers are ONS_DIM_UNKNOWN,
 *   with their symbols in graph->symbols.
 * - A branch or body is a graph of its own, see ons_attribute.graph. Branches belong to the model file.
 * - An initialiser that the exporter repeated for each sample of a fixed batch, or that is the transpose of another, is
 *   made from one weight by a node in front of the file's (ons_derived).
 * - An initialiser that is asked for in shards is made from them by a node in front of the file's (ons_sharded).
 * - Running statistics are never tied: where exporters have merged equal ones (all zeros before training), through an
 *   Identity or directly, each use gets a buffer of its own; ons_export writes those as initialisers of their own.
 */
#ifndef ONSTAGE_ONNX_IMPORT_IMPORT_H
#define ONSTAGE_ONNX_IMPORT_IMPORT_H

#include <stdbool.h>

#include "graph/blocker.h"
#include "graph/registry.h"
#include "onnx_import/model_file.h"

enum { ONS_OPSET_MIN = 1, ONS_OPSET_MAX = ONS_NEWEST };

/* `--tie A=B`: the initialiser `name` is the initialiser `to` from now on; both must have the same type. Export asks
 * for the new contents of both under their own names. */
typedef struct ons_tie {
    const char *name;
    const char *to;
} ons_tie;

/* An initialiser that is to be `shards` parameters, with an equal number of entries along the axis, one more for the
 * first ones where that does not come out even. */
typedef struct ons_shard_request {
    const char *name;
    uint32_t axis, shards;
} ons_shard_request;

typedef struct ons_import_options {
    const ons_tie *ties;
    size_t tie_count;
    const char *const *untie; /* `--untie NAME`: each Identity of the initialiser becomes a weight of its own, named
                                 after the Identity's output, and each layer that reads it has a weight of its own; a
                                 pattern means those alone that look merged (ons_merge) */
    size_t untie_count;
    const char *const *outputs; /* tensors, outputs of the graph or not, that are to be the outputs; nodes that they do
                                   not need are left out, whatever they are */
    size_t output_count;        /* 0: the file's own outputs */
    const ons_shard_request *shards;
    size_t shard_count;
    const char *const *trained; /* names that are asked for: numbers of bodies and functions are values then, too */
    size_t trained_count;
    bool allow_missing_data; /* external files may be missing: the data in the store is NULL then (planning needs none)
                              */
} ons_import_options;

/* `options` NULL: none. Large tensors in the store point into `file`, which must outlive it, at any alignment; small
 * ones are copied.
 *
 * `blockers` NULL: the first thing that onstage does not support is the failure. Otherwise all are appended, *graph is
 * made as far as possible (outputs of nodes that could not be imported are ONS_ACTIVATION values without a producer),
 * and the texts of the blockers live in its arena. A file that is not valid ONNX is a failure in any case. A second
 * import from the same file frees the branches of the first. */
ons_status *ons_import(ons_model_file *file, const ons_registry *registry, const ons_import_options *options,
                       ons_store *store, ons_blockers *blockers, ons_graph **graph);

/* The values that got an initialiser of their own (untied weights, split statistics), as long as the file lives and
 * until the next import: names in the graph, and the initialisers that they came from. */
typedef struct ons_untied {
    const char *name;
    const char *source;
} ons_untied;
size_t ons_untied_count(const ons_model_file *file);
ons_untied ons_untied_at(const ons_model_file *file, size_t index);

/* A weight that several layers read, and that the exporter has probably merged: it holds one number all over, as fresh
 * weights do, or all layers read it as the same operand of the same operator. */
typedef struct ons_merge {
    const char *name;
    uint32_t layers;
} ons_merge;
/* Biases of the module that the exporter has left out because they were zeros; the first one's name. */
size_t ons_lost_bias_count(const ons_model_file *file, const char **first);

/* A parameter of the module whose part in the computation a default export has lost (lost.c). Texts live as long as the
 * file. */
typedef struct ons_lost {
    const char *parameter; /* in the module */
    const char *result;    /* what the parameter stands for in the file beside itself; NULL: it is not in the file */
} ons_lost;
size_t ons_lost_count(const ons_model_file *file);
ons_lost ons_lost_at(const ons_model_file *file, size_t index);

/* The label smoothing of the first cross entropy of the file whose node has lost it, its name and what it reads; 0:
 * there is none. */
double ons_lost_smoothing(const ons_model_file *file, const char **node, const char **logits);

/* Nodes that read something which the program has detached, where the file does not tell which of their operands it is:
 * their names in the graph, until the next import. */
size_t ons_unclear_detaches(const ons_model_file *file, const char *const **names);

/* Whether an option has parted the weight. */
bool ons_import_has_parted(const ons_model_file *file, const char *name);
size_t ons_merge_count(const ons_model_file *file);
ons_merge ons_merge_at(const ons_model_file *file, size_t index);

/* An initialiser of the file that is no value of its own in the graph: its elements are those of a weight, repeated,
 * transposed or moved in another way (derived.c, copies.c). Texts live as long as the file. */
typedef struct ons_derived {
    const char *name;              /* in the file */
    const char *source;            /* the weight in the graph; the same name where it was repeated */
    ons_type type;                 /* in the file */
    int64_t strides[ONS_RANK_MAX]; /* element (i, j, …) is the weight's element i · strides[0] + j · strides[1] + … */
    const int64_t *index;          /* or element k is its element index[k], 0 where that is -1; NULL: by strides */
} ons_derived;
/* Initialisers with numbers of one parameter that may stand in several places, and that contents do not tell; the first
 * one's name. */
size_t ons_untold_copy_count(const ons_model_file *file, const char **first);
size_t ons_derived_count(const ons_model_file *file);
const ons_derived *ons_derived_at(const ons_model_file *file, size_t index);
/* NULL: the initialiser is a value of its own. */
const ons_derived *ons_derived_find(const ons_model_file *file, const char *name);
/* Bytes [offset, offset + bytes) of the file's tensor, from the contents of the weight. */
void ons_derived_fill(const ons_derived *derived, const void *source, int64_t offset, void *buffer, size_t bytes);

/* Where a value's contents stand that is no initialiser of the model's graph, for messages ("of a Constant node");
 * NULL: it is one. Such values are ONS_CONSTANT with ONS_FROM_CONSTANT_NODE, and passes may make weights of them
 * (graph/passes/constants.h), or, of initialisers of bodies, as those of the model's graph; ons_export writes them back
 * to where they stand. */
const char *ons_stated_place(const ons_model_file *file, const char *name);

/* An initialiser of the file that is several parameters in the graph. Texts live as long as the file. */
typedef struct ons_sharded {
    const char *name;
    ons_type type; /* in the file */
    uint32_t axis, shards;
    const char **parts; /* [shard]: names in the graph */
} ons_sharded;
size_t ons_sharded_count(const ons_model_file *file);
const ons_sharded *ons_sharded_at(const ons_model_file *file, size_t index);
/* NULL: the initialiser is whole. */
const ons_sharded *ons_sharded_find(const ons_model_file *file, const char *name);
/* Index of a shard's first entry. */
int64_t ons_shard_begin(int64_t entries, uint32_t shards, uint32_t shard);
/* Puts the contents of a shard to their place in those of the file's tensor. */
void ons_sharded_put(const ons_sharded *sharded, uint32_t shard, const void *contents, void *whole);

#endif
