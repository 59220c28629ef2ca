#include "runtime/device_speed.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/trace.h"

enum { ARRAY_BYTES = 64 << 20, ARRAYS = 3, RUNS = 5, LATENCY_RUNS = 101, LATENCY_BYTES = 64 };
enum { WIDE = 16, CHAINS = 12, MULTIPLY_ADDS = 2000000 };

typedef float wide __attribute__((vector_size(WIDE * sizeof(float))));

typedef struct measuring {
    ons_device *device;
    ons_stream *compute, *copier;
    ons_event *done;
    float *arrays[ARRAYS];
    void *host;
    double seconds; /* of the last task */
    float result;   /* so that nothing is optimised away */
} measuring;

static double seconds_since(int64_t start) { return (double)(ons_trace_now() - start) * 1e-9; }

/* Independent chains of multiply-adds: as many as hide the latency of one. */
static float multiply_add(float start) {
    wide sums[CHAINS], factor = start - (wide){0}, summand = start - (wide){0};
    for (int k = 0; k < CHAINS; ++k) sums[k] = (float)k - (wide){0};
    for (int i = 0; i < MULTIPLY_ADDS / CHAINS; ++i)
        for (int k = 0; k < CHAINS; ++k) sums[k] = sums[k] * factor + summand;
    float sum = 0;
    for (int k = 0; k < CHAINS; ++k)
        for (int lane = 0; lane < WIDE; ++lane) sum += sums[k][lane];
    return sum;
}

static void compute_task(void *argument, uintptr_t native) {
    (void)native;
    measuring *m = argument;
    float sum = 0;
    int64_t start = ons_trace_now();
#pragma omp parallel reduction(+ : sum)
    sum += multiply_add(0.5f);
    m->seconds = seconds_since(start);
    m->result += sum;
}

static void memory_task(void *argument, uintptr_t native) {
    (void)native;
    measuring *m = argument;
    float *restrict to = m->arrays[0];
    const float *restrict a = m->arrays[1], *restrict b = m->arrays[2];
    int64_t start = ons_trace_now();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < ARRAY_BYTES / sizeof(float); ++i) to[i] = a[i] + 0.5f * b[i];
    m->seconds = seconds_since(start);
}

/* The best time of several runs of a task on the compute stream. */
static double best_of(measuring *m, ons_task *task) {
    double best = 1e30;
    for (int i = 0; i < RUNS; ++i) {
        m->device->launch(m->compute, task, m);
        m->device->event_record(m->compute, m->done);
        m->device->event_synchronize(m->done);
        best = m->seconds < best ? m->seconds : best;
    }
    return best;
}

static double copy_seconds(measuring *m, void *to, size_t bytes) {
    int64_t start = ons_trace_now();
    m->device->copy(m->copier, to, m->arrays[1], bytes);
    m->device->event_record(m->copier, m->done);
    m->device->event_synchronize(m->done);
    return seconds_since(start);
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure_copy(measuring *m, void *to, double *bandwidth, double *latency) {
    double best = 1e30, each[LATENCY_RUNS];
    for (int i = 0; i < RUNS; ++i) {
        double now = copy_seconds(m, to, ARRAY_BYTES);
        best = now < best ? now : best;
    }
    for (int i = 0; i < LATENCY_RUNS; ++i) each[i] = copy_seconds(m, to, LATENCY_BYTES);
    qsort(each, LATENCY_RUNS, sizeof each[0], by_value);
    *latency = each[LATENCY_RUNS / 2];
    *bandwidth = ARRAY_BYTES / (best > *latency ? best - *latency : best);
}

static ons_status *set_up(measuring *m, int threads) {
    ONS_TRY(m->device->event_new(m->device, &m->done));
    ONS_TRY(m->device->stream_new(m->device, "compute", threads, &m->compute));
    ONS_TRY(m->device->stream_new(m->device, "copy", 1, &m->copier));
    for (int i = 0; i < ARRAYS; ++i) ONS_TRY(m->device->allocate(m->device, ARRAY_BYTES, (void **)&m->arrays[i]));
    ONS_TRY(m->device->allocate_host(m->device, ARRAY_BYTES, &m->host));
    memset(m->host, 0, ARRAY_BYTES);
    return NULL;
}

static void tear_down(measuring *m) {
    if (m->host != NULL) m->device->release_host(m->device, m->host, ARRAY_BYTES);
    for (int i = 0; i < ARRAYS; ++i)
        if (m->arrays[i] != NULL) m->device->release(m->device, m->arrays[i], ARRAY_BYTES);
    if (m->copier != NULL) m->device->stream_free(m->copier);
    if (m->compute != NULL) m->device->stream_free(m->compute);
    if (m->done != NULL) m->device->event_free(m->done);
}

ons_status *ons_device_speed_measure(ons_device *device, int threads, ons_device_speed *speed) {
    measuring m = {.device = device};
    ons_status *status = set_up(&m, threads);
    if (status == NULL) {
        const int64_t rounds = MULTIPLY_ADDS / CHAINS; /* whole ones, as compute_task makes them */
        speed->flops = 2.0 * WIDE * (double)(rounds * CHAINS) * threads / best_of(&m, compute_task);
        speed->memory_bandwidth = (double)ARRAYS * ARRAY_BYTES / best_of(&m, memory_task);
        measure_copy(&m, m.arrays[0], &speed->link_bandwidth, &speed->link_latency);
        measure_copy(&m, m.host, &speed->host_bandwidth, &speed->host_latency);
    }
    tear_down(&m);
    return status;
}
