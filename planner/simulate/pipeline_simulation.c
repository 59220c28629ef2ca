#include "planner/simulate/pipeline_simulation.h"

#include <math.h>

#include "planner/simulate/pipeline_tasks.h"

/* A simulated stretch: a step, or as many micro-batches as an asynchronous pipeline needs to become steady. */
typedef struct stretch {
    const ons_pipeline_setup *setup;
    ons_schedule own; /* where none is given */
    ons_pipeline_tasks tasks;
    ons_simulation *simulation; /* owned */
    double period;              /* asynchronous: seconds for a micro-batch in the steady state */
    bool steady;                /* the period was seen to repeat */
} stretch;

static ons_status *check_split(const ons_planning_problem *p, const uint32_t *first) {
    uint32_t stages = p->pipeline.stages;
    ONS_CHECK(stages > 0 && p->pipeline.micro_batches > 0, ONS_INVALID_ARGUMENT,
              "a pipeline of %u stages and %u micro-batches: both must be at least 1", stages,
              p->pipeline.micro_batches);
    ONS_CHECK(first[0] == 0 && first[stages] == p->work->node_count, ONS_INVALID_ARGUMENT,
              "the stages do not cover all %u nodes", p->work->node_count);
    for (uint32_t i = 0; i < stages; ++i)
        ONS_CHECK(first[i] < first[i + 1], ONS_INVALID_ARGUMENT, "stage %u holds no node", i);
    return NULL;
}

static bool is_asynchronous(const stretch *x) {
    const ons_pipeline_setup *setup = x->setup;
    return setup->schedule != NULL ? setup->schedule->asynchronous
                                   : ons_pipeline_is_asynchronous(&setup->problem->pipeline);
}

/* Simulates so many micro-batches. Where these are not those of a schedule that is known, the generator makes lists for
 * them. */
static ons_status *simulate(stretch *x, uint32_t micro_batches, ons_arena *arena) {
    const ons_pipeline_setup *setup = x->setup;
    const ons_planning_problem *p = setup->problem;
    const ons_schedule *known = setup->schedule != NULL ? setup->schedule : p->schedule;
    ons_split split = {p, setup->first, p->pipeline.stages, known};
    if (known == NULL || micro_batches != known->micro_batches) {
        ons_pipeline pipeline = p->pipeline;
        pipeline.micro_batches = micro_batches;
        ONS_TRY(ons_schedule_make(&pipeline, arena, &x->own));
        split.schedule = &x->own;
    }
    if (setup->parts != NULL)
        ONS_TRY(ons_pipeline_tasks_take(&split, setup->parts, arena, &x->tasks));
    else
        ONS_TRY(ons_pipeline_tasks_make(&split, setup->solutions, arena, &x->tasks));
    if (setup->schedule != NULL)
        ONS_TRY(ons_stage_links_verify(x->tasks.links, x->tasks.link_count, x->tasks.schedule, arena));
    return ons_pipeline_tasks_run(&x->tasks, arena, &x->simulation);
}

/* ----------------------------------------------------------------------------------------------------- steady state */

/* When the stage has finished a micro-batch. */
static double finished(const stretch *x, uint32_t stage, uint32_t micro_batch) {
    const ons_pipeline_tasks *t = &x->tasks;
    const ons_task_id *pieces = ons_pipeline_pieces(t, stage, ons_pipeline_place(t, stage, 0) + micro_batch, true);
    return ons_simulation_times(x->simulation, pieces[t->stages[stage].backward_count - 1]).end;
}

/* A pipeline of fixed delays repeats itself after a while, each time by the same number of micro-batches: the smallest
 * number with which [from, to) does, or 0. */
static uint32_t find_cycle(const stretch *x, uint32_t stage, uint32_t from, uint32_t to, uint32_t most) {
    for (uint32_t cycle = 1; cycle <= most && from + 2 * cycle < to; ++cycle) {
        double first = finished(x, stage, from + cycle) - finished(x, stage, from);
        bool repeats = true;
        for (uint32_t i = from + 1; repeats && i + cycle < to; ++i)
            repeats = fabs(finished(x, stage, i + cycle) - finished(x, stage, i) - first) <= 1e-9 * first;
        if (repeats) return cycle;
    }
    return 0;
}

/* The slowest stage's period (stages that exchange nothing may differ). Neither the start counts, nor the end, where
 * forward parts have run out. */
static void measure_period(stretch *x) {
    uint32_t stages = x->tasks.split.stages, m = x->tasks.micro_batches;
    uint32_t from = m / 2, to = m > 2 * stages + from + 1 ? m - 2 * stages : m;
    x->period = 0;
    x->steady = true;
    for (uint32_t stage = 0; stage < stages; ++stage) {
        uint32_t cycle = find_cycle(x, stage, from, to, stages + 1), last = to - 1;
        double period = last > from ? (finished(x, stage, last) - finished(x, stage, from)) / (last - from)
                                    : finished(x, stage, last) / m;
        if (cycle > 0) period = (finished(x, stage, from + cycle) - finished(x, stage, from)) / cycle;
        if (cycle == 0) x->steady = false;
        if (period > x->period) x->period = period;
    }
}

enum { MOST_DOUBLINGS = 5 };

/* Until it is steady, or long enough for an average. */
static ons_status *simulate_stretch(stretch *x, ons_arena *arena) {
    const ons_pipeline *p = &x->setup->problem->pipeline;
    bool given = x->setup->schedule != NULL;
    if (!is_asynchronous(x)) return simulate(x, p->micro_batches, arena);
    uint32_t m = given ? p->micro_batches : 8 * p->stages + 8;
    for (uint32_t doubling = 0;; ++doubling, m *= 2) {
        ONS_TRY(simulate(x, m, arena));
        measure_period(x);
        if (given || x->steady || doubling == MOST_DOUBLINGS) return NULL;
        ons_simulation_free(x->simulation);
        x->simulation = NULL;
    }
}

/* ----------------------------------------------------------------------------------------------------------- report */

/* The device that computes a unit of a step in a stage. */
static ons_device_forecast *device_of(const ons_pipeline_forecast *f, const ons_schedule *s, uint32_t stage,
                                      uint32_t unit) {
    ons_stage_grouping g = ons_schedule_grouping(s, stage);
    return &f->devices[ons_schedule_device(s, stage, unit / g.size % g.copies)];
}

/* Adds the bytes of a step over one link, message by message: copies of a stage are on different devices, and stages
 * may take units in groups of different sizes. */
static void add_link_traffic(const ons_schedule *s, const ons_stage_link *link, uint32_t units,
                             ons_pipeline_forecast *f) {
    for (uint32_t i = 0; i < units; i += ons_stage_link_units(s, link, i)) {
        ons_device_forecast *from = device_of(f, s, link->from, i), *to = device_of(f, s, link->to, i);
        if (from == to) continue;
        int64_t sent = ons_stage_link_bytes(s, link, false, i), returned = ons_stage_link_bytes(s, link, true, i);
        from->sent_bytes += sent;
        to->received_bytes += sent;
        to->sent_bytes += returned;
        from->received_bytes += returned;
    }
}

static void add_tie_traffic(ons_device_forecast *a, ons_device_forecast *b, int64_t bytes) {
    if (a == b) return;
    a->sent_bytes += bytes;
    a->received_bytes += bytes;
    b->sent_bytes += bytes;
    b->received_bytes += bytes;
}

static void add_traffic(const stretch *x, ons_pipeline_forecast *f, uint32_t micro_batches) {
    const ons_pipeline_tasks *t = &x->tasks;
    const ons_schedule *s = t->schedule;
    for (uint32_t i = 0; i < t->link_count; ++i) add_link_traffic(s, &t->links[i], micro_batches, f);
    for (uint32_t i = 0; i < t->tie_count; ++i) {
        const ons_stage_tie *tie = &t->ties[i];
        for (uint32_t copy = 0; copy < ons_schedule_grouping(s, tie->first).copies; ++copy)
            add_tie_traffic(&f->devices[ons_schedule_device(s, tie->first, copy)],
                            &f->devices[ons_schedule_device(s, tie->second, copy)], tie->bytes);
    }
    for (uint32_t stage = 0; stage < t->split.stages; ++stage) {
        ons_stage_grouping g = ons_schedule_grouping(s, stage);
        int64_t own = micro_batches / (g.size * g.copies);
        for (uint32_t copy = 0; copy < g.copies; ++copy)
            for (uint32_t i = 0; i < t->stages[stage].copy_count; ++i) {
                ons_device_forecast *d = &f->devices[ons_schedule_device(s, stage, copy)];
                d->swapped_out_bytes += t->stages[stage].copies[i].bytes * own;
                d->swapped_in_bytes += t->stages[stage].copies[i].bytes * own;
            }
    }
}

/* Times of the simulated stretch are brought to a step by the share of its micro-batches. `bubble_share` counts all of
 * the step in which the device does not compute, whatever it waits for. */
static ons_status *report_devices(const stretch *x, ons_arena *arena, ons_pipeline_forecast *f) {
    double share = (double)x->setup->problem->pipeline.micro_batches / x->tasks.micro_batches;
    ONS_NEW(f->devices, arena, x->tasks.schedule->devices);
    f->device_count = x->tasks.schedule->devices;
    for (uint32_t i = 0; i < f->device_count; ++i) {
        ons_device_forecast *d = &f->devices[i];
        const ons_simulation *s = x->simulation;
        ons_resource_id first = i * ONS_DEVICE_STREAMS;
        d->busy_seconds = share * ons_simulation_busy(s, first + ONS_STREAM_COMPUTE);
        d->send_seconds = share * ons_simulation_busy(s, first + ONS_STREAM_SEND);
        d->receive_seconds = share * ons_simulation_busy(s, first + ONS_STREAM_RECEIVE);
        d->swap_out_seconds = share * ons_simulation_busy(s, first + ONS_STREAM_SWAP_OUT);
        d->swap_in_seconds = share * ons_simulation_busy(s, first + ONS_STREAM_SWAP_IN);
        d->bubble_share = f->iteration_seconds > 0 ? 1 - d->busy_seconds / f->iteration_seconds : 0;
        if (x->setup->times_alone) continue;
        ONS_TRY(ons_simulation_memory(s, i, arena, &d->memory, &d->memory_count, &d->peak_bytes));
    }
    add_traffic(x, f, x->setup->problem->pipeline.micro_batches);
    return NULL;
}

static ons_status *report_critical_path(const ons_simulation *s, ons_arena *arena, ons_pipeline_forecast *f) {
    f->critical_count = 0;
    for (ons_task_id i = ons_simulation_last(s); i != ONS_NO_TASK; i = ons_simulation_times(s, i).cause)
        ++f->critical_count;
    ONS_NEW(f->critical_path, arena, f->critical_count);
    uint32_t at = f->critical_count;
    for (ons_task_id i = ons_simulation_last(s); i != ONS_NO_TASK; i = ons_simulation_times(s, i).cause)
        f->critical_path[--at] = i;
    return NULL;
}

static ons_status *report(const stretch *x, ons_arena *arena, ons_pipeline_forecast *f) {
    const ons_planning_problem *p = x->setup->problem;
    f->iteration_seconds =
        is_asynchronous(x) ? x->period * p->pipeline.micro_batches : ons_simulation_seconds(x->simulation);
    double samples = p->batch > 0 ? (double)p->batch : (double)p->work->samples * p->pipeline.micro_batches;
    f->seconds_per_sample = samples > 0 ? f->iteration_seconds / samples : 0;
    f->samples_per_second = f->iteration_seconds > 0 ? samples / f->iteration_seconds : 0;
    ONS_TRY(report_devices(x, arena, f));
    return report_critical_path(x->simulation, arena, f);
}

ons_status *ons_pipeline_parts_make(const ons_pipeline_setup *setup, ons_arena *arena, ons_pipeline_parts *parts) {
    const ons_planning_problem *p = setup->problem;
    ons_pipeline_tasks tasks;
    ons_schedule schedule;
    ONS_TRY(check_split(p, setup->first));
    ONS_TRY(ons_schedule_make(&p->pipeline, arena, &schedule));
    ons_split split = {p, setup->first, p->pipeline.stages, &schedule};
    ONS_TRY(ons_pipeline_tasks_make(&split, setup->solutions, arena, &tasks));
    *parts = (ons_pipeline_parts){tasks.whole, tasks.links, tasks.ties, tasks.link_count, tasks.tie_count};
    return NULL;
}

ons_status *ons_pipeline_simulate(const ons_pipeline_setup *setup, ons_arena *arena, ons_pipeline_forecast *forecast) {
    *forecast = (ons_pipeline_forecast){0};
    if (setup->parts == NULL) ONS_TRY(check_split(setup->problem, setup->first));
    stretch x = {.setup = setup};
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = simulate_stretch(&x, scratch);
    if (status == NULL) status = report(&x, arena, forecast);
    ons_arena_free(scratch);
    if (status != NULL)
        ons_simulation_free(x.simulation);
    else
        forecast->simulation = x.simulation;
    return status;
}
