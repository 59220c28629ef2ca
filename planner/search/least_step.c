#include "planner/search/least_step.h"

#include <math.h>

#include "planner/partition/devices.h"
#include "planner/simulate/pipeline_tasks.h"

typedef struct bounder {
    const ons_planning_problem *p;
    const ons_schedule *schedule;
    const uint32_t *first;
    const ons_stage_solution *solutions; /* may be NULL */
    ons_stage_link *pairs;               /* [from · stages + to]; ends are positions */
    uint32_t stages;
    double *filled;  /* [stage]: when its first forward part has ended, at the earliest */
    double *drained; /* [stage]: from its last backward part's end to the end of the step, at least */
} bounder;

static double forward_seconds(const bounder *b, uint32_t stage, uint32_t from, uint32_t end) {
    return ons_work_forward_seconds(ons_stage_work(b->p, stage), from, end);
}

/* Of the part that returns input gradients. */
static double backward_seconds(const bounder *b, uint32_t stage, uint32_t from, uint32_t end) {
    const ons_workload *work = ons_stage_work(b->p, stage);
    double weight = b->schedule->loads[stage].apart ? ons_work_weight_seconds(work, from, end) : 0;
    return ons_work_backward_seconds(work, from, end) - weight;
}

static double again_seconds(const bounder *b, uint32_t stage) {
    return b->solutions != NULL ? b->solutions[stage].recompute_seconds : 0;
}

/* A message leaves when the last of it was made, and what comes behind its first reader waits for it. */
static void fill(bounder *b) {
    for (uint32_t to = 0; to < b->stages; ++to) {
        b->filled[to] = forward_seconds(b, to, b->first[to], b->first[to + 1]);
        for (uint32_t from = 0; from < to; ++from) {
            const ons_stage_link *link = &b->pairs[(size_t)from * b->stages + to];
            if (link->to == 0) continue;
            double there = b->filled[from] - forward_seconds(b, from, link->ends.made_by + 1, b->first[from + 1]);
            double behind = forward_seconds(b, to, link->ends.read_by, b->first[to + 1]);
            b->filled[to] = fmax(b->filled[to], there + behind);
        }
    }
}

/* What runs again may do so before the gradient has come, unless that is read first of all. */
static double behind_gradient(const bounder *b, const ons_stage_link *link) {
    uint32_t last = link->gradient_ends.read_by, end = b->first[link->from + 1];
    double again = last + 1 == end ? again_seconds(b, link->from) : 0;
    return again + backward_seconds(b, link->from, b->first[link->from], last + 1);
}

static double behind_sending(const bounder *b, const ons_stage_link *link) {
    uint32_t made_by = link->gradient_ends.made_by;
    double late = ons_stage_work(b->p, link->to)->nodes[made_by].late_weight_seconds;
    double again = made_by > b->first[link->to] ? again_seconds(b, link->to) : 0;
    if (b->schedule->loads[link->to].apart) late = 0;
    return again + late + backward_seconds(b, link->to, b->first[link->to], made_by);
}

static void drain(bounder *b) {
    for (uint32_t to = 0; to < b->stages; ++to) {
        b->drained[to] = ons_work_update_seconds(ons_stage_work(b->p, to), b->first[to], b->first[to + 1]);
        for (uint32_t from = 0; from < to; ++from) {
            const ons_stage_link *link = &b->pairs[(size_t)from * b->stages + to];
            if (link->to == 0 || !link->gradient) continue;
            double behind = b->drained[from] + behind_gradient(b, link) - behind_sending(b, link);
            b->drained[to] = fmax(b->drained[to], behind);
        }
    }
}

/* Of a unit of a step, on the device: a stage's copies share its micro-batches. */
static double load_of(const bounder *b, uint32_t device) {
    double load = 0;
    for (uint32_t i = 0; i < b->stages; ++i) {
        const ons_workload *work = ons_stage_work(b->p, i);
        if (!ons_schedule_holds(b->schedule, i, device)) continue;
        load += (ons_work_seconds(work, b->first[i], b->first[i + 1]) + again_seconds(b, i)) /
                ons_schedule_grouping(b->schedule, i).copies;
        if (b->schedule->asynchronous) load += ons_work_update_seconds(work, b->first[i], b->first[i + 1]);
    }
    return load;
}

/* A device's work of a step lies between its first stage's first part and the way back from there; where weight
 * gradients are apart, they may come last. */
static double bound_device(const bounder *b, const ons_step_walk *walk, uint32_t device) {
    uint32_t stage = walk->lowest[device], from = b->first[stage], end = b->first[stage + 1];
    double all = b->p->pipeline.micro_batches * load_of(b, device);
    if (b->schedule->asynchronous) return all;
    double update = ons_work_update_seconds(ons_stage_work(b->p, stage), from, end);
    return b->filled[stage] - forward_seconds(b, stage, from, end) + all +
           (walk->apart[device] ? update : b->drained[stage]);
}

/* Seconds in which a stage's copies of a micro-batch leave, or come back: one after the other. */
static double copy_seconds(const ons_planning_problem *p, const ons_stage_solution *solution) {
    double seconds = 0;
    for (uint32_t i = 0; i < solution->decision_count; ++i) {
        const ons_tensor_decision *d = &solution->decisions[i];
        if (d->decision == ONS_SWAP)
            seconds += p->host_latency + (double)p->work->tensors[d->tensor].bytes / p->host_bandwidth;
    }
    return seconds;
}

static ons_status *find_bound(bounder *b, const ons_step_walk *walk, ons_arena *scratch, double *seconds) {
    const ons_split split = {b->p, b->first, b->stages, b->schedule};
    ONS_TRY(ons_pipeline_links_find(&split, scratch, &b->pairs));
    ONS_NEW(b->filled, scratch, b->stages);
    ONS_NEW(b->drained, scratch, b->stages);
    fill(b);
    drain(b);
    for (uint32_t i = 0; i < b->schedule->devices; ++i) *seconds = fmax(*seconds, bound_device(b, walk, i));
    return NULL;
}

ons_status *ons_least_step(const ons_planning_problem *p, const ons_step_walk *walk, const uint32_t *first,
                           const ons_stage_solution *solutions, double *seconds) {
    bounder b = {
        .p = p, .schedule = &walk->schedule, .first = first, .solutions = solutions, .stages = p->pipeline.stages};
    double computing = 0, copying = 0;
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = find_bound(&b, walk, scratch, &computing);
    ons_arena_free(scratch);
    for (uint32_t i = 0; i < b.stages && solutions != NULL; ++i)
        copying = fmax(copying, copy_seconds(p, &solutions[i]) / ons_schedule_grouping(b.schedule, i).copies);
    *seconds = fmax(computing * (1 - 1e-12), p->pipeline.micro_batches * copying * (1 - 1e-9));
    return status;
}
