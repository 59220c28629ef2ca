#include "planner/partition/cuts.h"

#include <math.h>
#include <string.h>

#include "planner/partition/devices.h"
#include "planner/partition/link.h"

ons_step_stage ons_cuts_times(const ons_planning_problem *p, const uint32_t *first, uint32_t stage,
                              double part_seconds) {
    const ons_workload *work = ons_stage_work(p, stage);
    uint32_t from = first[stage], to = first[stage + 1];
    ons_link_cost link = stage > 0 ? ons_link_before(p, stage) : ons_link_in_node(p);
    return (ons_step_stage){
        .forward = ons_work_forward_seconds(work, from, to) + part_seconds,
        .backward = ons_work_backward_seconds(work, from, to) + part_seconds,
        .weight = ons_work_weight_seconds(work, from, to),
        .update = ons_work_update_seconds(work, from, to),
        .arrive = stage > 0 ? ons_link_least(link, ons_work_cut_bytes(work, from)) : 0,
        .back = stage > 0 ? ons_link_least(link, ons_work_cut_gradient_bytes(work, from)) : 0,
        .travel = ons_link_travel(link),
    };
}

int64_t ons_cuts_bytes(const ons_planning_problem *p, const uint32_t *first, int64_t *bytes) {
    const ons_schedule *s = p->schedule;
    int64_t fullest = 0;
    memset(bytes, 0, s->devices * sizeof *bytes);
    for (uint32_t i = 0; i < s->stages; ++i) {
        ons_stage_memory m;
        int64_t *of_device = &bytes[s->device_of[i]];
        ons_work_stage_memory(p->work, first[i], first[i + 1], &s->loads[i], &m);
        *of_device += m.total;
        int64_t demand = ons_device_demand(p, s->device_of[i], *of_device);
        if (demand > fullest) fullest = demand;
    }
    return fullest;
}

void ons_cuts_even(const double *before, uint32_t nodes, uint32_t from, uint32_t stages, uint32_t *first) {
    uint32_t cut = from;
    first[0] = 0;
    for (uint32_t x = 1; x < stages; ++x) {
        double aim = before[from] + (before[nodes] - before[from]) * x / stages;
        uint32_t last = nodes - (stages - x); /* every stage behind it needs a node */
        ++cut;
        for (uint32_t next = cut + 1; next <= last; ++next)
            if (fabs(before[next] - aim) < fabs(before[cut] - aim)) cut = next;
        first[x] = cut;
    }
    first[stages] = nodes;
}

ons_status *ons_cuts_weights_before(const ons_workload *work, bool activations, ons_arena *arena, double **before) {
    ONS_NEW(*before, arena, (size_t)work->node_count + 1);
    for (uint32_t i = 0; i < work->weight_count; ++i)
        (*before)[work->weights[i].users[0] + 1] += (double)work->weights[i].bytes;
    for (uint32_t i = 0; activations && i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        if (t->producer != ONS_NO_NODE && t->saver_count > 0) (*before)[t->producer + 1] += (double)t->bytes;
    }
    for (uint32_t i = 0; i < work->node_count; ++i) (*before)[i + 1] += (*before)[i];
    return NULL;
}

ons_status *ons_cuts_seconds_before(const ons_workload *work, ons_arena *arena, double **before) {
    ONS_NEW(*before, arena, (size_t)work->node_count + 1);
    for (uint32_t i = 0; i <= work->node_count; ++i) (*before)[i] = ons_work_seconds(work, 0, i);
    return NULL;
}

uint32_t ons_cuts_frozen(const ons_workload *work) {
    uint32_t frozen = 0;
    while (frozen < work->node_count && ons_work_backward_seconds(work, frozen, frozen + 1) <= 0) ++frozen;
    return frozen < work->node_count ? frozen : 0;
}
