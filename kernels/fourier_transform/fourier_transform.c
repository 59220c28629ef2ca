/* The transform that DFT and STFT are made of, and whose gradient is one of the same kind.
 *
 *   y[k] = factor × Σ x[t] e^(∓2πikt / length)     t < length; an x that ends earlier goes on with zeros
 *
 * along one axis; the last axis holds the real and the imaginary part, or the real one alone. `outputs` of the y are
 * wanted (zeros from `length` on), with `parts` of them 1 or 2. Its transpose exchanges inputs with outputs and turns
 * the other way. */
#include <math.h>
#include <omp.h>

#include "kernels/common/checks.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/fourier.h"
#include "kernels/fourier_transform/fourier_transform.h"

enum { AXIS, LENGTH, BACKWARDS, SCALED, OUTPUTS, PARTS };

static ons_status *resolve(const ons_operands *o, ons_fourier_sizes *s, uint32_t *axis) {
    const ons_shape *x = &o->inputs[0].shape;
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), x->rank, axis));
    if (*axis + 1 >= x->rank) return ons_node_error(o, "the last axis holds real and imaginary parts, not the signal");
    *s = (ons_fourier_sizes){.outer = ons_shape_span(x, 0, *axis),
                             .inner = ons_shape_span(x, *axis + 1, x->rank - 1),
                             .inputs = x->dims[*axis],
                             .outputs = ons_attribute_int(o, OUTPUTS),
                             .length = ons_attribute_int(o, LENGTH),
                             .in_parts = x->dims[x->rank - 1],
                             .out_parts = ons_attribute_int(o, PARTS),
                             .backwards = ons_attribute_int(o, BACKWARDS) != 0};
    if (s->length < 1 || s->length > ONS_FOURIER_LENGTH_MAX || s->outputs < 0)
        return ons_node_error(o, "a transform of length %lld", (long long)s->length);
    if (s->in_parts < 1 || s->in_parts > 2 || s->out_parts < 1 || s->out_parts > 2)
        return ons_node_error(o, "the last axis has size %lld; 1 (real) or 2 (complex) is needed",
                              (long long)s->in_parts);
    s->factor = ons_attribute_int(o, SCALED) != 0 ? 1 / (double)s->length : 1;
    return NULL;
}

static ons_status *fourier_transform_infer(ons_operands *o) {
    ons_fourier_sizes s;
    uint32_t axis;
    ONS_TRY(resolve(o, &s, &axis));
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape.dims[axis] = s.outputs;
    o->outputs[0].shape.dims[o->inputs[0].shape.rank - 1] = s.out_parts;
    return NULL;
}

/* 5 n log₂ n for each line. */
static ons_cost fourier_transform_cost(const ons_operands *o) {
    ons_fourier_sizes s;
    uint32_t axis;
    ons_status_free(resolve(o, &s, &axis));
    return (ons_cost){floor(5 * (double)(s.outer * s.inner) * (double)s.length * log2((double)s.length)),
                      ons_operand_bytes(o)};
}

/* Place of part `part` of element `t` of a line. */
static inline int64_t place(const ons_fourier_sizes *s, int64_t line, int64_t count, int64_t parts, int64_t t,
                            int64_t part) {
    return ((line / s->inner * count + t) * s->inner + line % s->inner) * parts + part;
}

static void fourier_transform_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                        void *const *outputs) {
    (void)step;
    ons_fourier_sizes s;
    uint32_t axis;
    ons_status_free(resolve(o, &s, &axis));
    const double *x = inputs[0];
    double *y = outputs[0];
    for (int64_t line = 0; line < s.outer * s.inner; ++line)
        for (int64_t k = 0; k < s.outputs; ++k) {
            double re = 0, im = 0;
            for (int64_t t = 0; k < s.length && t < s.inputs && t < s.length; ++t) {
                double angle = (s.backwards ? 2 : -2) * M_PI * (double)(k * t % s.length) / (double)s.length;
                double a = x[place(&s, line, s.inputs, s.in_parts, t, 0)];
                double b = s.in_parts == 2 ? x[place(&s, line, s.inputs, s.in_parts, t, 1)] : 0;
                re += a * cos(angle) - b * sin(angle);
                im += a * sin(angle) + b * cos(angle);
            }
            y[place(&s, line, s.outputs, s.out_parts, k, 0)] = re * s.factor;
            if (s.out_parts == 2) y[place(&s, line, s.outputs, s.out_parts, k, 1)] = im * s.factor;
        }
}

typedef struct transform_state {
    ons_fourier_sizes sizes;
    ons_fourier plan;
    int threads;
    int64_t scratch; /* doubles of a thread */
} transform_state;

static ons_status *fourier_transform_prepare(ons_prepare *p) {
    uint32_t axis;
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(transform_state), &memory));
    transform_state *state = memory;
    ONS_TRY(resolve(p->operands, &state->sizes, &axis));
    ONS_TRY(ons_fourier_prepare(state->sizes.length, p->arena, &state->plan));
    state->threads = p->threads;
    state->scratch = (2 * state->sizes.length + ons_fourier_scratch(&state->plan) + 7) / 8 * 8;
    p->scratch_bytes = p->threads * state->scratch * (int64_t)sizeof(double);
    p->implementation = state->plan.chirp == NULL ? "radix 2" : "bluestein";
    return NULL;
}

static void run_line(const transform_state *state, const float *x, float *y, int64_t line, double *scratch) {
    const ons_fourier_sizes *s = &state->sizes;
    double *re = scratch, *im = scratch + s->length;
    for (int64_t t = 0; t < s->length; ++t) {
        bool given = t < s->inputs;
        re[t] = given ? (double)x[place(s, line, s->inputs, s->in_parts, t, 0)] : 0;
        im[t] = given && s->in_parts == 2 ? (double)x[place(s, line, s->inputs, s->in_parts, t, 1)] : 0;
    }
    ons_fourier_run(&state->plan, s->backwards ? im : re, s->backwards ? re : im, scratch + 2 * s->length);
    for (int64_t k = 0; k < s->outputs; ++k)
        for (int64_t part = 0; part < s->out_parts; ++part)
            y[place(s, line, s->outputs, s->out_parts, k, part)] =
                k < s->length ? (float)((part == 0 ? re : im)[k] * s->factor) : 0.0f;
}

static void fourier_transform_run(const ons_launch *launch) {
    const transform_state *state = launch->state;
    int64_t lines = state->sizes.outer * state->sizes.inner;
#pragma omp parallel for schedule(static) num_threads(state->threads) if (lines > 1)
    for (int64_t line = 0; line < lines; ++line)
        run_line(state, launch->inputs[0], launch->outputs[0], line,
                 (double *)launch->scratch + omp_get_thread_num() * state->scratch);
}

static ons_status *fourier_transform_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    ons_fourier_sizes s;
    uint32_t axis;
    ONS_TRY(resolve(o, &s, &axis));
    g->gradients[0] =
        ons_build(g->builder, &ons_op_fourier_transform, ONS_IN(g->cotangents[0]),
                  ONS_WITH(ONS_AT_INT(AXIS, axis), ONS_AT_INT(LENGTH, s.length), ONS_AT_INT(BACKWARDS, !s.backwards),
                           ONS_AT_INT(SCALED, ons_attribute_int(o, SCALED)), ONS_AT_INT(OUTPUTS, s.inputs),
                           ONS_AT_INT(PARTS, s.in_parts)));
    return NULL;
}

/* Scratch: cosines and sines of the circle's `length` parts. */
static ons_status *fourier_transform_prepare_cuda(ons_prepare *p) {
    uint32_t axis;
    void *memory;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_fourier_sizes), &memory));
    ons_fourier_sizes *s = memory;
    ONS_TRY(resolve(p->operands, s, &axis));
    if (s->length > INT32_MAX) return ons_node_error(p->operands, "so long a transform is not possible");
    p->scratch_bytes = (2 * s->length * (int64_t)sizeof(double) + 63) / 64 * 64;
    p->implementation = "cuda:by the definition";
    return NULL;
}

#define TRANSFORM(NAME, LENGTH_VALUE, BACK, SCALE, COUNT, PART_COUNT, TOLERANCE, ...)                                  \
    {                                                                                                                  \
        .name = (NAME), .inputs = {ONS_F32(__VA_ARGS__)},                                                              \
        .settings = {ONS_SET_INT("axis", 1),         ONS_SET_INT("length", LENGTH_VALUE),                              \
                     ONS_SET_INT("backwards", BACK), ONS_SET_INT("scaled", SCALE),                                     \
                     ONS_SET_INT("outputs", COUNT),  ONS_SET_INT("parts", PART_COUNT)},                                \
        .tolerance = (TOLERANCE), .flops = -1                                                                          \
    }

static const ons_case fourier_transform_cases[] = {
    TRANSFORM("power_of_two", 8, 0, 0, 8, 2, 1e-6, 2, 8, 1),
    TRANSFORM("complex", 16, 0, 0, 16, 2, 1e-6, 2, 16, 3, 2),
    TRANSFORM("prime", 13, 0, 0, 13, 2, 1e-6, 3, 13, 2),
    TRANSFORM("even", 12, 1, 1, 12, 2, 1e-6, 3, 12, 2, 2),
    TRANSFORM("one_sided", 10, 0, 0, 6, 2, 1e-6, 3, 10, 1),
    TRANSFORM("zeros_behind", 16, 0, 0, 16, 2, 1e-6, 2, 11, 1),
    TRANSFORM("cut", 5, 0, 0, 5, 2, 1e-6, 2, 11, 1),
    TRANSFORM("more_outputs", 5, 1, 0, 9, 1, 1e-6, 2, 5, 2),
    TRANSFORM("one", 1, 0, 0, 1, 2, 1e-6, 2, 1, 2),
    TRANSFORM("threads", 100, 0, 0, 51, 2, 1e-5, 40, 100, 2, 1),
    TRANSFORM("empty", 4, 0, 0, 4, 2, 0, 0, 4, 1),
    {.name = "parts",
     .inputs = {ONS_F32(2, 8, 3)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("length", 8), ONS_SET_INT("outputs", 8), ONS_SET_INT("parts", 2)},
     .error = "last axis"},
    {.name = "length",
     .inputs = {ONS_F32(2, 8, 1)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("length", 0), ONS_SET_INT("outputs", 8), ONS_SET_INT("parts", 2)},
     .error = "length"},
    {.name = "large",
     .inputs = {ONS_F32(64, 4096, 1)},
     .settings = {ONS_SET_INT("axis", 1), ONS_SET_INT("length", 4096), ONS_SET_INT("outputs", 2049),
                  ONS_SET_INT("parts", 2)},
     .tolerance = 1e-4,
     .flops = -1,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(fourier_transform, "FourierTransform", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("axis", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("length", ONS_ATTRIBUTE_INT),
                                   ONS_INT_ATTRIBUTE("backwards", 0), ONS_INT_ATTRIBUTE("scaled", 0),
                                   ONS_REQUIRED_ATTRIBUTE("outputs", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("parts", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(fourier_transform_infer), ONS_COST(fourier_transform_cost),
                    ONS_GRADIENT_RULE(fourier_transform_gradient, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(fourier_transform_reference),
                    ONS_CPU_KERNEL(fourier_transform_prepare, fourier_transform_run),
                    ONS_CUDA_KERNEL(fourier_transform_prepare_cuda, ons_cuda_fourier_transform),
                    fourier_transform_cases);
