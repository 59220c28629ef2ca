/* The graph: two arrays, values and nodes, addressed by 32-bit ids.
 *
 * Nodes stand in an order in which every value is made before it is used. A graph describes one micro-batch; nodes with
 * `per_step` run once for all micro-batches of a step. Results of analysis (lifetimes, offsets, stages, costs) live in
 * arrays of their own, indexed by id, never in here.
 */
#ifndef ONSTAGE_GRAPH_GRAPH_H
#define ONSTAGE_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "graph/store.h"
#include "graph/type.h"

typedef struct ons_operator ons_operator;
typedef struct ons_graph ons_graph;

typedef uint32_t ons_value_id;
typedef uint32_t ons_node_id;
enum { ONS_NONE = 0xffffffffu }; /* no value, no node */

typedef enum ons_value_kind {
    ONS_INPUT,      /* filled by the caller for every micro-batch */
    ONS_PARAMETER,  /* a weight; changes only where an update writes its pair */
    ONS_CONSTANT,   /* known bytes */
    ONS_ACTIVATION, /* made by a forward node */
    ONS_GRADIENT,   /* made by a backward node */
    ONS_STATE,      /* an optimiser's, or an accumulator */
    ONS_BUFFER,     /* running statistics */
} ons_value_kind;

/* What the file itself says of where an initialiser comes from. */
typedef enum ons_origin {
    ONS_ORIGIN_UNKNOWN,   /* nothing */
    ONS_ORIGIN_PARAMETER, /* it is a module's parameter */
    ONS_ORIGIN_BUFFER,    /* it is a module's buffer */
    ONS_ORIGIN_CONSTANT,  /* the exporter computed it, from no parameter */
    ONS_ORIGIN_MOVED,     /* elements of parameters: transposed, repeated, picked, put side by side */
    ONS_ORIGIN_COMPUTED,  /* the exporter computed it from parameters in another way */
} ons_origin;

/* Why an initialiser is, or is not, a weight; shown by `onstage inspect`. */
typedef enum ons_role_reason {
    ONS_WEIGHT,             /* a float initialiser that a gradient may reach */
    ONS_NOT_FLOAT,          /* an integer or boolean table */
    ONS_SCALAR,             /* rank 0: a constant of the computation */
    ONS_STATISTICS,         /* running statistics of a normalisation */
    ONS_HOLDS_INFINITIES,   /* a mask */
    ONS_FROM_CONSTANT_NODE, /* not an initialiser at all */
    ONS_SINUSOIDS,          /* sines and cosines of positions */
    ONS_FILLED,             /* zeros or ones that the program made */
    ONS_FIRST_STATE,        /* zeros that a recurrence starts from */
    ONS_MASK,               /* zeros beside large negative numbers, or a triangle of ones */
    ONS_COORDINATES,        /* evenly spaced numbers: an axis or a grid */
    ONS_FREQUENCIES,        /* a geometric series that the program made */
    ONS_MODULE_BUFFER,      /* the file says that it is a module's buffer */
    ONS_FOLDED,             /* the file says that it was computed from no parameter */
    ONS_COMPUTED,           /* the file says that it was computed from parameters, which are gone */
    ONS_FED_ONCE,           /* an input that counts no samples: the same in every step */
    ONS_NOT_REACHED,        /* read only where no gradient can come: the scales of a Resize, say */
} ons_role_reason;

typedef struct ons_value {
    ons_type type;
    ons_value_kind kind;
    const char *name;     /* unique in the graph */
    ons_node_id producer; /* ONS_NONE for inputs, parameters, constants, states-in and buffers-in */
    ons_data_id data;     /* first contents of parameters, constants, states and buffers; ONS_NO_DATA: zeros, or none */
    ons_value_id pair; /* of a state's or parameter's new contents: the value that they replace; ONS_NONE elsewhere */
    ons_role_reason reason;
    ons_origin origin;     /* of an initialiser */
    bool once;             /* of an input: it counts no samples, and is the same in every step */
    bool repeated;         /* the file has it once for each sample of its batch, or along another axis */
    const char *parameter; /* the one parameter whose elements it holds, under another name; NULL: none */
    uint32_t shard;        /* of a weight that was split: 1 + the number of this part of it; 0: it is whole */
    const char *whole;     /* of such a part: the weight's name in the file; NULL: it is whole */
    const char *sources;   /* the parameters that it was computed from, for messages; NULL: it was not */
} ons_value;

/* The name of an initialiser in the file. */
static inline const char *ons_value_name_in_file(const ons_value *value) {
    return value->whole != NULL ? value->whole : value->name;
}

/* Kept from step to step: weights, tables, states, statistics. */
static inline bool ons_is_persistent(const ons_value *value) {
    return value->kind == ONS_PARAMETER || value->kind == ONS_CONSTANT || value->kind == ONS_STATE ||
           value->kind == ONS_BUFFER;
}

typedef enum ons_phase {
    ONS_FORWARD,
    ONS_INPUT_GRADIENT,  /* on the way to an earlier stage */
    ONS_WEIGHT_GRADIENT, /* ends in an accumulator; may wait for a bubble */
    ONS_UPDATE,
} ons_phase;

typedef enum ons_attribute_kind {
    ONS_ATTRIBUTE_ABSENT = 0,
    ONS_ATTRIBUTE_INT,
    ONS_ATTRIBUTE_FLOAT,
    ONS_ATTRIBUTE_STRING,
    ONS_ATTRIBUTE_INTS,
    ONS_ATTRIBUTE_FLOATS,
    ONS_ATTRIBUTE_STRINGS,
    ONS_ATTRIBUTE_TENSOR,
    ONS_ATTRIBUTE_GRAPH,
} ons_attribute_kind;

typedef struct ons_attribute {
    ons_attribute_kind kind;
    uint32_t count; /* of ints, floats or strings */
    union {
        int64_t i;
        double f;
        const char *s;
        const int64_t *ints;
        const double *floats;
        const char *const *strings;
        ons_data_id tensor;
        ons_graph *graph; /* a branch or body. What it captures is a value of kind ONS_INPUT that is not among its
                             inputs and has the name of the outer graph's value. Not owned: see onnx_import/import.h */
    };
} ons_attribute;

typedef struct ons_node {
    const ons_operator *op;
    const char *name;                /* unique; from the file, or made from the origin's */
    const ons_attribute *attributes; /* one for each of the operator's attribute declarations, in their order */
    ons_value_id *inputs;            /* ONS_NONE where an optional one is left out */
    ons_value_id *outputs;           /* ONS_NONE where an optional one is left out */
    uint32_t input_count;
    uint32_t output_count;
    ons_phase phase;
    bool per_step;      /* runs once a step: before the micro-batches, or after them where the phase is ONS_UPDATE */
    ons_node_id origin; /* the forward node that this one was derived from, or itself: keys random numbers */
    const char *key;    /* of random numbers, where the graph that this one was cut from has another name for the node
                           that they stand for; NULL: the origin's name */
} ons_node;

struct ons_graph {
    ons_arena *arena; /* names, attributes, ids; owned */
    ons_store *store; /* not owned; several graphs share one */
    const char *name;
    ONS_VECTOR(ons_value) values;
    ONS_VECTOR(ons_node) nodes;
    ONS_VECTOR(ons_value_id) inputs;          /* in the order of the file */
    ONS_VECTOR(ons_value_id) outputs;         /* in the order of the file */
    ONS_VECTOR(ons_value_id) read_by_unknown; /* by nodes of the file that could not be imported: for `check` */
    ons_map value_names;
    ons_map node_names;
    /* Symbolic dimensions of the inputs of a graph fresh from a file: symbols[input][axis], NULL where there is none.
     */
    const char *(*symbols)[ONS_RANK_MAX];
};

ons_status *ons_graph_new(ons_store *store, const char *name, ons_graph **graph);
void ons_graph_free(ons_graph *graph); /* NULL is fine */

/* A new value. `name` is copied; where it is taken already (or NULL), a number is added to make it unique. */
ons_status *ons_graph_add_value(ons_graph *graph, const char *name, ons_value_kind kind, const ons_type *type,
                                ons_value_id *id);

/* A new node with `output_count` output slots, all ONS_NONE; inputs and attributes are copied (attributes shallowly:
 * what they point to must live in this graph's arena or longer). NULL attributes: the operator's defaults. */
ons_status *ons_graph_add_node(ons_graph *graph, const ons_operator *op, const char *name,
                               const ons_attribute *attributes, const ons_value_id *inputs, uint32_t input_count,
                               uint32_t output_count, ons_node_id *id);

/* Makes `value` output `index` of `node`. */
void ons_graph_set_output(ons_graph *graph, ons_node_id node, uint32_t index, ons_value_id value);

/* A node gets the name, phase and rhythm of another, which keeps its own former name. */
void ons_graph_take_place(ons_graph *graph, ons_node_id id, ons_node_id of);

static inline ons_value *ons_graph_value(const ons_graph *graph, ons_value_id id) { return &graph->values.items[id]; }

static inline ons_node *ons_graph_node(const ons_graph *graph, ons_node_id id) { return &graph->nodes.items[id]; }

/* Keys the random numbers that a node draws: from the name of the node of the model that it stands for, wherever passes
 * have put it. */
uint64_t ons_graph_node_key(const ons_graph *graph, ons_node_id id);

/* ONS_NONE where there is none of that name. */
ons_value_id ons_graph_find_value(const ons_graph *graph, const char *name);
ons_node_id ons_graph_find_node(const ons_graph *graph, const char *name);

/* Known contents of a value, or NULL. Parameters count as unknown: they change. */
const ons_tensor *ons_graph_constant(const ons_graph *graph, ons_value_id id);

/* Text of the whole graph, one value or node a line, stable enough to be compared by a test. Free with free(). */
ons_status *ons_graph_print(const ons_graph *graph, char **text);

/* Text of a node's attributes that have a value, as "name=value name=[value,value]"; tensors and graphs by that word
 * alone. "" where it has none. Free with free(). */
ons_status *ons_node_print_attributes(const ons_node *node, char **text);

/* Arity, types, shapes, order, one producer a value, phases legal. Run after every pass in debug and test builds. */
ons_status *ons_graph_verify(const ons_graph *graph);

#endif
