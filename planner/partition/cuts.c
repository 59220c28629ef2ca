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
        .slack_back = stage > 0 ? work->nodes[from].late_weight_seconds : 0,
        .slack_weight = stage > 0 ? work->nodes[from].late_weight_seconds : 0,
    };
}

static uint32_t first_from(const uint32_t *list, uint32_t count, uint32_t from) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? list[low] : from; /* read by backward parts alone: as early as anything */
}

ons_cut_ends ons_cut_ends_find(const ons_workload *work, uint32_t cut) {
    ons_work_list crossing = ons_work_crossing(work, cut);
    ons_cut_ends ends = {0, work->node_count, work->node_count, 0};
    for (uint32_t i = 0; i < crossing.count; ++i) {
        const ons_work_tensor *t = &work->tensors[crossing.items[i]];
        uint32_t reader = first_from(t->readers, t->reader_count, cut);
        if (t->producer > ends.made_by) ends.made_by = t->producer;
        if (reader < ends.read_by) ends.read_by = reader;
        if (t->gradient_bytes == 0) continue;
        if (reader < ends.gradient_made_by) ends.gradient_made_by = reader;
        if (t->producer > ends.gradient_read_by) ends.gradient_read_by = t->producer;
    }
    return ends;
}

void ons_cut_slacks(const ons_planning_problem *p, const ons_cut_ends *ends, uint32_t stage, uint32_t cut,
                    ons_step_stage *times) {
    const ons_workload *before = ons_stage_work(p, stage - 1), *work = ons_stage_work(p, stage);
    times->slack = times->slack_back = times->slack_weight = 0;
    if (ends->read_by < work->node_count)
        times->slack = ons_work_forward_seconds(before, ends->made_by + 1, cut) +
                       ons_work_forward_seconds(work, cut, ends->read_by);
    uint32_t made_by = ends->gradient_made_by, read_by = ends->gradient_read_by;
    if (made_by == work->node_count) return;
    double late = work->nodes[made_by].late_weight_seconds;
    times->slack_back =
        late + ons_work_backward_seconds(work, cut, made_by) + ons_work_backward_seconds(before, read_by + 1, cut);
    times->slack_weight =
        late + ons_work_weight_seconds(work, cut, made_by) + ons_work_weight_seconds(before, read_by + 1, cut);
}

int64_t ons_cuts_bytes(const ons_planning_problem *p, const uint32_t *first, int64_t *bytes) {
    const ons_schedule *s = p->schedule;
    int64_t fullest = 0;
    memset(bytes, 0, s->devices * sizeof *bytes);
    for (uint32_t i = 0; i < s->stages; ++i) {
        ons_stage_memory m;
        ons_work_stage_memory(p->work, first[i], first[i + 1], &s->loads[i], &m);
        for (uint32_t copy = 0; copy < ons_schedule_grouping(s, i).copies; ++copy) {
            uint32_t device = ons_schedule_device(s, i, copy);
            bytes[device] += m.total;
            int64_t demand = ons_device_demand(p, device, bytes[device]);
            if (demand > fullest) fullest = demand;
        }
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
