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
    return (result >= v->activation.low) & (result <= v->activation.high);
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

/* One channel in ONNX's order: a stretch of positions in every sample. */
static inline __attribute__((always_inline)) void sum_channel(const ons_batch_plan *plan, const ons_batch_scratch *s,
                                                              const summands *v, int64_t channel) {
    const ons_channels *size = &plan->size;
    float shift = s->shift[channel], scale = s->gate_scale[channel], rest = s->gate_rest[channel];
    double first = 0, second = 0;
    for (int64_t n = 0; n < size->batch && size->positions > 0; ++n) {
        int64_t base = (n * size->channels + channel) * size->positions;
        for (int64_t start = 0; start < size->positions; start += RUN * ONS_SIMD_FLOATS) {
            int64_t end =
                start + RUN * ONS_SIMD_FLOATS < size->positions ? start + RUN * ONS_SIMD_FLOATS : size->positions;
            float one = 0, two = 0;
#pragma omp simd reduction(+ : one, two)
            for (int64_t i = start; i < end; ++i) {
                float q = v->x[base + i] - shift;
                float p = v->squares ? q : v->dy[base + i];
                if (v->activation.kind != ONS_BATCH_PLAIN)
                    p = pass(p, v->activation, MAP(v->x[base + i], shift, scale, rest));
                one += p;
                two += p * q;
            }
            first += one;
            second += two;
        }
    }
    s->sums[0][channel] = first;
    s->sums[1][channel] = second;
}

/* A function for each kind, which its loops are compiled for. */
#define SUMS(NAME, SQUARES, KIND)                                                                                      \
    static void NAME(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,          \
                     ons_batch_activation a) {                                                                         \
        const summands v = {(SQUARES), {(KIND), a.low, a.high}, dy, x};                                                \
        if (!plan->size.last) {                                                                                        \
            _Pragma("omp parallel for schedule(static) if (plan->parts > 1)") for (int64_t c = 0;                      \
                                                                                   c < plan->size.channels; ++c)       \
                sum_channel(plan, s, &v, c);                                                                           \
            return;                                                                                                    \
        }                                                                                                              \
        _Pragma("omp parallel for schedule(static) if (plan->parts > 1)") for (int part = 0; part < plan->parts;       \
                                                                               ++part) sum_part(plan, s, &v, part);    \
        add_parts(plan, s);                                                                                            \
    }
SUMS(sum_squares, true, ONS_BATCH_PLAIN)
SUMS(sum_products, false, ONS_BATCH_PLAIN)
SUMS(sum_products_of_relu, false, ONS_BATCH_RELU)
SUMS(sum_products_of_clip, false, ONS_BATCH_CLIP)

void ons_batch_sum_squares(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *x) {
    sum_squares(plan, s, NULL, x, (ons_batch_activation){.kind = ONS_BATCH_PLAIN});
}

void ons_batch_sum_products(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                            ons_batch_activation activation) {
    static void (*const sums[])(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                                ons_batch_activation a) = {[ONS_BATCH_PLAIN] = sum_products,
                                                           [ONS_BATCH_RELU] = sum_products_of_relu,
                                                           [ONS_BATCH_CLIP] = sum_products_of_clip};
    sums[activation.kind](plan, s, dy, x, activation);
}

/* ------------------------------------------------------------------------------------------------------------- maps */

/* Splits a tensor into rows in which the channel is either fixed or runs with the column, and calls MAP for each with
 * ROW (first element), LENGTH, and CHANNEL (of the row; 0 where it runs with the column). */
#define FOR_ROWS(ROW, LENGTH, CHANNEL, MAP_LAST, MAP_PLAIN)                                                            \
    do {                                                                                                               \
        const ons_channels *size_ = &plan->size;                                                                       \
        int64_t rows_ = size_->positions == 0 ? 0                                                                      \
                        : size_->last         ? plan->rows + (plan->extra > 0)                                         \
                                              : size_->batch * size_->channels;                                                \
        _Pragma("omp parallel for schedule(static) if (plan->parts > 1)") for (int64_t row_ = 0; row_ < rows_;         \
                                                                               ++row_) {                               \
            if (size_->last) {                                                                                         \
                int64_t ROW = row_ * plan->width, LENGTH = row_ < plan->rows ? plan->width : plan->extra;              \
                _Pragma("omp simd") for (int64_t i = 0; i < LENGTH; ++i) MAP_LAST;                                     \
            } else {                                                                                                   \
                int64_t ROW = row_ * size_->positions, LENGTH = size_->positions, CHANNEL = row_ % size_->channels;    \
                _Pragma("omp simd") for (int64_t i = 0; i < LENGTH; ++i) MAP_PLAIN;                                    \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* Loops are compiled for each kind of map: which one it is does not depend on the element. */
#define NORMALIZE(ADDED, KIND)                                                                                         \
    FOR_ROWS(row, length, c, y[row + i] = ACTIVATE(KIND, MAP(x[row + i], shift[i], scale[i], rest[i]) ADDED),          \
             y[row + i] = ACTIVATE(KIND, MAP(x[row + i], shift[c], scale[c], rest[c]) ADDED))
#define ACTIVATE(KIND, RESULT) ons_batch_activate((ons_batch_activation){(KIND), low, high}, (RESULT))

void ons_batch_normalize(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *restrict x,
                         const float *residual, ons_batch_activation activation, float *y) {
    const float *restrict scale = s->scale, *restrict shift = s->shift, *restrict rest = s->rest;
    const float low = activation.low, high = activation.high;
    if (activation.kind == ONS_BATCH_CLIP)
        NORMALIZE(, ONS_BATCH_CLIP);
    else if (activation.kind == ONS_BATCH_RELU && residual == NULL)
        NORMALIZE(, ONS_BATCH_RELU);
    else if (activation.kind == ONS_BATCH_RELU)
        NORMALIZE(+residual[row + i], ONS_BATCH_RELU);
    else if (residual == NULL)
        NORMALIZE(, ONS_BATCH_PLAIN);
    else
        NORMALIZE(+residual[row + i], ONS_BATCH_PLAIN);
}

#define DIFFERENTIATE(COLUMN, SLOPE)                                                                                   \
    dx[row + i] = (SLOPE)*scale[COLUMN] + (x[row + i] - shift[COLUMN]) * factor[COLUMN] + rest[COLUMN]
#define GATED_SLOPE(KIND, COLUMN)                                                                                      \
    pass(dy[row + i], (ons_batch_activation){(KIND), low, high},                                                       \
         MAP(x[row + i], shift[COLUMN], gate_scale[COLUMN], gate_rest[COLUMN]))
#define GATED(KIND)                                                                                                    \
    FOR_ROWS(row, length, c, DIFFERENTIATE(i, GATED_SLOPE(KIND, i)), DIFFERENTIATE(c, GATED_SLOPE(KIND, c)))

void ons_batch_differentiate(const ons_batch_plan *plan, const ons_batch_scratch *s, const float *dy, const float *x,
                             ons_batch_activation activation, float *dx) {
    const float *restrict scale = s->scale, *restrict shift = s->shift, *restrict rest = s->rest,
                          *restrict factor = s->factor, *restrict gate_scale = s->gate_scale,
                          *restrict gate_rest = s->gate_rest;
    const float low = activation.low, high = activation.high;
    if (x == NULL)
        FOR_ROWS(row, length, c, dx[row + i] = dy[row + i] * scale[i], dx[row + i] = dy[row + i] * scale[c]);
    else if (activation.kind == ONS_BATCH_RELU)
        GATED(ONS_BATCH_RELU);
    else if (activation.kind == ONS_BATCH_CLIP)
        GATED(ONS_BATCH_CLIP);
    else
        FOR_ROWS(row, length, c, DIFFERENTIATE(i, dy[row + i]), DIFFERENTIATE(c, dy[row + i]));
}
