#include "planner/search/layer_chain.h"

static void fill(const ons_workload *work, const ons_work_layer *of, ons_chain_layer *layer) {
    uint32_t first = of->first, end = of->first + of->count;
    const ons_stage_load load = {.in_flight = 2, .versions = 1, .accumulates = true};
    ons_stage_memory m;
    ons_work_stage_memory(work, first, end, &load, &m);
    *layer = (ons_chain_layer){.forward = ons_work_forward_seconds(work, first, end),
                               .backward = ons_work_backward_seconds(work, first, end),
                               .activation_bytes = ons_work_cut_bytes(work, first),
                               .gradient_bytes = ons_work_cut_gradient_bytes(work, first),
                               .parameter_bytes = m.gradients,
                               .saved_bytes = m.stash,
                               .held_bytes = m.weights + m.gradients + m.states};
    for (uint32_t i = first; i < end; ++i) layer->held_bytes += work->nodes[i].backward_bytes;
}

ons_status *ons_layer_chain_make(const ons_planning_problem *problem, ons_arena *arena, ons_layer_chain *chain) {
    const ons_workload *work = problem->work;
    *chain = (ons_layer_chain){.problem = problem, .count = work->layer_count};
    ONS_NEW(chain->layers, arena, work->layer_count);
    for (uint32_t i = 0; i < work->layer_count; ++i) fill(work, &work->layers[i], &chain->layers[i]);
    return NULL;
}
