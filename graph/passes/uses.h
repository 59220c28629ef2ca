/* Who reads each value of a graph as imported, in that graph and in the branches and bodies within it, and what the
 * value depends on. Made once for an analysis that asks of many values; it does not follow later changes of nodes. */
#ifndef ONSTAGE_GRAPH_PASSES_USES_H
#define ONSTAGE_GRAPH_PASSES_USES_H

#include "graph/operator.h"

typedef struct ons_uses ons_uses;

/* Operand `input` of a node; or, where `body` is not NULL, a capture: value `input` of that body. */
typedef struct ons_use {
    ons_node_id node;
    uint32_t input;
    ons_uses *body;
} ons_use;

enum {
    ONS_DEPENDS_ON_DATA = 1 << 0,    /* on an input of the model, or on what a body is given in each of its runs */
    ONS_DEPENDS_ON_WEIGHTS = 1 << 1, /* on a parameter */
};

struct ons_uses {
    const ons_graph *graph;
    uint32_t *first;       /* of each value: where its uses begin in `all`; one entry more than values */
    ons_use *all;          /* in the order of nodes */
    ons_value_id *outside; /* of each value of a body: what it captures; ONS_NONE */
    uint8_t *depends;      /* of each value */
    uint32_t *marks;       /* of each value, 0 at first: for walks that take a value once */
    ONS_VECTOR(ons_uses *) bodies;
    ons_node_id holder; /* of a body: the node of the graph around it */
};

/* In the arena, but for the lists of bodies: ons_uses_free. */
ons_status *ons_uses_find(const ons_graph *graph, ons_arena *arena, ons_uses **uses);
void ons_uses_free(ons_uses *uses); /* NULL is fine */

/* Finds `depends` anew once kinds of values have changed. */
void ons_uses_depend(ons_uses *uses);

#endif
