/* Gradients of batch normalisation: of the input, the scale and the bias, in two passes over the data.
 *
 * Inputs: dy, x, scale, and either the batch's mean and inverse standard deviation, or, with constant_statistics = 1,
 * the running mean and variance that the forward pass took for constants. Per channel, with x̂ = (x − mean) × inverse:
 *   dbias = Σ dy,   dscale = Σ dy x̂,   dx = scale × inverse × (dy − dbias / n − x̂ dscale / n)
 * where the last two terms are there only if the statistics depend on x. */
#include <math.h>

#include "kernels/common/batch_statistics.h"
#include "kernels/common/cuda_batch.h"

enum { CONSTANT_STATISTICS, EPSILON };
enum { DX, DSCALE, DBIAS };

static ons_status *batch_normalization_gradient_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[1].shape;
    if (x->rank < 2 || !ons_shape_equal(&o->inputs[0].shape, x))
        return ons_node_error(o, "gradient and input do not fit each other");
    for (uint32_t i = 2; i < 5; ++i)
        if (o->inputs[i].shape.rank != 1 || o->inputs[i].shape.dims[0] != x->dims[1])
            return ons_node_error(o, "input %u must be a vector of %lld", i, (long long)x->dims[1]);
    o->outputs[DX] = ons_type_make(o->inputs[1].dtype, *x);
    for (uint32_t i = DSCALE; i < o->output_count; ++i)
        o->outputs[i] = ons_type_make(o->inputs[2].dtype, o->inputs[2].shape);
    return NULL;
}

static ons_cost batch_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){8 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static ons_status *batch_normalization_gradient_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs) {
    ons_channels_choose(o, inputs, outputs);
    return NULL;
}

static void batch_normalization_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_channels size = ons_channels_of(&o->inputs[1]);
    const double *dy = inputs[0], *x = inputs[1], *scale = inputs[2], *mean = inputs[3], *second = inputs[4];
    double *dx = outputs[DX], n = (double)size.batch * (double)size.positions;
    double *dscale = o->output_count > DSCALE ? outputs[DSCALE] : NULL,
           *dbias = o->output_count > DBIAS ? outputs[DBIAS] : NULL;
    bool constant = ons_attribute_int(o, CONSTANT_STATISTICS) != 0;
    for (int64_t c = 0; c < size.channels; ++c) {
        double inverse = constant ? 1 / sqrt(second[c] + ons_attribute_float(o, EPSILON)) : second[c];
        double bias = 0, slope = 0;
        for (int64_t i = 0; i < size.batch * size.positions; ++i) {
            int64_t at = (i / size.positions * size.channels + c) * size.positions + i % size.positions;
            bias += dy[at];
            slope += dy[at] * (x[at] - mean[c]) * inverse;
        }
        for (int64_t i = 0; dx != NULL && i < size.batch * size.positions; ++i) {
            int64_t at = (i / size.positions * size.channels + c) * size.positions + i % size.positions;
            double through = constant ? 0 : (bias + (x[at] - mean[c]) * inverse * slope) / n;
            dx[at] = scale[c] * inverse * (dy[at] - through);
        }
        if (dscale != NULL) dscale[c] = slope;
        if (dbias != NULL) dbias[c] = bias;
    }
}

typedef struct state {
    ons_batch_plan plan;
    bool constant;
    double epsilon;
} state;

static ons_status *batch_normalization_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[1].dtype != ONS_FLOAT32 || o->inputs[2].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s; convert the model to float32",
                              ons_dtype_name(o->inputs[1].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->constant = ons_attribute_int(o, CONSTANT_STATISTICS) != 0;
    s->epsilon = ons_attribute_float(o, EPSILON);
    return ons_batch_plan_make(p, &o->inputs[1], &s->plan);
}

static void batch_normalization_gradient_run(const ons_launch *launch) {
    const state *st = launch->state;
    const ons_batch_plan *plan = &st->plan;
    const float *dy = launch->inputs[0], *x = launch->inputs[1], *scale = launch->inputs[2], *mean = launch->inputs[3],
                *second = launch->inputs[4];
    float *dx = launch->outputs[DX], *dscale = launch->outputs[DSCALE], *dbias = launch->outputs[DBIAS];
    ons_batch_scratch s = ons_batch_scratch_of(plan, launch->scratch);
    double n = (double)plan->size.batch * (double)plan->size.positions;
    bool sums = !st->constant || dscale != NULL || dbias != NULL;
    for (int64_t c = 0; c < plan->size.channels; ++c) s.shift[c] = mean[c];
    ons_batch_repeat(plan, s.shift);
    if (sums) ons_batch_sum_products(plan, &s, dy, x);
    for (int64_t c = 0; c < plan->size.channels; ++c) {
        double inverse = st->constant ? 1 / sqrt(second[c] + st->epsilon) : second[c];
        double slope = scale[c] * inverse;
        s.scale[c] = (float)slope;
        if (!sums) continue;
        s.factor[c] = (float)(-slope * inverse * inverse * s.sums[1][c] / n);
        s.rest[c] = (float)(-slope * s.sums[0][c] / n);
        if (dscale != NULL) dscale[c] = (float)(s.sums[1][c] * inverse);
        if (dbias != NULL) dbias[c] = (float)s.sums[0][c];
    }
    if (dx == NULL) return;
    ons_batch_repeat(plan, s.scale);
    ons_batch_repeat(plan, s.factor);
    ons_batch_repeat(plan, s.rest);
    ons_batch_differentiate(plan, &s, dy, st->constant ? NULL : x, dx);
}

static ons_status *batch_normalization_gradient_prepare_cuda(ons_prepare *p) {
    ons_cuda_batch *s;
    ONS_TRY(ons_cuda_batch_prepare(p, &p->operands->inputs[1], &s));
    s->constant = ons_attribute_int(p->operands, CONSTANT_STATISTICS) != 0;
    s->epsilon = ons_attribute_float(p->operands, EPSILON);
    return ons_cuda_batch_plan_gradient(p, s);
}

#define VECTORS(C) ONS_F32(C), ONS_F32(C), ONS_F32_IN(0.2, 2, C)
static const ons_case batch_normalization_gradient_cases[] = {
    {.name = "plane",
     .inputs = {ONS_F32(3, 5, 3, 4), ONS_F32(3, 5, 3, 4), VECTORS(5)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1440,
     .no_gradient = true},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 3, 5, 3, 4), ONS_RANDOM(ONS_FLOAT16, -1, 1, 3, 5, 3, 4), VECTORS(5)},
     .outputs = 3,
     .tolerance = 2e-3,
     .flops = 1440,
     .no_gradient = true},
    {.name = "constant",
     .inputs = {ONS_F32(3, 5, 7), ONS_F32(3, 5, 7), VECTORS(5)},
     .settings = {ONS_SET_INT("constant_statistics", 1), ONS_SET_FLOAT("epsilon", 0.01)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 840,
     .no_gradient = true},
    {.name = "constant_input_only",
     .inputs = {ONS_F32(3, 5, 7), ONS_F32(3, 5, 7), VECTORS(5)},
     .settings = {ONS_SET_INT("constant_statistics", 1)},
     .tolerance = 1e-5,
     .flops = 840,
     .no_gradient = true},
    {.name = "matrix",
     .inputs = {ONS_F32(9, 6), ONS_F32(9, 6), VECTORS(6)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 432,
     .no_gradient = true},
    {.name = "threads",
     .inputs = {ONS_F32(4, 33, 17, 19), ONS_F32(4, 33, 17, 19), VECTORS(33)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 341088,
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56), ONS_F32(16, 64, 56, 56), VECTORS(64)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 25690112,
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(batch_normalization_gradient, "BatchNormalizationGradient", ONS_INTERNAL, ONS_ARITY(5, 5, 1, 3),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("constant_statistics", 0), ONS_FLOAT_ATTRIBUTE("epsilon", 1e-5)),
                    ONS_INFER(batch_normalization_gradient_infer), ONS_COST(batch_normalization_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("second derivatives are not supported"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, DX, 0}, {ONS_ALIAS_MAY, DX, 1}),
                    ONS_CHOOSES_LAYOUT(batch_normalization_gradient_choose), ONS_ONE_FORM,
                    ONS_REFERENCE(batch_normalization_gradient_reference),
                    ONS_CPU_KERNEL(batch_normalization_gradient_prepare, batch_normalization_gradient_run),
                    ONS_CUDA_KERNEL(batch_normalization_gradient_prepare_cuda, ons_cuda_batch_normalization_gradient),
                    batch_normalization_gradient_cases);
