#include "runtime/measure/profiler.h"

#include <inttypes.h>
#include <string.h>

#include "graph/evaluate.h"
#include "runtime/log/trace.h"
#include "runtime/measure/median.h"
#include "runtime/measure/profiler_state.h"

static void observe(void *context, const ons_observed *o) {
    ons_profiling *p = context;
    p->now[o->node] += (double)(o->end - o->start) * 1e-9 * (o->to - o->from) * p->share;
}

static void feed(const ons_profiling *p, ons_program *program, ons_part part, const ons_part_place *part_place) {
    for (uint32_t i = 0; i < p->o->input_count; ++i) {
        const ons_profiler_input *input = &p->o->inputs[i];
        if (input->value == ONS_NONE || input->part != part) continue;
        void *address = ons_program_address_to_write(program, input->value, part_place);
        if (address != NULL) memcpy(address, input->data, input->bytes);
    }
}

/* Forward and backward parts once for each slot. What they take is divided by the slots. */
static void run_part(ons_profiling *p, ons_part part) {
    uint32_t times = part == ONS_PART_BEGIN || part == ONS_PART_END ? 1 : p->slots;
    ons_program *program = p->observer != NULL ? p->o->program : p->o->whole;
    p->share = 1.0 / times;
    for (uint32_t i = 0; i < times && p->fault.fault.problem == NULL; ++i) {
        const ons_part_place part_place = {.micro_batch = i};
        const ons_run run = {
            .step = &p->step, .part_place = &part_place, .observer = p->observer, .context = p, .fault = &p->fault};
        int64_t begin = ons_trace_now();
        feed(p, program, part, &part_place);
        int64_t start = ons_trace_now();
        ons_program_run(program, part, &run);
        p->feed_seconds += (double)(start - begin) * 1e-9 * p->share;
        p->step_seconds += (double)(ons_trace_now() - start) * 1e-9 * p->share;
    }
}

/* On the compute thread. */
static void run_once(void *argument, uintptr_t native) {
    (void)native;
    ons_profiling *p = argument;
    p->feed_seconds = p->step_seconds = 0;
    int64_t start = ons_trace_now();
    for (int part = 0; part < ONS_PART_KINDS; ++part) run_part(p, (ons_part)part);
    p->whole_seconds = (double)(ons_trace_now() - start) * 1e-9;
}

/* One step, as the trainer runs it. */
static ons_status *run_step(ons_profiling *p, ons_node_observer *observer) {
    if (p->discrete != NULL) return ons_profiler_run_discrete(p, observer != NULL);
    p->observer = observer;
    int64_t start = ons_trace_now();
    ons_device_context_launch(p->o->device_context, run_once, p);
    ons_device_context_wait(p->o->device_context);
    p->handover_seconds = (double)(ons_trace_now() - start) * 1e-9 - p->whole_seconds;
    return NULL;
}

static ons_status *fault_status(const ons_profiling *p) {
    char text[ONS_FAULT_TEXT];
    return ons_status_new(ONS_INVALID_DATA,
                          "node '%s': %s; made-up data will not do here: give the model's own by --input and --target",
                          ons_program_fault_node(p->o->program, &p->fault), ons_fault_print(&p->fault.fault, text));
}

static ons_status *repeat(ons_profiling *p) {
    int64_t all = p->o->repetitions + ONS_PROFILER_WARM_UP;
    for (int64_t i = 0; i < all; ++i) {
        memset(p->now, 0, p->nodes * sizeof *p->now);
        p->step.step = (uint64_t)i + 1;
        ONS_TRY(run_step(p, observe));
        if (p->fault.fault.problem == NULL) ONS_TRY(run_step(p, NULL));
        if (p->fault.fault.problem != NULL) return fault_status(p);
        if (i >= ONS_PROFILER_WARM_UP) {
            for (size_t node = 0; node < p->nodes; ++node)
                p->kept[node * (size_t)p->o->repetitions + (size_t)p->counted] = p->now[node];
            p->feeds[p->counted] = p->feed_seconds;
            p->handovers[p->counted] = p->handover_seconds;
            p->steps[p->counted++] = p->step_seconds;
        }
        if (p->o->progress != NULL)
            ONS_CHECK(p->o->progress(p->o->progress_context, i + 1, all), ONS_INTERRUPTED, "stopped while measuring");
    }
    return NULL;
}

/* All arrays are in ascending order. */
static double find_launch(const ons_profiling *p, const ons_program_times *times) {
    double fastest = p->steps[0], middle = times->step_seconds;
    size_t count = 0;
    for (ons_node_id node = 0; node < p->nodes; ++node) {
        if (!ons_program_runs(p->o->whole, node)) continue;
        fastest -= p->kept[node * (size_t)p->o->repetitions];
        middle -= times->node_seconds[node];
        count += times->node_seconds[node] > 0;
    }
    double beyond = fastest < middle ? fastest : middle;
    return beyond > 0 && count > 0 ? beyond / (double)count : 0;
}

ons_status *ons_profiler_run(const ons_profiler_options *options, ons_arena *arena, ons_program_times *times) {
    ons_profiling p = {.o = options, .step = options->step, .fault = {.node = ONS_NONE}, .arena = arena};
    p.slots = options->slots > 0 ? options->slots : 1;
    p.nodes = ons_program_graph(options->program)->nodes.count;
    size_t cells;
    ONS_CHECK(options->repetitions > 0 && !__builtin_mul_overflow(p.nodes + 1, (size_t)options->repetitions, &cells),
              ONS_INVALID_ARGUMENT, "%lld repetitions cannot be measured", (long long)options->repetitions);
    ONS_NEW(p.now, arena, p.nodes + 1);
    ONS_NEW(p.kept, arena, cells);
    ONS_NEW(p.steps, arena, (size_t)options->repetitions);
    ONS_NEW(p.feeds, arena, (size_t)options->repetitions);
    ONS_NEW(p.handovers, arena, (size_t)options->repetitions);
    ONS_NEW(times->node_seconds, arena, p.nodes + 1);
    ons_status *status = ons_profiler_open_discrete(&p, arena);
    if (status == NULL) status = repeat(&p);
    ons_profiler_close_discrete(&p);
    ONS_TRY(status);
    for (size_t node = 0; node < p.nodes; ++node)
        times->node_seconds[node] = ons_median(&p.kept[node * (size_t)options->repetitions], options->repetitions);
    times->step_seconds = ons_median(p.steps, options->repetitions);
    times->feed_seconds = ons_median(p.feeds, options->repetitions);
    times->handover_seconds = ons_median(p.handovers, options->repetitions);
    times->launch_seconds = find_launch(&p, times);
    times->unrecorded = p.unrecorded;
    return NULL;
}
