/* What an operator is to the rest of the program: one constant descriptor, written in its folder under kernels/.
 *
 * A descriptor is defined by ONS_DEFINE_OPERATOR, whose arguments are positional, so that none can be forgotten; what
 * an operator does not have is spelled, with the reason (ONS_NOT_DIFFERENTIABLE, …). Who computes it is not the
 * descriptor's business: kernels/kernels.h.
 */
#ifndef ONSTAGE_GRAPH_OPERATOR_H
#define ONSTAGE_GRAPH_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "graph/build.h"
#include "graph/graph.h"

/* ------------------------------------------------------------------------------------------------ a node's operands */

/* A node as its operator sees it: used for shape inference, cost, reference and kernels alike. */
typedef struct ons_operands {
    const ons_operator *op;
    const char *name;                /* of the node, for messages */
    const ons_attribute *attributes; /* in the order of the operator's declarations, defaults filled in */
    const ons_type *inputs;          /* dtype ONS_NO_DTYPE where left out */
    const ons_tensor *constants;     /* contents of each input where they are known, data NULL elsewhere */
    ons_type *outputs;               /* inference fills them in; it sets every output the operator can have */
    uint32_t input_count;
    uint32_t output_count;
} ons_operands;

static inline bool ons_has_input(const ons_operands *o, uint32_t index) {
    return index < o->input_count && o->inputs[index].dtype != ONS_NO_DTYPE;
}
static inline bool ons_has_output(const ons_operands *o, uint32_t index) {
    return index < o->output_count && o->outputs[index].dtype != ONS_NO_DTYPE;
}
static inline bool ons_has_attribute(const ons_operands *o, uint32_t index) {
    return o->attributes[index].kind != ONS_ATTRIBUTE_ABSENT;
}

/* The integers of a known int32 or int64 input, at most ONS_INTEGERS_MAX of them. Fails with node and input named where
 * the contents depend on data. An input left out gives a count of 0. */
enum { ONS_INTEGERS_MAX = 64 };
ons_status *ons_constant_integers(const ons_operands *o, uint32_t input, int64_t values[ONS_AT_LEAST(ONS_INTEGERS_MAX)],
                                  uint32_t *count);

/* ------------------------------------------------------------------------------------------------------- attributes */

/* One declared attribute. `kind` ABSENT as default: no default. */
typedef struct ons_attribute_declaration {
    const char *name;
    ons_attribute_kind kind;
    bool required;
    ons_attribute default_value;
} ons_attribute_declaration;

#define ONS_INT_ATTRIBUTE(NAME, VALUE)                                                                                 \
    {                                                                                                                  \
        (NAME), ONS_ATTRIBUTE_INT, false, { .kind = ONS_ATTRIBUTE_INT, .i = (VALUE) }                                  \
    }
#define ONS_FLOAT_ATTRIBUTE(NAME, VALUE)                                                                               \
    {                                                                                                                  \
        (NAME), ONS_ATTRIBUTE_FLOAT, false, { .kind = ONS_ATTRIBUTE_FLOAT, .f = (VALUE) }                              \
    }
#define ONS_STRING_ATTRIBUTE(NAME, VALUE)                                                                              \
    {                                                                                                                  \
        (NAME), ONS_ATTRIBUTE_STRING, false, { .kind = ONS_ATTRIBUTE_STRING, .s = (VALUE) }                            \
    }
#define ONS_OPTIONAL_ATTRIBUTE(NAME, KIND)                                                                             \
    {                                                                                                                  \
        (NAME), (KIND), false, { .kind = ONS_ATTRIBUTE_ABSENT }                                                        \
    }
#define ONS_REQUIRED_ATTRIBUTE(NAME, KIND)                                                                             \
    {                                                                                                                  \
        (NAME), (KIND), true, { .kind = ONS_ATTRIBUTE_ABSENT }                                                         \
    }
#define ONS_ATTRIBUTES(...) ((const ons_attribute_declaration[]){__VA_ARGS__, {.name = NULL}})
#define ONS_NO_ATTRIBUTES   ((const ons_attribute_declaration[]){{.name = NULL}})

/* --------------------------------------------------------------------------------------------------- shape and cost */

/* Types of all outputs from types (and known contents) of the inputs. Messages name the node through o->name. */
typedef ons_status *ons_infer_function(ons_operands *o);

typedef struct ons_cost {
    double flops; /* a multiply-add is 2 */
    double bytes; /* read and written, if every operand is touched as often as the algorithm must */
} ons_cost;
typedef ons_cost ons_cost_function(const ons_operands *o);

/* --------------------------------------------------------------------------------------------------------- gradient */

/* Handed to a gradient rule: build nodes that make the gradients of the node's inputs. */
typedef struct ons_gradient {
    ons_builder *builder;
    ons_node_id node;
    const ons_value_id *cotangents; /* of each output; ONS_NONE where none flows */
    const bool *wanted;             /* of each input: whether anybody needs its gradient */
    ons_value_id *gradients;        /* of each input: set those that are wanted. A result may still have the broadcast
                                       shape of the output: the driver sums it down to the input's. */
    const ons_operands *operands;
} ons_gradient;
typedef ons_status *ons_gradient_function(ons_gradient *g);

ons_value_id ons_gradient_input(const ons_gradient *g, uint32_t index);
/* The node's output; one that the file left out (a saved mean, say) is added to the node. */
ons_value_id ons_gradient_output(ons_gradient *g, uint32_t index);

typedef struct ons_gradient_rule {
    ons_gradient_function *build; /* NULL: not differentiable */
    const char *why_not;
    uint32_t differentiable; /* bit i: a gradient can reach input i; inputs from 31 on share bit 31 */
    uint32_t on_request;     /* bit i: an initialiser there is a weight only where the user says so (--train) */
} ons_gradient_rule;

#define ONS_ALL_INPUTS       0xffffffffu
#define ONS_INPUT_BIT(index) (1u << (index))
#define ONS_GRADIENT_RULE(BUILD, INPUTS)                                                                               \
    { .build = (BUILD), .differentiable = (INPUTS) }
#define ONS_GRADIENT_ON_REQUEST(BUILD, INPUTS, ON_REQUEST)                                                             \
    { .build = (BUILD), .differentiable = (INPUTS), .on_request = (ON_REQUEST) }
#define ONS_NOT_DIFFERENTIABLE(WHY)                                                                                    \
    { .why_not = (WHY) }

/* Bit i: the gradient rule reads input or output i, so it stays alive until then. */
typedef struct ons_saved {
    uint32_t inputs;
    uint32_t outputs;
} ons_saved;
#define ONS_SAVES(INPUTS, OUTPUTS)                                                                                     \
    { (INPUTS), (OUTPUTS) }
#define ONS_SAVES_NOTHING                                                                                              \
    { 0, 0 }

/* ---------------------------------------------------------------------------------------------------- roles, traits */

/* Operators that passes need by what they do. */
typedef enum ons_role {
    ONS_NO_ROLE,
    ONS_ROLE_ADD,
    ONS_ROLE_REDUCE_SUM,    /* inputs: data, axes; attribute 0: keepdims */
    ONS_ROLE_RESHAPE,       /* inputs: data, shape; attribute 0: whether a 0 in shape is a size */
    ONS_ROLE_REORDER,       /* change of layout; attribute 0: the new layout */
    ONS_ROLE_ACCUMULATE,    /* inputs: sum so far, summand; of a gradient both are in the parameter's type */
    ONS_ROLE_CROSS_ENTROPY, /* losses: see graph/passes/loss.h */
    ONS_ROLE_NEGATIVE_LOG_LIKELIHOOD,
    ONS_ROLE_SQUARED_ERROR,
    ONS_ROLE_ABSOLUTE_ERROR,
    ONS_ROLE_HUBER,
    ONS_ROLE_BINARY_CROSS_ENTROPY,
    ONS_ROLE_SAMPLE_MEAN, /* a scalar of the model's own as loss, averaged over micro-batches */
    ONS_ROLE_SQUARE_SUM,  /* Σ x² in double */
    ONS_ROLE_CLIP_FACTOR, /* inputs: all square sums; outputs: norm, factor */
    ONS_ROLE_SGD,         /* optimisers, up to RMSPROP: see graph/passes/update.h */
    ONS_ROLE_ADAM,
    ONS_ROLE_ADAMW,
    ONS_ROLE_ADAGRAD,
    ONS_ROLE_RMSPROP,
    ONS_ROLE_SPLIT,     /* attribute 0: axis; 1: number of equal pieces */
    ONS_ROLE_CONCAT,    /* attribute 0: axis */
    ONS_ROLE_EXPAND,    /* inputs: data, shape */
    ONS_ROLE_TRANSPOSE, /* attribute 0: where each axis comes from; none: all of them reversed */
    ONS_ROLE_SELECT,    /* inputs: condition, taken where it is true, taken elsewhere */
    ONS_ROLE_SQUARE_ROOT,
    ONS_ROLE_CAST,       /* attribute 0: the new element type */
    ONS_ROLE_SUM,        /* of all inputs */
    ONS_ROLE_LOSS_SCALE, /* inputs: state, all square sums; outputs: state, norm, factor: graph/passes/update.h */
    ONS_ROLE_COUNT,
} ons_role;

static inline bool ons_role_is_optimizer(ons_role role) { return role >= ONS_ROLE_SGD && role <= ONS_ROLE_RMSPROP; }

typedef enum ons_trait {
    ONS_TRAIT_IDENTITY = 1 << 0,   /* output 0 is input 0 */
    ONS_TRAIT_CONSTANT = 1 << 1,   /* output known without inputs */
    ONS_TRAIT_RANDOM = 1 << 2,     /* draws random numbers while training */
    ONS_TRAIT_STATISTICS = 1 << 3, /* keeps running statistics: what takes a state's place is that state times the float
                                      attribute "momentum", plus something of the micro-batch alone */
    ONS_TRAIT_CONTROL_FLOW = 1 << 4, /* attribute 0 is the graph taken where input 0 is true, attribute 1 the other */
    ONS_TRAIT_COUPLES_SAMPLES = 1 << 5, /* a sample's result depends on the others of its micro-batch */
    ONS_TRAIT_COMMUTATIVE = 1 << 6,     /* its two inputs may change places: patterns match both ways */
    ONS_TRAIT_ELEMENTWISE = 1 << 7,     /* output element i needs element i of operands of the same shape */
    ONS_TRAIT_EXPANDS = 1 << 8,    /* binding always replaces it by nodes of other operators (ons_forms.decompose) */
    ONS_TRAIT_GRADIENT = 1 << 9,   /* output i is the derivative of the value that attribute 2 names by the value
                                      that attribute 0 names at i, which is input i */
    ONS_TRAIT_QUANTIZED = 1 << 10, /* computes in integers, for inference alone: `check` names it */
    ONS_TRAIT_LOOP = 1 << 11,      /* attribute 0 is the body of ONNX's Loop: unrolled when shapes are bound */
    ONS_TRAIT_SCAN = 1 << 12, /* ONNX's Scan: unrolled when shapes are bound. Attributes: body, num_scan_inputs, axes
                                 and directions of the inputs, those of the outputs, and whether all have samples
                                 at axis 0 */
    ONS_TRAIT_SEQUENCES = 1 << 13,      /* makes or takes an ONNX sequence (ons_forms.decompose replaces it) */
    ONS_TRAIT_DENSE = 1 << 14,          /* products of matrices, convolutions: what matrix units compute */
    ONS_TRAIT_MOVES = 1 << 15,          /* output 0 holds elements of input 0, unchanged, in other places */
    ONS_TRAIT_ANY_PRECISION = 1 << 16,  /* follows its operands' precision, and computes in float32 inside */
    ONS_TRAIT_FULL_PRECISION = 1 << 17, /* float32 alone, in spite of traits that say otherwise */
    ONS_TRAIT_ADDRESSES = 1 << 18,  /* the last axis of input 1 holds places in input 0, along its first axes or those
                                       behind as many as attribute 0 says, where that is "batch_dims" */
    ONS_TRAIT_ALONG_AXIS = 1 << 19, /* input 1 holds places along one axis of input 0, which attribute 0 names */
    ONS_TRAIT_TOGETHER = 1 << 20,   /* along all other axes its inputs go together: element i with element i */
    ONS_TRAIT_PROBABILITIES = 1 << 21,     /* output 0 holds probabilities of the logits in input 0 */
    ONS_TRAIT_CHEAP_AGAIN = 1 << 22,       /* makes output 0 in little more time than to read it from memory */
    ONS_TRAIT_NORMALISES_PLANES = 1 << 23, /* normalises each channel of each sample by its own positions, the axes of
                                              input 0 from 2 on */
    ONS_TRAIT_HANDS_BACK = 1 << 24,        /* a gradient whose last output, where it is asked for, is output 0 of the
                                              node that it is the gradient of, made again from input 0 of that node */
} ons_trait;

/* What an input of an operator stands for, where it is not an ordinary one. */
typedef struct ons_operator_roles {
    ons_role role;
    uint32_t traits;
    uint32_t statistics;  /* bit i: input i is a running statistic: a buffer, never a weight */
    uint32_t states;      /* bit i: input i is what a recurrence starts from */
    uint32_t coordinates; /* bit i: input i says where another one is read */
    uint32_t full;        /* bit i: input i may stay float32 where the others are of lower precision */
} ons_operator_roles;
#define ONS_ROLES(ROLE, TRAITS, STATISTICS)                                                                            \
    { (ROLE), (TRAITS), (STATISTICS), 0, 0, 0 }
#define ONS_ROLES_WITH_FULL(ROLE, TRAITS, STATISTICS, FULL)                                                            \
    { (ROLE), (TRAITS), (STATISTICS), 0, 0, (FULL) }
#define ONS_PLAIN_OPERATOR         ONS_ROLES(ONS_NO_ROLE, 0, 0)
#define ONS_DENSE_OPERATOR         ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_DENSE, 0)
#define ONS_MOVING_OPERATOR        ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_MOVES, 0)
#define ONS_ELEMENTWISE_OPERATOR   ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ELEMENTWISE, 0)
#define ONS_ANY_PRECISION_OPERATOR ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION, 0)
#define ONS_PLANES_OPERATOR        ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_NORMALISES_PLANES, 0)
#define ONS_RECURRENT_OPERATOR(STATES)                                                                                 \
    { ONS_NO_ROLE, ONS_TRAIT_DENSE, 0, (STATES), 0, 0 }
#define ONS_SAMPLING_OPERATOR(COORDINATES)                                                                             \
    { ONS_NO_ROLE, 0, 0, 0, (COORDINATES), 0 }

/* How an operator takes part where training computes in a lower precision: graph/passes/precision.h. */
typedef enum ons_precision_class {
    ONS_PRECISION_FULL,    /* its float operands are float32: losses, exponentials, sums; and what says nothing */
    ONS_PRECISION_LOW,     /* matrix units: operands of the low type, sums in float32 */
    ONS_PRECISION_FOLLOWS, /* of the low type where an operand is */
} ons_precision_class;

static inline ons_precision_class ons_roles_precision(const ons_operator_roles *roles) {
    enum {
        FULL = ONS_TRAIT_FULL_PRECISION | ONS_TRAIT_QUANTIZED,
        FOLLOWS = ONS_TRAIT_ANY_PRECISION | ONS_TRAIT_MOVES | ONS_TRAIT_IDENTITY | ONS_TRAIT_ELEMENTWISE,
    };
    if ((roles->traits & FULL) != 0) return ONS_PRECISION_FULL;
    if ((roles->traits & ONS_TRAIT_DENSE) != 0) return ONS_PRECISION_LOW;
    return (roles->traits & FOLLOWS) != 0 ? ONS_PRECISION_FOLLOWS : ONS_PRECISION_FULL;
}

/* --------------------------------------------------------------------------------------------------------- aliasing */

typedef enum ons_alias_kind {
    ONS_ALIAS_END = 0,
    ONS_ALIAS_MAY,   /* the output may take the input's place where the input dies there and the sizes agree */
    ONS_ALIAS_VIEW,  /* the output is the input's bytes: nothing runs */
    ONS_ALIAS_STATE, /* the output always takes the input's place */
} ons_alias_kind;

typedef struct ons_alias {
    ons_alias_kind kind;
    uint32_t output;
    uint32_t input;
} ons_alias;
#define ONS_ALIASES(...) ((const ons_alias[]){__VA_ARGS__, {.kind = ONS_ALIAS_END}})
#define ONS_NO_ALIASES   ((const ons_alias[]){{.kind = ONS_ALIAS_END}})

/* ----------------------------------------------------------------------------------------------------------- layout */

typedef enum ons_layout_policy {
    ONS_LAYOUT_PLAIN, /* ONNX's order only */
    /* Any one layout, the same for all operands of the output's shape; others in ONNX's order, and broadcast. */
    ONS_LAYOUT_FOLLOWS,
    ONS_LAYOUT_CHOOSES, /* asks `choose` */
    ONS_LAYOUT_ASKED,   /* the one output as the first node that reads it wants it, where input 0 broadcasts to that */
} ons_layout_policy;

typedef struct ons_layout_rule {
    ons_layout_policy policy;
    /* Sets the layout of every input and output; what comes in are the layouts that the inputs have now. */
    ons_status *(*choose)(const ons_operands *o, ons_layout *inputs, ons_layout *outputs);
} ons_layout_rule;
#define ONS_PLAIN_LAYOUT                                                                                               \
    { ONS_LAYOUT_PLAIN, NULL }
#define ONS_FOLLOWS_LAYOUT                                                                                             \
    { ONS_LAYOUT_FOLLOWS, NULL }
#define ONS_ASKED_LAYOUT                                                                                               \
    { ONS_LAYOUT_ASKED, NULL }
#define ONS_CHOOSES_LAYOUT(CHOOSE)                                                                                     \
    { ONS_LAYOUT_CHOOSES, (CHOOSE) }

/* ----------------------------------------------------------------------------------------------- forms and versions */

/* A node as it stands in the file, while its operator turns an older opset's form into today's. */
typedef struct ons_upgrade ons_upgrade;
typedef ons_status *ons_upgrade_function(ons_upgrade *u);

/* A decomposed form that this operator replaces. `form` is an expression over ONNX operators, for instance
 *     "Mul(x, Sigmoid(x))"
 * Lower-case words capture values (the same word, the same value); numbers match scalar constants (within 1e-4,
 * relative); a word with '?' in front captures a scalar constant; "name=Op(…)" names an inner result so that it can be
 * used again. Operators with ONS_TRAIT_COMMUTATIVE match either way round. A pattern matches only where no inner result
 * is used outside of it. `replace` builds the replacement and returns its value, or ONS_NONE to decline (attributes
 * that do not fit, say). The functions that it may use are in graph/passes/fuse.h. */
typedef struct ons_match ons_match;
typedef ons_value_id ons_replace_function(ons_match *match);
typedef struct ons_pattern {
    const char *form;
    ons_replace_function *replace;
} ons_pattern;
#define ONS_PATTERNS(...) ((const ons_pattern[]){__VA_ARGS__, {.form = NULL}})
#define ONS_NO_PATTERNS   ((const ons_pattern[]){{.form = NULL}})

/* Called when a graph is bound, behind inference: may replace the node (graph/passes/replacement.h). The decomposition
 * by nodes of other operators, or nothing; the training form by one for training or for inference (BatchNormalization,
 * Dropout). NULL: there is none. */
typedef struct ons_replacement ons_replacement;
typedef struct ons_mode ons_mode;
typedef ons_status *ons_decompose_function(ons_replacement *m);
typedef ons_status *ons_training_form_function(ons_replacement *m, const ons_mode *mode);

/* Builds a node in shards, where operands of it come in shards (graph/passes/shard.h); it may leave it alone. NULL:
 * shards are put together in front of the node. */
typedef struct ons_sharding ons_sharding;
typedef ons_status *ons_shard_function(ons_sharding *s);

enum { ONS_VARIADIC = 0xffffffff }; /* any number of inputs or outputs */

/* How a node of an exported training graph is put into inference form in the file (`--export inference`). */
typedef struct ons_inference_form {
    bool differs;          /* false: the node is the same in both */
    const char *attribute; /* is taken out; NULL: none */
    uint32_t inputs;       /* those from here on are taken out; ONS_VARIADIC: all stay */
    uint32_t outputs;      /* those from here on are taken out, and nothing may read them; ONS_VARIADIC: all stay */
} ons_inference_form;
#define ONS_SAME_IN_INFERENCE                                                                                          \
    { false, NULL, ONS_VARIADIC, ONS_VARIADIC }
#define ONS_IN_INFERENCE(ATTRIBUTE, INPUTS, OUTPUTS)                                                                   \
    { true, (ATTRIBUTE), (INPUTS), (OUTPUTS) }

typedef struct ons_forms {
    ons_upgrade_function *upgrade;
    const ons_pattern *patterns;
    ons_decompose_function *decompose;
    ons_training_form_function *training_form;
    ons_inference_form inference;
    ons_shard_function *shard;
} ons_forms;
#define ONS_FORMS(UPGRADE, PATTERNS, DECOMPOSE) ONS_SHARDED_FORMS(UPGRADE, PATTERNS, DECOMPOSE, NULL)
#define ONS_SHARDED_FORMS(UPGRADE, PATTERNS, DECOMPOSE, SHARD)                                                         \
    { (UPGRADE), (PATTERNS), (DECOMPOSE), NULL, ONS_SAME_IN_INFERENCE, (SHARD) }
/* INFERENCE: ONS_IN_INFERENCE("training_mode", ONS_VARIADIC, 1) */
#define ONS_TRAINING_FORMS(UPGRADE, PATTERNS, TRAINING_FORM, INFERENCE)                                                \
    { (UPGRADE), (PATTERNS), NULL, (TRAINING_FORM), INFERENCE, NULL }
#define ONS_ONE_FORM ONS_FORMS(NULL, ONS_NO_PATTERNS, NULL)

/* -------------------------------------------------------------------------------------------------------- reference */

/* What a kernel found wrong in the data; the first fault of a step wins. */
typedef struct ons_fault {
    const char *problem; /* static text, NULL: none */
    int64_t index;       /* of the element */
    int64_t value;
    int64_t classes;   /* > 0: the value should be a class, from 0 to one less */
    uint64_t node_key; /* of the node that found it: set where it runs, on the device by its kernel */
} ons_fault;

/* What changes from run to run. */
typedef struct ons_step {
    uint64_t seed;
    uint64_t step;              /* from 1 */
    uint32_t micro_batch;       /* from 0, of all replicas */
    uint32_t first_micro_batch; /* of this replica: sums over micro-batches begin with it */
    float learning_rate;
    double rate_share;      /* what the schedule leaves of any learning rate */
    double counted_targets; /* targets of the whole step that count in the loss */
    double sample_share;    /* samples of this micro-batch ÷ samples of the step */
    uint64_t node_key;      /* for references: keys the random numbers of the node, as in ons_prepare */
    ons_fault *fault;       /* for references: where to say what the data cannot be; NULL: nobody asks */
} ons_step;

/* Naive, in double for floats and exact for integers: every element of every operand is one 8-byte word, a double where
 * the dtype is a float, an int64 elsewhere (bool: 0 or 1). `inputs[i]` NULL where left out. */
typedef void ons_reference_function(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                    void *const *outputs);

/* ------------------------------------------------------------------------------------------------------- descriptor */

typedef struct ons_opset_range {
    const char *domain; /* "" is ONNX's own; "onstage" for operators of ours, which no file may use */
    uint32_t first, last;
} ons_opset_range;
/* The newest version of ONNX's own operators whose changes have been looked at: the usual LAST, and the newest that a
 * file may have (ONS_OPSET_MAX in onnx_import/import.h). CONTRIBUTING.md says how it is raised ("A new opset"). */
enum { ONS_NEWEST = 28 };
#define ONS_ONNX(FIRST, LAST)                                                                                          \
    { "", (FIRST), (LAST) }
#define ONS_IN_DOMAIN(DOMAIN, FIRST, LAST)                                                                             \
    { (DOMAIN), (FIRST), (LAST) }
#define ONS_INTERNAL                                                                                                   \
    { "onstage", 1, 1 }

typedef struct ons_arity {
    uint32_t inputs_min, inputs_max, outputs_min, outputs_max;
} ons_arity;
#define ONS_ARITY(INPUTS_MIN, INPUTS_MAX, OUTPUTS_MIN, OUTPUTS_MAX)                                                    \
    { (INPUTS_MIN), (INPUTS_MAX), (OUTPUTS_MIN), (OUTPUTS_MAX) }

struct ons_operator {
    const char *name; /* in the file and in print: "MatMul" */
    ons_opset_range opset;
    ons_arity arity;
    const ons_attribute_declaration *attributes;
    ons_infer_function *infer;
    ons_cost_function *cost;
    ons_gradient_rule gradient;
    ons_saved saved;
    ons_operator_roles roles;
    const ons_alias *aliases;
    ons_layout_rule layout;
    ons_forms forms;
    ons_reference_function *reference;
};

/* How many attributes it declares. */
static inline uint32_t ons_operator_attributes(const ons_operator *op) {
    uint32_t count = 0;
    while (op->attributes[count].name != NULL) ++count;
    return count;
}

/* Whether the input is a running statistic. */
static inline bool ons_is_statistic(const ons_operator *op, uint32_t input) {
    return input < 32 && (op->roles.statistics >> input & 1) != 0;
}

/* Whether nodes of it have a gradient, by a rule of their own or by those of the nodes that replace them. */
static inline bool ons_has_gradient(const ons_operator *op) {
    return op->gradient.build != NULL || (op->roles.traits & ONS_TRAIT_EXPANDS) != 0;
}

/* Whether the gradient can reach the input ... */
static inline bool ons_is_differentiable(const ons_operator *op, uint32_t input) {
    return (op->gradient.differentiable >> (input < 31 ? input : 31) & 1) != 0;
}

/* ... and an initialiser there is a weight although no option names it. */
static inline bool ons_is_trained_unasked(const ons_operator *op, uint32_t input) {
    return ons_is_differentiable(op, input) && (op->gradient.on_request >> (input < 31 ? input : 31) & 1) == 0;
}

/* Defines `const ons_operator ons_op_SYMBOL`. Brace-enclosed arguments come from the macros above, which expand to
 * initialisers with commas, hence the indirection through fields in order. */
#define ONS_DEFINE_OPERATOR(SYMBOL, NAME, OPSET, ARITY, ATTRIBUTES, INFER, COST, GRADIENT, SAVED, ROLES, ALIASES,      \
                            LAYOUT, FORMS, REFERENCE)                                                                  \
    const ons_operator ons_op_##SYMBOL = {NAME,  OPSET, ARITY,   ATTRIBUTES, INFER, COST,     GRADIENT,                \
                                          SAVED, ROLES, ALIASES, LAYOUT,     FORMS, REFERENCE}

/* Defines `ons_op_SYMBOL` of an operator with ONS_TRAIT_EXPANDS: EXPAND is its decomposition, INPUTS are those that a
 * gradient can reach. It needs no kernel and no gradient rule, as the nodes that replace it have theirs; the harness
 * checks them against its reference. */
#define ONS_DEFINE_EXPANSION(SYMBOL, NAME, OPSET, ARITY, ATTRIBUTES, INFER, COST, INPUTS, EXPAND, REFERENCE)           \
    const ons_operator ons_op_##SYMBOL = {                                                                             \
        NAME,                                                                                                          \
        OPSET,                                                                                                         \
        ARITY,                                                                                                         \
        ATTRIBUTES,                                                                                                    \
        INFER,                                                                                                         \
        COST,                                                                                                          \
        {.why_not = "binding replaces it by nodes that are", .differentiable = (INPUTS)},                              \
        ONS_SAVES_NOTHING,                                                                                             \
        ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_EXPANDS, 0),                                                                  \
        ONS_NO_ALIASES,                                                                                                \
        ONS_PLAIN_LAYOUT,                                                                                              \
        ONS_FORMS(NULL, ONS_NO_PATTERNS, EXPAND),                                                                      \
        REFERENCE}

#define ONS_INFER(FUNCTION)     (FUNCTION)
#define ONS_COST(FUNCTION)      (FUNCTION)
#define ONS_REFERENCE(FUNCTION) (FUNCTION)

#endif
