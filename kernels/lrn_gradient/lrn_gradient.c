/* The gradient of LRN's input, from the output's gradient and x. With s as in the forward operator,
 *   dx = dy s^-beta - 2 alpha beta ÷ size × x × Σ dy x s^(-beta - 1),
 * the sum over the channels whose windows hold this one. */
#include <math.h>

#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/local_response.h"
#include "kernels/common/rows.h"

static ons_status *lrn_gradient_infer(ons_operands *o) {
    ons_local_response l;
    ONS_TRY(ons_local_response_of(o, &o->inputs[1], &l));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1])) return ons_node_error(o, "cotangent and input differ");
    o->outputs[0] = o->inputs[1];
    return NULL;
}

static ons_cost lrn_gradient_cost(const ons_operands *o) {
    double size = (double)ons_attribute_int(o, ONS_LRN_SIZE);
    return (ons_cost){(3 * size + 9) * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void lrn_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    (void)step;
    ons_local_response l;
    ons_status_free(ons_local_response_of(o, &o->inputs[1], &l));
    const double *dy = inputs[0], *x = inputs[1];
    double beta = ons_attribute_float(o, ONS_LRN_BETA);
    double weight = ons_attribute_float(o, ONS_LRN_ALPHA) / (double)ons_attribute_int(o, ONS_LRN_SIZE);
    for (int64_t i = 0, count = ons_elements(&o->inputs[1]); i < count; ++i) {
        int64_t channel = i / l.size.positions % l.size.channels;
        double sum = 0;
        for (int64_t c = ons_local_first(channel, l.after); c < ons_local_end(&l, channel, l.before); ++c) {
            int64_t at = i + (c - channel) * l.size.positions;
            sum += dy[at] * x[at] * pow(ons_local_sum_exact(o, &o->inputs[1], x, at), -beta - 1);
        }
        ((double *)outputs[0])[i] =
            dy[i] * pow(ons_local_sum_exact(o, &o->inputs[1], x, i), -beta) - 2 * weight * beta * x[i] * sum;
    }
}

static ons_status *lrn_gradient_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_local_response), &memory));
    ons_local_response *l = memory;
    ONS_TRY(ons_local_response_of(p->operands, &p->operands->inputs[1], l));
    int64_t elements = ons_elements(&p->operands->inputs[1]);
    l->parts = elements > ONS_PARALLEL_GRAIN ? p->threads : elements > 0;
    p->scratch_bytes = l->parts * l->size.channels * (int64_t)sizeof(ons_lanes);
    if (p->scratch_bytes > p->scratch_limit)
        return ons_node_error(p->operands, "needs %lld bytes of scratch, more than the %lld that the plan grants",
                              (long long)p->scratch_bytes, (long long)p->scratch_limit);
    return NULL;
}

/* `count` neighbouring positions of a sample: first dy s^-beta goes to dx and dy x s^(-beta - 1) to scratch. */
static inline __attribute__((always_inline)) void differentiate(const ons_local_response *l, const float *dy,
                                                                const float *x, float *dx, float *products, int count) {
    int64_t channels = l->size.channels, stride = l->size.positions;
#define TAKE(FROM) (count == ONS_LANES ? ons_lanes_load(FROM) : ons_lanes_load_some((FROM), count, 0))
#define PUT(TO, X)                                                                                                     \
    do {                                                                                                               \
        if (count == ONS_LANES)                                                                                        \
            ons_lanes_store((TO), (X));                                                                                \
        else                                                                                                           \
            ons_lanes_store_some((TO), (X), count);                                                                    \
    } while (0)
    for (int64_t c = 0; c < channels; ++c) {
        ons_lanes s = ons_local_sum(l, x, c, count), direct = TAKE(dy + c * stride) * ons_local_power(s, l->beta);
        ons_lanes product = direct * TAKE(x + c * stride) / s;
        ons_lanes_store(products + c * ONS_LANES, product);
        PUT(dx + c * stride, direct);
    }
    float factor = 2 * l->weight * l->beta;
    for (int64_t c = 0; c < channels; ++c) {
        ons_lanes sum = {0};
        for (int64_t k = ons_local_first(c, l->after), end = ons_local_end(l, c, l->before); k < end; ++k)
            sum += ons_lanes_load(products + k * ONS_LANES);
        ons_lanes result = TAKE(dx + c * stride) - factor * TAKE(x + c * stride) * sum;
        PUT(dx + c * stride, result);
    }
#undef PUT
#undef TAKE
}

static void lrn_gradient_run(const ons_launch *launch) {
    const ons_local_response *l = launch->state;
    const float *dy = launch->inputs[0], *x = launch->inputs[1];
    float *dx = launch->outputs[0];
    int64_t positions = l->size.positions, blocks = (positions + ONS_LANES - 1) / ONS_LANES;
    int64_t sample = l->size.channels * positions;
#pragma omp parallel for schedule(static) if (l->parts > 1)
    for (int part = 0; part < l->parts; ++part) {
        float *products = (float *)launch->scratch + part * l->size.channels * ONS_LANES;
        int64_t end = ons_part_begin(l->size.batch * blocks, l->parts, part + 1);
        for (int64_t i = ons_part_begin(l->size.batch * blocks, l->parts, part); i < end; ++i) {
            int64_t first = i % blocks * ONS_LANES, at = i / blocks * sample + first;
            if (positions - first >= ONS_LANES)
                differentiate(l, dy + at, x + at, dx + at, products, ONS_LANES);
            else
                differentiate(l, dy + at, x + at, dx + at, products, (int)(positions - first));
        }
    }
}

static ons_status *lrn_gradient_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, lrn_gradient_prepare); }

static const ons_case lrn_gradient_cases[] = {
    {.name = "plane",
     .inputs = {ONS_F32(2, 7, 3, 5), ONS_F32(2, 7, 3, 5)},
     .settings = {ONS_SET_INT("size", 3), ONS_SET_FLOAT("alpha", 1)},
     .tolerance = 1e-5,
     .flops = 3780},
    {.name = "even_size",
     .inputs = {ONS_F32(1, 6, 17), ONS_F32(1, 6, 17)},
     .settings = {ONS_SET_INT("size", 4), ONS_SET_FLOAT("alpha", 1), ONS_SET_FLOAT("beta", 0.6)},
     .tolerance = 1e-5,
     .flops = 2142},
    {.name = "threads",
     .inputs = {ONS_F32(3, 16, 21, 23), ONS_F32(3, 16, 21, 23)},
     .settings = {ONS_SET_INT("size", 5), ONS_SET_FLOAT("alpha", 1)},
     .tolerance = 1e-5,
     .flops = 556416},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 4), ONS_F32(0, 3, 4)}, .settings = {ONS_SET_INT("size", 3)}, .flops = 0},
    {.name = "alexnet",
     .inputs = {ONS_F32(16, 64, 55, 55), ONS_F32(16, 64, 55, 55)},
     .settings = {ONS_SET_INT("size", 5)},
     .tolerance = 1e-5,
     .flops = 74342400,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(lrn_gradient, "LRNGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_LRN_ATTRIBUTES), ONS_INFER(lrn_gradient_infer), ONS_COST(lrn_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(lrn_gradient_reference),
                    ONS_CPU_KERNEL(lrn_gradient_prepare, lrn_gradient_run),
                    ONS_CUDA_KERNEL(lrn_gradient_prepare_cuda, ons_cuda_lrn_gradient), lrn_gradient_cases);
