#include "graph/passes/shard.h"

#include <stdlib.h>
#include <string.h>

#include "graph/operands.h"
#include "graph/passes/prune.h"
#include "graph/registry.h"

/* A value that comes in shards. */
typedef struct sharded {
    const ons_value_id *parts; /* [shard]; NULL: it is whole */
    uint32_t axis;
} sharded;

typedef struct sharder {
    ons_graph *graph;
    const ons_registry *registry;
    const ons_operator *concat, *sum, *reshape;
    uint32_t shards;
    size_t values;    /* of the graph as it was; those that are put in come after them */
    sharded *sharded; /* of each of these */
    uint32_t *label;  /* of each of these: 1 + its shard; 0: it belongs to none */
    ONS_VECTOR(ons_node_id) order;
} sharder;

/* ----------------------------------------------------------------------------------------------- what belongs where */

/* 1 + the shard that all inputs which belong to one belong to; 0: there is none, or several. */
static uint32_t label_of_node(const ons_node *node, const uint32_t *labels) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        uint32_t label = node->inputs[i] == ONS_NONE ? 0 : labels[node->inputs[i]];
        if (label != 0 && found != 0 && label != found) return 0;
        if (label != 0) found = label;
    }
    return found;
}

static void label_node(const ons_node *node, uint32_t label, uint32_t *labels) {
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] != ONS_NONE) labels[node->outputs[i]] = label;
}

static ons_status *new_labels(const ons_graph *graph, ons_arena *arena, uint32_t **labels) {
    ONS_NEW(*labels, arena, graph->values.count + 1);
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        if (ons_graph_value(graph, id)->producer == ONS_NONE) (*labels)[id] = ons_graph_value(graph, id)->shard;
    return NULL;
}

ons_status *ons_shards_of_nodes(const ons_graph *graph, ons_arena *arena, uint32_t **shards) {
    uint32_t *labels;
    ONS_TRY(new_labels(graph, arena, &labels));
    ONS_NEW(*shards, arena, graph->nodes.count + 1);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        uint32_t label = node->phase == ONS_FORWARD ? label_of_node(node, labels) : 0;
        label_node(node, label, labels);
        (*shards)[id] = label == 0 ? ONS_NONE : label - 1;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------- for the shard functions */

void ons_sharding_begin(ons_sharding *s, uint32_t shard) {
    const char *node = s->operands->name;
    ons_arena *arena = s->builder->graph->arena;
    s->builder->name = shard == ONS_NONE ? ons_arena_format(arena, "%s/joined", node)
                                         : ons_arena_format(arena, "%s/shard%u", node, shard);
    if (s->builder->name == NULL) ons_builder_fail(s->builder, ons_status_out_of_memory());
}

ons_value_id ons_sharding_input(const ons_sharding *s, uint32_t input, uint32_t shard) {
    if (input >= s->operands->input_count) return ONS_NONE;
    return s->parts[input] == NULL ? s->inputs[input] : s->parts[input][shard];
}

static int64_t length_of(const ons_sharding *s, uint32_t input, uint32_t shard) {
    return ons_builder_type(s->builder, s->parts[input][shard]).shape.dims[s->axes[input]];
}

int64_t ons_sharding_first(const ons_sharding *s, uint32_t input, uint32_t shard) {
    int64_t first = 0;
    for (uint32_t i = 0; i < shard; ++i) first += length_of(s, input, i);
    return first;
}

ons_status *ons_sharding_repeat(ons_sharding *s) {
    ons_value_id *inputs;
    uint32_t count = s->operands->input_count;
    ONS_NEW(inputs, s->builder->graph->arena, count + 1);
    for (uint32_t shard = 0; shard < s->shards; ++shard) {
        ons_sharding_begin(s, shard);
        for (uint32_t i = 0; i < count; ++i) inputs[i] = ons_sharding_input(s, i, shard);
        ons_build_node_like(s->builder, s->operands->op, (ons_inputs){inputs, count}, s->operands->attributes, 1, NULL,
                            &s->results[shard]);
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- any operators' way */

/* An operand's axis as the result has it, where operands are broadcast; false: there it is one of size 1, or none. */
static bool broadcast_axis(const ons_sharding *s, uint32_t input, uint32_t *axis) {
    const ons_shape *result = &s->operands->outputs[0].shape, *operand = &s->operands->inputs[input].shape;
    *axis = s->axes[input] + result->rank - operand->rank;
    return operand->dims[s->axes[input]] == result->dims[*axis];
}

/* Every operand either comes in shards along the one axis of the result, or is the same along it. */
static ons_status *shard_elementwise(ons_sharding *s) {
    const ons_shape *result = &s->operands->outputs[0].shape;
    uint32_t axis = ONS_NONE;
    for (uint32_t i = 0; i < s->operands->input_count; ++i) {
        uint32_t own;
        if (s->parts[i] == NULL) continue;
        if (!broadcast_axis(s, i, &own) || (axis != ONS_NONE && own != axis)) return NULL;
        axis = own;
    }
    for (uint32_t i = 0; i < s->operands->input_count; ++i) {
        const ons_shape *operand = &s->operands->inputs[i].shape;
        uint32_t missing = result->rank - operand->rank;
        if (!ons_has_input(s->operands, i) || s->parts[i] != NULL || axis < missing) continue;
        if (operand->dims[axis - missing] != 1) return NULL;
    }
    s->join = ONS_SHARDS_CONCAT;
    s->axis = axis;
    return ons_sharding_repeat(s);
}

static ons_status *shard_transpose(ons_sharding *s) {
    const ons_attribute *places = &s->operands->attributes[0];
    uint32_t rank = s->operands->inputs[0].shape.rank;
    for (uint32_t i = 0; i < rank; ++i) {
        int64_t from = places->kind == ONS_ATTRIBUTE_INTS ? places->ints[i] : (int64_t)(rank - 1 - i);
        if (from == s->axes[0]) s->axis = i;
    }
    s->join = ONS_SHARDS_CONCAT;
    return ons_sharding_repeat(s);
}

/* Where the axis of the shards is an axis of the result as well, whatever becomes of the others. */
static bool axis_in_view(const ons_sharding *s, uint32_t *axis) {
    const ons_shape *from = &s->operands->inputs[0].shape, *to = &s->operands->outputs[0].shape;
    int64_t behind = ons_shape_span(from, s->axes[0] + 1, from->rank);
    for (*axis = 0; *axis < to->rank; ++*axis)
        if (to->dims[*axis] == from->dims[s->axes[0]] && ons_shape_span(to, *axis + 1, to->rank) == behind) return true;
    return false;
}

static ons_status *shard_view(ons_sharding *s) {
    const ons_operator *reshape = ons_registry_role(s->builder->registry, ONS_ROLE_RESHAPE);
    if (!axis_in_view(s, &s->axis)) return NULL;
    for (uint32_t shard = 0; shard < s->shards; ++shard) {
        ons_shape shape = s->operands->outputs[0].shape;
        shape.dims[s->axis] = length_of(s, 0, shard);
        ons_sharding_begin(s, shard);
        s->results[shard] = ons_build(
            s->builder, reshape, ONS_IN(s->parts[0][shard], ons_build_integers(s->builder, shape.dims, shape.rank)),
            ONS_WITH(ONS_AT_INT(0, 1)));
    }
    s->join = ONS_SHARDS_CONCAT;
    return NULL;
}

/* How an operator is built in shards; NULL: it is not. */
static ons_shard_function *function_of(const ons_operator *op) {
    enum { ANY = ONS_TRAIT_ELEMENTWISE | ONS_TRAIT_IDENTITY };
    if (op->forms.shard != NULL) return op->forms.shard;
    if ((op->roles.traits & ONS_TRAIT_RANDOM) != 0) return NULL;
    if (op->roles.role == ONS_ROLE_TRANSPOSE) return shard_transpose;
    if ((op->roles.traits & ANY) != 0 || op->roles.role == ONS_ROLE_CAST) return shard_elementwise;
    const ons_alias *alias = op->aliases;
    bool views = alias->kind == ONS_ALIAS_VIEW && alias->output == 0 && alias->input == 0;
    return views ? shard_view : NULL;
}

/* -------------------------------------------------------------------------------------------------------------- all */

/* Labels and order of what was built from node `first` on. */
static ons_status *take_built(sharder *h, size_t first) {
    for (size_t id = first; id < h->graph->nodes.count; ++id) ONS_PUSH(&h->order, (ons_node_id)id);
    return NULL;
}

/* The whole result, for whoever reads it so. */
static ons_status *join(const sharder *h, ons_sharding *s, ons_value_id output) {
    const ons_operator *op = s->join == ONS_SHARDS_SUM ? h->sum : h->concat;
    ons_settings settings = s->join == ONS_SHARDS_SUM ? ONS_DEFAULTS : ONS_WITH(ONS_AT_INT(0, s->axis));
    ons_sharding_begin(s, ONS_NONE);
    if (s->join != ONS_SHARDS_JOINED)
        s->joined = ons_build(s->builder, op, (ons_inputs){s->results, s->shards}, settings);
    ONS_TRY(ons_builder_finish(s->builder));
    const ons_value *made = ons_graph_value(h->graph, s->joined), *wanted = ons_graph_value(h->graph, output);
    ONS_CHECK(ons_type_equal(&made->type, &wanted->type), ONS_DEFECT, "'%s' in shards has another type",
              s->operands->name);
    ons_graph_set_output(h->graph, made->producer, 0, output);
    return NULL;
}

static ons_status *build(sharder *h, ons_node_id id, ons_shard_function *function, ons_arena *scratch) {
    ons_node node = *ons_graph_node(h->graph, id); /* a copy: the array moves, not what it points to */
    const ons_value_id **parts;
    uint32_t *axes;
    ons_operands operands;
    ONS_TRY(ons_operands_of(h->graph, id, scratch, &operands));
    ONS_NEW(parts, scratch, node.input_count + 1);
    ONS_NEW(axes, scratch, node.input_count + 1);
    for (uint32_t i = 0; i < node.input_count; ++i) {
        if (node.inputs[i] == ONS_NONE) continue;
        parts[i] = h->sharded[node.inputs[i]].parts;
        axes[i] = h->sharded[node.inputs[i]].axis;
    }
    ons_builder builder = {.graph = h->graph, .registry = h->registry, .phase = ONS_FORWARD, .origin = ONS_NONE};
    ons_sharding s = {.builder = &builder,
                      .operands = &operands,
                      .inputs = node.inputs,
                      .shards = h->shards,
                      .parts = parts,
                      .axes = axes};
    ONS_NEW(s.results, h->graph->arena, h->shards);
    size_t first = h->graph->nodes.count;
    ons_status *status = function(&s);
    if (status != NULL) ons_builder_fail(&builder, status);
    if (builder.failure != NULL || s.join == ONS_SHARDS_LEFT_ALONE) {
        if (builder.failure == NULL) ONS_PUSH(&h->order, id);
        return ons_builder_finish(&builder);
    }
    ons_value_id output = node.outputs[0];
    ONS_TRY(join(h, &s, output));
    node.outputs[0] = ONS_NONE; /* of the node itself */
    if (s.join == ONS_SHARDS_CONCAT) h->sharded[output] = (sharded){s.results, s.axis};
    ONS_TRY(take_built(h, first));
    ONS_PUSH(&h->order, id); /* nobody needs it any more */
    return NULL;
}

static bool reads_shards(const sharder *h, const ons_node *node) {
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (node->inputs[i] != ONS_NONE && h->sharded[node->inputs[i]].parts != NULL) return true;
    return false;
}

/* A Concat of all shards in order, as the importer writes it, and this pass. */
static bool puts_together(const sharder *h, const ons_node *node) {
    if (node->op != h->concat || node->input_count != h->shards) return false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        if (h->label[node->inputs[i]] != i + 1) return false;
    return true;
}

static ons_status *take_concat(sharder *h, const ons_node *node) {
    ons_value_id *parts;
    uint32_t axis = 0;
    ONS_NEW(parts, h->graph->arena, h->shards);
    memcpy(parts, node->inputs, h->shards * sizeof *parts);
    ons_axis_resolve(node->attributes[0].i, ons_graph_value(h->graph, node->outputs[0])->type.shape.rank, &axis);
    h->sharded[node->outputs[0]] = (sharded){parts, axis};
    return NULL;
}

static ons_status *visit(sharder *h, ons_node_id id) {
    const ons_node *node = ons_graph_node(h->graph, id);
    label_node(node, node->phase == ONS_FORWARD ? label_of_node(node, h->label) : 0, h->label);
    if (puts_together(h, node)) ONS_TRY(take_concat(h, node));
    ons_shard_function *function = function_of(node->op);
    if (node->phase != ONS_FORWARD || node->output_count != 1 || function == NULL || !reads_shards(h, node)) {
        ONS_PUSH(&h->order, id);
        return NULL;
    }
    ons_arena *scratch = ons_arena_new();
    ons_status *status = scratch == NULL ? ons_status_out_of_memory() : build(h, id, function, scratch);
    ons_arena_free(scratch);
    return status;
}

static uint32_t count_shards(const ons_graph *graph) {
    uint32_t count = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id)
        if (ons_graph_value(graph, id)->shard > count) count = ons_graph_value(graph, id)->shard;
    return count;
}

ons_status *ons_shard(ons_graph *graph, const ons_registry *registry, ons_tracked_values *tracked) {
    sharder h = {.graph = graph,
                 .registry = registry,
                 .concat = ons_registry_role(registry, ONS_ROLE_CONCAT),
                 .sum = ons_registry_role(registry, ONS_ROLE_SUM),
                 .shards = count_shards(graph),
                 .values = graph->values.count};
    if (h.shards == 0) return NULL;
    ONS_TRY(new_labels(graph, graph->arena, &h.label));
    ONS_NEW(h.sharded, graph->arena, h.values + 1);
    ons_status *status = NULL;
    size_t nodes = graph->nodes.count;
    for (ons_node_id id = 0; id < nodes && status == NULL; ++id) status = visit(&h, id);
    if (status == NULL) status = ons_prune_tracked(graph, h.order.items, tracked);
    ons_vector_free(&h.order);
    return status;
}
