/* The gradient of CumProd, without a division, so that zeros do no harm. With P_i the product of all before i,
 *
 *     dx_i = P_i T_i,    T_i = dy_i + x_{i+1} T_{i+1}
 *
 * or, where the products leave out the element itself, T_i = dy_{i+1} + x_{i+1} T_{i+1}. */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/running.h"

enum { X, AXIS, COTANGENT };

static ons_status *cum_prod_gradient_infer(ons_operands *o) {
    if (!ons_type_equal(&o->inputs[X], &o->inputs[COTANGENT])) return ons_node_error(o, "operand and cotangent differ");
    return ons_running_infer(o);
}

/* Four multiplications and an addition an element. */
static ons_cost cum_prod_gradient_cost(const ons_operands *o) {
    return (ons_cost){5 * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

/* By the definition: every result's share in every element. */
static void cum_prod_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    ons_running s = {0};
    const double *x = inputs[X], *dy = inputs[COTANGENT];
    ons_status_free(ons_running_of(o, &s)); /* has passed inference */
    for (int64_t row = 0; row < s.outer * s.inner; ++row)
        for (int64_t i = 0; i < s.length; ++i) {
            double sum = 0;
            for (int64_t j = i + (s.exclusive ? 1 : 0); j < s.length; ++j) {
                double others = 1;
                for (int64_t k = 0; k < j + (s.exclusive ? 0 : 1); ++k)
                    others *= k == i ? 1 : x[ons_running_place(&s, row / s.inner, row % s.inner, k)];
                sum += dy[ons_running_place(&s, row / s.inner, row % s.inner, j)] * others;
            }
            ((double *)outputs[0])[ons_running_place(&s, row / s.inner, row % s.inner, i)] = sum;
        }
}

/* P into dx on the way there, T on the way back. */
static void work_block(const ons_running *s, int64_t outer, int64_t first, int64_t width, const float *x,
                       const float *dy, float *dx) {
    double products[ONS_RUNNING_COLUMNS], tails[ONS_RUNNING_COLUMNS] = {0};
    for (int64_t k = 0; k < width; ++k) products[k] = 1;
    for (int64_t i = 0; i < s->length; ++i) {
        int64_t at = ons_running_place(s, outer, first, i);
        for (int64_t k = 0; k < width; ++k) {
            dx[at + k] = (float)products[k];
            products[k] *= x[at + k];
        }
    }
    for (int64_t i = s->length; i-- > 0;) {
        int64_t at = ons_running_place(s, outer, first, i);
        for (int64_t k = 0; k < width; ++k) {
            double tail = s->exclusive ? tails[k] : tails[k] + dy[at + k];
            dx[at + k] = (float)(dx[at + k] * tail);
            tails[k] = x[at + k] * tail + (s->exclusive ? dy[at + k] : 0);
        }
    }
}

static void cum_prod_gradient_run(const ons_launch *launch) {
    const ons_running *s = launch->state;
    int64_t blocks = (s->inner + ONS_RUNNING_COLUMNS - 1) / ONS_RUNNING_COLUMNS;
#pragma omp parallel for schedule(static) if (s->outer * s->length * s->inner > ONS_PARALLEL_GRAIN)
    for (int64_t task = 0; task < s->outer * blocks; ++task) {
        int64_t first = task % blocks * ONS_RUNNING_COLUMNS, width = s->inner - first;
        work_block(s, task / blocks, first, width < ONS_RUNNING_COLUMNS ? width : ONS_RUNNING_COLUMNS,
                   launch->inputs[X], launch->inputs[COTANGENT], launch->outputs[0]);
    }
}

static ons_status *cum_prod_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, ons_running_prepare);
}

static const ons_case cum_prod_gradient_cases[] = {
    {.name = "plain", .inputs = {ONS_F32(3, 7), ONS_I64_SCALAR(1), ONS_F32(3, 7)}, .tolerance = 1e-6, .flops = 105},
    {.name = "exclusive",
     .inputs = {ONS_F32(7, 3), ONS_I64_SCALAR(0), ONS_F32(7, 3)},
     .settings = {ONS_SET_INT("exclusive", 1)},
     .tolerance = 1e-6,
     .flops = 105},
    {.name = "reverse",
     .inputs = {ONS_F32(7, 40), ONS_I64_SCALAR(0), ONS_F32(7, 40)},
     .settings = {ONS_SET_INT("exclusive", 1), ONS_SET_INT("reverse", 1)},
     .tolerance = 1e-6,
     .flops = 1400},
    {.name = "threads",
     .inputs = {ONS_F32(30, 20, 40), ONS_I64_SCALAR(1), ONS_F32(30, 20, 40)},
     .tolerance = 1e-6,
     .flops = 120000},
    {.name = "misfit", .inputs = {ONS_F32(3, 7), ONS_I64_SCALAR(1), ONS_F32(3, 6)}, .error = "differ"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(cum_prod_gradient, "CumProdGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 1, 1), ONS_RUNNING_ATTRIBUTES,
                    ONS_INFER(cum_prod_gradient_infer), ONS_COST(cum_prod_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(cum_prod_gradient_reference),
                    ONS_CPU_KERNEL(ons_running_prepare, cum_prod_gradient_run),
                    ONS_CUDA_KERNEL(cum_prod_gradient_prepare_cuda, ons_cuda_cum_prod_gradient),
                    cum_prod_gradient_cases);
