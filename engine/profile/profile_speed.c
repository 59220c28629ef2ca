#include "engine/profile/profile_speed.h"

#include "kernels/kernels.h"
#include "planner/search/planner.h"

typedef struct number {
    const char *name; /* in the cache */
    double *value;
} number;

enum { CPU_NUMBERS = 6 + 3, GPU_NUMBERS = 6 + 3 };

static void list_cpu(ons_device_speed *s, number list[CPU_NUMBERS]) {
    const number all[CPU_NUMBERS] = {
        {"speed fp32", &s->gemm_flops[ONS_MEASURED_FP32]}, {"speed fp16", &s->gemm_flops[ONS_MEASURED_FP16]},
        {"speed bf16", &s->gemm_flops[ONS_MEASURED_BF16]}, {"speed array_bytes", &s->array_bytes},
        {"speed memory_bandwidth", &s->memory_bandwidth},  {"speed link_bandwidth", &s->link_bandwidth},
        {"speed link_latency", &s->link_latency},          {"speed host_bandwidth", &s->host_bandwidth},
        {"speed host_latency", &s->host_latency},
    };
    for (int i = 0; i < CPU_NUMBERS; ++i) list[i] = all[i];
}

/* memory_bandwidth is twice the link's, and needs no place of its own. */
static void list_gpu(ons_gpu_speed *s, number list[GPU_NUMBERS]) {
    const number all[GPU_NUMBERS] = {
        {"speed link_bandwidth", &s->link_bandwidth},      {"speed link_latency", &s->link_latency},
        {"speed out_bandwidth", &s->out_bandwidth},        {"speed in_bandwidth", &s->in_bandwidth},
        {"speed both_bandwidth", &s->both_bandwidth},      {"speed host_latency", &s->host_latency},
        {"speed fp32", &s->gemm_flops[ONS_MEASURED_FP32]}, {"speed fp16", &s->gemm_flops[ONS_MEASURED_FP16]},
        {"speed bf16", &s->gemm_flops[ONS_MEASURED_BF16]},
    };
    for (int i = 0; i < GPU_NUMBERS; ++i) list[i] = all[i];
}

static bool look_up(ons_cost_cache *cache, const number *list, int count) {
    bool known = cache != NULL;
    for (int i = 0; known && i < count; ++i)
        known = ons_cost_cache_get(cache, list[i].name, list[i].value) && *list[i].value >= 0;
    return known && *list[0].value > 0;
}

static ons_status *keep(ons_cost_cache *cache, const number *list, int count) {
    for (int i = 0; cache != NULL && i < count; ++i) ONS_TRY(ons_cost_cache_put(cache, list[i].name, *list[i].value));
    return NULL;
}

ons_status *ons_profile_speed_find(const ons_config *config, int threads, ons_cost_cache *cache,
                                   ons_profile_speed *speed) {
    number list[GPU_NUMBERS];
    ons_device *device;
    *speed = (ons_profile_speed){.gpu = ons_config_uses_cuda(config)};
    int count = speed->gpu ? GPU_NUMBERS : CPU_NUMBERS;
    if (speed->gpu)
        list_gpu(&speed->of_gpu, list);
    else
        list_cpu(&speed->of_cpu, list);
    bool known = look_up(cache, list, count);
    if (!known) {
        ONS_TRY(ons_device_new(config->device, 0, config->pin, &device));
        ons_status *status = speed->gpu ? ons_gpu_speed_measure(device, &speed->of_gpu)
                                        : ons_device_speed_measure(device, threads, &speed->of_cpu);
        device->free(device);
        ONS_TRY(status);
        ONS_TRY(keep(cache, list, count));
    }
    speed->of_gpu.memory_bandwidth = 2 * speed->of_gpu.link_bandwidth;
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- profiles */

static const ons_precision precisions[ONS_MEASURED_TYPES] = {ONS_PRECISION_FP32, ONS_PRECISION_FP16,
                                                             ONS_PRECISION_BF16};

static ons_status *describe_cpu(const ons_device_speed *s, const char *fitted, ons_arena *arena, ons_device_profile *p,
                                FILE *notes) {
    char bytes[ONS_BYTES_TEXT];
    ONS_TRY(ons_device_profile_load("cpu", arena, p));
    for (int i = 0; i < ONS_MEASURED_TYPES; ++i) p->matrix_flops_of[precisions[i]] = s->gemm_flops[i];
    p->matrix_flops = p->vector_flops = s->gemm_flops[ONS_MEASURED_FP32];
    p->instructions = ons_cpu_variant();
    p->memory_bandwidth = s->memory_bandwidth;
    p->link_bandwidth = s->link_bandwidth;
    p->link_latency = s->link_latency;
    p->host_bandwidth = s->host_bandwidth;
    p->host_latency = s->host_latency;
    ons_bytes_print(s->array_bytes, bytes);
    p->sources = ons_arena_format(arena,
                                  "memory_bytes: this machine's\n"
                                  "matrix_flops: measured: products of square matrices by the kernels of models, all "
                                  "threads; half types are widened to float32 there\n"
                                  "vector_flops: as fp32 products\n"
                                  "memory_bandwidth: measured: a sum of two arrays of %s into a third\n"
                                  "link: measured: copies of arrays of %s and of 64 bytes by another thread\n"
                                  "host: measured: the same into host memory\n%s",
                                  bytes, bytes, fitted);
    if (p->sources == NULL) return ons_status_out_of_memory();
    fprintf(notes, "matrix products: fp32 %.1f, fp16 %.1f, bf16 %.1f GFLOP/s; memory and copies by arrays of %s\n",
            s->gemm_flops[ONS_MEASURED_FP32] * 1e-9, s->gemm_flops[ONS_MEASURED_FP16] * 1e-9,
            s->gemm_flops[ONS_MEASURED_BF16] * 1e-9, bytes);
    return NULL;
}

static ons_status *describe_gpu(const ons_gpu_speed *s, const ons_device_context *device_context, const char *fitted,
                                ons_arena *arena, ons_device_profile *p, FILE *notes) {
    char reserve[ONS_BYTES_TEXT];
    ONS_CHECK(s->gemm_flops[ONS_MEASURED_FP32] > 0, ONS_UNSUPPORTED,
              "products of fp32 matrices cannot be measured: libcublasLt.so.13 is not found; put its folder on "
              "LD_LIBRARY_PATH");
    ONS_TRY(ons_device_profile_load("h200-141gb", arena, p)); /* efficiency, until it is fitted */
    *p = (ons_device_profile){
        .matrix = p->matrix, .vector = p->vector, .memory = p->memory, .launch_seconds = p->launch_seconds};
    ONS_TRY(ons_device_context_reserve(device_context, &p->reserve_bytes));
    p->memory_bytes = ons_device_context_device(device_context)->total_bytes;
    for (int i = 0; i < ONS_MEASURED_TYPES; ++i) p->matrix_flops_of[precisions[i]] = s->gemm_flops[i];
    p->matrix_flops = p->vector_flops = s->gemm_flops[ONS_MEASURED_FP32];
    p->memory_bandwidth = s->memory_bandwidth;
    p->link_bandwidth = s->link_bandwidth;
    p->link_latency = s->link_latency;
    p->host_bandwidth = s->out_bandwidth < s->in_bandwidth ? s->out_bandwidth : s->in_bandwidth;
    p->host_latency = s->host_latency;
    p->sources = ons_arena_format(
        arena,
        "memory_bytes: the driver's\n"
        "reserve_bytes: measured: what this process took beside its arena, after the last step; at least what a run "
        "leaves for that under --memory\n"
        "matrix_flops: measured: products of large square matrices of random numbers by cuBLASLt\n"
        "vector_flops: assumption: as fp32 products\n"
        "memory_bandwidth: measured: copies within the memory, read and written\n"
        "link: measured: copies from one stage's arena to another's, on another stream\n"
        "host: measured: copies to pinned memory and back, the slower way (out %.3g, in %.3g, both at "
        "once %.3g bytes/s each)\n%s",
        s->out_bandwidth, s->in_bandwidth, s->both_bandwidth, fitted);
    if (p->sources == NULL) return ons_status_out_of_memory();
    fprintf(
        notes,
        "matrix products: fp32 %.1f, fp16 %.1f, bf16 %.1f TFLOP/s; copies to the host %.1f GB/s, from it %.1f, both at "
        "once %.1f each; context and libraries take %s\n",
        s->gemm_flops[ONS_MEASURED_FP32] * 1e-12, s->gemm_flops[ONS_MEASURED_FP16] * 1e-12,
        s->gemm_flops[ONS_MEASURED_BF16] * 1e-12, s->out_bandwidth * 1e-9, s->in_bandwidth * 1e-9,
        s->both_bandwidth * 1e-9, ons_bytes_print((double)p->reserve_bytes, reserve));
    return NULL;
}

ons_status *ons_profile_speed_describe(const ons_profile_speed *speed, const ons_device_context *device_context,
                                       const char *fitted, ons_arena *arena, ons_device_profile *profile, FILE *notes) {
    ons_device_profile described;
    ONS_TRY(speed->gpu ? describe_gpu(&speed->of_gpu, device_context, fitted, arena, &described, notes)
                       : describe_cpu(&speed->of_cpu, fitted, arena, &described, notes));
    described.name = profile->name;
    described.title = profile->title;
    *profile = described;
    return NULL;
}
