#include "runtime/measure/gemm_speed.h"

#include <string.h>

#include "base/philox.h"
#include "graph/type.h"
#include "kernels/kernels.h"
#include "runtime/log/trace.h"

/* Small products are over before another program takes the processor, large ones are at their best without one: the
 * size grows for as long as a run is short. Those of half types get longer, as the larger the matrices the less counts
 * what they take to convert. */
static const int64_t edges[] = {128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192};
enum { EDGES = sizeof edges / sizeof edges[0], RUNS_LEAST = 2, RUNS_ENOUGH = 8, RUNS_MOST = 200 };
static const double seconds_of_edge = 0.02, most_of_edge = 0.1, least_run = 0.3e-3, longest_run = 0.03,
                    least_half = 2e-3, longest_half = 0.12;

typedef struct measuring {
    const ons_gemm_bench *space;
    ons_sample_gemm *product;
    ons_sample_gemm_memory memory;
    ons_fault fault;
    double seconds; /* of the last run */
} measuring;

static void run_gemm(void *argument, uintptr_t native) {
    measuring *m = argument;
    int64_t start = ons_trace_now();
    ons_sample_gemm_run(m->product, native, &m->memory);
    m->seconds = (double)(ons_trace_now() - start) * 1e-9;
}

static double seconds_of_run(measuring *m) {
    const ons_gemm_bench *s = m->space;
    s->device->launch(s->stream, run_gemm, m);
    s->device->event_record(s->stream, s->done);
    s->device->event_synchronize(s->done);
    return m->seconds;
}

static bool is_enough(int runs, double seconds) {
    if (runs < RUNS_LEAST || runs >= RUNS_MOST) return runs >= RUNS_MOST;
    return seconds >= (runs < RUNS_ENOUGH ? most_of_edge : seconds_of_edge);
}

/* The best of several. In the first one the library may write its code yet. */
static double best_seconds(measuring *m) {
    double best = seconds_of_run(m), sum = 0;
    for (int runs = 1; !is_enough(runs, sum); ++runs) {
        double now = seconds_of_run(m);
        best = now < best ? now : best;
        sum += now;
    }
    return best;
}

/* Numbers from -1 to 1: what is no number, or too small for one, is slow to compute with. */
static void fill(ons_dtype dtype, void *to, int64_t bytes) {
    enum { NUMBERS = 4096 };
    float numbers[NUMBERS];
    uint16_t halves[NUMBERS];
    for (uint32_t i = 0; i < NUMBERS; ++i) {
        numbers[i] = 2 * ons_uniform_float(i * 2654435761u) - 1;
        halves[i] = dtype == ONS_FLOAT16 ? ons_float_to_half(numbers[i]) : ons_float_to_bfloat16(numbers[i]);
    }
    const void *piece = dtype == ONS_FLOAT32 ? (const void *)numbers : halves;
    int64_t size = dtype == ONS_FLOAT32 ? (int64_t)sizeof numbers : (int64_t)sizeof halves;
    for (int64_t at = 0; at < bytes; at += size)
        memcpy((char *)to + at, piece, (size_t)(bytes - at < size ? bytes - at : size));
}

static int64_t matrix_bytes(ons_dtype dtype, int64_t edge) {
    int64_t bytes = edge * edge * (int64_t)ons_dtype_size(dtype);
    return (bytes + 63) / 64 * 64;
}

/* The result lies behind the first operand, scratch has an array of its own. */
static bool has_room(const measuring *m, ons_dtype dtype, int64_t edge) {
    int64_t room = m->space->array_bytes;
    return 2 * matrix_bytes(dtype, edge) <= room && ons_sample_gemm_scratch_bytes(m->product) <= room;
}

/* Of products of one size; 0: there is no room for them. */
static ons_status *measure_edge(measuring *m, ons_dtype dtype, int64_t edge, double *flops) {
    const ons_gemm_bench *s = m->space;
    const ons_sample_gemm_options options = {.backend = ons_backend_find(s->device->name),
                                             .dtype = dtype,
                                             .edge = edge,
                                             .threads = s->threads,
                                             .scratch_limit = INT64_MAX};
    ONS_TRY(ons_sample_gemm_new(&options, &m->product));
    *flops = 0;
    m->fault = (ons_fault){0};
    if (has_room(m, dtype, edge)) {
        int64_t bytes = matrix_bytes(dtype, edge);
        m->memory = (ons_sample_gemm_memory){.a = s->arrays[0],
                                             .b = s->arrays[1],
                                             .c = (char *)s->arrays[0] + bytes,
                                             .scratch = s->arrays[2],
                                             .fault = &m->fault};
        fill(dtype, s->arrays[0], bytes);
        fill(dtype, s->arrays[1], bytes);
        *flops = ons_sample_gemm_flops(m->product) / best_seconds(m);
    }
    ons_sample_gemm_free(m->product);
    ONS_CHECK(m->fault.problem == NULL, ONS_DEFECT, "a product of %s matrices of %lld rows failed",
              ons_dtype_name(dtype), (long long)edge);
    return NULL;
}

/* The number of the largest size that there is room for: half types take three matrices of float32 in scratch. */
static int last_edge(const measuring *m, ons_dtype dtype) {
    int last = EDGES - 1;
    while (last > 0 && edges[last] * edges[last] * (dtype == ONS_FLOAT32 ? 8 : 12) > m->space->array_bytes) --last;
    return last;
}

/* `likely`: a guess, by which sizes are passed over; 0: none. *flops grows, where something better is found. */
static ons_status *measure_type(measuring *m, ons_dtype dtype, double likely, double *flops) {
    bool half = dtype != ONS_FLOAT32;
    double now = 1;
    bool any = false;
    for (int i = 0, last = last_edge(m, dtype); i <= last && now > 0; ++i) {
        double size = (double)edges[i], seconds = likely > 0 ? 2 * size * size * size / likely : least_half;
        if (i < last && seconds < (half ? least_half : least_run)) continue;
        if (any && seconds > (half ? longest_half : longest_run)) break;
        ONS_TRY(measure_edge(m, dtype, edges[i], &now));
        *flops = now > *flops ? now : *flops;
        likely = *flops > likely ? *flops : likely;
        any = true;
    }
    ONS_CHECK(*flops > 0, ONS_OUT_OF_MEMORY, "there is no room to measure products of %s matrices in",
              ons_dtype_name(dtype));
    return NULL;
}

ons_status *ons_gemm_speed_measure(const ons_gemm_bench *space, double flops[ONS_MEASURED_TYPES]) {
    measuring m = {.space = space};
    double *single = &flops[ONS_MEASURED_FP32];
    for (int i = 0; i < ONS_MEASURED_TYPES; ++i) flops[i] = 0;
    ONS_TRY(measure_type(&m, ONS_FLOAT32, 0, single));
    ONS_TRY(measure_type(&m, ONS_FLOAT16, *single, &flops[ONS_MEASURED_FP16]));
    ONS_TRY(measure_type(&m, ONS_BFLOAT16, *single, &flops[ONS_MEASURED_BF16]));
    return measure_type(&m, ONS_FLOAT32, *single, single); /* again: another program may have been busy before */
}
