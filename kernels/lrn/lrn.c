/* LRN: x ÷ (bias + alpha ÷ size × Σ x²)^beta, the sum over neighbouring channels. */
#include <math.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/local_response.h"

static ons_status *lrn_infer(ons_operands *o) {
    ons_local_response l;
    ONS_TRY(ons_local_response_of(o, &o->inputs[0], &l));
    o->outputs[0] = o->inputs[0];
    return NULL;
}

/* A square and a sum for each channel of the window; weight, bias, power, product. */
static ons_cost lrn_cost(const ons_operands *o) {
    double size = (double)ons_attribute_int(o, ONS_LRN_SIZE);
    return (ons_cost){(2 * size + 4) * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void lrn_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    (void)step;
    const double *x = inputs[0];
    for (int64_t i = 0, count = ons_elements(&o->inputs[0]); i < count; ++i)
        ((double *)outputs[0])[i] =
            x[i] * pow(ons_local_sum_exact(o, &o->inputs[0], x, i), -ons_attribute_float(o, ONS_LRN_BETA));
}

static ons_status *lrn_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_local_response), &memory));
    return ons_local_response_of(p->operands, &p->operands->inputs[0], memory);
}

static inline __attribute__((always_inline)) void normalize(const ons_local_response *l, const float *x, float *y,
                                                            int count) {
    for (int64_t c = 0; c < l->size.channels; ++c) {
        const float *from = x + c * l->size.positions;
        ons_lanes power = ons_local_power(ons_local_sum(l, x, c, count), l->beta);
        if (count == ONS_LANES)
            ons_lanes_store(y + c * l->size.positions, ons_lanes_load(from) * power);
        else
            ons_lanes_store_some(y + c * l->size.positions, ons_lanes_load_some(from, count, 0) * power, count);
    }
}

static void lrn_run(const ons_launch *launch) {
    const ons_local_response *l = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    int64_t positions = l->size.positions, blocks = (positions + ONS_LANES - 1) / ONS_LANES;
    int64_t sample = l->size.channels * positions;
#pragma omp parallel for schedule(static) if (l->size.batch * sample > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < l->size.batch * blocks; ++i) {
        int64_t first = i % blocks * ONS_LANES, at = i / blocks * sample + first;
        if (positions - first >= ONS_LANES)
            normalize(l, x + at, y + at, ONS_LANES);
        else
            normalize(l, x + at, y + at, (int)(positions - first));
    }
}

static ons_status *lrn_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_lrn_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, 0)),
                        g->operands->attributes, 1, NULL, g->gradients);
    return NULL;
}

static ons_status *lrn_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, lrn_prepare); }

static const ons_case lrn_cases[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 7, 3, 5)},
     .settings = {ONS_SET_INT("size", 3)},
     .tolerance = 1e-6,
     .flops = 2100},
    {.name = "strong",
     .inputs = {ONS_F32(2, 9, 4, 5)},
     .settings = {ONS_SET_INT("size", 5), ONS_SET_FLOAT("alpha", 2), ONS_SET_FLOAT("bias", 0.5)},
     .tolerance = 1e-5,
     .flops = 5040},
    {.name = "even_size",
     .inputs = {ONS_F32(1, 6, 17)},
     .settings = {ONS_SET_INT("size", 4), ONS_SET_FLOAT("alpha", 1), ONS_SET_FLOAT("beta", 0.6)},
     .tolerance = 1e-5,
     .flops = 1224},
    {.name = "wider_than_channels",
     .inputs = {ONS_F32(2, 3, 4)},
     .settings = {ONS_SET_INT("size", 9), ONS_SET_FLOAT("alpha", 1)},
     .tolerance = 1e-6,
     .flops = 528},
    {.name = "matrix",
     .inputs = {ONS_F32(3, 8)},
     .settings = {ONS_SET_INT("size", 3), ONS_SET_FLOAT("alpha", 1)},
     .tolerance = 1e-6,
     .flops = 240},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 21, 23)},
     .settings = {ONS_SET_INT("size", 5)},
     .tolerance = 1e-6,
     .flops = 324576,
     .no_gradient = true},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4)}, .settings = {ONS_SET_INT("size", 3)}, .flops = 0},
    {.name = "alexnet",
     .inputs = {ONS_F32(16, 64, 55, 55)},
     .settings = {ONS_SET_INT("size", 5)},
     .tolerance = 1e-6,
     .flops = 43366400,
     .benchmark = true},
    {.name = "no_size", .inputs = {ONS_F32(2, 3, 4)}, .settings = {ONS_SET_INT("size", 0)}, .error = "size is 0"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(lrn, "LRN", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_ATTRIBUTES(ONS_LRN_ATTRIBUTES),
                    ONS_INFER(lrn_infer), ONS_COST(lrn_cost), ONS_GRADIENT_RULE(lrn_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(lrn_reference), ONS_CPU_KERNEL(lrn_prepare, lrn_run),
                    ONS_CUDA_KERNEL(lrn_prepare_cuda, ons_cuda_lrn), lrn_cases);
