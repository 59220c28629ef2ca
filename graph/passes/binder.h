/* What the parts of binding share (bind.c, control_flow.c, sequences.c); nobody else includes this. */
#ifndef ONSTAGE_GRAPH_PASSES_BINDER_H
#define ONSTAGE_GRAPH_PASSES_BINDER_H

#include "graph/passes/bind.h"

typedef struct symbol_size {
    const char *name;
    int64_t size;
} symbol_size;

/* A sequence of tensors. There is none in a bound graph: whoever makes, takes apart or joins one is replaced. */
typedef struct value_sequence {
    const ons_value_id *items; /* in the bound graph's arena */
    uint32_t count;
} value_sequence;

typedef struct binder {
    const ons_registry *registry;
    const ons_bind_options *options;
    int64_t exported;       /* the batch that inputs have as a number; 0: none does */
    ons_blockers *blockers; /* NULL: the first problem ends it */
    ons_graph *to;
    ons_builder builder;
    int64_t folded;  /* elements of all constants that were computed, in use or not, and operations for them: see
                        ONS_FOLDED_MOST */
    size_t unrolled; /* nodes of all branches, steps of loops and scans that were bound so far, loops in loops included,
                        and one more for each step */
    ONS_VECTOR(symbol_size) symbols;      /* resolved so far */
    ONS_VECTOR(value_sequence) sequences; /* see ons_bind_is_sequence */
} binder;

/* A graph being copied: the outermost one, or a branch or body inside it. */
typedef struct scope {
    const ons_graph *from;
    const struct scope *outer;
    ons_value_id *map;  /* from → to; ONS_NONE: not made (yet) */
    const char *prefix; /* of the names of what is made: "" but in the steps of a loop */
} scope;

/* A node on its way. */
typedef struct pending {
    const ons_node *node;       /* in the scope's graph */
    const char *name;           /* with the scope's prefix */
    ons_operands operands;      /* inferred, where the operator can do that */
    const ons_value_id *inputs; /* bound */
    ons_value_id *outputs;      /* to be set: bound */
    bool *used;                 /* whether the file names the output */
    bool *read;                 /* whether anything that is needed reads it */
    bool replaced;              /* by its operator's forms */
    ons_arena *scratch;         /* while it is on its way */
} pending;

/* Of values that stand for a sequence, in maps and among the operands of nodes on their way, never in the graph. */
static inline bool ons_bind_is_sequence(ons_value_id id) { return id != ONS_NONE && (id & 0x80000000u) != 0; }

/* The bound value for one of the scope's: made by a node already bound, or an initialiser copied now, or a capture. */
ons_status *ons_bind_resolve(binder *b, const scope *s, ons_value_id id, ons_value_id *result);

/* Binds all nodes that the scope's outputs need. */
ons_status *ons_bind_nodes(binder *b, scope *s);

/* Nodes with ONS_TRAIT_CONTROL_FLOW, ONS_TRAIT_LOOP, ONS_TRAIT_SCAN. */
ons_status *ons_bind_branches(binder *b, scope *s, pending *p);
ons_status *ons_bind_loop(binder *b, scope *s, pending *p);
ons_status *ons_bind_scan(binder *b, scope *s, pending *p);

/* Of a node with operands that are not known (ONS_NONE) because of a blocker before it: a loop whose trip count or
 * condition is known to depend on data is one more, and so is an operator that computes in integers. */
ons_status *ons_bind_check_hanging(const binder *b, const ons_node *node, const ons_value_id *inputs);

/* A node with one output, or its result where all inputs are known. */
ons_status *ons_bind_build(binder *b, const ons_operator *op, const char *name, ons_inputs inputs,
                           ons_settings settings, ons_value_id *output);

/* A tensor cut into its `count` indices along an axis, which disappears; and back. */
ons_status *ons_bind_unstack(binder *b, const char *name, ons_value_id value, uint32_t axis, ons_value_id *items);
ons_status *ons_bind_stack(binder *b, const char *name, const ons_value_id *items, uint32_t count, uint32_t axis,
                           ons_value_id *value);

/* A message without the node that it begins with, which is said beside it. NULL: no memory. */
const char *ons_without_place(const ons_node *node, const char *message, ons_arena *arena);

#endif
