#include "runtime/measure/gpu_speed.h"

#include <string.h>

#include "base/philox.h"
#include "graph/small_types.h"
#include "kernels/kernels.h"
#include "runtime/measure/device_clock.h"
#include "runtime/measure/median.h"

enum { RUNS = 5, LATENCY_RUNS = 51, LATENCY_BYTES = 64, STREAMS = 2, WARM_UP = 2 };
enum { EDGE_MOST = 8192, EDGE_OF_FP32 = 4096, EDGE_STEP = 128, WORKSPACE_BYTES = 32 << 20 };
enum { SHARE_OF_MEMORY = 64 }; /* one array is at most this part of it */
static const int64_t ARRAY_MOST = (int64_t)256 << 20, HOST_MOST = (int64_t)64 << 20;

/* What kernels read and write beside their operands. */
typedef struct control {
    ons_step step;
    ons_fault fault;
} control;

typedef struct measuring {
    ons_device *device;
    ons_stream *streams[STREAMS];
    ons_event *events[STREAMS];
    ons_device_clock *clock;
    int64_t bytes, host_bytes; /* of each array; of each block of the host's */
    void *arrays[3], *workspace;
    control *of_products;
    void *host[STREAMS];
    ons_sample_gemm *product; /* that runs */
    int runs;                 /* of it, one behind the other */
} measuring;

/* ------------------------------------------------------------------------------------------------------------- life */

static ons_status *set_up(measuring *m) {
    ons_device *d = m->device;
    int64_t share = d->total_bytes / SHARE_OF_MEMORY;
    m->bytes = share > 0 && share < ARRAY_MOST ? share : ARRAY_MOST;
    m->host_bytes = m->bytes < HOST_MOST ? m->bytes : HOST_MOST;
    for (int i = 0; i < STREAMS; ++i) {
        ONS_TRY(d->stream_new(d, "measuring", 1, &m->streams[i]));
        ONS_TRY(d->event_new(d, &m->events[i]));
        ONS_TRY(d->allocate_host(d, m->host_bytes, &m->host[i]));
    }
    for (int i = 0; i < 3; ++i) ONS_TRY(d->allocate(d, m->bytes, &m->arrays[i]));
    ONS_TRY(d->allocate(d, WORKSPACE_BYTES, &m->workspace));
    ONS_TRY(d->allocate(d, sizeof(control), (void **)&m->of_products));
    return ons_device_clock_new(d, m->streams[0], &m->clock);
}

static void tear_down(measuring *m) {
    ons_device *d = m->device;
    for (int i = 0; i < STREAMS; ++i)
        if (m->streams[i] != NULL) d->stream_free(m->streams[i]);
    ons_device_clock_free(m->clock);
    d->release(d, m->workspace, WORKSPACE_BYTES);
    d->release(d, m->of_products, sizeof(control));
    for (int i = 0; i < 3; ++i) d->release(d, m->arrays[i], m->bytes);
    for (int i = 0; i < STREAMS; ++i) {
        if (m->events[i] != NULL) d->event_free(m->events[i]);
        if (m->host[i] != NULL) d->release_host(d, m->host[i], m->host_bytes);
    }
}

/* ----------------------------------------------------------------------------------------------------------- copies */

static void follow_stream(measuring *m, int from, int to) {
    m->device->event_record(m->streams[from], m->events[from]);
    m->device->stream_wait(m->streams[to], m->events[from]);
}

static double seconds_of(measuring *m, uint32_t begin, uint32_t end) {
    return (double)(ons_device_clock_time(m->clock, end) - ons_device_clock_time(m->clock, begin)) * 1e-9;
}

/* Of a copy by one stream that the other waits for before and behind it. */
static double copy_seconds(measuring *m, void *to, const void *from, int64_t bytes) {
    uint32_t begin = ons_device_clock_timestamp(m->clock, m->streams[0]);
    follow_stream(m, 0, 1);
    m->device->copy(m->streams[1], to, from, (size_t)bytes);
    follow_stream(m, 1, 0);
    uint32_t end = ons_device_clock_timestamp(m->clock, m->streams[0]);
    double seconds = seconds_of(m, begin, end);
    ons_device_clock_reset(m->clock);
    return seconds;
}

static double latency_of(measuring *m, void *to, const void *from) {
    double each[LATENCY_RUNS];
    for (int i = 0; i < LATENCY_RUNS; ++i) each[i] = copy_seconds(m, to, from, LATENCY_BYTES);
    return ons_median(each, LATENCY_RUNS);
}

static double bandwidth_of(measuring *m, void *to, const void *from, int64_t bytes, double latency) {
    double best = 1e30;
    for (int i = 0; i < RUNS; ++i) {
        double now = copy_seconds(m, to, from, bytes);
        best = now < best ? now : best;
    }
    return (double)bytes / (best > 2 * latency ? best - latency : best);
}

/* To the host on one stream and from there on the other, from the first one's beginning to the last one's end. */
static double both_ways(measuring *m) {
    double best = 1e30;
    for (int i = 0; i < RUNS; ++i) {
        uint32_t begin = ons_device_clock_timestamp(m->clock, m->streams[0]);
        follow_stream(m, 0, 1);
        m->device->copy(m->streams[0], m->host[0], m->arrays[0], (size_t)m->host_bytes);
        m->device->copy(m->streams[1], m->arrays[1], m->host[1], (size_t)m->host_bytes);
        follow_stream(m, 1, 0);
        uint32_t end = ons_device_clock_timestamp(m->clock, m->streams[0]);
        double now = seconds_of(m, begin, end);
        best = now < best ? now : best;
        ons_device_clock_reset(m->clock);
    }
    return (double)m->host_bytes / best;
}

static void measure_copies(measuring *m, ons_gpu_speed *s) {
    s->link_latency = latency_of(m, m->arrays[1], m->arrays[0]);
    s->link_bandwidth = bandwidth_of(m, m->arrays[1], m->arrays[0], m->bytes, s->link_latency);
    s->memory_bandwidth = 2 * s->link_bandwidth;
    s->host_latency = latency_of(m, m->host[0], m->arrays[0]);
    s->out_bandwidth = bandwidth_of(m, m->host[0], m->arrays[0], m->host_bytes, s->host_latency);
    s->in_bandwidth = bandwidth_of(m, m->arrays[0], m->host[0], m->host_bytes, s->host_latency);
    s->both_bandwidth = both_ways(m);
}

/* --------------------------------------------------------------------------------------------------------- products */

static void put_number(ons_dtype dtype, float value, void *to, int64_t index) {
    switch (dtype) {
    case ONS_FLOAT16: ((uint16_t *)to)[index] = ons_float_to_half(value); break;
    case ONS_BFLOAT16: ((uint16_t *)to)[index] = ons_float_to_bfloat16(value); break;
    default: ((float *)to)[index] = value; break;
    }
}

static void finish(measuring *m) {
    m->device->event_record(m->streams[0], m->events[0]);
    m->device->event_synchronize(m->events[0]);
}

/* The first bytes of the arrays 0 and 1, by pieces of one block: numbers from -1 to 1. */
static void fill_operands(measuring *m, ons_dtype dtype, int64_t bytes) {
    int64_t size = dtype == ONS_FLOAT32 ? 4 : 2, piece = bytes < m->host_bytes ? bytes : m->host_bytes;
    for (int64_t i = 0; i < piece / size; ++i)
        put_number(dtype, 2 * ons_uniform_float((uint32_t)i * 2654435761u) - 1, m->host[0], i);
    for (int array = 0; array < 2; ++array)
        for (int64_t at = 0; at < bytes; at += piece)
            m->device->copy(m->streams[0], (char *)m->arrays[array] + at, m->host[0],
                            (size_t)(bytes - at < piece ? bytes - at : piece));
    finish(m);
}

/* The first step of a run, and no fault. */
static void fill_control(measuring *m) {
    const control first = {.step = {.step = 1, .sample_share = 1}};
    memcpy(m->host[0], &first, sizeof first);
    m->device->copy(m->streams[0], m->of_products, m->host[0], sizeof first);
    finish(m);
}

static void run_products(void *argument, uintptr_t native) {
    const measuring *m = argument;
    const ons_sample_gemm_memory memory = {.a = m->arrays[0],
                                           .b = m->arrays[1],
                                           .c = m->arrays[2],
                                           .scratch = m->workspace,
                                           .device_step = &m->of_products->step,
                                           .fault = &m->of_products->fault};
    for (int i = 0; i < m->runs; ++i) ons_sample_gemm_run(m->product, native, &memory);
}

static double product_seconds(measuring *m) {
    m->runs = WARM_UP;
    m->device->launch(m->streams[0], run_products, m);
    double best = 1e30;
    m->runs = 1;
    for (int i = 0; i < RUNS; ++i) {
        uint32_t begin = ons_device_clock_timestamp(m->clock, m->streams[0]);
        m->device->launch(m->streams[0], run_products, m);
        uint32_t end = ons_device_clock_timestamp(m->clock, m->streams[0]);
        double now = seconds_of(m, begin, end);
        best = now < best ? now : best;
        ons_device_clock_reset(m->clock);
    }
    return best;
}

/* Square matrices as large as the arrays hold; fp32 takes long, and needs fewer to be at its best. */
static int64_t edge_of(const measuring *m, ons_dtype dtype) {
    int64_t size = dtype == ONS_FLOAT32 ? 4 : 2, most = dtype == ONS_FLOAT32 ? EDGE_OF_FP32 : EDGE_MOST;
    int64_t edge = EDGE_STEP;
    while (edge + EDGE_STEP <= most && (edge + EDGE_STEP) * (edge + EDGE_STEP) * size <= m->bytes) edge += EDGE_STEP;
    return edge;
}

/* A product that the backend declines, as where its library is not there, is no failure: 0. */
static double gemm_flops(measuring *m, ons_dtype dtype) {
    int64_t edge = edge_of(m, dtype);
    const ons_sample_gemm_options options = {.backend = ons_backend_find(m->device->name),
                                             .dtype = dtype,
                                             .edge = edge,
                                             .threads = 1,
                                             .scratch_limit = WORKSPACE_BYTES};
    ons_status *status = ons_sample_gemm_new(&options, &m->product);
    if (status != NULL) {
        ons_status_free(status);
        return 0;
    }
    fill_operands(m, dtype, edge * edge * (dtype == ONS_FLOAT32 ? 4 : 2));
    fill_control(m);
    double flops = ons_sample_gemm_flops(m->product) / product_seconds(m);
    ons_sample_gemm_free(m->product);
    return flops;
}

ons_status *ons_gpu_speed_measure(ons_device *device, ons_gpu_speed *speed) {
    static const ons_dtype dtypes[ONS_MEASURED_TYPES] = {ONS_FLOAT32, ONS_FLOAT16, ONS_BFLOAT16};
    measuring m = {.device = device};
    ons_status *status = set_up(&m);
    if (status == NULL) {
        measure_copies(&m, speed);
        for (int i = 0; i < ONS_MEASURED_TYPES; ++i) speed->gemm_flops[i] = gemm_flops(&m, dtypes[i]);
        status = device->failure(device);
        if (status == NULL) status = ons_device_clock_failure(m.clock);
    }
    tear_down(&m);
    return status;
}
