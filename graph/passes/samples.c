#include "graph/passes/samples.h"

#include <string.h>

#include "graph/passes/batch_follow.h"

/* The batch of the first input that has one, followed as far as it goes. */
typedef struct search {
    const ons_graph *graph;
    const ons_registry *registry;
    ons_arena *arena;
    ons_batch_map map;
    ons_blocker obstacle;
} search;

static const ons_shape *input_shape(const ons_graph *graph, size_t input) {
    return &ons_graph_value(graph, graph->inputs.items[input])->type.shape;
}

/* Follows the samples along axis axes[i] of each input i (NULL: 0); those of input `first` tell how many there are. */
static ons_status *follow(search *s, size_t first, const uint32_t *axes) {
    const ons_shape *shape = input_shape(s->graph, first);
    uint32_t axis = axes == NULL ? 0 : axes[first];
    s->map = (ons_batch_map){.sums = true, .axes = axes};
    return ons_follow_batch(s->graph, s->registry, shape->dims[axis], s->arena, &s->map, &s->obstacle);
}

static ons_status *open_search(search *s, const ons_graph *graph, const ons_registry *registry) {
    *s = (search){.graph = graph, .registry = registry, .arena = ons_arena_new()};
    return s->arena == NULL ? ons_status_out_of_memory() : NULL;
}

/* ------------------------------------------------------------------------------------------------------ recurrences */

/* A recurrence starts from states, and reads its sequence from input 0: [time, samples, ..], or [samples, time, ..]
 * where its layout is 1. */
static bool is_recurrent(const ons_node *node) { return node->op->roles.states != 0; }

static uint32_t time_axis(const ons_node *node) {
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, "layout") == 0 && node->attributes[i].kind == ONS_ATTRIBUTE_INT)
            return node->attributes[i].i == 1;
    return 0;
}

/* The first recurrent node that the batch reaches; *as_time: along the axis of time. */
static ons_node_id find_recurrence(const search *s, bool *as_time) {
    for (ons_node_id id = 0; id < s->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(s->graph, id);
        if (!is_recurrent(node) || node->input_count == 0 || node->inputs[0] == ONS_NONE) continue;
        const ons_batch_place *place = &s->map.places[node->inputs[0]];
        if (!place->carries) continue;
        *as_time = place->axis == time_axis(node);
        return id;
    }
    return ONS_NONE;
}

/* The other axis of the input along which the node takes samples. */
static ons_status *find_right_axis(search *s, ons_time_as_samples *found) {
    uint32_t *axes;
    ONS_NEW(axes, s->arena, s->graph->inputs.count + 1);
    for (uint32_t axis = 1; axis < input_shape(s->graph, found->input)->rank && found->axis == 0; ++axis) {
        bool as_time = true;
        axes[found->input] = axis;
        ONS_TRY(follow(s, found->input, axes));
        if (find_recurrence(s, &as_time) == found->node && !as_time) found->axis = axis;
    }
    return NULL;
}

/* Whether samples of that input alone reach the node along the axis of time. */
static ons_status *reaches_as_time(search *s, size_t input, ons_time_as_samples *found) {
    uint32_t *axes;
    ONS_NEW(axes, s->arena, s->graph->inputs.count + 1);
    for (size_t i = 0; i < s->graph->inputs.count; ++i) axes[i] = i == input ? 0 : ONS_RANK_MAX;
    bool as_time = false;
    ONS_TRY(follow(s, input, axes));
    ons_node_id node = find_recurrence(s, &as_time);
    if (!as_time) return NULL;
    found->node = node;
    found->input = input;
    return NULL;
}

ons_status *ons_find_time_as_samples(const ons_graph *bound, const ons_registry *registry, ons_time_as_samples *found) {
    bool any = false;
    *found = (ons_time_as_samples){.node = ONS_NONE};
    for (ons_node_id id = 0; id < bound->nodes.count; ++id) any |= is_recurrent(ons_graph_node(bound, id));
    if (!any) return NULL;
    search s;
    ons_status *status = open_search(&s, bound, registry);
    for (size_t i = 0; status == NULL && i < bound->inputs.count && found->node == ONS_NONE; ++i)
        if (input_shape(bound, i)->rank > 1) status = reaches_as_time(&s, i, found);
    if (status == NULL && found->node != ONS_NONE) status = find_right_axis(&s, found);
    ons_arena_free(s.arena);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- outputs */

ons_status *ons_find_output_samples(const ons_graph *bound, const ons_registry *registry, uint32_t *axes) {
    size_t first = 0;
    memset(axes, 0, bound->outputs.count * sizeof *axes);
    while (first < bound->inputs.count && input_shape(bound, first)->rank == 0) ++first;
    if (first == bound->inputs.count) return NULL;
    search s;
    ons_status *status = open_search(&s, bound, registry);
    if (status == NULL) status = follow(&s, first, NULL);
    for (size_t i = 0; status == NULL && i < bound->outputs.count; ++i) {
        const ons_batch_place *place = &s.map.places[bound->outputs.items[i]];
        const ons_shape *shape = &ons_graph_value(bound, bound->outputs.items[i])->type.shape;
        bool alone =
            place->carries && place->outer == 1 && shape->dims[place->axis] == input_shape(bound, first)->dims[0];
        if (alone) axes[i] = place->axis;
    }
    ons_arena_free(s.arena);
    return status;
}

/* ------------------------------------------------------------------------------------------------ mixing of samples */

/* Whether the node's results hold the batch that an operand brings. */
static bool loses_batch(const search *s, const ons_node *node) {
    bool takes = false, keeps = false;
    for (uint32_t i = 0; i < node->input_count; ++i)
        takes |= node->inputs[i] != ONS_NONE && s->map.places[node->inputs[i]].carries;
    for (uint32_t i = 0; i < node->output_count; ++i)
        keeps |= node->outputs[i] != ONS_NONE && s->map.places[node->outputs[i]].carries;
    return takes && !keeps;
}

ons_status *ons_find_mixing_constant(const ons_graph *bound, const ons_registry *registry, const bool *constant,
                                     ons_node_id *found) {
    search s;
    *found = ONS_NONE;
    if (bound->inputs.count == 0) return NULL;
    ons_status *status = open_search(&s, bound, registry);
    if (status == NULL) status = follow(&s, 0, NULL);
    ons_node_id obstacle =
        status == NULL && s.obstacle.node != NULL ? ons_graph_find_node(bound, s.obstacle.node) : ONS_NONE;
    for (ons_node_id id = 0; status == NULL && id < bound->nodes.count && *found == ONS_NONE; ++id)
        if (constant[id] && (id == obstacle || loses_batch(&s, ons_graph_node(bound, id)))) *found = id;
    ons_arena_free(s.arena);
    return status;
}
