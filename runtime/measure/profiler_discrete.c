/* Measurements on a device with discrete memory, which runs work later than the host launches it, by timestamps among
 * that work.
 *
 * Where every node is timed, the stream is held up first by copies that take longer than the host needs to launch the
 * step: otherwise a small kernel would be said to take as long as its launch. What lies between two timestamps with
 * nothing in between comes off every node. Whole steps are repeated as a recording where the trainer does that.
 */
#include <string.h>

#include "base/environment.h"
#include "runtime/log/trace.h"
#include "runtime/measure/device_clock.h"
#include "runtime/measure/median.h"
#include "runtime/measure/profiler_state.h"

enum { HOLD_BYTES = 16 << 20, HOLDS_MOST = 512, EMPTY_TIMESTAMPS = 33 };

typedef struct node_timestamps {
    ons_node_id node;
    uint32_t begin, end;
    double share;
} node_timestamps;

typedef struct turn_timestamps {
    uint32_t feed, begin, end;
    double share;
} turn_timestamps;

struct ons_discrete_profiler {
    ons_device *device;
    ons_stream *compute;
    ons_device_context_control control;
    ons_device_clock *clock;
    void *inputs; /* all of them, in the host's memory that copies are fast with */
    int64_t input_bytes;
    void *hold_device, *hold_host; /* NULL: no room to hold the stream up */
    double hold_seconds;           /* of one copy */
    double empty_seconds;          /* between two timestamps */
    double launch_seconds;         /* the host's, for a step without timestamps; 0: not known yet */
    node_timestamps *nodes;
    turn_timestamps *turns;
    uint32_t node_count, turn_count;
    uint32_t begin, last; /* timestamps before and behind what ran last */
    bool every_node, records;
    bool timestamps;          /* among the work that is launched */
    ons_recording *recording; /* of a whole step; NULL: there is none yet, or none can be made */
};

/* ------------------------------------------------------------------------------------------------------------- life */

/* Memory that a cap leaves no room for is done without. */
static void take_hold(ons_discrete_profiler *f) {
    ons_status *status = f->device->allocate(f->device, HOLD_BYTES, &f->hold_device);
    if (status == NULL) status = f->device->allocate_host(f->device, HOLD_BYTES, &f->hold_host);
    ons_status_free(status);
}

static ons_status *take_inputs(ons_profiling *p) {
    ons_discrete_profiler *f = p->discrete;
    int64_t at = 0;
    for (uint32_t i = 0; i < p->o->input_count; ++i) f->input_bytes += ons_arena_align((int64_t)p->o->inputs[i].bytes);
    ONS_TRY(f->device->allocate_host(f->device, f->input_bytes, &f->inputs));
    for (uint32_t i = 0; i < p->o->input_count; ++i) {
        memcpy((char *)f->inputs + at, p->o->inputs[i].data, p->o->inputs[i].bytes);
        at += ons_arena_align((int64_t)p->o->inputs[i].bytes);
    }
    return NULL;
}

static void hold_stream(const ons_discrete_profiler *f, int64_t copies) {
    for (int64_t i = 0; f->hold_host != NULL && i < copies; ++i)
        f->device->copy(f->compute, f->hold_host, f->hold_device, HOLD_BYTES);
}

static double seconds_of(ons_discrete_profiler *f, uint32_t begin, uint32_t end) {
    return (double)(ons_device_clock_time(f->clock, end) - ons_device_clock_time(f->clock, begin)) * 1e-9;
}

static void calibrate(ons_discrete_profiler *f) {
    double between[EMPTY_TIMESTAMPS - 1];
    uint32_t begin = ons_device_clock_timestamp(f->clock, f->compute), timestamps[EMPTY_TIMESTAMPS];
    hold_stream(f, 2);
    for (int i = 0; i < EMPTY_TIMESTAMPS; ++i) timestamps[i] = ons_device_clock_timestamp(f->clock, f->compute);
    for (int i = 0; i + 1 < EMPTY_TIMESTAMPS; ++i) between[i] = seconds_of(f, timestamps[i], timestamps[i + 1]);
    f->empty_seconds = ons_median(between, EMPTY_TIMESTAMPS - 1);
    f->hold_seconds = seconds_of(f, begin, timestamps[0]) / 2;
    ons_device_clock_reset(f->clock);
}

static bool may_record(const ons_profiling *p, const ons_device *device) {
    return p->o->repeats_steps && p->slots == 1 && device->record_begin != NULL &&
           !ons_environment_is_off(ONS_ENV_ONSTAGE_CUDA_GRAPHS);
}

ons_status *ons_profiler_open_discrete(ons_profiling *p, ons_arena *arena) {
    ons_device *device = ons_device_context_device(p->o->device_context);
    const ons_fault none = {0};
    size_t most = (p->nodes + 1) * p->slots;
    if (device->host_can_access) return NULL;
    ons_discrete_profiler *f;
    ONS_NEW(f, arena, 1);
    p->discrete = f;
    f->device = device;
    f->records = may_record(p, device);
    f->compute = ons_device_context_compute(p->o->device_context);
    f->control = ons_device_context_get_control(p->o->device_context);
    ONS_NEW(f->nodes, arena, most);
    ONS_NEW(f->turns, arena, (size_t)ONS_PART_KINDS * p->slots);
    ONS_TRY(ons_device_clock_new(device, f->compute, &f->clock));
    ONS_TRY(take_inputs(p));
    take_hold(f);
    calibrate(f);
    return ons_device_context_copy(p->o->device_context, f->control.fault, &none, sizeof none);
}

void ons_profiler_close_discrete(ons_profiling *p) {
    ons_discrete_profiler *f = p->discrete;
    if (f == NULL) return;
    if (f->recording != NULL) f->device->recording_free(f->recording);
    ons_device_clock_free(f->clock);
    if (f->inputs != NULL) f->device->release_host(f->device, f->inputs, f->input_bytes);
    if (f->hold_host != NULL) f->device->release_host(f->device, f->hold_host, HOLD_BYTES);
    f->device->release(f->device, f->hold_device, HOLD_BYTES);
}

/* ---------------------------------------------------------------------------------------------------------- running */

/* Called when the node has been put on the stream. */
static void timestamp_node(void *context, const ons_observed *o) {
    ons_profiling *p = context;
    ons_discrete_profiler *f = p->discrete;
    if (o->index == 0) {
        f->begin = f->last;
        f->last = ons_device_clock_timestamp(f->clock, f->compute);
    }
    f->nodes[f->node_count++] = (node_timestamps){o->node, f->begin, f->last, p->share * (o->to - o->from)};
}

/* Whether there was something to put in. */
static bool feed(const ons_profiling *p, ons_program *program, ons_part part, const ons_part_place *part_place) {
    const ons_discrete_profiler *f = p->discrete;
    const char *from = f->inputs;
    bool any = false;
    for (uint32_t i = 0; i < p->o->input_count; ++i) {
        const ons_profiler_input *input = &p->o->inputs[i];
        bool now = input->value != ONS_NONE && input->part == part;
        void *address = now ? ons_program_address_to_write(program, input->value, part_place) : NULL;
        if (address != NULL) f->device->copy(f->compute, address, from, input->bytes);
        any = any || address != NULL;
        from += ons_arena_align((int64_t)input->bytes);
    }
    return any;
}

static uint32_t timestamp(ons_discrete_profiler *f) {
    return f->timestamps ? ons_device_clock_timestamp(f->clock, f->compute) : 0;
}

static void put_part(ons_profiling *p, ons_part part, uintptr_t native) {
    ons_discrete_profiler *f = p->discrete;
    uint32_t times = part == ONS_PART_BEGIN || part == ONS_PART_END ? 1 : p->slots;
    ons_program *program = f->every_node ? p->o->program : p->o->whole;
    p->share = 1.0 / times;
    for (uint32_t i = 0; i < times; ++i) {
        const ons_part_place part_place = {.micro_batch = i};
        const ons_run run = {.step = f->control.steps,
                             .part_place = &part_place,
                             .observer = f->every_node ? timestamp_node : NULL,
                             .context = p,
                             .stream = native,
                             .device_fault = f->control.fault};
        turn_timestamps *timestamps = &f->turns[f->turn_count++];
        timestamps->feed = timestamps->begin = timestamp(f);
        if (feed(p, program, part, &part_place)) timestamps->begin = timestamp(f);
        f->last = timestamps->begin;
        ons_program_run(program, part, &run);
        timestamps->end = timestamp(f);
        timestamps->share = p->share;
    }
}

static void put_step(void *argument, uintptr_t native) {
    ons_profiling *p = argument;
    ons_discrete_profiler *f = p->discrete;
    f->node_count = f->turn_count = 0;
    if (f->every_node && f->hold_seconds > 0) {
        double copies = 3 * f->launch_seconds / f->hold_seconds; /* timestamps are launched as well */
        hold_stream(f, copies < HOLDS_MOST ? (int64_t)copies + 1 : HOLDS_MOST);
    }
    for (int part = 0; part < ONS_PART_KINDS; ++part) put_part(p, (ons_part)part, native);
}

static void read_nodes(ons_profiling *p) {
    ons_discrete_profiler *f = p->discrete;
    for (uint32_t i = 0; i < f->node_count; ++i) {
        const node_timestamps *timestamps = &f->nodes[i];
        double seconds = seconds_of(f, timestamps->begin, timestamps->end);
        seconds = seconds > 2 * f->empty_seconds ? seconds - f->empty_seconds : seconds / 2;
        p->now[timestamps->node] += (seconds > 0 ? seconds : 1e-9) * timestamps->share;
    }
}

static void read_turns(ons_profiling *p) {
    ons_discrete_profiler *f = p->discrete;
    p->feed_seconds = p->step_seconds = 0;
    for (uint32_t i = 0; i < f->turn_count; ++i) {
        const turn_timestamps *timestamps = &f->turns[i];
        p->feed_seconds += seconds_of(f, timestamps->feed, timestamps->begin) * timestamps->share;
        p->step_seconds += seconds_of(f, timestamps->begin, timestamps->end) * timestamps->share;
    }
    p->whole_seconds = seconds_of(f, f->turns[0].feed, f->turns[f->turn_count - 1].end);
}

static ons_status *read_fault(ons_profiling *p) {
    ons_fault *fault = &p->fault.fault;
    ONS_TRY(ons_device_context_copy(p->o->device_context, fault, p->discrete->control.fault, sizeof *fault));
    if (fault->problem != NULL) p->fault.node = ons_program_find_fault(p->o->program, fault, 0);
    return NULL;
}

/* A step that cannot be recorded is put on the stream each time. */
static void record_step(ons_profiling *p) {
    ons_discrete_profiler *f = p->discrete;
    ons_status *status = f->device->record_begin(f->compute);
    f->records = false;
    if (status == NULL) {
        f->timestamps = false;
        ons_device_context_launch(p->o->device_context, put_step, p);
        f->timestamps = true;
        status = f->device->record_end(f->compute, &f->recording);
    }
    if (status == NULL) return;
    f->recording = NULL;
    p->unrecorded = ons_arena_format(p->arena, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

/* From the beginning of a recorded step to its end; what its data take is known from the run before. */
static void repeat_step(ons_profiling *p, uint32_t timestamps[2]) {
    ons_discrete_profiler *f = p->discrete;
    timestamps[0] = timestamp(f);
    f->device->recording_repeat(f->compute, f->recording);
    timestamps[1] = timestamp(f);
}

ons_status *ons_profiler_run_discrete(ons_profiling *p, bool every_node) {
    ons_discrete_profiler *f = p->discrete;
    uint32_t timestamps[2] = {0};
    f->every_node = every_node;
    f->timestamps = true;
    bool repeats = f->recording != NULL && !every_node;
    ONS_TRY(ons_device_context_copy(p->o->device_context, f->control.steps, &p->step, sizeof p->step));
    int64_t start = ons_trace_now();
    if (repeats)
        repeat_step(p, timestamps);
    else
        ons_device_context_launch(p->o->device_context, put_step, p);
    double launched = (double)(ons_trace_now() - start) * 1e-9;
    ons_device_context_wait(p->o->device_context);
    double whole = (double)(ons_trace_now() - start) * 1e-9;
    ONS_TRY(f->device->failure(f->device));
    if (every_node) read_nodes(p);
    if (repeats) {
        p->whole_seconds = seconds_of(f, timestamps[0], timestamps[1]);
        p->step_seconds = p->whole_seconds > p->feed_seconds ? p->whole_seconds - p->feed_seconds : p->whole_seconds;
    } else {
        read_turns(p);
    }
    p->handover_seconds = whole - p->whole_seconds;
    if (!every_node && !repeats)
        f->launch_seconds = f->launch_seconds > 0 && f->launch_seconds < launched ? f->launch_seconds : launched;
    ons_device_clock_reset(f->clock);
    ONS_TRY(ons_device_clock_failure(f->clock));
    ONS_TRY(read_fault(p));
    if (!every_node && f->records && p->fault.fault.problem == NULL) record_step(p);
    return NULL;
}
