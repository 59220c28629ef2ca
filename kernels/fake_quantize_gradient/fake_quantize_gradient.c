/* Gradient of FakeQuantize: to x and, where they are wanted, to the two scales. See kernels/common/fake_quantize.h. */
#include "kernels/fake_quantize_gradient/fake_quantize_gradient.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/fake_quantize.h"

enum { DY, X, FROM_SCALE, TO_SCALE, FROM_ZERO, TO_ZERO };

static ons_status *fake_quantize_gradient_infer(ons_operands *o) {
    ons_fake fake;
    ONS_TRY(ons_fake_resolve(o, X, &fake));
    if (!ons_type_equal(&o->inputs[DY], &o->inputs[X])) return ons_node_error(o, "cotangent and input differ in type");
    o->outputs[0] = o->inputs[X];
    o->outputs[1] = o->inputs[FROM_SCALE];
    o->outputs[2] = o->inputs[TO_SCALE];
    return NULL;
}

static ons_cost fake_quantize_gradient_cost(const ons_operands *o) {
    return (ons_cost){14 * (double)ons_elements(&o->inputs[X]), ons_operand_bytes(o)};
}

/* What one element gives: of x, of the first scale, of the second. */
typedef struct parts {
    float x, from, to;
} parts;

static inline parts parts_of(float dy, float x, float from, float to, float from_zero, float to_zero, float low,
                             float high) {
    float raw = rintf(x / from) + from_zero, q = raw < low ? low : raw > high ? high : raw;
    float inside = raw >= low && raw <= high ? dy * to / from : 0;
    return (parts){inside, -inside * (x / from), dy * (q - to_zero)};
}

static double zero_at(const ons_operands *o, const void *const *inputs, uint32_t input, int64_t k) {
    return ons_has_input(o, input) ? (double)((const int64_t *)inputs[input])[k] : 0;
}

static void fake_quantize_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                             void *const *outputs) {
    (void)step;
    ons_fake fake;
    ons_status_free(ons_fake_resolve(o, X, &fake));
    double *dx = outputs[0], *from = outputs[1], *to = outputs[2];
    for (int64_t k = 0; k < fake.scales.count; ++k) {
        if (from != NULL) from[k] = 0;
        if (to != NULL) to[k] = 0;
    }
    for (int64_t i = 0; i < fake.scales.elements; ++i) {
        int64_t k = ons_scale_of(&fake.scales, i);
        double x = ((const double *)inputs[X])[i], dy = ((const double *)inputs[DY])[i];
        double s = ((const double *)inputs[FROM_SCALE])[k], t = ((const double *)inputs[TO_SCALE])[k];
        double raw = (double)rintf((float)x / (float)s) + zero_at(o, inputs, FROM_ZERO, k);
        double q = fmin(fmax(raw, (double)fake.low), (double)fake.high);
        double inside = raw >= (double)fake.low && raw <= (double)fake.high ? dy * t / s : 0;
        if (dx != NULL) dx[i] = inside;
        if (from != NULL) from[k] -= inside * x / s;
        if (to != NULL) to[k] += dy * (q - zero_at(o, inputs, TO_ZERO, k));
    }
}

/* Scratch: sums of both scales for every chunk, or nothing where each scale is one thread's. */
enum { CHUNK = 8192 };

typedef struct gradient_state {
    ons_fake fake;
    bool has_from, has_to;
    int64_t chunks;
} gradient_state;

static ons_status *fake_quantize_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(gradient_state), &memory));
    gradient_state *state = memory;
    ONS_TRY(ons_fake_resolve(o, X, &state->fake));
    state->has_from = ons_has_input(o, FROM_ZERO);
    state->has_to = ons_has_input(o, TO_ZERO);
    state->chunks = (state->fake.scales.elements + CHUNK - 1) / CHUNK;
    int64_t sums = state->fake.scales.count == 1 ? state->chunks : 0;
    p->scratch_bytes = (2 * sums * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

/* The operands of one launch, and a walk over elements that share scale `k`. */
typedef struct operands {
    const ons_fake *fake;
    const float *dy, *x, *from, *to;
    const void *from_zeros, *to_zeros;
    float *dx;
} operands;

static void walk(const operands *p, int64_t k, int64_t begin, int64_t end, int64_t stride, double sums[static 2]) {
    float from = p->from[k], to = p->to[k];
    float from_zero = ons_fake_zero(p->fake, p->from_zeros, k), to_zero = ons_fake_zero(p->fake, p->to_zeros, k);
    double first = 0, second = 0;
    for (int64_t i = begin; i < end; i += stride) {
        parts each = parts_of(p->dy[i], p->x[i], from, to, from_zero, to_zero, p->fake->low, p->fake->high);
        if (p->dx != NULL) p->dx[i] = each.x;
        first += (double)each.from;
        second += (double)each.to;
    }
    sums[0] += first;
    sums[1] += second;
}

/* All elements of scale `k`, where there are several scales. */
static void walk_scale(const operands *p, int64_t k, double sums[static 2]) {
    const ons_scales *s = &p->fake->scales;
    if (s->blocked) {
        int64_t inner = k % s->inner, block = k / s->inner % s->blocks, outer = k / s->inner / s->blocks;
        int64_t first = block * s->block, last = first + s->block < s->length ? first + s->block : s->length;
        int64_t base = outer * s->length * s->inner + inner;
        walk(p, k, base + first * s->inner, base + last * s->inner, s->inner, sums);
        return;
    }
    for (int64_t begin = k * s->inner; begin < s->elements; begin += s->length * s->inner)
        walk(p, k, begin, begin + s->inner, 1, sums);
}

static void fake_quantize_gradient_run(const ons_launch *launch) {
    const gradient_state *state = launch->state;
    const ons_scales *s = &state->fake.scales;
    operands p = {.fake = &state->fake,
                  .dy = launch->inputs[DY],
                  .x = launch->inputs[X],
                  .from = launch->inputs[FROM_SCALE],
                  .to = launch->inputs[TO_SCALE],
                  .from_zeros = state->has_from ? launch->inputs[FROM_ZERO] : NULL,
                  .to_zeros = state->has_to ? launch->inputs[TO_ZERO] : NULL,
                  .dx = launch->outputs[0]};
    float *from = launch->outputs[1], *to = launch->outputs[2];
    double(*chunks)[2] = launch->scratch, total[2] = {0, 0};
    if (s->count != 1) {
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
        for (int64_t k = 0; k < s->count; ++k) {
            double sums[2] = {0, 0};
            walk_scale(&p, k, sums);
            if (from != NULL) from[k] = (float)sums[0];
            if (to != NULL) to[k] = (float)sums[1];
        }
        return;
    }
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN)
    for (int64_t c = 0; c < state->chunks; ++c) {
        chunks[c][0] = chunks[c][1] = 0;
        walk(&p, 0, c * CHUNK, (c + 1) * CHUNK < s->elements ? (c + 1) * CHUNK : s->elements, 1, chunks[c]);
    }
    for (int64_t c = 0; c < state->chunks; ++c) {
        total[0] += chunks[c][0];
        total[1] += chunks[c][1];
    }
    if (from != NULL) from[0] = (float)total[0];
    if (to != NULL) to[0] = (float)total[1];
}

static ons_status *make_cuda_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_fake_quantize_gradient), &memory));
    ons_fake_quantize_gradient *s = memory;
    ONS_TRY(ons_fake_resolve(o, X, &s->fake));
    const ons_scales *scales = &s->fake.scales;
    s->has_from = ons_has_input(o, FROM_ZERO);
    s->has_to = ons_has_input(o, TO_ZERO);
    s->each = scales->blocked ? scales->block : scales->count > 0 ? scales->elements / scales->count : 0;
    int64_t cuts = s->each / 4096, enough = scales->count > 0 ? 512 / scales->count + 1 : 1;
    cuts = cuts > enough ? enough : cuts;
    s->parts = cuts < 1 ? 1 : (int)cuts;
    p->scratch_bytes = (2 * s->parts * scales->count * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

static ons_status *fake_quantize_gradient_prepare_cuda(ons_prepare *p) {
    return ons_cuda_prepare_typed(p, make_cuda_state);
}

static const ons_case fake_quantize_gradient_cases[] = {
    {.name = "tensor",
     .inputs = {ONS_F32(5, 7),
                ONS_F32_IN(-3, 3, 5, 7),
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.02}},
                {.dtype = ONS_FLOAT32, .value_count = 1, .values = {0.02}},
                {.dtype = ONS_UINT8, .value_count = 1, .values = {128}},
                {.dtype = ONS_UINT8, .value_count = 1, .values = {128}}},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 490},
    {.name = "axis",
     .inputs = {ONS_F32(2, 3, 5), ONS_F32_IN(-3, 3, 2, 3, 5), ONS_F32_IN(0.01, 0.1, 3), ONS_F32_IN(0.01, 0.1, 3),
                ONS_RANDOM(ONS_INT8, -9, 9, 3), ONS_RANDOM(ONS_INT8, -9, 9, 3)},
     .settings = {ONS_SET_FLOAT("low", -50), ONS_SET_FLOAT("high", 50)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 420},
    {.name = "blocks",
     .inputs = {ONS_F32(2, 5, 3), ONS_F32_IN(0, 3, 2, 5, 3), ONS_F32_IN(0.01, 0.1, 2, 3, 3),
                ONS_F32_IN(0.01, 0.1, 2, 3, 3)},
     .settings = {ONS_SET_INT("block_size", 2)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 420},
    {.name = "x_alone",
     .inputs = {ONS_F32(9), ONS_F32_IN(-1, 3, 9), ONS_F32_IN(0.01, 0.1), ONS_F32_IN(0.01, 0.1)},
     .tolerance = 1e-5,
     .flops = 126},
    {.name = "threads",
     .inputs = {ONS_F32(16, 33, 35), ONS_F32_IN(-1, 3, 16, 33, 35), ONS_F32_IN(0.01, 0.02), ONS_F32_IN(0.01, 0.02)},
     .outputs = 3,
     .tolerance = 1e-4,
     .flops = 258720},
    {.name = "empty", .inputs = {ONS_F32(0, 3), ONS_F32(0, 3), ONS_F32(), ONS_F32()}, .outputs = 3, .flops = 0},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_F32(4), ONS_F32(), ONS_F32()}, .error = "cotangent"},
    {.name = "large",
     .inputs = {ONS_F32(1024, 4096), ONS_F32_IN(-3, 3, 1024, 4096), ONS_F32_IN(0.01, 0.1), ONS_F32_IN(0.01, 0.1)},
     .outputs = 3,
     .tolerance = 1e-4,
     .flops = 58720256,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(fake_quantize_gradient, "FakeQuantizeGradient", ONS_INTERNAL, ONS_ARITY(4, 6, 1, 3),
                    ONS_FAKE_ATTRIBUTES, ONS_INFER(fake_quantize_gradient_infer), ONS_COST(fake_quantize_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(fake_quantize_gradient_reference),
                    ONS_CPU_KERNEL(fake_quantize_gradient_prepare, fake_quantize_gradient_run),
                    ONS_CUDA_KERNEL(fake_quantize_gradient_prepare_cuda, ons_cuda_fake_quantize_gradient),
                    fake_quantize_gradient_cases);
