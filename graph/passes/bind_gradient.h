/* A node that asks for derivatives (ONS_TRAIT_GRADIENT) becomes the nodes that compute them. */
#ifndef ONSTAGE_GRAPH_PASSES_BIND_GRADIENT_H
#define ONSTAGE_GRAPH_PASSES_BIND_GRADIENT_H

#include "graph/build.h"

/* The graph as imported, and what each of its values is in the bound one so far (ONS_NONE: not made). */
typedef struct ons_bound_names {
    const ons_graph *from;
    const ons_value_id *map;
} ons_bound_names;

/* `node` is the imported one, `inputs` are bound; sets `outputs`, one for each name in attribute 0. The nodes are
 * forward nodes: a loss may be taken of what they make. */
ons_status *ons_bind_gradient(ons_builder *builder, const ons_bound_names *names, const ons_node *node,
                              const ons_value_id *inputs, ons_value_id *outputs);

#endif
