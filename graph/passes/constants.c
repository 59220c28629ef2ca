#include "graph/passes/constants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/passes/readers.h"
#include "graph/passes/tables.h"

enum {
    DEPTH_MAX = 32,   /* of views of views, and of bodies in bodies */
    ROUNDS_MAX = 3,   /* a shift is one if the scale before it is, which is one if its product's matrix is */
    ROOT_STEPS = 3,   /* from a root to the division by it */
    LOOKED_AT = 4096, /* elements of a constant */
    FEW = 3,          /* different numbers of a matrix that may have been made by hand */
};

typedef enum verdict { CONSTANT, UNSURE, WEIGHT } verdict;

/* Where a constant is looked at: the model's graph, or a body within it. */
typedef struct site {
    const ons_graph *top, *graph;
    const bool *weighed; /* of each value of `graph`: it depends on weights; NULL: not known */
    const ons_value *constant;
    const ons_tensor *tensor;
    int depth;
} site;

static verdict judge(const site *s, ons_value_id id);

/* --------------------------------------------------------------------------------------------------------- contents */

static uint64_t element(const ons_tensor *tensor, int64_t index) {
    uint64_t bits = 0;
    size_t size = ons_dtype_size(tensor->type.dtype);
    memcpy(&bits, (const char *)tensor->data + (size_t)index * size, size);
    return bits;
}

/* Whether it holds no more than `most` different numbers. */
static bool has_few_numbers(const ons_tensor *tensor, int most) {
    uint64_t seen[FEW + 1];
    int count = 0;
    int64_t elements = ons_shape_elements(&tensor->type.shape);
    for (int64_t i = 0; i < elements && i < LOOKED_AT && count <= most; ++i) {
        uint64_t bits = element(tensor, i);
        bool new = true;
        for (int k = 0; k < count; ++k) new &= seen[k] != bits;
        if (new) seen[count++] = bits;
    }
    return count <= most;
}

/* Along one axis at most, as biases and scales go. */
static bool is_vector(const ons_shape *shape) {
    int large = 0;
    for (uint32_t i = 0; i < shape->rank; ++i) large += shape->dims[i] != 1;
    return large <= 1;
}

static verdict judge_matrix(const site *s) {
    int64_t elements = ons_shape_elements(&s->tensor->type.shape);
    return elements > FEW && has_few_numbers(s->tensor, FEW) ? UNSURE : WEIGHT;
}

/* ----------------------------------------------------------------------------------------------------------- makers */

/* What made the value, beyond nodes that only pass elements on; NULL: no node did. */
static const ons_node *find_maker(const ons_graph *graph, ons_value_id id) {
    for (int steps = 0; steps < DEPTH_MAX && id != ONS_NONE; ++steps) {
        const ons_value *value = ons_graph_value(graph, id);
        const ons_node *node = value->producer == ONS_NONE ? NULL : ons_graph_node(graph, value->producer);
        if (node == NULL || !ons_moves_elements(node)) return node;
        id = node->inputs[0];
    }
    return NULL;
}

/* Whether the value is a weight, or a copy or view of one. */
static bool is_weight(const site *s, ons_value_id id) {
    for (int steps = 0; steps < DEPTH_MAX && id != ONS_NONE; ++steps) {
        const ons_value *value = ons_graph_value(s->graph, id);
        if (value->producer != ONS_NONE) {
            const ons_node *node = ons_graph_node(s->graph, value->producer);
            if (!ons_moves_elements(node)) return false;
            id = node->inputs[0];
            continue;
        }
        if (s->graph == s->top || value->kind != ONS_INPUT) return value->kind == ONS_PARAMETER;
        ons_value_id outside = ons_graph_find_value(s->top, value->name);
        return outside != ONS_NONE && ons_graph_value(s->top, outside)->kind == ONS_PARAMETER;
    }
    return false;
}

/* Whether a node makes it, or it comes from outside; also where it was only moved about since then. */
static bool is_computed(const site *s, ons_value_id id) {
    for (int steps = 0; steps < DEPTH_MAX && id != ONS_NONE; ++steps) {
        const ons_value *value = ons_graph_value(s->graph, id);
        if (value->producer == ONS_NONE) return value->kind == ONS_INPUT && !is_weight(s, id);
        const ons_node *node = ons_graph_node(s->graph, value->producer);
        if (!ons_moves_elements(node)) return true;
        id = node->inputs[0];
    }
    return false;
}

static bool is_differentiable(const ons_operator *op, uint32_t input) {
    uint32_t inputs = op->gradient.differentiable & ~op->gradient.on_request;
    bool rule = op->gradient.build != NULL || (op->roles.traits & ONS_TRAIT_EXPANDS) != 0;
    return rule && (inputs >> (input < 31 ? input : 31) & 1);
}

static bool is_marked(uint32_t bits, uint32_t input) { return input < 32 && (bits >> input & 1); }

/* A product or convolution with a weight, or a scale that is one: what is added to it is a bias. */
static bool takes_bias(const site *s, const ons_node *node) {
    if (node == NULL || node->op->roles.role == ONS_ROLE_ADD) return false;
    if ((node->op->roles.traits & (ONS_TRAIT_DENSE | ONS_TRAIT_EXPANDS | ONS_TRAIT_ELEMENTWISE)) == 0) return false;
    bool weight = false;
    for (uint32_t i = 0; i < node->input_count; ++i) weight |= is_weight(s, node->inputs[i]);
    return weight;
}

/* Whether the value comes from a square root, by few elementwise steps. */
static bool is_rooted(const ons_graph *graph, ons_value_id id, int steps) {
    const ons_node *maker = find_maker(graph, id);
    if (maker == NULL || steps == 0) return false;
    if (maker->op->roles.role == ONS_ROLE_SQUARE_ROOT) return true;
    bool rooted = false;
    for (uint32_t i = 0; (maker->op->roles.traits & ONS_TRAIT_ELEMENTWISE) && i < maker->input_count; ++i)
        rooted |= maker->inputs[i] != ONS_NONE && is_rooted(graph, maker->inputs[i], steps - 1);
    return rooted;
}

/* What a normalisation makes before it is scaled: an elementwise product or quotient with a root. */
static bool is_normalised(const site *s, const ons_node *node) {
    if (node == NULL || node->op->roles.role == ONS_ROLE_ADD || node->input_count != 2) return false;
    bool rooted = false;
    for (uint32_t i = 0; (node->op->roles.traits & ONS_TRAIT_ELEMENTWISE) && i < 2; ++i)
        rooted |= is_rooted(s->graph, node->inputs[i], ROOT_STEPS);
    return rooted;
}

/* ---------------------------------------------------------------------------------------------------------- readers */

static ons_value_id find_partner(const ons_node *node, uint32_t input) {
    return node->input_count == 2 ? node->inputs[1 - input] : (ons_value_id)ONS_NONE;
}

static verdict judge_elementwise(const site *s, const ons_node *node, uint32_t input) {
    ons_value_id partner = find_partner(node, input);
    if (partner == ONS_NONE || !is_computed(s, partner)) return CONSTANT;
    const ons_node *maker = find_maker(s->graph, partner);
    if (is_vector(&s->tensor->type.shape)) {
        bool added = node->op->roles.role == ONS_ROLE_ADD;
        if (added ? takes_bias(s, maker) : is_normalised(s, maker)) return WEIGHT;
    }
    bool many = ons_shape_elements(&s->tensor->type.shape) > 1 && !has_few_numbers(s->tensor, 2);
    return many && (s->weighed == NULL || s->weighed[partner]) ? UNSURE : CONSTANT;
}

/* A table in which data look, or one of which some entries are picked once for all. */
static verdict judge_table(const site *s, const ons_node *node) {
    bool looked_up = node->input_count > 1 && is_computed(s, node->inputs[1]);
    if (!looked_up) return judge(s, node->outputs[0]);
    return s->tensor->type.shape.rank < 2 ? UNSURE : judge_matrix(s);
}

static verdict judge_dense(const site *s, const ons_node *node, uint32_t input) {
    bool computed = false;
    for (uint32_t i = 0; i < node->input_count; ++i) computed |= i != input && is_computed(s, node->inputs[i]);
    if (!computed) return CONSTANT;
    if (is_marked(node->op->roles.full, input)) return has_few_numbers(s->tensor, FEW) ? CONSTANT : UNSURE; /* a mask */
    bool bias = input >= 2 && (is_vector(&s->tensor->type.shape) || node->op->roles.states != 0);
    return bias ? WEIGHT : judge_matrix(s);
}

static verdict judge_input(const site *s, const ons_node *node, uint32_t input) {
    const ons_operator_roles *roles = &node->op->roles;
    if (input == 0 && ons_moves_elements(node)) return judge(s, node->outputs[0]);
    if (!is_differentiable(node->op, input) || is_marked(roles->states, input) || is_marked(roles->statistics, input) ||
        is_marked(roles->coordinates, input))
        return CONSTANT;
    if (roles->traits & ONS_TRAIT_ALONG_AXIS)
        return input == 0 && (roles->traits & ONS_TRAIT_TOGETHER) == 0 ? judge_table(s, node) : CONSTANT;
    if (roles->traits & ONS_TRAIT_ELEMENTWISE) return judge_elementwise(s, node, input);
    if (roles->traits & (ONS_TRAIT_DENSE | ONS_TRAIT_EXPANDS)) return judge_dense(s, node, input);
    bool alone = input > 0 && s->tensor->type.shape.rank == 1 && roles->role == ONS_NO_ROLE &&
                 (roles->traits & (ONS_TRAIT_ADDRESSES | ONS_TRAIT_MOVES)) == 0;
    return alone && is_computed(s, node->inputs[0]) ? WEIGHT : CONSTANT;
}

static verdict judge_captures(const site *s, const ons_node *node, ons_value_id id) {
    verdict worst = CONSTANT;
    for (uint32_t a = 0; node->op->attributes[a].name != NULL && s->depth > 0; ++a) {
        if (node->attributes[a].kind != ONS_ATTRIBUTE_GRAPH) continue;
        site inner = *s;
        inner.graph = node->attributes[a].graph;
        inner.weighed = NULL;
        inner.depth = s->depth - 1;
        ons_value_id inside = ons_captured(s->graph, id, inner.graph);
        verdict found = inside == ONS_NONE ? CONSTANT : judge(&inner, inside);
        worst = found > worst ? found : worst;
    }
    return worst;
}

/* By all that reads it. */
static verdict judge(const site *s, ons_value_id id) {
    site deeper = *s;
    verdict result = CONSTANT;
    if (id == ONS_NONE || deeper.depth-- == 0) return CONSTANT;
    for (size_t i = 0; i < s->graph->nodes.count && result != WEIGHT; ++i) {
        const ons_node *node = &s->graph->nodes.items[i];
        for (uint32_t k = 0; k < node->input_count; ++k) {
            verdict found = node->inputs[k] == id ? judge_input(&deeper, node, k) : CONSTANT;
            result = found > result ? found : result;
        }
        verdict inside = judge_captures(&deeper, node, id);
        result = inside > result ? inside : result;
    }
    return result;
}

/* -------------------------------------------------------------------------------------------------------------- all */

static verdict judge_constant(const ons_graph *graph, ons_value_id id, const bool *weighed) {
    const ons_value *value = ons_graph_value(graph, id);
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    if (value->kind != ONS_CONSTANT || value->reason != ONS_FROM_CONSTANT_NODE || value->producer != ONS_NONE ||
        !ons_dtype_is_float(value->type.dtype) || tensor == NULL || tensor->data == NULL ||
        ons_shape_elements(&value->type.shape) == 0)
        return CONSTANT;
    if (value->origin != ONS_ORIGIN_UNKNOWN) return value->origin == ONS_ORIGIN_PARAMETER ? WEIGHT : CONSTANT;
    if (value->type.shape.rank == 0) return CONSTANT;
    const site s = {graph, graph, weighed, value, tensor, DEPTH_MAX};
    verdict found = judge(&s, id);
    return found == UNSURE && ons_find_table(graph, id) != ONS_WEIGHT ? CONSTANT : found;
}

void ons_promote_constants(ons_graph *graph) {
    bool changed = true;
    for (int round = 0; round < ROUNDS_MAX && changed; ++round) {
        changed = false;
        for (ons_value_id id = 0; id < graph->values.count; ++id) {
            if (judge_constant(graph, id, NULL) != WEIGHT) continue;
            ons_graph_value(graph, id)->kind = ONS_PARAMETER;
            ons_graph_value(graph, id)->reason = ONS_WEIGHT;
            changed = true;
        }
    }
}

/* Of each value: whether it depends on a weight. */
static bool *find_weighed(const ons_graph *graph) {
    bool *weighed = calloc(graph->values.count + 1, sizeof *weighed);
    if (weighed == NULL) return NULL;
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        weighed[id] = ons_graph_value(graph, id)->kind == ONS_PARAMETER;
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        bool any = false;
        for (uint32_t k = 0; k < node->input_count; ++k) any |= node->inputs[k] != ONS_NONE && weighed[node->inputs[k]];
        for (uint32_t k = 0; any && k < node->output_count; ++k)
            if (node->outputs[k] != ONS_NONE) weighed[node->outputs[k]] = true;
    }
    return weighed;
}

ons_status *ons_find_unsure_constants(const ons_graph *graph, ons_unsure_constants *list) {
    bool *weighed = find_weighed(graph);
    if (weighed == NULL) return ons_status_out_of_memory();
    ons_status *status = NULL;
    for (ons_value_id id = 0; id < graph->values.count && status == NULL; ++id)
        if (judge_constant(graph, id, weighed) == UNSURE && !ons_vector_push(list, id))
            status = ons_status_out_of_memory();
    free(weighed);
    return status;
}
