/* Traces of a device with discrete memory: what ran on its streams, by its own clock. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/log/trace.h"
#include "runtime/measure/device_clock.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/rooms/training/fixture.h"
#include "tests/rooms/training/trace_rows.h"

/* ------------------------------------------------------------------------------------------------------------ clock */

Test(clock, tells_when_work_ran_not_when_it_was_put, .timeout = 60) {
    enum { ROUNDS = 3, BYTES = 1 << 22 };
    ons_device *device;
    ons_stream *stream;
    ons_device_clock *clock;
    void *memory, *host;
    must(ons_device_new("cuda", 0, false, &device));
    must(device->allocate_host(device, BYTES, &host));
    must(device->allocate(device, BYTES, &memory));
    must(device->stream_new(device, "test", 1, &stream));
    must(ons_device_clock_new(device, stream, &clock));
    for (int round = 0; round < ROUNDS; ++round) {
        uint32_t first = ons_device_clock_timestamp(clock, stream);
        device->copy(stream, memory, host, BYTES);
        uint32_t second = ons_device_clock_timestamp(clock, stream);
        usleep(50000);
        int64_t put = ons_trace_now();
        int64_t begin = ons_device_clock_time(clock, first), end = ons_device_clock_time(clock, second);
        int64_t known = ons_trace_now();
        cr_expect_gt(end, begin);
        cr_expect_geq(begin, put - 25000000, "round %d: nothing runs before somebody waits", round);
        cr_expect_leq(end, known + 25000000);
        ons_device_clock_reset(clock);
    }
    must(ons_device_clock_failure(clock));
    must(device->failure(device));
    ons_device_clock_free(clock);
    device->stream_free(stream);
    device->release(device, memory, BYTES);
    device->release_host(device, host, BYTES);
    device->free(device);
}

/* ------------------------------------------------------------------------------------------------------------ files */

enum { STEPS = 2 };

typedef struct outcome {
    trace_rows rows;
    double seconds; /* of the steps, by the host */
    int64_t swapped, largest;
    double measured; /* of a micro-batch, by the first stage's table */
} outcome;

static outcome train(const char *stages, const char *cap, bool traced) {
    discrete_seed(7);
    outcome o = {.swapped = 0};
    char path[PATH_BYTES];
    scratch_path(path, "far-trace.json");
    run r = run_golden("gpt_tied");
    set(&r, "device", "cuda");
    set(&r, "optimizer", "adamw");
    set(&r, "batch", "8");
    set(&r, "micro-batches", "2");
    set(&r, "stages", stages);
    set_number(&r, "steps", STEPS);
    if (cap != NULL) set(&r, "memory", cap);
    if (cap != NULL) set(&r, "memory-strategy", "capuchin");
    if (traced) set(&r, "trace", path);
    run_open(&r);
    int64_t begin = ons_trace_now();
    for (int i = 0; i < STEPS; ++i) run_step(&r);
    o.seconds = (double)(ons_trace_now() - begin) * 1e-9;
    ons_trainer_status status;
    must(ons_trainer_get_status(r.trainer, &status));
    o.largest = status.arena_bytes;
    for (int64_t i = 0; i < ons_trainer_stage_count(r.trainer); ++i) {
        ons_stage_report report;
        must(ons_trainer_get_stage(r.trainer, i, &report));
        o.swapped += report.swapped_bytes;
        o.measured = i == 0 ? report.measured_seconds : o.measured;
    }
    must(ons_trainer_finish(r.trainer));
    run_close(&r);
    if (traced) o.rows = read_trace(path);
    if (traced) unlink(path);
    return o;
}

Test(trace, of_stages_shows_messages_on_both_sides, .timeout = 300) {
    outcome o = train("2", NULL, true);
    static const char *const ways[][2] = {{"forward to 1", "forward from 0"}, {"backward from 1", "backward to 0"}};
    for (int stage = 0; stage < 2; ++stage) {
        const trace_row *compute = find_trace_row(&o.rows, stage, "compute");
        cr_expect_gt(compute->events, STEPS * 2 * 10);
        cr_expect_leq(compute->busy * 1e-6, o.seconds, "no more computing than there was time");
        cr_expect_leq((compute->end - compute->begin) * 1e-6, o.seconds + 0.01);
    }
    for (int way = 0; way < 2; ++way) {
        const trace_row *there = find_trace_row(&o.rows, 0, ways[way][0]),
                        *here = find_trace_row(&o.rows, 1, ways[way][1]);
        cr_expect_geq(there->events, STEPS * 2);
        cr_expect_eq(there->events, here->events, "%s: %d, %s: %d", there->name, there->events, here->name,
                     here->events);
        cr_expect(there->bytes == here->bytes && there->bytes > 0);
    }
    cr_expect(o.measured > 0, "a trace measures computing");
}

Test(trace, of_copies_to_the_host_and_back, .timeout = 300) {
    char cap[32];
    outcome whole = train("1", NULL, false);
    snprintf(cap, sizeof cap, "%lld", FAR_SLACK + (long long)((double)whole.largest * 0.9));
    outcome o = train("1", cap, true);
    cr_assert_gt(o.swapped, 0);
    const trace_row *out = find_trace_row(&o.rows, 0, "swap out"), *in = find_trace_row(&o.rows, 0, "swap in");
    cr_expect_gt(out->swaps, 0);
    cr_expect_eq(out->swaps, in->swaps);
    cr_expect(out->bytes == in->bytes && out->bytes == (double)o.swapped * STEPS * 2,
              "%g bytes out, %g in, %lld a micro-batch", out->bytes, in->bytes, (long long)o.swapped);
}
