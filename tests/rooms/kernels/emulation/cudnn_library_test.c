/* What is asked of cuDNN, before the library itself: every graph is finalised, and has a plan for an H200, which need
 * not be there. Runs where the library is installed. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/attention/cudnn_attention.h"
#include "kernels/common/layout/layouts.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/fixture.h"

/* cuDNN's own descriptions of GPUs. */
static const char h200[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
    "\"multiProcessorCount\":132,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
    "\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":150000000000,\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,"
    "\"l2CacheSize\":62914560,\"cudaDeviceId\":0,\"deviceVer\":900,\"driverVer\":13000,\"deviceName\":\"NVIDIA H200\"}";

static const char a100[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
    "\"multiProcessorCount\":108,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
    "\"maxSharedMemoryPerBlockOptin\":166912,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":80000000000,\"smClockRateKHz\":1410000,\"memClockRateKHz\":1512000,"
    "\"l2CacheSize\":41943040,\"cudaDeviceId\":0,\"deviceVer\":800,\"driverVer\":13000,\"deviceName\":\"NVIDIA A100\"}";

static void set_up(void) {
    if (dlopen("libcudnn.so.9", RTLD_NOW) == NULL && dlopen("/usr/local/cuda/lib64/libcudnn.so.9", RTLD_NOW) == NULL) {
        fprintf(stderr, "not run: no cuDNN: %s\n", dlerror());
        cr_skip_test("no cuDNN");
    }
    cr_assert_not_null(dlopen("tests/rooms/kernels/emulation/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), "%s", dlerror());
    ons_cudnn_plan_for(h200);
}

static void tear_down(void) { ons_cudnn_plan_for(NULL); }

TestSuite(cudnn_library, .init = set_up, .fini = tear_down);

static ons_status *prepare(const ons_operator *op, const ons_case *example, char name[64], int64_t *scratch) {
    ons_fixture fixture;
    ons_arena *arena = ons_arena_new();
    ons_status *status = ons_fixture_init(&fixture, ons_kernels_registry(), op, example, 1);
    ons_prepare p = {.operands = &fixture.operands, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    if (status == NULL) status = ons_backend_prepare(ons_backend_find("cuda"), &p, &kernel);
    snprintf(name, 64, "%s", status == NULL && p.implementation != NULL ? p.implementation : "none");
    *scratch = p.scratch_bytes;
    if (p.destroy != NULL) p.destroy(p.state);
    ons_fixture_free(&fixture);
    ons_arena_free(arena);
    return status;
}

static bool is_among(const char *name, const char *const *names) {
    for (; *names != NULL; ++names)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

/* Cases of those names run by cuDNN and no others or, `except`, all others. */
static void expect_plans(const char *operator_name, bool except, const char *const *names) {
    const ons_registry *registry = ons_kernels_registry();
    const ons_operator *op = NULL;
    for (size_t i = 0; i < registry->count; ++i)
        if (strcmp(registry->operators[i]->name, operator_name) == 0 &&
            ons_backend_find("cuda")->find(ons_backend_find("cuda"), registry->operators[i])->count > 0)
            op = registry->operators[i];
    cr_assert_not_null(op, "%s", operator_name);
    for (const ons_case *example = ons_cases_of(op); example->name != NULL; ++example) {
        char name[64];
        int64_t scratch = 0;
        if (example->error != NULL) continue;
        ons_status *status = prepare(op, example, name, &scratch);
        cr_expect_null(status, "%s/%s: %s", op->name, example->name, ons_status_get_message(status));
        ons_status_free(status);
        bool planned = strncmp(name, "cuDNN", 5) == 0;
        cr_expect(planned == (is_among(example->name, names) != except), "%s/%s runs by %s", op->name, example->name,
                  name);
        fprintf(stderr, "%s/%s: %s, %lld bytes of scratch\n", op->name, example->name, name, (long long)scratch);
    }
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Left out: padding that differs before and behind, and what is empty. */
Test(cudnn_library, convolutions) {
    expect_plans("Conv", true, NAMES("asymmetric_pads", "same_upper", "one_dim", "three_dims", "empty"));
    expect_plans("ConvInputGradient", true, NAMES("asymmetric", "one_dim", "empty"));
    expect_plans("ConvWeightGradient", true, NAMES("asymmetric", "one_dim", "empty"));
    expect_plans("ConvTranspose", true,
                 NAMES("asymmetric_pads", "output_padding_above_stride", "output_padding_in_padding", "same_upper",
                       "no_channels", "empty"));
}

static ons_attention_steps rows(int64_t positions, int64_t heads, int64_t size) {
    return (ons_attention_steps){.batch = positions * heads * size, .head = size, .position = heads * size, .size = 1};
}

typedef struct attention_case {
    const char *name;
    int64_t batch, heads, positions, size;
    bool causal, masked, dropped;
    int64_t samples_wanted, heads_wanted; /* at a time, in the gradient */
    int64_t forward_samples, forward_heads;
} attention_case;

static void expect_attention(const attention_case *c, ons_dtype dtype) {
    ons_attention a = {.batch = c->batch,
                       .heads = c->heads,
                       .queries = c->positions,
                       .keys = c->positions,
                       .size = c->size,
                       .causal = c->causal,
                       .has_mask = c->masked,
                       .has_kept = c->dropped,
                       .scale = 0.125F,
                       .kept_scale = 1.25F};
    a.query = a.key = a.value = a.result = rows(c->positions, c->heads, c->size);
    a.mask = (ons_attention_steps){.batch = c->positions, .size = 1};
    for (int kind = 0; kind < 3; ++kind) {
        ons_prepare p = {.arena = ons_arena_new(), .scratch_limit = INT64_MAX};
        ons_cudnn_attention plan = {0};
        ons_status *status = kind == 2 ? ons_cudnn_attention_gradient_prepare(&p, &a, dtype, &plan)
                                       : ons_cudnn_attention_prepare(&p, &a, dtype, kind == 1, &plan);
        cr_expect_null(status);
        if (kind == 2 && (c->masked || c->dropped)) { /* the library's gradient is not asked for then */
            cr_expect_null(plan.plan, "%s has a plan", c->name);
            ons_arena_free(p.arena);
            continue;
        }
        cr_expect_not_null(plan.plan, "%s has no plan (%d)", c->name, kind);
        int64_t samples = kind == 2 ? c->samples_wanted : c->forward_samples;
        int64_t heads = kind == 2 ? c->heads_wanted : c->forward_heads;
        cr_expect(plan.samples == samples && plan.heads == heads, "%s: %lld samples, %lld heads at a time", c->name,
                  (long long)plan.samples, (long long)plan.heads);
        /* What tells the library which probabilities are kept, and what it needs itself. */
        int64_t kept = c->dropped ? samples * heads * c->positions * c->positions * 2 : 0;
        if (kind < 2) cr_expect_leq(p.scratch_bytes, kept + 4096, "%s", c->name);
        cr_expect_geq(p.scratch_bytes, kept, "%s", c->name);
        cr_expect_leq(p.scratch_bytes, kept + ((int64_t)600 << 20), "%s", c->name);
        if (plan.plan != NULL) ons_cudnn_plan_free(plan.plan);
        ons_status_free(status);
        ons_arena_free(p.arena);
    }
}

static const attention_case attention_cases[] = {
    {"gpt2", 16, 12, 1024, 64, true, false, false, 8, 12, 16, 12},
    {"bert_large", 8, 16, 512, 64, false, true, false, 8, 16, 8, 16},
    {"vit", 64, 16, 197, 64, false, false, false, 64, 16, 64, 16},
    {"long", 1, 16, 16384, 128, true, false, false, 1, 1, 1, 16},
    {"gpt2 dropped", 16, 12, 1024, 64, true, false, true, 4, 12, 8, 12},
    {"bert_large dropped", 8, 16, 512, 64, false, true, true, 8, 16, 8, 16},
    {"vit dropped", 64, 16, 197, 64, false, false, true, 64, 16, 64, 16},
    {"long dropped", 1, 16, 16384, 128, true, false, true, 1, 1, 1, 1},
};

static void expect_all_attention(void) {
    for (size_t i = 0; i < sizeof attention_cases / sizeof attention_cases[0]; ++i)
        expect_attention(&attention_cases[i], ONS_BFLOAT16);
    expect_attention(&attention_cases[0], ONS_FLOAT16);
    expect_attention(&attention_cases[4], ONS_FLOAT16);
    expect_plans("Attention", false, NAMES("half", "half_mask", "half_dropped", "half_dropped_mask"));
    expect_plans("AttentionGradient", false, NAMES("half"));
}

Test(cudnn_library, attention) { expect_all_attention(); }

Test(cudnn_library, attention_on_sm_80) {
    ons_cudnn_plan_for(NULL);
    ons_cudnn_plan_for(a100);
    expect_all_attention();
}

/* ------------------------------------------------------------- ResNet-50, as it is trained: bfloat16, channels last */

typedef struct picture_operands {
    ons_operands o;
    ons_attribute attributes[16];
    ons_type inputs[5], outputs[5];
    ons_tensor constants[5];
} picture_operands;

static void start(picture_operands *r, const char *name) {
    const ons_registry *registry = ons_kernels_registry();
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < registry->count; ++i)
        if (strcmp(registry->operators[i]->name, name) == 0) r->o.op = registry->operators[i];
    cr_assert_not_null(r->o.op);
    for (uint32_t i = 0; r->o.op->attributes[i].name != NULL; ++i)
        r->attributes[i] = r->o.op->attributes[i].default_value;
    r->o.name = name;
    r->o.attributes = r->attributes;
    r->o.inputs = r->inputs;
    r->o.outputs = r->outputs;
    r->o.constants = r->constants;
}

static void set(picture_operands *r, const char *name, uint32_t count, const int64_t *values) {
    for (uint32_t i = 0; r->o.op->attributes[i].name != NULL; ++i)
        if (strcmp(r->o.op->attributes[i].name, name) == 0)
            r->attributes[i] = (ons_attribute){.kind = ONS_ATTRIBUTE_INTS, .count = count, .ints = values};
}

static ons_type picture(int64_t first, int64_t second, int64_t size) {
    ons_type type = ons_type_make(ONS_BFLOAT16, (ons_shape){4, {first, second, size, size}});
    type.layout = ONS_LAYOUT_CHANNELS_LAST;
    return type;
}

static void expect_plan(picture_operands *r, int64_t scratch_most) {
    ons_arena *arena = ons_arena_new();
    ons_prepare p = {.operands = &r->o, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    ons_status *status = ons_backend_prepare(ons_backend_find("cuda"), &p, &kernel);
    const char *name = status == NULL ? p.implementation : ons_status_get_message(status);
    ons_type *x = &r->inputs[0];
    fprintf(stderr, "%s of %lld x %lld: %s, %lld bytes of scratch\n", r->o.name, (long long)x->shape.dims[1],
            (long long)x->shape.dims[2], name, (long long)p.scratch_bytes);
    cr_expect(strncmp(name, "cuDNN", 5) == 0, "%s of %lld x %lld runs by %s", r->o.name, (long long)x->shape.dims[1],
              (long long)x->shape.dims[2], name);
    cr_expect_leq(p.scratch_bytes, scratch_most, "%s of %lld x %lld", r->o.name, (long long)x->shape.dims[1],
                  (long long)x->shape.dims[2]);
    if (p.destroy != NULL) p.destroy(p.state);
    ons_status_free(status);
    ons_arena_free(arena);
}

typedef struct resnet_convolution {
    int64_t from, to, size, kernel, stride;
} resnet_convolution;

enum { BATCH = 128, SCRATCH_MOST = 256 << 20 };

static void expect_convolution(const resnet_convolution *c) {
    int64_t pad = c->kernel / 2, pads[] = {pad, pad, pad, pad}, strides[] = {c->stride, c->stride};
    int64_t kernel[] = {c->kernel, c->kernel}, input[] = {BATCH, c->from, c->size, c->size};
    ons_type x = picture(BATCH, c->from, c->size), w = picture(c->to, c->from, c->kernel);
    ons_type y = picture(BATCH, c->to, c->size / c->stride);
    if (c->kernel == 1) w.layout = ONS_LAYOUT_ONNX; /* the same bytes, as the layout rule has it */
    static const char *const names[] = {"Conv", "ConvInputGradient", "ConvWeightGradient"};
    const ons_type operands[][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
    for (int kind = 0; kind < 3; ++kind) {
        picture_operands r;
        if (kind == 1 && c->from == 3) continue; /* nobody wants the gradient of pictures */
        start(&r, names[kind]);
        set(&r, "pads", 4, pads);
        set(&r, "strides", 2, strides);
        set(&r, "kernel_shape", 2, kernel);
        set(&r, "input_shape", 4, input);
        r.inputs[0] = operands[kind][0];
        r.inputs[1] = operands[kind][1];
        r.outputs[0] = operands[kind][2];
        r.o.input_count = 2;
        r.o.output_count = 1;
        expect_plan(&r, SCRATCH_MOST);
    }
}

Test(cudnn_library, resnet50_convolutions) {
    static const resnet_convolution convolutions[] = {
        {3, 64, 224, 7, 2},     {64, 64, 56, 1, 1},    {64, 64, 56, 3, 1},    {64, 256, 56, 1, 1},
        {256, 64, 56, 1, 1},    {256, 128, 56, 1, 1},  {128, 128, 56, 3, 2},  {128, 512, 28, 1, 1},
        {256, 512, 56, 1, 2},   {512, 128, 28, 1, 1},  {128, 128, 28, 3, 1},  {512, 256, 28, 1, 1},
        {256, 256, 28, 3, 2},   {256, 1024, 14, 1, 1}, {512, 1024, 28, 1, 2}, {1024, 256, 14, 1, 1},
        {256, 256, 14, 3, 1},   {1024, 512, 14, 1, 1}, {512, 512, 14, 3, 2},  {512, 2048, 7, 1, 1},
        {1024, 2048, 14, 1, 2}, {2048, 512, 7, 1, 1},  {512, 512, 7, 3, 1},
    };
    for (size_t i = 0; i < sizeof convolutions / sizeof convolutions[0]; ++i) expect_convolution(&convolutions[i]);
}
