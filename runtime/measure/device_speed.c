#include "runtime/measure/device_speed.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/log/trace.h"
#include "runtime/measure/cache_size.h"
#include "runtime/measure/gemm_speed.h"
#include "runtime/measure/median.h"

enum { ARRAYS = 3, PIECES = 16, SWEEPS = 3, LATENCY_RUNS = 101, LATENCY_BYTES = 64 };

/* Arrays are gone through piece by piece, round and round: a piece is over before another program takes the processor,
 * and is not in a cache any more when its turn comes again. */
typedef struct measuring {
    ons_device *device;
    ons_stream *compute, *copier;
    ons_event *done;
    int64_t array_bytes;
    char *arrays[ARRAYS];
    char *host;
    int64_t at, piece; /* bytes: where the task's piece begins, and how long it is */
    double seconds;    /* of the last task */
} measuring;

static double seconds_since(int64_t start) { return (double)(ons_trace_now() - start) * 1e-9; }

/* ----------------------------------------------------------------------------------------------------------- pieces */

static void sum_task(void *argument, uintptr_t native) {
    (void)native;
    measuring *m = argument;
    float *restrict to = (float *)(m->arrays[0] + m->at);
    const float *restrict a = (const float *)(m->arrays[1] + m->at), *restrict b =
                                                                         (const float *)(m->arrays[2] + m->at);
    int64_t count = m->piece / (int64_t)sizeof(float), start = ons_trace_now();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i) to[i] = a[i] + 0.5f * b[i];
    m->seconds = seconds_since(start);
}

static double sum_seconds(measuring *m) {
    m->device->launch(m->compute, sum_task, m);
    m->device->event_record(m->compute, m->done);
    m->device->event_synchronize(m->done);
    return m->seconds;
}

static double copy_seconds(measuring *m, void *to, int64_t from, int64_t bytes) {
    int64_t start = ons_trace_now();
    m->device->copy(m->copier, to, m->arrays[1] + from, (size_t)bytes);
    m->device->event_record(m->copier, m->done);
    m->device->event_synchronize(m->done);
    return seconds_since(start);
}

/* Of a piece: one in four is faster. `to` NULL: of a sum. The first sweep warms up. */
static double seconds_of_piece(measuring *m, char *to) {
    double each[SWEEPS * PIECES];
    for (int i = -PIECES; i < SWEEPS * PIECES; ++i) {
        m->at = (i + PIECES) % PIECES * m->piece;
        double now = to == NULL ? sum_seconds(m) : copy_seconds(m, to + m->at, m->at, m->piece);
        if (i >= 0) each[i] = now;
    }
    ons_sort_seconds(each, SWEEPS * PIECES);
    return each[SWEEPS * PIECES / 4];
}

static void measure_copy(measuring *m, char *to, double *bandwidth, double *latency) {
    double each[LATENCY_RUNS], seconds = seconds_of_piece(m, to);
    for (int i = 0; i < LATENCY_RUNS; ++i) each[i] = copy_seconds(m, to, 0, LATENCY_BYTES);
    *latency = ons_median(each, LATENCY_RUNS);
    *bandwidth = (double)m->piece / (seconds > 2 * *latency ? seconds - *latency : seconds);
}

/* -------------------------------------------------------------------------------------------------------------- all */

static ons_status *set_up(measuring *m, int threads) {
    ons_device *d = m->device;
    ONS_TRY(d->event_new(d, &m->done));
    ONS_TRY(d->stream_new(d, "compute", threads, &m->compute));
    ONS_TRY(d->stream_new(d, "copy", 1, &m->copier));
    m->array_bytes = ons_array_beyond_caches(ons_cache_bytes(NULL, threads), ons_memory_available());
    m->piece = m->array_bytes / PIECES;
    for (int i = 0; i < ARRAYS; ++i) ONS_TRY(d->allocate(d, m->array_bytes, (void **)&m->arrays[i]));
    ONS_TRY(d->allocate_host(d, m->array_bytes, (void **)&m->host));
    return NULL;
}

static void tear_down(measuring *m) {
    if (m->host != NULL) m->device->release_host(m->device, m->host, m->array_bytes);
    for (int i = 0; i < ARRAYS; ++i)
        if (m->arrays[i] != NULL) m->device->release(m->device, m->arrays[i], m->array_bytes);
    if (m->copier != NULL) m->device->stream_free(m->copier);
    if (m->compute != NULL) m->device->stream_free(m->compute);
    if (m->done != NULL) m->device->event_free(m->done);
}

static ons_status *measure(measuring *m, int threads, ons_device_speed *speed) {
    const ons_gemm_bench space = {.device = m->device,
                                  .stream = m->compute,
                                  .done = m->done,
                                  .threads = threads,
                                  .arrays = {m->arrays[0], m->arrays[1], m->arrays[2]},
                                  .array_bytes = m->array_bytes};
    speed->array_bytes = (double)m->array_bytes;
    speed->memory_bandwidth = (double)ARRAYS * (double)m->piece / seconds_of_piece(m, NULL);
    measure_copy(m, m->arrays[0], &speed->link_bandwidth, &speed->link_latency);
    measure_copy(m, m->host, &speed->host_bandwidth, &speed->host_latency);
    return ons_gemm_speed_measure(&space, speed->gemm_flops);
}

ons_status *ons_device_speed_measure(ons_device *device, int threads, ons_device_speed *speed) {
    measuring m = {.device = device};
    ons_status *status = set_up(&m, threads);
    if (status == NULL) status = measure(&m, threads, speed);
    tear_down(&m);
    return status;
}
