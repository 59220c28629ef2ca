#include "tests/rooms/timing/sleep_operator.h"

#include <time.h>

#include "kernels/common/operator/kernel.h"
#include "kernels/common/operator/rules.h"

/* ------------------------------------------------------------------------------------------------------ descriptors */

enum { FORWARD, INPUT, WEIGHT, INPUT_FIRST, ROWS };
#define SECONDS                                                                                                        \
    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("forward", 0), ONS_FLOAT_ATTRIBUTE("input", 0),                                 \
                   ONS_FLOAT_ATTRIBUTE("weight", 0), ONS_INT_ATTRIBUTE("input_first", 0),                              \
                   ONS_INT_ATTRIBUTE("rows", 0))

static ons_status *sleep_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[0].shape, *w = &o->inputs[1].shape;
    if (o->inputs[0].dtype != ONS_FLOAT32 || o->inputs[1].dtype != ONS_FLOAT32 || x->rank != 2 || w->rank != 1 ||
        x->dims[1] != w->dims[0])
        return ons_node_error(o, "wants float32[rows, columns] and float32[columns]");
    o->outputs[0] = o->inputs[0];
    return NULL;
}

/* dy, x */
static ons_status *sleep_weight_infer(ons_operands *o) {
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape.rank = 1;
    o->outputs[0].shape.dims[0] = o->inputs[0].shape.dims[1];
    return NULL;
}

static double seconds_of(const ons_operands *o, uint32_t which) {
    int64_t rows = ons_attribute_int(o, ROWS);
    double share = rows > 0 ? (double)o->inputs[0].shape.dims[0] / (double)rows : 1;
    return ons_attribute_float(o, which) * share;
}

static ons_cost cost_of(const ons_operands *o, uint32_t which) {
    return (ons_cost){SLEEP_FLOPS_PER_SECOND * seconds_of(o, which), 0};
}
static ons_cost forward_cost(const ons_operands *o) { return cost_of(o, FORWARD); }
static ons_cost input_cost(const ons_operands *o) { return cost_of(o, INPUT); }
static ons_cost weight_cost(const ons_operands *o) { return cost_of(o, WEIGHT); }

static ons_status *sleep_gradient(ons_gradient *g) {
    ons_value_id dy = g->cotangents[0], x = ons_gradient_input(g, 0), w = ons_gradient_input(g, 1);
    bool input_first = ons_attribute_int(g->operands, INPUT_FIRST) != 0;
    if (g->wanted[0] && input_first) g->gradients[0] = ons_make_like(g, &ons_op_sleep_input_gradient, ONS_IN(dy, w));
    if (g->wanted[1]) g->gradients[1] = ons_make_like(g, &ons_op_sleep_weight_gradient, ONS_IN(dy, x));
    if (g->wanted[0] && !input_first) g->gradients[0] = ons_make_like(g, &ons_op_sleep_input_gradient, ONS_IN(dy, w));
    return NULL;
}

static void multiply_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    const double *x = inputs[0], *w = inputs[1];
    double *y = outputs[0];
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) y[i] = x[i] * w[i % o->inputs[0].shape.dims[1]];
}

static void sum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    const double *dy = inputs[0], *x = inputs[1];
    double *dw = outputs[0];
    int64_t columns = o->inputs[0].shape.dims[1];
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i)
        dw[i % columns] = (i < columns ? 0 : dw[i % columns]) + dy[i] * x[i];
}

ONS_DEFINE_OPERATOR(sleep, "Sleep", ONS_IN_DOMAIN(SLEEP_DOMAIN, 1, 1), ONS_ARITY(2, 2, 1, 1), SECONDS,
                    ONS_INFER(sleep_infer), ONS_COST(forward_cost), ONS_GRADIENT_RULE(sleep_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0) | ONS_INPUT_BIT(1), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(multiply_reference));

ONS_DEFINE_OPERATOR(sleep_input_gradient, "SleepInputGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), SECONDS,
                    ONS_INFER(sleep_infer), ONS_COST(input_cost), ONS_NOT_DIFFERENTIABLE("it is a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(multiply_reference));

ONS_DEFINE_OPERATOR(sleep_weight_gradient, "SleepWeightGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1), SECONDS,
                    ONS_INFER(sleep_weight_infer), ONS_COST(weight_cost), ONS_NOT_DIFFERENTIABLE("it is a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(sum_reference));

/* ---------------------------------------------------------------------------------------------------------- kernels */

typedef struct nap {
    double seconds;
    int64_t rows, columns;
} nap;

static ons_status *prepare(ons_prepare *p, uint32_t which) {
    const ons_operands *o = p->operands;
    nap *state;
    ONS_NEW_STATE(state, p);
    *state = (nap){seconds_of(o, which), o->inputs[0].shape.dims[0], o->inputs[0].shape.dims[1]};
    return NULL;
}
static ons_status *prepare_forward(ons_prepare *p) { return prepare(p, FORWARD); }
static ons_status *prepare_input(ons_prepare *p) { return prepare(p, INPUT); }
static ons_status *prepare_weight(ons_prepare *p) { return prepare(p, WEIGHT); }

static struct timespec end_of(const nap *n) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t nanoseconds = end.tv_nsec + (int64_t)(1e9 * n->seconds);
    end.tv_sec += nanoseconds / 1000000000;
    end.tv_nsec = nanoseconds % 1000000000;
    return end;
}

static void sleep_until(const struct timespec *end) {
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, end, NULL) != 0) continue;
}

static void multiply(const ons_launch *l) {
    const nap *n = l->state;
    const float *x = l->inputs[0], *w = l->inputs[1];
    float *y = l->outputs[0];
    struct timespec end = end_of(n);
    for (int64_t i = 0; i < n->rows; ++i)
        for (int64_t k = 0; k < n->columns; ++k) y[i * n->columns + k] = x[i * n->columns + k] * w[k];
    sleep_until(&end);
}

static void sum(const ons_launch *l) {
    const nap *n = l->state;
    const float *dy = l->inputs[0], *x = l->inputs[1];
    float *dw = l->outputs[0];
    struct timespec end = end_of(n);
    for (int64_t k = 0; k < n->columns; ++k) dw[k] = 0;
    for (int64_t i = 0; i < n->rows; ++i)
        for (int64_t k = 0; k < n->columns; ++k) dw[k] += dy[i * n->columns + k] * x[i * n->columns + k];
    sleep_until(&end);
}

const ons_kernel sleep_kernels[] = {ONS_KERNEL(prepare_forward, multiply), ONS_KERNEL(prepare_input, multiply),
                                    ONS_KERNEL(prepare_weight, sum)};
