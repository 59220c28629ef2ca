#include "graph/passes/constants.h"

#include <string.h>

#include "graph/passes/readers.h"
#include "graph/passes/tables.h"
#include "graph/passes/uses.h"

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
    const ons_uses *uses;
    const ons_graph *graph; /* of `uses` */
    const ons_tensor *tensor;
    uint32_t mark; /* of the values that this constant's walk has been at */
    int depth;
    bool noting; /* what depends on weights is known as well as it will be */
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

static uint8_t depends_on(const site *s, ons_value_id id) { return id == ONS_NONE ? 0 : s->uses->depends[id]; }

/* A weight, or what weights and constants alone make. */
static bool is_weight(const site *s, ons_value_id id) { return depends_on(s, id) == ONS_DEPENDS_ON_WEIGHTS; }

static bool is_computed(const site *s, ons_value_id id) { return (depends_on(s, id) & ONS_DEPENDS_ON_DATA) != 0; }

/* Whether output 0 holds the elements of input 0, moved or rounded. */
static bool keeps_elements(const ons_node *node) {
    if (ons_moves_elements(node)) return true;
    return node->op->roles.role == ONS_ROLE_CAST && node->attributes[0].kind == ONS_ATTRIBUTE_INT &&
           ons_dtype_is_float((ons_dtype)node->attributes[0].i);
}

/* What made the value, beyond nodes that keep its elements; NULL: no node did. */
static const ons_node *find_maker(const ons_graph *graph, ons_value_id id) {
    for (int steps = 0; steps < DEPTH_MAX && id != ONS_NONE; ++steps) {
        const ons_value *value = ons_graph_value(graph, id);
        const ons_node *node = value->producer == ONS_NONE ? NULL : ons_graph_node(graph, value->producer);
        if (node == NULL || !keeps_elements(node)) return node;
        id = node->inputs[0];
    }
    return NULL;
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

static verdict worse(verdict a, verdict b) { return a > b ? a : b; }

static verdict judge_outputs(const site *s, const ons_node *node) {
    verdict result = CONSTANT;
    for (uint32_t i = 0; i < node->output_count; ++i) result = worse(result, judge(s, node->outputs[i]));
    return result;
}

/* A constant among constants is what their result is: a matrix that is multiplied by a number before it is read. What
 * has two different numbers masks the others; a vector may hold the steps of a quantisation. */
static verdict judge_among_constants(const site *s, const ons_node *node) {
    if (has_few_numbers(s->tensor, 2) && ons_shape_elements(&s->tensor->type.shape) > 0) return CONSTANT;
    verdict result = judge_outputs(s, node);
    return result == WEIGHT && is_vector(&s->tensor->type.shape) ? UNSURE : result;
}

static bool is_single(const site *s, ons_value_id id) {
    const ons_value *value = ons_graph_value(s->graph, id);
    return value->data != ONS_NO_DATA && ons_shape_elements(&value->type.shape) == 1;
}

static verdict judge_elementwise(const site *s, const ons_node *node, uint32_t input) {
    ons_value_id partner = find_partner(node, input);
    if (partner == ONS_NONE) return CONSTANT;
    if (!is_computed(s, partner))
        return is_single(s, partner) ? judge_outputs(s, node) : judge_among_constants(s, node);
    const ons_node *maker = find_maker(s->graph, partner);
    if (is_vector(&s->tensor->type.shape)) {
        bool added = node->op->roles.role == ONS_ROLE_ADD;
        if (added ? takes_bias(s, maker) : is_normalised(s, maker)) return WEIGHT;
    }
    bool many = ons_shape_elements(&s->tensor->type.shape) > 1 && !has_few_numbers(s->tensor, 2);
    return many && (!s->noting || (depends_on(s, partner) & ONS_DEPENDS_ON_WEIGHTS) != 0) ? UNSURE : CONSTANT;
}

/* Beside data it may be an entry that is learnt, as a class token is; among constants it is what the whole is. */
static verdict judge_joined(const site *s, const ons_node *node) {
    uint8_t depends = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) depends |= depends_on(s, node->inputs[i]);
    if ((depends & ONS_DEPENDS_ON_DATA) == 0) return judge_outputs(s, node);
    bool learnt = (depends & ONS_DEPENDS_ON_WEIGHTS) != 0 && !has_few_numbers(s->tensor, 2);
    return learnt && !ons_holds_coordinates(s->tensor) ? UNSURE : CONSTANT;
}

/* Whether the places are not the file's own: data name them, or a node makes them. */
static bool is_looked_up(const site *s, const ons_node *node) {
    if (node->input_count < 2 || node->inputs[1] == ONS_NONE) return false;
    return is_computed(s, node->inputs[1]) || find_maker(s->graph, node->inputs[1]) != NULL;
}

/* A table in which data look, or one of which some entries are picked once for all. */
static verdict judge_table(const site *s, const ons_node *node) {
    if (!is_looked_up(s, node)) return judge_outputs(s, node);
    return s->tensor->type.shape.rank < 2 ? UNSURE : judge_matrix(s);
}

static verdict judge_dense(const site *s, const ons_node *node, uint32_t input) {
    bool computed = false;
    for (uint32_t i = 0; i < node->input_count; ++i) computed |= i != input && is_computed(s, node->inputs[i]);
    if (!computed) return judge_among_constants(s, node);
    if (is_marked(node->op->roles.full, input)) return has_few_numbers(s->tensor, FEW) ? CONSTANT : UNSURE; /* a mask */
    bool bias = input >= 2 && (is_vector(&s->tensor->type.shape) || node->op->roles.states != 0);
    return bias ? WEIGHT : judge_matrix(s);
}

static verdict judge_input(const site *s, const ons_node *node, uint32_t input) {
    const ons_operator_roles *roles = &node->op->roles;
    bool passes = input == 0 && (keeps_elements(node) || roles->role == ONS_ROLE_SPLIT);
    if (passes) return judge_outputs(s, node);
    if (roles->role == ONS_ROLE_CONCAT) return judge_joined(s, node);
    if (!ons_has_gradient(node->op) || !ons_is_trained_unasked(node->op, input) || is_marked(roles->states, input) ||
        ons_is_statistic(node->op, input) || is_marked(roles->coordinates, input))
        return CONSTANT;
    if (roles->traits & ONS_TRAIT_ALONG_AXIS)
        return input == 0 && (roles->traits & ONS_TRAIT_TOGETHER) == 0 ? judge_table(s, node) : CONSTANT;
    if (roles->traits & ONS_TRAIT_ELEMENTWISE) return judge_elementwise(s, node, input);
    if (roles->traits & (ONS_TRAIT_DENSE | ONS_TRAIT_EXPANDS)) return judge_dense(s, node, input);
    bool alone = input > 0 && is_vector(&s->tensor->type.shape) && roles->role == ONS_NO_ROLE &&
                 (roles->traits & (ONS_TRAIT_ADDRESSES | ONS_TRAIT_MOVES)) == 0;
    return alone && is_computed(s, node->inputs[0]) ? WEIGHT : CONSTANT;
}

static verdict judge_use(const site *s, const ons_use *use) {
    if (use->body == NULL) return judge_input(s, ons_graph_node(s->graph, use->node), use->input);
    site inside = *s;
    inside.uses = use->body;
    inside.graph = use->body->graph;
    return judge(&inside, use->input);
}

/* By all that reads it; what the walk has been at has been judged already. */
static verdict judge(const site *s, ons_value_id id) {
    site deeper = *s;
    verdict result = CONSTANT;
    if (id == ONS_NONE || deeper.depth-- == 0 || s->uses->marks[id] == s->mark) return CONSTANT;
    s->uses->marks[id] = s->mark;
    for (uint32_t i = s->uses->first[id]; i < s->uses->first[id + 1] && result != WEIGHT; ++i)
        result = worse(result, judge_use(&deeper, &s->uses->all[i]));
    return result;
}

/* -------------------------------------------------------------------------------------------------------------- all */

/* One analysis of a graph: `mark` counts the constants that were looked at. */
typedef struct search {
    ons_uses *uses;
    uint32_t mark;
    bool noting;
} search;

static verdict judge_constant(search *all, ons_value_id id) {
    const ons_graph *graph = all->uses->graph;
    const ons_value *value = ons_graph_value(graph, id);
    const ons_tensor *tensor = ons_store_get(graph->store, value->data);
    if (value->kind != ONS_CONSTANT || value->reason != ONS_FROM_CONSTANT_NODE || value->producer != ONS_NONE ||
        !ons_dtype_is_float(value->type.dtype) || tensor == NULL || tensor->data == NULL ||
        ons_shape_elements(&value->type.shape) == 0)
        return CONSTANT;
    if (value->origin != ONS_ORIGIN_UNKNOWN) return value->origin == ONS_ORIGIN_PARAMETER ? WEIGHT : CONSTANT;
    if (value->type.shape.rank == 0) return CONSTANT;
    const site s = {all->uses, graph, tensor, ++all->mark, DEPTH_MAX, all->noting};
    verdict found = judge(&s, id);
    return found == UNSURE && ons_find_table(graph, id) != ONS_WEIGHT ? CONSTANT : found;
}

static void promote(ons_graph *graph, ons_uses *uses) {
    search all = {.uses = uses};
    bool changed = true;
    for (int round = 0; round < ROUNDS_MAX && changed; ++round) {
        changed = false;
        ons_uses_depend(uses);
        for (ons_value_id id = 0; id < graph->values.count; ++id) {
            if (judge_constant(&all, id) != WEIGHT) continue;
            ons_graph_value(graph, id)->kind = ONS_PARAMETER;
            ons_graph_value(graph, id)->reason = ONS_WEIGHT;
            uses->depends[id] = ONS_DEPENDS_ON_WEIGHTS;
            changed = true;
        }
    }
}

static ons_status *find_unsure(const ons_graph *graph, ons_uses *uses, ons_unsure_constants *list) {
    search all = {.uses = uses, .noting = true};
    ons_uses_depend(uses);
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        if (judge_constant(&all, id) == UNSURE) ONS_PUSH(list, id);
    return NULL;
}

ons_status *ons_promote_constants(ons_graph *graph) {
    ons_arena *arena = ons_arena_new();
    ons_uses *uses = NULL;
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_uses_find(graph, arena, &uses);
    if (status == NULL) promote(graph, uses);
    ons_uses_free(uses);
    ons_arena_free(arena);
    return status;
}

ons_status *ons_find_unsure_constants(const ons_graph *graph, ons_unsure_constants *list) {
    ons_arena *arena = ons_arena_new();
    ons_uses *uses = NULL;
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_uses_find(graph, arena, &uses);
    if (status == NULL) status = find_unsure(graph, uses, list);
    ons_uses_free(uses);
    ons_arena_free(arena);
    return status;
}
