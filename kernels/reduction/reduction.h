/* Reductions along any axes: ReduceSum and its relatives.
 *
 * Axes are joined into groups that are kept or reduced by turns; the last group decides the form:
 *
 *     rows      it is reduced:  […, n] → […]      lanes go along each row
 *     columns   it is kept:     [n, w] → [w]      neighbouring columns are lanes, and rows come one after the other
 *
 * Where there are too few results to share among threads, each is made in parts whose number depends on sizes alone,
 * and the parts are joined in order: results do not depend on the number of threads.
 *
 * Short runs are joined in float, as fast as memory brings them, and runs in double: a column of ten thousand numbers
 * of either sign would lose three digits in float.
 */
#ifndef ONSTAGE_KERNELS_REDUCTION_REDUCTION_H
#define ONSTAGE_KERNELS_REDUCTION_REDUCTION_H

#include "graph/upgrade.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/math/integers.h"
#include "kernels/common/math/simd.h"
#include "kernels/common/operator/kernel.h"

/* One way to reduce. Results in between are doubles. */
typedef struct ons_reducer {
    double identity;
    double (*row)(const float *x, int64_t n);
    /* results[j] = results[j] ∘ x[j] ∘ x[j + stride] ∘ … over `rows` rows, for j < width */
    void (*columns)(const float *x, int64_t rows, int64_t stride, int64_t width, double *results);
    /* a[j] = a[j] ∘ b[j] */
    void (*join)(double *a, const double *b, int64_t n);
    /* the results from joined parts of `count` elements */
    void (*finish)(const double *a, float *results, int64_t n, double count);
} ons_reducer;

/* ---- descriptor parts: inputs data, axes; attributes keepdims, noop_with_empty_axes */
enum { ONS_REDUCTION_KEEPDIMS, ONS_REDUCTION_NOOP };
#define ONS_REDUCTION_ATTRIBUTES                                                                                       \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("keepdims", 1), ONS_INT_ATTRIBUTE("noop_with_empty_axes", 0))
#define ONS_REDUCTION_FORMS ONS_FORMS(ons_upgrade_axes_to_input_1, ONS_NO_PATTERNS, NULL)

/* Which axes go away; fails with the node's name. */
ons_status *ons_reduction_axes(const ons_operands *o, bool reduced[ONS_AT_LEAST(ONS_RANK_MAX)]);
/* Elements that go into each result. */
int64_t ons_reduction_count(const ons_operands *o);
ons_status *ons_reduction_infer(ons_operands *o);
ons_cost ons_reduction_cost(const ons_operands *o);
/* Layout rule: channels last stay as they are where the results then lie in an order that has a name. */
ons_status *ons_reduction_choose(const ons_operands *o, ons_layout *inputs, ons_layout *outputs);
ons_status *ons_reduction_prepare(ons_prepare *p, const ons_reducer *reducer);
void ons_reduction_run(const ons_launch *launch);

/* For gradient rules: a value of the output's shape with the reduced axes back as axes of one element. */
ons_value_id ons_reduction_keep(ons_gradient *g, ons_value_id value);
/* A value of the output's shape with the reduced axes back, broadcast to the input's shape. */
ons_value_id ons_reduction_spread(ons_gradient *g, ons_value_id value);

/* For references: the number of the result that element `number` of the input goes into. */
int64_t ons_reduction_target(const ons_operands *o, const bool reduced[ONS_AT_LEAST(ONS_RANK_MAX)], int64_t number);

/* Formulas of a reference over words: the result out[i] at first, with an element taken in, and in the end. */
typedef struct ons_reduction_words {
    void (*start)(const ons_operands *o, void *out, int64_t i);
    void (*step)(const ons_operands *o, void *out, int64_t i, const void *in, int64_t at);
    void (*finish)(void *out, int64_t i, double count);
} ons_reduction_words;
void ons_reduction_each(const ons_operands *o, const void *from, void *to, const ons_reduction_words *formulas);

/* Makes SYMBOL_reference from expressions of the result so far `a` and an element `x`, once for double, once for
 * int64_t; finish expressions of `a` and the double `count`. */
#define ONS_REDUCTION_REFERENCE(SYMBOL, IDENTITY, STEP, FINISH, INT_IDENTITY, INT_STEP, INT_FINISH)                    \
    ONS_REDUCTION_WORDS(SYMBOL##_floats, double, IDENTITY, STEP, FINISH)                                               \
    ONS_REDUCTION_WORDS(SYMBOL##_integers, int64_t, INT_IDENTITY, INT_STEP, INT_FINISH)                                \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        bool floats = ons_dtype_is_float(o->inputs[0].dtype);                                                          \
        ons_reduction_each(o, inputs[0], outputs[0], floats ? &SYMBOL##_floats : &SYMBOL##_integers);                  \
    }
#define ONS_REDUCTION_WORDS(NAME, TYPE, IDENTITY, STEP, FINISH)                                                        \
    static void NAME##_start(const ons_operands *o, void *out, int64_t i) { ((TYPE *)out)[i] = (IDENTITY); }           \
    static void NAME##_step(const ons_operands *o, void *out, int64_t i, const void *in, int64_t at) {                 \
        TYPE a = ((const TYPE *)out)[i], x = ((const TYPE *)in)[at];                                                   \
        ((TYPE *)out)[i] = (STEP);                                                                                     \
    }                                                                                                                  \
    static void NAME##_finish(void *out, int64_t i, double count) {                                                    \
        TYPE a = ((const TYPE *)out)[i];                                                                               \
        ((TYPE *)out)[i] = (FINISH);                                                                                   \
    }                                                                                                                  \
    static const ons_reduction_words NAME = {NAME##_start, NAME##_step, NAME##_finish};

/* Formulas of a reducer. `run`: how many steps are taken in float, at most, before the result goes into a double.
 * `identity` is also an element that changes nothing. */
typedef struct ons_reduction_formulas {
    float identity;
    int run;
    ons_simd_float (*step)(ons_simd_float a, ons_simd_float x);
    ons_simd_float (*join)(ons_simd_float a, ons_simd_float b);
    ons_simd_double (*join_halves)(ons_simd_double a, ons_simd_double b);
    double (*join_one)(double a, double b);
    float (*finish)(double a, double count);
} ons_reduction_formulas;

/* ---- loops: inlined, and the formulas with them, into the functions of the reducer that names them */
#define ONS_REDUCTION_INLINE static inline __attribute__((always_inline))

ONS_REDUCTION_INLINE ons_simd_double_pair ons_reduce_widen(ons_simd_double_pair a, ons_simd_float x,
                                                           const ons_reduction_formulas *f) {
    ons_simd_double_pair b = ons_simd_widen(x);
    return (ons_simd_double_pair){{f->join_halves(a.half[0], b.half[0]), f->join_halves(a.half[1], b.half[1])}};
}

ONS_REDUCTION_INLINE double ons_reduce_row(const float *x, int64_t n, const ons_reduction_formulas *f) {
    const ons_simd_float none = ons_simd_all(f->identity);
    ons_simd_double_pair total = ons_simd_widen(none);
    int64_t i = 0;
    while (i + 4 * ONS_SIMD_FLOATS <= n) {
        int64_t end = n - i < f->run * 4 * ONS_SIMD_FLOATS ? n : i + f->run * 4 * ONS_SIMD_FLOATS;
        ons_simd_float a = none, b = none, c = none, d = none;
        for (; i + 4 * ONS_SIMD_FLOATS <= end; i += 4 * ONS_SIMD_FLOATS) {
            a = f->step(a, ons_simd_load(x + i));
            b = f->step(b, ons_simd_load(x + i + ONS_SIMD_FLOATS));
            c = f->step(c, ons_simd_load(x + i + 2 * ONS_SIMD_FLOATS));
            d = f->step(d, ons_simd_load(x + i + 3 * ONS_SIMD_FLOATS));
        }
        total = ons_reduce_widen(total, f->join(f->join(a, b), f->join(c, d)), f);
    }
    ons_simd_float rest = none;
    for (; i + ONS_SIMD_FLOATS <= n; i += ONS_SIMD_FLOATS) rest = f->step(rest, ons_simd_load(x + i));
    if (i < n) rest = f->step(rest, ons_simd_load_some(x + i, n - i, f->identity));
    total = ons_reduce_widen(total, rest, f);
    total.half[0] = f->join_halves(total.half[0], total.half[1]);
    for (int width = ONS_SIMD_FLOATS / 4; width > 0; width /= 2)
        for (int k = 0; k < width; ++k) total.half[0][k] = f->join_one(total.half[0][k], total.half[0][k + width]);
    return total.half[0][0];
}

/* `count` neighbouring columns, at most a register of them, over so few rows that they are joined in float. */
ONS_REDUCTION_INLINE void ons_reduce_some_columns(const float *x, int64_t rows, int64_t stride, int64_t count,
                                                  double *results, const ons_reduction_formulas *f) {
    bool all = count == ONS_SIMD_FLOATS;
    ons_simd_float a = ons_simd_all(f->identity);
    for (int64_t r = 0; r < rows; ++r, x += stride)
        a = f->step(a, all ? ons_simd_load(x) : ons_simd_load_some(x, count, f->identity));
    double few[ONS_SIMD_FLOATS] = {0}, *to = all ? results : few;
    if (!all) memcpy(few, results, (size_t)count * sizeof(double));
    ons_simd_double_pair joined;
    for (int k = 0; k < 2; ++k) memcpy(&joined.half[k], to + k * (ONS_SIMD_FLOATS / 2), sizeof joined.half[k]);
    joined = ons_reduce_widen(joined, a, f);
    for (int k = 0; k < 2; ++k) memcpy(to + k * (ONS_SIMD_FLOATS / 2), &joined.half[k], sizeof joined.half[k]);
    if (!all) memcpy(results, few, (size_t)count * sizeof(double));
}

/* Few rows at once, from one end to the other: so many streams of memory a processor reads ahead. */
ONS_REDUCTION_INLINE void ons_reduce_columns(const float *x, int64_t rows, int64_t stride, int64_t width,
                                             double *results, const ons_reduction_formulas *f) {
    enum { STREAMS = 8 };
    int64_t run = f->run < STREAMS ? f->run : STREAMS, whole = width / ONS_SIMD_FLOATS * ONS_SIMD_FLOATS;
    for (int64_t r = 0; r < rows; r += run, x += run * stride) {
        int64_t some = rows - r < run ? rows - r : run;
        for (int64_t j = 0; j < whole; j += ONS_SIMD_FLOATS)
            ons_reduce_some_columns(x + j, some, stride, ONS_SIMD_FLOATS, results + j, f);
        if (whole < width) ons_reduce_some_columns(x + whole, some, stride, width - whole, results + whole, f);
    }
}

ONS_REDUCTION_INLINE void ons_reduce_join(double *a, const double *b, int64_t n, const ons_reduction_formulas *f) {
    for (int64_t j = 0; j < n; ++j) a[j] = f->join_one(a[j], b[j]);
}

ONS_REDUCTION_INLINE void ons_reduce_finish(const double *from, float *results, int64_t n, double count,
                                            const ons_reduction_formulas *f) {
    for (int64_t j = 0; j < n; ++j) results[j] = f->finish(from[j], count);
}

/* Makes the functions of `SYMBOL_reducer` and SYMBOL_prepare from STEP(a, x) on ons_simd_float, JOIN(a, b) on vectors
 * of floats and of doubles, JOIN_ONE(a, b) on doubles, and FINISH, an expression of the doubles `a` and `count`. */
#define ONS_DEFINE_REDUCER(SYMBOL, RUN, IDENTITY, STEP, JOIN, JOIN_ONE, FINISH)                                        \
    static inline ons_simd_float SYMBOL##_step(ons_simd_float a, ons_simd_float x) { return STEP(a, x); }              \
    static inline ons_simd_float SYMBOL##_join_simd(ons_simd_float a, ons_simd_float b) { return JOIN(a, b); }         \
    static inline ons_simd_double SYMBOL##_join_halves(ons_simd_double a, ons_simd_double b) { return JOIN(a, b); }    \
    static inline double SYMBOL##_join_one(double a, double b) { return JOIN_ONE(a, b); }                              \
    static inline float SYMBOL##_finish_one(double a, double count) { return (float)(FINISH); }                        \
    static const ons_reduction_formulas SYMBOL##_formulas =                                                            \
        {IDENTITY,           RUN, SYMBOL##_step, SYMBOL##_join_simd, SYMBOL##_join_halves, SYMBOL##_join_one,          \
         SYMBOL##_finish_one};                                                                                         \
    static double SYMBOL##_row(const float *x, int64_t n) { return ons_reduce_row(x, n, &SYMBOL##_formulas); }         \
    static void SYMBOL##_columns(const float *x, int64_t rows, int64_t stride, int64_t width, double *results) {       \
        ons_reduce_columns(x, rows, stride, width, results, &SYMBOL##_formulas);                                       \
    }                                                                                                                  \
    static void SYMBOL##_join(double *a, const double *b, int64_t n) { ons_reduce_join(a, b, n, &SYMBOL##_formulas); } \
    static void SYMBOL##_finish(const double *from, float *results, int64_t n, double count) {                         \
        ons_reduce_finish(from, results, n, count, &SYMBOL##_formulas);                                                \
    }                                                                                                                  \
    static const ons_reducer SYMBOL##_reducer = {IDENTITY, SYMBOL##_row, SYMBOL##_columns, SYMBOL##_join,              \
                                                 SYMBOL##_finish};                                                     \
    static ons_status *SYMBOL##_prepare(ons_prepare *p) { return ons_reduction_prepare(p, &SYMBOL##_reducer); }

/* ---- steps and joins on vectors and on single numbers */
#define ONS_SUM_OF(a, b)     ((a) + (b))
#define ONS_PRODUCT_OF(a, b) ((a) * (b))
#define ONS_ADD_SQUARE(a, x) ((a) + (x) * (x))
/* A NaN wins. */
#define ONS_LARGER_OF(a, b)  ((b) > (a) || (b) != (b) ? (b) : (a))
#define ONS_SMALLER_OF(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))

/* The larger and the smaller on vectors: every bit of the condition is set where it holds. */
#define ONS_CHOICE_OF(CONDITION, a, b)                                                                                 \
    ((__typeof__(a))(((CONDITION) & (__typeof__(CONDITION))(b)) | (~(CONDITION) & (__typeof__(CONDITION))(a))))
#define ONS_SIMD_LARGER(a, b)  ONS_CHOICE_OF(((b) > (a)) | ((b) != (b)), a, b)
#define ONS_SIMD_SMALLER(a, b) ONS_CHOICE_OF(((b) < (a)) | ((b) != (b)), a, b)

static inline ons_simd_float ons_simd_add_magnitude(ons_simd_float a, ons_simd_float x) {
    typedef int32_t bits __attribute__((vector_size(sizeof(ons_simd_float))));
    return a + (ons_simd_float)((bits)x & INT32_MAX);
}

/* The gradient of ReduceMax and ReduceMin: elements that tie share it evenly, as in PyTorch's amax and amin. */
ons_status *ons_reduction_min_max_gradient(ons_gradient *g);

/* --- cases. INPUT(dims) makes the float input, INTEGER_LOW is the smallest integer; `no_gradient` of the long ones. */
/* clang-format off */
#define ONS_REDUCTION_CASES(INPUT, TOLERANCE, INTEGER_LOW, LONG_NO_GRADIENT)                                           \
    {.name = "last", .inputs = {INPUT(5, 37), ONS_I64(-1)}, .tolerance = (TOLERANCE), .flops = 185},                   \
    {.name = "first", .inputs = {INPUT(37, 5), ONS_I64(0)}, .tolerance = (TOLERANCE), .flops = 185},                   \
    {.name = "middle", .inputs = {INPUT(3, 7, 5), ONS_I64(1)}, .tolerance = (TOLERANCE), .flops = 105},                \
    {.name = "channels", .inputs = {INPUT(3, 4, 5, 2), ONS_I64(0, 2, 3)}, .tolerance = (TOLERANCE), .flops = 120},     \
    {.name = "positions", .inputs = {INPUT(3, 4, 5, 2), ONS_I64(2, 3)}, .tolerance = (TOLERANCE), .flops = 120},       \
    {.name = "no_positions", .inputs = {INPUT(3, 4, 5, 2), ONS_I64(2, 3)}, .settings = {ONS_SET_INT("keepdims", 0)},   \
     .tolerance = (TOLERANCE), .flops = 120},                                                                          \
    {.name = "across", .inputs = {INPUT(3, 4, 5, 2), ONS_I64(1)}, .tolerance = (TOLERANCE), .flops = 120},             \
    {.name = "samples", .inputs = {INPUT(3, 4, 5, 2), ONS_I64(0)}, .settings = {ONS_SET_INT("keepdims", 0)},           \
     .tolerance = (TOLERANCE), .flops = 120},                                                                          \
    {.name = "alternating", .inputs = {INPUT(3, 4, 5, 2), ONS_I64(0, 2)}, .tolerance = (TOLERANCE), .flops = 120},     \
    {.name = "all", .inputs = {INPUT(4, 9)}, .tolerance = (TOLERANCE), .flops = 36},                                   \
    {.name = "dropped", .inputs = {INPUT(4, 9), ONS_I64(1)}, .settings = {ONS_SET_INT("keepdims", 0)},                 \
     .tolerance = (TOLERANCE), .flops = 36},                                                                           \
    {.name = "nothing", .inputs = {INPUT(4, 3)}, .settings = {ONS_SET_INT("noop_with_empty_axes", 1)},                 \
     .tolerance = (TOLERANCE), .flops = 12},                                                                           \
    {.name = "rank0", .inputs = {INPUT()}, .tolerance = (TOLERANCE), .flops = 1},                                      \
    {.name = "empty", .inputs = {INPUT(3, 0), ONS_I64(1)}, .tolerance = (TOLERANCE), .flops = 0, .no_gradient = true}, \
    {.name = "threads_rows", .inputs = {INPUT(60, 999), ONS_I64(1)}, .tolerance = (TOLERANCE), .flops = 59940,         \
     .no_gradient = (LONG_NO_GRADIENT)},                                                                               \
    {.name = "threads_columns", .inputs = {INPUT(3, 777, 45), ONS_I64(0, 1)}, .tolerance = (TOLERANCE),                \
     .flops = 104895, .no_gradient = (LONG_NO_GRADIENT)},                                                              \
    {.name = "threads_channels", .inputs = {INPUT(3, 5, 77, 79), ONS_I64(0, 2, 3)}, .tolerance = (TOLERANCE),          \
     .flops = 91245, .no_gradient = (LONG_NO_GRADIENT)},                                                               \
    {.name = "threads_all", .inputs = {INPUT(70001)}, .tolerance = (TOLERANCE), .flops = 70001,                        \
     .no_gradient = (LONG_NO_GRADIENT)},                                                                               \
    {.name = "threads_wide", .inputs = {INPUT(9, 5000), ONS_I64(0)}, .tolerance = (TOLERANCE), .flops = 45000,         \
     .no_gradient = (LONG_NO_GRADIENT)},                                                                               \
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, INTEGER_LOW, 9, 4, 3), ONS_I64(0)}, .flops = 12},            \
    {.name = "twice", .inputs = {INPUT(4, 9), ONS_I64(1, -1)}, .error = "twice"},                                      \
    {.name = "outside", .inputs = {INPUT(4, 9), ONS_I64(2)}, .error = "axis 2"}

#define ONS_REDUCTION_LARGE_CASES                                                                                      \
    {.name = "large_bias", .inputs = {ONS_F32(8192, 768), ONS_I64(0)}, .flops = 6291456, .benchmark = true},           \
    {.name = "large_rows", .inputs = {ONS_F32(8192, 768), ONS_I64(-1)}, .flops = 6291456, .benchmark = true},          \
    {.name = "large_channels", .inputs = {ONS_F32(32, 64, 56, 56), ONS_I64(0, 2, 3)}, .flops = 6422528,                \
     .benchmark = true},                                                                                               \
    {.name = "large_positions", .inputs = {ONS_F32(32, 256, 768), ONS_I64(0)}, .flops = 6291456, .benchmark = true},   \
    {.name = "small_bias", .inputs = {ONS_F32(128, 128), ONS_I64(0)}, .flops = 16384, .benchmark = true}
/* clang-format on */

#endif
