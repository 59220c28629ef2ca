#include "engine/model/raw_numbers.h"

#include "graph/sharing.h"

/* What is known of a value; of several operands the greatest counts. */
typedef enum knowledge {
    CONSTANT, /* no layer makes it */
    RAW,
    UNKNOWN, /* it may be normalised: an exponential, a logarithm, a softmax, a sum over elements is in it */
} knowledge;

/* Nodes that are looked at, so that residual connections do not multiply; beyond that nothing is known. */
enum { LOOKED_AT_MOST = 256 };

static knowledge look_at(const ons_graph *graph, ons_value_id id, int *looked_at);

static knowledge look_at_inputs(const ons_graph *graph, const ons_node *node, int *looked_at) {
    knowledge known = CONSTANT;
    for (uint32_t i = 0; i < node->input_count && known != UNKNOWN; ++i) {
        knowledge each = node->inputs[i] == ONS_NONE ? CONSTANT : look_at(graph, node->inputs[i], looked_at);
        if (each > known) known = each;
    }
    return known;
}

static knowledge look_at(const ons_graph *graph, ons_value_id id, int *looked_at) {
    enum {
        KEEPS = ONS_TRAIT_IDENTITY | ONS_TRAIT_MOVES | ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_ANY_PRECISION,
        MAY_NORMALISE = ONS_TRAIT_FULL_PRECISION | ONS_TRAIT_PROBABILITIES,
    };
    const ons_value *value = ons_graph_value(graph, id);
    if (value->producer == ONS_NONE) return value->kind == ONS_INPUT ? UNKNOWN : CONSTANT;
    const ons_node *node = ons_graph_node(graph, value->producer);
    uint32_t traits = node->op->roles.traits;
    if (++*looked_at > LOOKED_AT_MOST || (traits & MAY_NORMALISE) != 0) return UNKNOWN;
    if ((traits & ONS_TRAIT_DENSE) != 0) return RAW;
    bool keeps = ons_is_view(node->op) || (traits & KEEPS) != 0;
    return keeps ? look_at_inputs(graph, node, looked_at) : UNKNOWN;
}

bool ons_makes_raw_numbers(const ons_graph *graph, ons_value_id value) {
    int looked_at = 0;
    return look_at(graph, value, &looked_at) == RAW;
}
