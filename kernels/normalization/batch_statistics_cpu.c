#include "kernels/normalization/batch_statistics.h"

#include <string.h>

#include "kernels/common/math/simd.h"

enum { WIDE = 64, RUN = 64, LINE = 64 };

static int64_t rounded(int64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

static int64_t plan_bytes(int64_t channels, int parts, int64_t width) {
    return 2 * rounded(channels * 8) + rounded(2 * parts * width * 8) + 6 * rounded(width * 4);
}

ons_status *ons_batch_plan_make(ons_prepare *p, const ons_type *type, ons_batch_plan *plan) {
    ons_channels c = ons_channels_of(type);
    int64_t elements = ons_elements(type), channels = c.channels;
    plan->size = c;
    plan->parts = elements > ONS_PARALLEL_GRAIN && p->threads > 1 ? p->threads : 1;
    plan->repeat = c.last && channels > 0 && channels < WIDE ? WIDE / channels : 1;
    plan->width = channels * plan->repeat;
    plan->rows = plan->width > 0 ? elements / plan->width : 0;
    plan->extra = elements - plan->rows * plan->width;
    p->scratch_bytes += plan_bytes(channels, plan->parts, plan->width);
    return ons_require_scratch(p, p->scratch_bytes);
}

ons_batch_scratch ons_batch_scratch_of(const ons_batch_plan *plan, void *scratch) {
    ons_batch_scratch s;
    char *at = scratch;
    for (int i = 0; i < 2; ++i, at += rounded(plan->size.channels * 8)) s.sums[i] = (double *)(void *)at;
    s.partial = (double *)(void *)at;
    at += rounded(2 * plan->parts * plan->width * 8);
    float **vectors[] = {&s.scale, &s.shift, &s.rest, &s.factor, &s.gate_scale, &s.gate_rest};
    for (int i = 0; i < 6; ++i, at += rounded(plan->width * 4)) *vectors[i] = (float *)(void *)at;
    return s;
}

double *ons_batch_shares_of(const ons_batch_plan *plan, void *scratch) {
    char *at = (char *)scratch + plan_bytes(plan->size.channels, plan->parts, plan->width);
    return (double *)(void *)at;
}

void ons_batch_repeat(const ons_batch_plan *plan, float *vector) {
    for (int64_t i = 1; i < plan->repeat; ++i)
        memcpy(vector + i * plan->size.channels, vector, (size_t)plan->size.channels * sizeof *vector);
}

/* ------------------------------------------------------------------------------------------------------------- sums */

/* The map forwards. Gradients make it again, for the sign of its result. */
#define MAP(X, SHIFT, SCALE, REST) (((X) - (SHIFT)) * (SCALE) + (REST))

/* `slope` where the gradient goes through `result`, else 0. By bits: a compiler would make loading the slope depend on
 * the result. */
static inline float pass(float slope, ons_batch_activation a, float result) {
    return ons_float_from_bits(ons_float_bits(slope) & (ons_batch_is_open(a, result) ? UINT32_MAX : 0));
}

/* What is summed: squares, or products of dy where the gradient goes through. What kind is a constant where it is
 * asked. */
typedef struct summands {
    bool squares;
    ons_batch_activation activation;
    const float *dy, *x;
} summands;

static inline summands summands_at(const summands *v, int64_t at) {
    return (summands){v->squares, v->activation, v->squares ? NULL : v->dy + at, v->x + at};
}

static inline ons_simd_bits find_open(const summands *v, ons_simd_float result) {
    if (v->activation.kind == ONS_BATCH_RELU) return result > 0.0f;
    return (result > v->activation.low) & (result < v->activation.high);
}

/* Σ a and Σ a (x − shift): `sets` times ONS_SIMD_FLOATS columns over `rows` rows, `stride` apart, from column `at` on;
 * `count` < ONS_SIMD_FLOATS columns of a single set. Inlined with constants, the sums stay in registers. */
static inline __attribute__((always_inline)) void sum_columns(const summands *v, const ons_batch_scratch *s, int64_t at,
                                                              int64_t rows, int64_t stride, int sets, int count,
                                                              double *first, double *second) {
    ons_simd_float one[WIDE / ONS_SIMD_FLOATS] = {0}, two[WIDE / ONS_SIMD_FLOATS] = {0}, center[WIDE / ONS_SIMD_FLOATS];
#define TAKE(FROM) (count == ONS_SIMD_FLOATS ? ons_simd_load(FROM) : ons_simd_load_some((FROM), count, 0))
    for (int i = 0; i < sets; ++i) center[i] = TAKE(s->shift + at + i * ONS_SIMD_FLOATS);
    for (int64_t row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int i = 0; i < sets; ++i) {
            int64_t column = at + i * ONS_SIMD_FLOATS;
            ons_simd_float q = TAKE(v->x + row * stride + column) - center[i];
            ons_simd_float p = v->squares ? q : TAKE(v->dy + row * stride + column);
            if (v->activation.kind != ONS_BATCH_PLAIN)
                p = ons_simd_select(find_open(v, q * TAKE(s->gate_scale + column) + TAKE(s->gate_rest + column)), p,
                                    ons_simd_all(0));
            one[i] += p;
            two[i] += p * q;
        }
#undef TAKE
    for (int i = 0; i < sets; ++i)
        for (int k = 0; k < count; ++k) {
            first[at + i * ONS_SIMD_FLOATS + k] += one[i][k];
            second[at + i * ONS_SIMD_FLOATS + k] += two[i][k];
        }
}

static inline __attribute__((always_inline)) void sum_rows(summands v, const ons_batch_scratch *s, int64_t rows,
                                                           int64_t stride, int64_t width, double *first,
                                                           double *second) {
    int64_t at = 0;
    for (; at + WIDE <= width; at += WIDE)
        sum_columns(&v, s, at, rows, stride, WIDE / ONS_SIMD_FLOATS, ONS_SIMD_FLOATS, first, second);
    for (; at + ONS_SIMD_FLOATS <= width; at += ONS_SIMD_FLOATS)
        sum_columns(&v, s, at, rows, stride, 1, ONS_SIMD_FLOATS, first, second);
    if (at < width) sum_columns(&v, s, at, rows, stride, 1, (int)(width - at), first, second);
}

static inline __attribute__((always_inline)) void sum_part(const ons_batch_plan *plan, const ons_batch_scratch *s,
                                                           const summands *v, int part) {
    int64_t width = plan->width;
    double *first = s->partial + 2 * part * width, *second = first + width;
    memset(first, 0, 2 * (size_t)width * sizeof *first);
    int64_t end = plan->rows * (part + 1) / plan->parts;
    for (int64_t row = plan->rows * part / plan->parts; row < end; row += RUN) {
        int64_t rows = row + RUN < end ? RUN : end - row;
        sum_rows(summands_at(v, row * width), s, rows, width, width, first, second);
    }
    if (part == plan->parts - 1 && plan->extra > 0)
        sum_rows(summands_at(v, end * width), s, 1, width, plan->extra, first, second);
}

static void add_parts(const ons_batch_plan *plan, const ons_batch_scratch *s) {
    int64_t channels = plan->size.channels;
    for (int which = 0; which < 2; ++which)
        for (int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (int part = 0; part < plan->parts; ++part)
                for (int64_t i = c; i < plan->width; i += channels)
                    sum += s->partial[(2 * part + which) * plan->width + i];
            s->sums[which][c] = sum;
        }
}

/* Adds `count` positions of a channel, at most ONS_SIMD_FLOATS, from `at` on to Σ a and Σ a (x − shift). */
static inline __attribute__((always_inline)) void add_positions(const summands *v, const ons_batch_scratch *s,
                                                                int64_t channel, int64_t at, int64_t count,
                                                                ons_simd_float *one, ons_simd_float *two) {
    float shift = s->shift[channel], scale = s->gate_scale[channel], rest = s->gate_rest[channel];
#define TAKE(FROM, REST) (count == ONS_SIMD_FLOATS ? ons_simd_load(FROM) : ons_simd_load_some((FROM), count, (REST)))
    ons_simd_float q = TAKE(v->x + at, shift) - shift;
    ons_simd_float p = v->squares ? q : TAKE(v->dy + at, 0);
#undef TAKE
    if (v->activation.kind != ONS_BATCH_PLAIN) p = ons_simd_select(find_open(v, q * scale + rest), p, ons_simd_all(0));
    *one += p;
    *two += p * q;
}

/* One channel in ONNX's order: a stretch of positions in every sample. Written by vectors, so that a build whose
 * compiler makes none of the loop sums as few numbers one after the other. */
static inline __attribute__((always_inline)) void sum_channel(const ons_batch_plan *plan, const ons_batch_scratch *s,
                                                              const summands *v, int64_t channel) {
    enum { LANES = ONS_SIMD_FLOATS, SETS = 4 };
    const ons_channels *size = &plan->size;
    double first = 0, second = 0;
    for (int64_t n = 0; n < size->batch; ++n) {
        const summands stretch = summands_at(v, (n * size->channels + channel) * size->positions);
        for (int64_t at = 0; at < size->positions;) {
            int64_t rest = size->positions - at, end = at + (rest < RUN * LANES ? rest : RUN * LANES);
            ons_simd_float one[SETS] = {0}, two[SETS] = {0};
            for (; at + SETS * LANES <= end; at += SETS * LANES)
#pragma GCC unroll 4
                for (int i = 0; i < SETS; ++i)
                    add_positions(&stretch, s, channel, at + i * LANES, LANES, &one[i], &two[i]);
            for (; at + LANES <= end; at += LANES) add_positions(&stretch, s, channel, at, LANES, &one[0], &two[0]);
            if (at < end) add_positions(&stretch, s, channel, at, end - at, &one[1], &two[1]);
            at = end;
            first += ons_simd_sum_of((one[0] + one[1]) + (one[2] + one[3]));
            second += ons_simd_sum_of((two[0] + two[1]) + (two[2] + two[3]));
        }
    }
    s->sums[0][channel] = first;
    s->sums[1][channel] = second;
}

/* The loops above are compiled for each kind. */
static void sum_channel_of_kind(const ons_batch_plan *plan, const ons_batch_scratch *s, const summands *v,
                                int64_t channel) {
    const float low = v->activation.low, high = v->activation.high;
    if (v->squares) {
        sum_channel(plan, s, &(const summands){true, {ONS_BATCH_PLAIN, 0, 0}, NULL, v->x}, channel);
        return;
    }
    switch (v->activation.kind) {
    case ONS_BATCH_PLAIN:
        sum_channel(plan, s, &(const summands){false, {ONS_BATCH_PLAIN, 0, 0}, v->dy, v->x}, channel);
        return;
    case ONS_BATCH_RELU:
        sum_channel(plan, s, &(const summands){false, {ONS_BATCH_RELU, 0, 0}, v->dy, v->x}, channel);
        return;
    case ONS_BATCH_CLIP:
        sum_channel(plan, s, &(const summands){false, {ONS_BATCH_CLIP, low, high}, v->dy, v->x}, channel);
        return;
    }
}

static void sum_part_of_kind(const ons_batch_plan *plan, const ons_batch_scratch *s, const summands *v, int part) {
    const float low = v->activation.low, high = v->activation.high;
    if (v->squares) {
        sum_part(plan, s, &(const summands){true, {ONS_BATCH_PLAIN, 0, 0}, NULL, v->x}, part);
        return;
    }
    switch (v->activation.kind) {
    case ONS_BATCH_PLAIN:
        sum_part(plan, s, &(const summands){false, {ONS_BATCH_PLAIN, 0, 0}, v->dy, v->x}, part);
        return;
    case ONS_BATCH_RELU: sum_part(plan, s, &(const summands){false, {ONS_BATCH_RELU, 0, 0}, v->dy, v->x}, part); return;
    case ONS_BATCH_CLIP:
        sum_part(plan, s, &(const summands){false, {ONS_BATCH_CLIP, low, high}, v->dy, v->x}, part);
        return;
    }
}

static void sum_all(const ons_batch_plan *plan, const ons_batch_scratch *s, const summands *v) {
    if (!plan->size.last) {
#pragma omp parallel for schedule(static) if (plan->parts > 1)
        for (int64_t c = 0; c < plan->size.channels; ++c) sum_channel_of_kind(plan, s, v, c);
        return;
    }
#pragma omp parallel for schedule(static) if (plan->parts > 1)
    for (int part = 0; part < plan->parts; ++part) sum_part_of_kind(plan, s, v, part);
    add_parts(plan, s);
}

void ons_batch_sum_squares(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *x) {
    sum_all(plan, s, &(const summands){.squares = true, .x = x});
}

void ons_batch_sum_products(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                            ons_batch_activation activation) {
    sum_all(plan, s, &(const summands){false, activation, dy, x});
}

/* ------------------------------------------------------------------------------------------------------------- maps */

/* What a map reads and writes: tensors, and vectors with a number for each channel. */
typedef struct mapped {
    const float *x, *dy, *residual;
    float *to;
    const float *scale, *shift, *rest, *factor, *gate_scale, *gate_rest;
    float low, high; /* of an activation */
} mapped;

/* Makes element `i` of the tensor; `c`: its place in the vectors. */
typedef float map_element(const mapped *m, int64_t i, int64_t c);

static inline float normalized(const mapped *m, int64_t i, int64_t c) {
    return MAP(m->x[i], m->shift[c], m->scale[c], m->rest[c]);
}
static inline float relu_of(float x) { return ons_batch_activate((ons_batch_activation){ONS_BATCH_RELU, 0, 0}, x); }
static inline float normalized_relu(const mapped *m, int64_t i, int64_t c) { return relu_of(normalized(m, i, c)); }
static inline float normalized_clip(const mapped *m, int64_t i, int64_t c) {
    return ons_batch_activate((ons_batch_activation){ONS_BATCH_CLIP, m->low, m->high}, normalized(m, i, c));
}
static inline float added(const mapped *m, int64_t i, int64_t c) { return normalized(m, i, c) + m->residual[i]; }
static inline float added_relu(const mapped *m, int64_t i, int64_t c) { return relu_of(added(m, i, c)); }

static inline float scaled(const mapped *m, int64_t i, int64_t c) { return m->dy[i] * m->scale[c]; }
static inline float slope_of(const mapped *m, int64_t i, int64_t c, float dy) {
    return dy * m->scale[c] + (m->x[i] - m->shift[c]) * m->factor[c] + m->rest[c];
}
static inline float differentiated(const mapped *m, int64_t i, int64_t c) { return slope_of(m, i, c, m->dy[i]); }
static inline float gated(const mapped *m, int64_t i, int64_t c, ons_batch_activation activation) {
    return pass(m->dy[i], activation, MAP(m->x[i], m->shift[c], m->gate_scale[c], m->gate_rest[c]));
}
static inline float differentiated_relu(const mapped *m, int64_t i, int64_t c) {
    return slope_of(m, i, c, gated(m, i, c, (ons_batch_activation){ONS_BATCH_RELU, 0, 0}));
}
static inline float differentiated_clip(const mapped *m, int64_t i, int64_t c) {
    return slope_of(m, i, c, gated(m, i, c, (ons_batch_activation){ONS_BATCH_CLIP, m->low, m->high}));
}

/* A tensor is split into rows in which the channel is either fixed or runs with the column. Compiled for each map:
 * which one it is does not depend on the element. */
__attribute__((always_inline)) static inline void map_row(const ons_batch_plan *plan, const mapped *where, int64_t row,
                                                          map_element *map) {
    const mapped m = *where;
    if (plan->size.last) {
        int64_t first = row * plan->width, length = row < plan->rows ? plan->width : plan->extra;
#pragma omp simd
        for (int64_t i = 0; i < length; ++i) m.to[first + i] = map(&m, first + i, i);
    } else {
        int64_t first = row * plan->size.positions, length = plan->size.positions, c = row % plan->size.channels;
#pragma omp simd
        for (int64_t i = 0; i < length; ++i) m.to[first + i] = map(&m, first + i, c);
    }
}

typedef enum map_kind {
    NORMALIZE,
    NORMALIZE_RELU,
    NORMALIZE_CLIP,
    ADD,
    ADD_RELU,
    SCALE,
    DIFFERENTIATE,
    DIFFERENTIATE_RELU,
    DIFFERENTIATE_CLIP,
} map_kind;

static void map_row_of_kind(const ons_batch_plan *plan, const mapped *m, int64_t row, map_kind how) {
    switch (how) {
    case NORMALIZE: map_row(plan, m, row, normalized); return;
    case NORMALIZE_RELU: map_row(plan, m, row, normalized_relu); return;
    case NORMALIZE_CLIP: map_row(plan, m, row, normalized_clip); return;
    case ADD: map_row(plan, m, row, added); return;
    case ADD_RELU: map_row(plan, m, row, added_relu); return;
    case SCALE: map_row(plan, m, row, scaled); return;
    case DIFFERENTIATE: map_row(plan, m, row, differentiated); return;
    case DIFFERENTIATE_RELU: map_row(plan, m, row, differentiated_relu); return;
    case DIFFERENTIATE_CLIP: map_row(plan, m, row, differentiated_clip); return;
    }
}

static void map_rows(const ons_batch_plan *plan, const mapped *m, map_kind how) {
    const ons_channels *size = &plan->size;
    int64_t rows = size->positions == 0 ? 0
                   : size->last         ? plan->rows + (plan->extra > 0)
                                        : size->batch * size->channels;
#pragma omp parallel for schedule(static) if (plan->parts > 1)
    for (int64_t row = 0; row < rows; ++row) map_row_of_kind(plan, m, row, how);
}

void ons_batch_normalize(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *x, const float *residual,
                         ons_batch_activation activation, float *y) {
    static const map_kind alone[] = {
        [ONS_BATCH_PLAIN] = NORMALIZE, [ONS_BATCH_RELU] = NORMALIZE_RELU, [ONS_BATCH_CLIP] = NORMALIZE_CLIP};
    const mapped m = {.x = x,
                      .residual = residual,
                      .to = y,
                      .scale = s->scale,
                      .shift = s->shift,
                      .rest = s->rest,
                      .low = activation.low,
                      .high = activation.high};
    bool relu = activation.kind == ONS_BATCH_RELU;
    map_rows(plan, &m, residual == NULL ? alone[activation.kind] : relu ? ADD_RELU : ADD);
}

void ons_batch_differentiate(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                             ons_batch_activation activation, float *dx) {
    static const map_kind slopes[] = {[ONS_BATCH_PLAIN] = DIFFERENTIATE,
                                      [ONS_BATCH_RELU] = DIFFERENTIATE_RELU,
                                      [ONS_BATCH_CLIP] = DIFFERENTIATE_CLIP};
    const mapped m = {.x = x,
                      .dy = dy,
                      .to = dx,
                      .scale = s->scale,
                      .shift = s->shift,
                      .rest = s->rest,
                      .factor = s->factor,
                      .gate_scale = s->gate_scale,
                      .gate_rest = s->gate_rest,
                      .low = activation.low,
                      .high = activation.high};
    map_rows(plan, &m, x == NULL ? SCALE : slopes[activation.kind]);
}
