#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "runtime/program/launch_check.h"
#include "runtime/program/program_state.h"

/* -------------------------------------------------------------------------------------------------------- addresses */

static const ons_part_place first_place = {0};

void *ons_program_buffer_address(const ons_program *p, ons_buffer_id id, const ons_part_place *part_place, bool fresh) {
    if (id == ONS_NONE) return NULL;
    const place *at = &p->places[id];
    switch (at->kind) {
    case PLACE_BY_SLOT:
    case PLACE_IN_RING: return at->first + at->stride * (part_place->micro_batch % at->count);
    case PLACE_BY_VERSION: return at->first + at->stride * (fresh ? part_place->fresh_version : part_place->version);
    default: return at->first;
    }
}

/* What takes a weight's place is written where the next version is. */
static void *address_of_value(const ons_program *p, ons_value_id value, const ons_part_place *part_place) {
    if (value == ONS_NONE) return NULL;
    const ons_value *v = ons_graph_value(p->graph, value);
    return ons_program_buffer_address(p, p->liveness.buffer_of_value[value], part_place,
                                      v->pair != ONS_NONE && v->producer != ONS_NONE);
}

void *ons_program_address(const ons_program *p, ons_value_id value, const ons_part_place *part_place) {
    return address_of_value(p, value, part_place != NULL ? part_place : &first_place);
}

double ons_program_scalar(const ons_program *p, ons_value_id value, const ons_part_place *part_place) {
    const void *address = ons_program_address(p, value, part_place);
    bool wide = ons_graph_value(p->graph, value)->type.dtype == ONS_FLOAT64;
    return wide ? *(const double *)address : (double)*(const float *)address;
}

static void *align_scratch(const ons_program *p, void *scratch) {
    uintptr_t alignment = (uintptr_t)p->backend->scratch_alignment, past = (uintptr_t)scratch % alignment;
    return past != 0 ? (char *)scratch + (alignment - past) : scratch;
}

static void move_to_slice(const ons_program *p, const ons_node *update, launch *l) {
    for (uint32_t i = 0; i < update->input_count; ++i)
        if (l->inputs[i] != NULL)
            l->inputs[i] = (const char *)l->inputs[i] + ons_update_shard_input_offset(&p->shard, p->graph, update, i);
    for (uint32_t i = 0; i < update->output_count; ++i)
        if (l->outputs[i] != NULL)
            l->outputs[i] = (char *)l->outputs[i] + ons_update_shard_output_offset(&p->shard, p->graph, update, i);
}

void ons_program_resolve(const ons_program *p, launch *l, const ons_part_place *part_place) {
    if (part_place == NULL) part_place = &first_place;
    const ons_node *node = ons_graph_node(p->graph, l->node);
    for (uint32_t i = 0; i < node->input_count; ++i) l->inputs[i] = address_of_value(p, node->inputs[i], part_place);
    for (uint32_t i = 0; i < node->output_count; ++i) l->outputs[i] = address_of_value(p, node->outputs[i], part_place);
    l->scratch =
        align_scratch(p, ons_program_buffer_address(p, p->liveness.scratch_of_node[l->node], part_place, false));
    if (ons_program_divides(p, node)) move_to_slice(p, node, l);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Replicas that share a page for faults have the same nodes. */
static uint64_t fault_key(const launch *l, uint32_t finder) { return l->node_key + finder * 0x9e3779b97f4a7c15u; }

static ons_launch arguments_of(const ons_program *p, launch *l, const ons_run *run) {
    if (l->moves) ons_program_resolve(p, l, run->part_place);
    return (ons_launch){
        .inputs = l->inputs,
        .outputs = l->outputs,
        .scratch = l->scratch,
        .state = l->state,
        .step = p->discrete_memory ? NULL : run->step,
        .fault = p->discrete_memory ? run->device_fault : &run->fault->fault,
        .node_key = fault_key(l, run->finder),
        .stream = run->stream,
        .device_step = run->step,
        .replicas = run->replicas,
    };
}

static void observe(const ons_program *p, uint32_t first, uint32_t count, const ons_run *run, int64_t start) {
    int64_t end = now();
    double all = 0, before = 0;
    for (uint32_t i = first; i < first + count; ++i) all += p->launches[i].touched;
    for (uint32_t i = 0; i < count; ++i) {
        double from = all > 0 ? before / all : (double)i / count;
        before += p->launches[first + i].touched;
        double to = i + 1 == count ? 1 : all > 0 ? before / all : (i + 1.0) / count;
        const ons_observed observed = {p->launches[first + i].node, start, end, i, from, to};
        run->observer(run->context, &observed);
    }
}

/* ----------------------------------------------------------------------------------------------------------- checks */

#ifndef NDEBUG
static bool keeps_promises(const ons_program *p, const launch *l, const ons_launch *arguments) {
    const ons_node *node = ons_graph_node(p->graph, l->node);
    const char *broken = ons_launch_broken_promise(
        &(ons_launch_promise){
            .graph = p->graph,
            .node = node,
            .operands = p->prepared[l->node].operands,
            .scratch_bytes = p->scratch[l->node] - (p->scratch[l->node] > 0 ? ons_program_scratch_slack(p) : 0),
            .scratch_alignment = p->backend->scratch_alignment,
            .sliced = ons_program_divides(p, node),
            .halved = p->halves != NULL,
        },
        arguments);
    if (broken != NULL) fprintf(stderr, "node '%s' (%s): %s\n", node->name, node->op->name, broken);
    return broken == NULL;
}
#endif

/* ---------------------------------------------------------------------------------------------------------- running */

static ons_launch begin_launch(const ons_program *p, launch *l, const ons_run *run) {
    ons_launch arguments = arguments_of(p, l, run);
    assert(keeps_promises(p, l, &arguments));
    ons_program_revive_written(p, l, run->part_place);
    return arguments;
}

void ons_program_run_positions(ons_program *p, uint32_t first, uint32_t end, const ons_run *run) {
    ons_program_fault *fault = run->fault;
    uint32_t buried = first;
    for (uint32_t i = p->launch_at[first], next; i < p->launch_at[end]; i = next) {
        launch *l = &p->launches[i];
        next = l->end < p->launch_at[end] ? l->end : p->launch_at[end];
        ons_program_bury_dead(p, buried, l->position, run->part_place); /* also of nodes that idle */
        buried = l->position;
        int64_t start = run->observer == NULL ? 0 : now();
        if (next == i + 1) {
            const ons_launch arguments = begin_launch(p, l, run);
            l->kernel->run(&arguments);
        } else {
            for (uint32_t k = i; k < next; ++k) p->launch_group[k - i] = begin_launch(p, &p->launches[k], run);
            l->kernel->run_multi_tensor(p->launch_group, next - i);
        }
        if (run->observer != NULL) observe(p, i, next - i, run, start);
        if (fault != NULL && fault->fault.problem != NULL) {
            fault->node = l->node;
            return;
        }
    }
    ons_program_bury_dead(p, buried, end, run->part_place);
}

void ons_program_run(ons_program *p, ons_part part, const ons_run *run) {
    ons_program_run_positions(p, ons_execution_order_begin(&p->execution_order, part), p->execution_order.end[part],
                              run);
}

ons_node_id ons_program_find_fault(const ons_program *p, const ons_fault *fault, uint32_t finder) {
    for (uint32_t i = 0; i < p->launch_count; ++i)
        if (fault_key(&p->launches[i], finder) == fault->node_key) return p->launches[i].node;
    return ONS_NONE;
}

const char *ons_program_fault_node(const ons_program *p, const ons_program_fault *fault) {
    return fault->node == ONS_NONE ? "(not known)" : ons_graph_node(p->graph, fault->node)->name;
}
