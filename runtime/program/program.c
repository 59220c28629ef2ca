#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "graph/operands.h"
#include "graph/shared_buffers.h"
#include "graph/sharing.h"
#include "runtime/program/half_layout.h"
#include "runtime/program/program_state.h"

static ons_status *prepare_node(ons_program *p, ons_node_id id, const ons_program_options *options) {
    const ons_node *node = ons_graph_node(p->graph, id);
    if (ons_is_view(node->op)) return NULL;
    ons_operands *operands;
    ONS_NEW(operands, p->arena, 1);
    ONS_TRY(ons_operands_of(p->graph, id, p->arena, operands));
    if (ons_program_divides(p, node)) ONS_TRY(ons_update_shard_operands(&p->shard, node, p->arena, operands));
    ons_prepare prepare = {
        .operands = operands,
        .threads = options->threads,
        .tf32 = options->tf32,
        .scratch_limit = options->scratch_limit > 0 ? options->scratch_limit : INT64_MAX,
        .arena = p->arena,
        .node_key = ons_graph_node_key(p->graph, id),
    };
    const ons_kernel *kernel = NULL;
    ons_status *status = ons_backend_prepare(p->backend, &prepare, &kernel);
    p->prepared[id] = (prepared){kernel, prepare.state, prepare.destroy, prepare.implementation, operands};
    p->scratch[id] = prepare.scratch_bytes;
    if (prepare.scratch_bytes > 0) p->scratch[id] += ons_program_scratch_slack(p);
    bool short_of_memory = ons_status_get_code(status) == ONS_OUT_OF_MEMORY;
    return short_of_memory ? ons_status_at(status, "node '%s' (%s)", node->name, node->op->name) : status;
}

/* Which buffers have several places: those of values in rings, and weights that are brought up to date. */
static ons_status *note_places(ons_program *p, const ons_program_options *options) {
    uint32_t buffers = p->liveness.buffer_count;
    ONS_NEW(p->places, p->arena, buffers + 1);
    ONS_NEW(p->rings, p->arena, buffers + 1);
    ONS_NEW(p->versioned, p->arena, buffers + 1);
    p->versions = options->versions > 0 ? options->versions : 1;
    for (ons_value_id id = 0; id < p->graph->values.count; ++id) {
        ons_buffer_id buffer = p->liveness.buffer_of_value[id];
        const ons_value *value = ons_graph_value(p->graph, id);
        if (buffer == ONS_NONE) continue;
        if (options->rings != NULL && options->rings[id] > 0) p->rings[buffer] = options->rings[id];
        if (value->kind == ONS_PARAMETER && value->pair != ONS_NONE && p->versions > 1) p->versioned[buffer] = true;
    }
    return NULL;
}

static bool wants_launch_groups(void) { return !ons_environment_is_off(ONS_ENV_ONSTAGE_CUDA_TOGETHER); }

/* ----------------------------------------------------------------------------------------------------------- halves */

static bool computes(const ons_program *p, ons_node_id node) { return p->halves == NULL || p->halves->runs[node]; }

void ons_program_set_whole(ons_program *half, const ons_program *whole) { half->whole = whole; }

const ons_program *ons_program_whole(const ons_program *p) { return p->whole; }

static ons_status *prepare_all(ons_program *p, const ons_program_options *options) {
    ONS_NEW(p->prepared, p->arena, p->graph->nodes.count + 1);
    ONS_NEW(p->scratch, p->arena, p->graph->nodes.count + 1);
    ONS_NEW(p->launches, p->arena, p->graph->nodes.count + 1);
    ONS_NEW(p->launch_at, p->arena, p->graph->nodes.count + 2);
    ONS_NEW(p->idle, p->arena, p->graph->nodes.count + 1);
    for (size_t i = 0; i < options->idle_count; ++i)
        if (options->idle[i] != ONS_NONE) p->idle[ons_graph_value(p->graph, options->idle[i])->producer] = true;
    for (ons_node_id id = 0; id < p->graph->nodes.count; ++id) {
        p->idle[id] = p->idle[id] || !computes(p, id);
        if (computes(p, id)) ONS_TRY(prepare_node(p, id, options));
    }
    ONS_TRY(ons_execution_order_make(p->graph, options->end, options->chunks > 0 ? options->chunks : 1,
                                     options->repeats, p->arena, &p->execution_order));
    bool *several;
    ONS_NEW(several, p->arena, p->graph->nodes.count + 1);
    bool wanted = wants_launch_groups();
    for (ons_node_id id = 0; id < p->graph->nodes.count; ++id)
        several[id] = wanted && p->prepared[id].kernel != NULL && p->prepared[id].kernel->run_multi_tensor != NULL;
    ONS_TRY(ons_launch_groups_find(p->graph, &p->execution_order, p->idle, several, p->arena, &p->launch_groups));
    if (ons_update_shard_divides(&p->shard))
        ONS_TRY(ons_update_shard_states(&p->shard, p->graph, p->arena, &p->held_elements));
    const ons_liveness_options lifetimes = {
        .graph = p->graph,
        .registry = p->registry,
        .execution_order = &p->execution_order,
        .scratch_bytes = p->scratch,
        .part_bytes = options->part_bytes,
        .scratch_stays = options->scratch_stays,
        .held_elements = p->held_elements,
        .scratch_first = p->launch_groups.first,
        .scratch_last = p->launch_groups.last,
        .kept = options->kept,
        .kept_count = options->kept_count,
        .arrives = options->arrives,
        .stays = options->stays,
        .unordered = options->unordered,
    };
    ONS_TRY(ons_liveness_find(&lifetimes, p->arena, &p->liveness));
    ONS_TRY(note_places(p, options));
    ONS_TRY(ons_program_note_deaths(p, options));
    if (p->halves != NULL)
        return ons_half_layout_make(p->graph, p->halves, &p->execution_order, &p->liveness, p->arena, &p->own,
                                    &p->layout);
    uint32_t slots = options->slots > 0 ? options->slots : 1;
    const ons_layout_options layout = {.liveness = &p->liveness,
                                       .execution_order = &p->execution_order,
                                       .places = options->places,
                                       .slots = slots,
                                       .rings = p->rings,
                                       .joined = options->joined};
    return ons_arena_layout_make(&layout, p->arena, &p->layout);
}

ons_status *ons_program_prepare(const ons_graph *graph, const ons_registry *registry,
                                const ons_program_options *options, ons_program **result) {
    ons_arena *arena = ons_arena_new();
    ons_program *p = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *p);
    if (p == NULL) {
        ons_arena_free(arena);
        return ons_status_out_of_memory();
    }
    p->arena = arena;
    p->graph = graph;
    p->registry = registry;
    p->backend = options->backend;
    p->discrete_memory = options->discrete_memory;
    p->shard = options->shard;
    p->halves = options->halves;
    p->half = options->half;
    ons_status *status = prepare_all(p, options);
    if (status != NULL) {
        ons_program_free(p);
        return status;
    }
    *result = p;
    return NULL;
}

ons_status *ons_program_join(ons_program *const programs[2]) {
    ons_arena_layout *layouts[] = {&programs[0]->layout, &programs[1]->layout};
    const uint32_t buffers[] = {programs[0]->liveness.buffer_count, programs[1]->liveness.buffer_count};
    ons_shared_buffers_side sides[2];
    ons_buffer_id *shared_buffers;
    for (int i = 0; i < 2; ++i)
        sides[i] = (ons_shared_buffers_side){programs[i]->graph, &programs[i]->execution_order, &programs[i]->liveness};
    ONS_TRY(ons_find_shared_buffers(sides, programs[1]->arena, &shared_buffers));
    return ons_arena_layout_join(layouts, buffers, shared_buffers, programs[1]->arena);
}

void ons_program_free(ons_program *p) {
    if (p == NULL) return;
    for (size_t i = 0; p->prepared != NULL && i < p->graph->nodes.count; ++i)
        if (p->prepared[i].destroy != NULL) p->prepared[i].destroy(p->prepared[i].state);
    ons_arena_free(p->arena); /* the program itself lies in it */
}

const ons_graph *ons_program_graph(const ons_program *p) { return p->graph; }

const ons_liveness *ons_program_liveness(const ons_program *p) { return &p->liveness; }

const ons_arena_layout *ons_program_layout(const ons_program *p) { return &p->layout; }

const ons_execution_order *ons_program_execution_order(const ons_program *p) { return &p->execution_order; }

bool ons_program_is_versioned(const ons_program *p, ons_value_id value) {
    ons_buffer_id buffer = p->liveness.buffer_of_value[value];
    return buffer != ONS_NONE && p->versioned[buffer];
}

int64_t ons_program_held_elements(const ons_program *p, ons_value_id value) {
    return p->held_elements == NULL ? -1 : p->held_elements[value];
}

const char *ons_program_implementation(const ons_program *p, ons_node_id node) {
    return p->prepared[node].implementation;
}

static place place_of(const ons_program *p, ons_buffer_id id, void *const *persistent, void *transient) {
    const ons_buffer *buffer = &p->liveness.buffers[id];
    int64_t bytes = ons_arena_align(buffer->bytes), offset = p->layout.offsets[id];
    if (buffer->persistent) {
        place_kind kind = p->versioned[id] ? PLACE_BY_VERSION : PLACE_FIXED;
        return (place){persistent[id], bytes, p->versions, kind};
    }
    char *first = (char *)transient + ons_arena_layout_place(&p->layout, offset, 0);
    if (p->rings[id] > 0) return (place){first, bytes, p->rings[id], PLACE_IN_RING};
    const ons_slot_group *group = ons_arena_layout_group(&p->layout, offset);
    if (group != NULL) return (place){first, group->bytes, group->slots, PLACE_BY_SLOT};
    return (place){first, 0, 1, PLACE_FIXED};
}

/* The second half lies behind the first one's part of the same place. */
static place shift(place of_whole, int64_t bytes) {
    of_whole.first += bytes;
    return of_whole;
}

static void place_half(ons_program *p, void *const *persistent) {
    const ons_liveness *l = &p->liveness, *whole = &p->whole->liveness;
    for (uint32_t id = 0; id < l->buffer_count; ++id) {
        ons_part part = ons_execution_order_part(&p->execution_order, l->buffers[id].first);
        if (l->buffers[id].persistent)
            p->places[id] = (place){persistent[id], 0, 1, PLACE_FIXED};
        else if (p->own[id])
            p->places[id] = shift(p->whole->places[whole->scratch_of_part[part]], p->layout.offsets[id]);
    }
    for (ons_value_id id = 0; id < p->graph->values.count; ++id)
        if (p->halves->outer[id])
            p->places[l->buffer_of_value[id]] =
                shift(p->whole->places[whole->buffer_of_value[id]],
                      p->half == 1 && p->halves->split[id] ? p->halves->bytes[0][id] : 0);
}

static ons_buffer_id buffer_of(const ons_program *p, ons_value_id value) {
    return value == ONS_NONE ? ONS_NONE : p->liveness.buffer_of_value[value];
}

static bool moves(const ons_program *p, ons_value_id value) {
    ons_buffer_id buffer = buffer_of(p, value);
    return buffer != ONS_NONE && p->places[buffer].kind != PLACE_FIXED;
}

static ons_status *add_launch(ons_program *p, uint32_t position) {
    ons_node_id id = p->execution_order.nodes[position];
    const ons_node *node = ons_graph_node(p->graph, id);
    launch *l = &p->launches[p->launch_count++];
    *l = (launch){.kernel = p->prepared[id].kernel,
                  .node = id,
                  .position = position,
                  .node_key = ons_graph_node_key(p->graph, id),
                  .state = p->prepared[id].state,
                  .end = p->launch_count};
    /* Kernels may look at every slot that the operator has, also those that the node does not. */
    uint32_t inputs = node->op->arity.inputs_max, outputs = node->op->arity.outputs_max;
    inputs = inputs == (uint32_t)ONS_VARIADIC || inputs < node->input_count ? node->input_count : inputs;
    outputs = outputs == (uint32_t)ONS_VARIADIC || outputs < node->output_count ? node->output_count : outputs;
    ONS_NEW(l->inputs, p->arena, inputs + 1);
    ONS_NEW(l->outputs, p->arena, outputs + 1);
    for (uint32_t i = 0; i < node->input_count; ++i) l->moves = l->moves || moves(p, node->inputs[i]);
    for (uint32_t i = 0; i < node->output_count; ++i) l->moves = l->moves || moves(p, node->outputs[i]);
    ons_buffer_id scratch = p->liveness.scratch_of_node[id];
    l->moves = l->moves || (scratch != ONS_NONE && p->places[scratch].kind != PLACE_FIXED);
    ons_program_resolve(p, l, NULL);
    return NULL;
}

/* All places of a buffer that a turn may choose among, unless those of everything in a slot move alike; 0: it has none.
 */
static uint32_t take_extent(const ons_program *p, ons_buffer_id id, ons_extent *extent) {
    if (id == ONS_NONE) return 0;
    const place *at = &p->places[id];
    bool apart = at->kind == PLACE_IN_RING || at->kind == PLACE_BY_VERSION;
    int64_t bytes = p->liveness.buffers[id].bytes + (apart ? at->stride * (at->count - 1) : 0);
    *extent = (ons_extent){at->first, at->first + bytes};
    return 1;
}

static ons_status *find_touched(const ons_program *p, const launch *l, ons_arena *scratch, ons_touched *touched) {
    const ons_node *node = ons_graph_node(p->graph, l->node);
    ons_extent *extents;
    ONS_NEW(extents, scratch, (size_t)node->input_count + node->output_count + 1);
    *touched = (ons_touched){.extents = extents};
    for (uint32_t i = 0; i < node->input_count; ++i)
        touched->count += take_extent(p, buffer_of(p, node->inputs[i]), &extents[touched->count]);
    touched->reads = touched->count;
    for (uint32_t i = 0; i < node->output_count; ++i)
        touched->count += take_extent(p, buffer_of(p, node->outputs[i]), &extents[touched->count]);
    touched->count += take_extent(p, p->liveness.scratch_of_node[l->node], &extents[touched->count]);
    return NULL;
}

/* Launches [first, first + count) are of one group: those that can be one launch are. */
static ons_status *join(ons_program *p, uint32_t first, uint32_t count, ons_arena *scratch) {
    ons_touched *touched;
    ONS_NEW(touched, scratch, count);
    for (uint32_t i = 0; i < count; ++i) {
        ONS_TRY(find_touched(p, &p->launches[first + i], scratch, &touched[i]));
        for (uint32_t k = 0; k < touched[i].count; ++k)
            p->launches[first + i].touched += (double)(touched[i].extents[k].end - touched[i].extents[k].first);
    }
    for (uint32_t i = 0, several; i < count; i += several) {
        several = ons_launch_group_count(touched + i, count - i);
        for (uint32_t k = i; k < i + several; ++k) p->launches[first + k].end = first + i + several;
    }
    return NULL;
}

static ons_status *join_all(ons_program *p) {
    ons_arena *scratch = ons_arena_new();
    ons_status *status = scratch == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t position = 0; status == NULL && position < p->execution_order.count; ++position) {
        uint32_t first = p->launch_at[position], end = p->launch_at[p->launch_groups.last[position] + 1];
        if (p->launch_groups.first[position] == position && end > first + 1)
            status = join(p, first, end - first, scratch);
    }
    ons_arena_free(scratch);
    return status;
}

bool ons_program_runs(const ons_program *p, ons_node_id node) {
    return !ons_is_view(ons_graph_node(p->graph, node)->op) && !p->idle[node];
}

ons_status *ons_program_place(ons_program *p, void *const *persistent, void *transient) {
    p->transient = transient;
    if (p->halves != NULL) place_half(p, persistent);
    for (uint32_t id = 0; p->halves == NULL && id < p->liveness.buffer_count; ++id)
        p->places[id] = place_of(p, id, persistent, transient);
    p->launch_count = 0;
    for (uint32_t position = 0; position < p->execution_order.count; ++position) {
        p->launch_at[position] = p->launch_count;
        if (ons_program_runs(p, p->execution_order.nodes[position])) ONS_TRY(add_launch(p, position));
    }
    p->launch_at[p->execution_order.count] = p->launch_count;
    ONS_NEW(p->launch_group, p->arena, ONS_LAUNCH_GROUP_MOST);
    return join_all(p);
}
