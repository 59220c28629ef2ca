/* Building nodes with inferred types in one line each: for gradient rules, patterns and passes.
 *
 * The first failure sticks in the builder; what is built after it is ONS_NONE and building on ONS_NONE does nothing, so
 * a rule of several lines checks once, at the end (ons_builder_finish).
 */
#ifndef ONSTAGE_GRAPH_BUILD_H
#define ONSTAGE_GRAPH_BUILD_H

#include "graph/graph.h"

typedef struct ons_registry ons_registry;

typedef struct ons_builder {
    ons_graph *graph;
    const ons_registry *registry;
    ons_phase phase;
    bool per_step;
    ons_node_id origin;  /* of the nodes that are built; ONS_NONE: themselves */
    const char *name;    /* names of nodes and values begin with it; NULL: the operator's name */
    ons_status *failure; /* owned until ons_builder_finish */
} ons_builder;

/* An attribute by its position among the operator's declarations. */
typedef struct ons_setting {
    uint32_t index;
    ons_attribute value;
} ons_setting;

typedef struct ons_inputs {
    const ons_value_id *ids;
    uint32_t count;
} ons_inputs;
typedef struct ons_settings {
    const ons_setting *items;
    uint32_t count;
} ons_settings;

#define ONS_IN(...)                                                                                                    \
    ((ons_inputs){(const ons_value_id[]){__VA_ARGS__},                                                                 \
                  sizeof((const ons_value_id[]){__VA_ARGS__}) / sizeof(ons_value_id)})
#define ONS_WITH(...)                                                                                                  \
    ((ons_settings){(const ons_setting[]){__VA_ARGS__},                                                                \
                    sizeof((const ons_setting[]){__VA_ARGS__}) / sizeof(ons_setting)})
#define ONS_DEFAULTS ((ons_settings){NULL, 0})
#define ONS_AT_INT(INDEX, VALUE)                                                                                       \
    {                                                                                                                  \
        (INDEX), { .kind = ONS_ATTRIBUTE_INT, .i = (VALUE) }                                                           \
    }
#define ONS_AT_FLOAT(INDEX, VALUE)                                                                                     \
    {                                                                                                                  \
        (INDEX), { .kind = ONS_ATTRIBUTE_FLOAT, .f = (VALUE) }                                                         \
    }
#define ONS_AT_INTS(INDEX, COUNT, VALUES)                                                                              \
    {                                                                                                                  \
        (INDEX), { .kind = ONS_ATTRIBUTE_INTS, .count = (COUNT), .ints = (VALUES) }                                    \
    }
#define ONS_AT_STRING(INDEX, VALUE)                                                                                    \
    {                                                                                                                  \
        (INDEX), { .kind = ONS_ATTRIBUTE_STRING, .s = (VALUE) }                                                        \
    }

/* A node with one output; returns that. Settings are copied deeply. */
ons_value_id ons_build(ons_builder *builder, const ons_operator *op, ons_inputs inputs, ons_settings settings);

/* A node whose outputs [0, count) are all made; those with wanted[i] false are left out (wanted NULL: all) and come
 * back as ONS_NONE. The node keeps a value for each that the operator always makes (`outputs_min` of its arity). */
ons_node_id ons_build_node(ons_builder *builder, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                           uint32_t count, const bool *wanted, ons_value_id *outputs);

/* A node like ons_build_node's, but with all attributes given in order (a copy of another node's); NULL: defaults. */
ons_node_id ons_build_node_like(ons_builder *builder, const ons_operator *op, ons_inputs inputs,
                                const ons_attribute *attributes, uint32_t count, const bool *wanted,
                                ons_value_id *outputs);

/* Constants. */
ons_value_id ons_build_integers(ons_builder *builder, const int64_t *values, uint32_t count); /* int64[count] */
ons_value_id ons_build_scalar(ons_builder *builder, ons_dtype dtype, double value);           /* rank 0 */
/* A constant of any type from 8-byte words as in ons_reference_function. */
ons_value_id ons_build_constant(ons_builder *builder, const char *name, const ons_type *type, const void *words);

/* The type of a value that may be ONS_NONE (then all zero). */
ons_type ons_builder_type(const ons_builder *builder, ons_value_id value);

/* Keeps `status` as the builder's failure unless there is one already. Returns whether it was a failure. */
bool ons_builder_fail(ons_builder *builder, ons_status *status);

/* Takes the failure out of the builder. */
ons_status *ons_builder_finish(ons_builder *builder);

#endif
