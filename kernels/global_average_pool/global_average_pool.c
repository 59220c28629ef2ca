/* GlobalAveragePool: the mean over all positions of a channel. */
#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"

enum { BLOCK = 16, RUN = 64 };

static ons_status *global_average_pool_infer(ons_operands *o) {
    ons_shape shape = o->inputs[0].shape;
    if (shape.rank < 2) return ons_node_error(o, "the input needs batch and channels");
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "pooling of %s is not supported", ons_dtype_name(o->inputs[0].dtype));
    for (uint32_t i = 2; i < shape.rank; ++i) shape.dims[i] = 1;
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

static ons_cost global_average_pool_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

/* With one position left, the output is in ONNX's order whatever the input is. */
static ons_status *global_average_pool_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    inputs[0] = o->inputs[0].layout == ONS_LAYOUT_CHANNELS_LAST ? ONS_LAYOUT_CHANNELS_LAST : ONS_LAYOUT_ONNX;
    outputs[0] = ONS_LAYOUT_ONNX;
    return NULL;
}

static void global_average_pool_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    (void)step;
    ons_channels c = ons_channels_of(&o->inputs[0]);
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t i = 0; i < c.batch * c.channels; ++i) {
        y[i] = 0;
        for (int64_t k = 0; k < c.positions; ++k) y[i] += x[i * c.positions + k];
        y[i] /= (double)c.positions;
    }
}

static ons_status *global_average_pool_prepare(ons_prepare *p) {
    const ons_type *x = &p->operands->inputs[0];
    if (x->dtype != ONS_FLOAT32)
        return ons_node_error(p->operands, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(x->dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_channels), &memory));
    *(ons_channels *)memory = ons_channels_of(x);
    return NULL;
}

/* Σ of `count` floats, in lanes, with a run at a time so that long sums stay accurate. */
static float sum_of(const float *x, int64_t count) {
    double total = 0;
    for (int64_t start = 0; start < count; start += RUN * BLOCK) {
        int64_t length = count - start < RUN * BLOCK ? count - start : RUN * BLOCK;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < length; ++i) sum += x[start + i];
        total += sum;
    }
    return (float)total;
}

/* Sums of `width` (≤ BLOCK) channels over all positions, `stride` apart. */
static inline __attribute__((always_inline)) void sum_channels(const float *x, int64_t positions, int64_t stride,
                                                               int width, float scale, float *y) {
    float total[BLOCK] = {0};
    for (int64_t start = 0; start < positions; start += RUN) {
        int64_t end = start + RUN < positions ? start + RUN : positions;
        float sum[BLOCK] = {0};
        for (int64_t i = start; i < end; ++i)
#pragma omp simd
            for (int k = 0; k < width; ++k) sum[k] += x[i * stride + k];
        for (int k = 0; k < width; ++k) total[k] += sum[k];
    }
    for (int k = 0; k < width; ++k) y[k] = total[k] * scale;
}

static void global_average_pool_run(const ons_launch *launch) {
    const ons_channels *c = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    float scale = 1.0f / (float)c->positions;
    int64_t blocks = (c->channels + BLOCK - 1) / BLOCK, sample = c->channels * c->positions;
    bool parallel = c->batch * sample > ONS_PARALLEL_GRAIN;
    if (!c->last) {
#pragma omp parallel for schedule(static) if (parallel)
        for (int64_t i = 0; i < c->batch * c->channels; ++i) y[i] = sum_of(x + i * c->positions, c->positions) * scale;
        return;
    }
#pragma omp parallel for schedule(static) if (parallel)
    for (int64_t i = 0; i < c->batch * blocks; ++i) {
        int64_t n = i / blocks, first = i % blocks * BLOCK;
        int width = c->channels - first < BLOCK ? (int)(c->channels - first) : BLOCK;
        const float *from = x + n * sample + first;
        float *to = y + n * c->channels + first;
        if (width == BLOCK)
            sum_channels(from, c->positions, c->channels, BLOCK, scale, to);
        else
            sum_channels(from, c->positions, c->channels, width, scale, to);
    }
}

static ons_status *global_average_pool_gradient(ons_gradient *g) {
    const ons_shape *x = &g->operands->inputs[0].shape;
    g->gradients[0] = ons_build(g->builder, &ons_op_global_average_pool_gradient, ONS_IN(g->cotangents[0]),
                                ONS_WITH(ONS_AT_INTS(0, x->rank, x->dims)));
    return NULL;
}

static ons_status *global_average_pool_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed_as_it_lies(p, global_average_pool_prepare);
}

static const ons_case global_average_pool_cases[] = {
    {.name = "plane", .inputs = {ONS_F32(2, 5, 7, 3)}, .tolerance = 1e-6, .flops = 210},
    {.name = "one_dim", .inputs = {ONS_F32(2, 5, 9)}, .tolerance = 1e-6, .flops = 90},
    {.name = "three_dims", .inputs = {ONS_F32(2, 3, 2, 3, 4)}, .tolerance = 1e-6, .flops = 144},
    {.name = "no_positions", .inputs = {ONS_F32(4, 3)}, .tolerance = 1e-6, .flops = 12},
    {.name = "threads", .inputs = {ONS_F32(3, 37, 21, 19)}, .tolerance = 1e-6, .flops = 44289},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4, 4)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(16, 512, 14, 14)}, .tolerance = 1e-6, .flops = 1605632, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(global_average_pool, "GlobalAveragePool", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_NO_ATTRIBUTES, ONS_INFER(global_average_pool_infer), ONS_COST(global_average_pool_cost),
                    ONS_GRADIENT_RULE(global_average_pool_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(global_average_pool_choose),
                    ONS_ONE_FORM, ONS_REFERENCE(global_average_pool_reference),
                    ONS_CPU_KERNEL(global_average_pool_prepare, global_average_pool_run),
                    ONS_CUDA_KERNEL(global_average_pool_prepare_cuda, ons_cuda_global_average_pool),
                    global_average_pool_cases);
