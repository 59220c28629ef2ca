/* CumProd: running products along an axis, with or without the element itself, from either end. */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/integers.h"
#include "kernels/common/running.h"

static void cum_prod_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    ons_running s = {0};
    ons_status_free(ons_running_of(o, &s)); /* has passed inference */
    bool is_float = ons_dtype_is_float(o->inputs[0].dtype);
    for (int64_t row = 0; row < s.outer * s.inner; ++row) {
        double real = 1;
        int64_t whole = 1;
        for (int64_t i = 0; i < s.length; ++i) {
            int64_t at = ons_running_place(&s, row / s.inner, row % s.inner, i), whole_before = whole;
            double before = real;
            if (is_float) {
                real *= ((const double *)inputs[0])[at];
                ((double *)outputs[0])[at] = s.exclusive ? before : real;
            } else {
                whole = ons_wrapping_multiply(whole, ((const int64_t *)inputs[0])[at]);
                ((int64_t *)outputs[0])[at] = ons_wrap_to(o->inputs[0].dtype, s.exclusive ? whole_before : whole);
            }
        }
    }
}

static void cum_prod_run(const ons_launch *launch) {
    const ons_running *s = launch->state;
    const float *in = launch->inputs[0];
    float *out = launch->outputs[0];
    int64_t blocks = (s->inner + ONS_RUNNING_COLUMNS - 1) / ONS_RUNNING_COLUMNS;
#pragma omp parallel for schedule(static) if (s->outer * s->length * s->inner > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < s->outer * blocks; ++task) {
        int64_t first = task % blocks * ONS_RUNNING_COLUMNS, width = s->inner - first;
        double products[ONS_RUNNING_COLUMNS];
        width = width < ONS_RUNNING_COLUMNS ? width : ONS_RUNNING_COLUMNS;
        for (int64_t k = 0; k < width; ++k) products[k] = 1;
        for (int64_t i = 0; i < s->length; ++i) {
            int64_t at = ons_running_place(s, task / blocks, first, i);
            for (int64_t k = 0; k < width; ++k) {
                double after = products[k] * in[at + k];
                out[at + k] = (float)(s->exclusive ? products[k] : after);
                products[k] = after;
            }
        }
    }
}

static ons_status *cum_prod_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_cum_prod_gradient,
                        ONS_IN(ons_gradient_input(g, 0), ons_gradient_input(g, 1), g->cotangents[0]),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

static ons_status *cum_prod_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_running_prepare); }

static const ons_case cum_prod_cases[] = {
    {.name = "last", .inputs = {ONS_F32(3, 17), ONS_I64_SCALAR(-1)}, .tolerance = 1e-6, .flops = 51},
    {.name = "first", .inputs = {ONS_F32(9, 5), ONS_I64_SCALAR(0)}, .tolerance = 1e-6, .flops = 45},
    {.name = "exclusive",
     .inputs = {ONS_F32(2, 9, 5), ONS_I64_SCALAR(1)},
     .settings = {ONS_SET_INT("exclusive", 1)},
     .tolerance = 1e-6,
     .flops = 90},
    {.name = "reverse",
     .inputs = {ONS_F32(9), ONS_I64_SCALAR(0)},
     .settings = {ONS_SET_INT("reverse", 1), ONS_SET_INT("exclusive", 1)},
     .tolerance = 1e-6,
     .flops = 9},
    {.name = "zeros",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {2, 0, 3, -1, 0, 5}},
                ONS_I64_SCALAR(0)},
     .tolerance = 1e-6,
     .flops = 6},
    {.name = "threads", .inputs = {ONS_F32(3, 300, 45), ONS_I64_SCALAR(1)}, .tolerance = 1e-6, .flops = 40500},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT32, -9, 9, 5), ONS_I64_SCALAR(0)}, .flops = 5},
    {.name = "outside", .inputs = {ONS_F32(3), ONS_I64_SCALAR(1)}, .error = "axis 1"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cum_prod, "CumProd", ONS_ONNX(26, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1), ONS_RUNNING_ATTRIBUTES,
                    ONS_INFER(ons_running_infer), ONS_COST(ons_cost_elementwise),
                    ONS_GRADIENT_RULE(cum_prod_gradient, ONS_INPUT_BIT(0)), ONS_SAVES(ONS_INPUT_BIT(0), 0),
                    ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(cum_prod_reference), ONS_CPU_KERNEL(ons_running_prepare, cum_prod_run),
                    ONS_CUDA_KERNEL(cum_prod_prepare_cuda, ons_cuda_cum_prod), cum_prod_cases);
