/* Reductions along any axes: ReduceSum and its relatives.
 *
 * Axes are joined into groups that are kept or reduced by turns; the last group decides the form:
 *
 *     rows      it is reduced:  […, n] → […]      16 lanes go along each row
 *     columns   it is kept:     [n, w] → [w]      neighbouring columns are lanes, and rows come one after the other
 *
 * Where there are too few results to share among threads, each is made in parts whose number depends on sizes alone,
 * and the parts are joined in order: results do not depend on the number of threads.
 */
#ifndef ONSTAGE_KERNELS_COMMON_REDUCTION_H
#define ONSTAGE_KERNELS_COMMON_REDUCTION_H

#include "graph/upgrade.h"
#include "kernels/common/axes.h"
#include "kernels/common/integers.h"
#include "kernels/common/kernel.h"
#include "kernels/common/lanes.h"

/* One way to reduce. Results in between are floats; a row's own total is as exact as `row` makes it. */
typedef struct ons_reducer {
    float identity;
    float (*row)(const float *x, int64_t n);
    /* results[j] = x[j] ∘ x[j + stride] ∘ … over `rows` rows, for j < width ≤ ONS_REDUCTION_WIDTH */
    void (*columns)(const float *x, int64_t rows, int64_t stride, int width, float *results);
    /* a[j] = a[j] ∘ b[j] */
    void (*join)(float *a, const float *b, int64_t n);
    /* the result from the joined parts of `count` elements, in place */
    void (*finish)(float *a, int64_t n, double count);
} ons_reducer;

enum { ONS_REDUCTION_WIDTH = 64, ONS_REDUCTION_BLOCK = 4096 };

/* ---- descriptor parts: inputs data, axes; attributes keepdims, noop_with_empty_axes */
enum { ONS_REDUCTION_KEEPDIMS, ONS_REDUCTION_NOOP };
#define ONS_REDUCTION_ATTRIBUTES                                                                                       \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("keepdims", 1), ONS_INT_ATTRIBUTE("noop_with_empty_axes", 0))
#define ONS_REDUCTION_FORMS ONS_FORMS(ons_upgrade_axes_to_input_1, ONS_NO_PATTERNS, NULL)

/* Which axes go away; fails with the node's name. */
ons_status *ons_reduction_axes(const ons_operands *o, bool reduced[static ONS_RANK_MAX]);
/* Elements that go into each result. */
int64_t ons_reduction_count(const ons_operands *o);
ons_status *ons_reduction_infer(ons_operands *o);
ons_cost ons_reduction_cost(const ons_operands *o);
ons_status *ons_reduction_prepare(ons_prepare *p, const ons_reducer *reducer);
void ons_reduction_run(const ons_launch *launch);

/* For gradient rules: a value of the output's shape with the reduced axes back as axes of one element. */
ons_value_id ons_reduction_keep(ons_gradient *g, ons_value_id value);
/* The same, and broadcast to the input's shape. */
ons_value_id ons_reduction_spread(ons_gradient *g, ons_value_id value);

/* For references: the number of the result that element `number` of the input goes into. */
int64_t ons_reduction_target(const ons_operands *o, const bool reduced[static ONS_RANK_MAX], int64_t number);

/* Makes SYMBOL_reference from expressions of the result so far `a` and an element `x`, once for double, once for
 * int64_t; finish expressions of `a` and the double `count`. */
#define ONS_REDUCTION_REFERENCE(SYMBOL, IDENTITY, STEP, FINISH, INT_IDENTITY, INT_STEP, INT_FINISH)                    \
    ONS_REDUCTION_LOOP(SYMBOL##_floats, double, IDENTITY, STEP, FINISH)                                                \
    ONS_REDUCTION_LOOP(SYMBOL##_integers, int64_t, INT_IDENTITY, INT_STEP, INT_FINISH)                                 \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        (ons_dtype_is_float(o->inputs[0].dtype) ? SYMBOL##_floats : SYMBOL##_integers)(o, inputs[0], outputs[0]);      \
    }
#define ONS_REDUCTION_LOOP(FUNCTION, TYPE, IDENTITY, STEP, FINISH)                                                     \
    static void FUNCTION(const ons_operands *o, const void *from, void *to) {                                          \
        const TYPE *in = from;                                                                                         \
        TYPE *out = to;                                                                                                \
        bool reduced[ONS_RANK_MAX];                                                                                    \
        ons_status_free(ons_reduction_axes(o, reduced));                                                               \
        double count = (double)ons_reduction_count(o);                                                                 \
        (void)count;                                                                                                   \
        for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) out[i] = (IDENTITY);                         \
        for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {                                             \
            int64_t target = ons_reduction_target(o, reduced, i);                                                      \
            TYPE a = out[target], x = in[i];                                                                           \
            out[target] = (STEP);                                                                                      \
        }                                                                                                              \
        for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {                                            \
            TYPE a = out[i];                                                                                           \
            out[i] = (FINISH);                                                                                         \
        }                                                                                                              \
    }

/* Makes the functions of `SYMBOL_reducer` and SYMBOL_prepare from STEP(a, x) and JOIN(a, b) on ons_lanes, JOIN_ONE(a,
 * b) on floats, and FINISH, an expression of the float `a` and the double `count`. IDENTITY is also an element that
 * changes nothing. */
#define ONS_DEFINE_REDUCER(SYMBOL, IDENTITY, STEP, JOIN, JOIN_ONE, FINISH)                                             \
    static float SYMBOL##_block(const float *x, int64_t n) {                                                           \
        ons_lanes a = ons_lanes_all(IDENTITY), b = a, c = a, d = a;                                                    \
        int64_t i = 0;                                                                                                 \
        for (; i + 4 * ONS_LANES <= n; i += 4 * ONS_LANES) {                                                           \
            a = STEP(a, ons_lanes_load(x + i));                                                                        \
            b = STEP(b, ons_lanes_load(x + i + ONS_LANES));                                                            \
            c = STEP(c, ons_lanes_load(x + i + 2 * ONS_LANES));                                                        \
            d = STEP(d, ons_lanes_load(x + i + 3 * ONS_LANES));                                                        \
        }                                                                                                              \
        for (; i + ONS_LANES <= n; i += ONS_LANES) a = STEP(a, ons_lanes_load(x + i));                                 \
        if (i < n) b = STEP(b, ons_lanes_load_some(x + i, n - i, IDENTITY));                                           \
        a = JOIN(JOIN(a, b), JOIN(c, d));                                                                              \
        for (int width = ONS_LANES / 2; width > 0; width /= 2)                                                         \
            for (int lane = 0; lane < width; ++lane) a[lane] = JOIN_ONE(a[lane], a[lane + width]);                     \
        return a[0];                                                                                                   \
    }                                                                                                                  \
    static float SYMBOL##_row(const float *x, int64_t n) {                                                             \
        if (n <= ONS_REDUCTION_BLOCK) return SYMBOL##_block(x, n);                                                     \
        double result = IDENTITY;                                                                                      \
        for (int64_t i = 0; i < n; i += ONS_REDUCTION_BLOCK) {                                                         \
            int64_t some = n - i < ONS_REDUCTION_BLOCK ? n - i : ONS_REDUCTION_BLOCK;                                  \
            double next = SYMBOL##_block(x + i, some);                                                                 \
            result = JOIN_ONE(result, next);                                                                           \
        }                                                                                                              \
        return (float)result;                                                                                          \
    }                                                                                                                  \
    static void SYMBOL##_columns(const float *x, int64_t rows, int64_t stride, int width, float *results) {            \
        if (width == 4 * ONS_LANES) {                                                                                  \
            ons_lanes a = ons_lanes_all(IDENTITY), b = a, c = a, d = a;                                                \
            for (int64_t r = 0; r < rows; ++r, x += stride) {                                                          \
                a = STEP(a, ons_lanes_load(x));                                                                        \
                b = STEP(b, ons_lanes_load(x + ONS_LANES));                                                            \
                c = STEP(c, ons_lanes_load(x + 2 * ONS_LANES));                                                        \
                d = STEP(d, ons_lanes_load(x + 3 * ONS_LANES));                                                        \
            }                                                                                                          \
            ons_lanes_store(results, a);                                                                               \
            ons_lanes_store(results + ONS_LANES, b);                                                                   \
            ons_lanes_store(results + 2 * ONS_LANES, c);                                                               \
            ons_lanes_store(results + 3 * ONS_LANES, d);                                                               \
            return;                                                                                                    \
        }                                                                                                              \
        for (int j = 0; j < width; j += ONS_LANES) {                                                                   \
            ons_lanes a = ons_lanes_all(IDENTITY);                                                                     \
            int some = width - j;                                                                                      \
            for (int64_t r = 0; r < rows; ++r)                                                                         \
                a = STEP(a, some >= ONS_LANES ? ons_lanes_load(x + r * stride + j)                                     \
                                              : ons_lanes_load_some(x + r * stride + j, some, IDENTITY));              \
            if (some >= ONS_LANES)                                                                                     \
                ons_lanes_store(results + j, a);                                                                       \
            else                                                                                                       \
                ons_lanes_store_some(results + j, a, some);                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void SYMBOL##_join(float *a, const float *b, int64_t n) {                                                   \
        for (int64_t j = 0; j < n; ++j) a[j] = JOIN_ONE(a[j], b[j]);                                                   \
    }                                                                                                                  \
    static void SYMBOL##_finish(float *results, int64_t n, double count) {                                             \
        for (int64_t j = 0; j < n; ++j) {                                                                              \
            float a = results[j];                                                                                      \
            results[j] = (float)(FINISH);                                                                              \
        }                                                                                                              \
        (void)count;                                                                                                   \
    }                                                                                                                  \
    static const ons_reducer SYMBOL##_reducer = {IDENTITY, SYMBOL##_row, SYMBOL##_columns, SYMBOL##_join,              \
                                                 SYMBOL##_finish};                                                     \
    static ons_status *SYMBOL##_prepare(ons_prepare *p) { return ons_reduction_prepare(p, &SYMBOL##_reducer); }

/* ---- steps and joins on lanes and on single numbers */
#define ONS_SUM_OF(a, b)     ((a) + (b))
#define ONS_PRODUCT_OF(a, b) ((a) * (b))
#define ONS_ADD_SQUARE(a, x) ((a) + (x) * (x))
/* A NaN wins. */
#define ONS_LARGER_OF(a, b)  ((b) > (a) || (b) != (b) ? (b) : (a))
#define ONS_SMALLER_OF(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))

typedef int32_t ons_lanes_bits __attribute__((vector_size(sizeof(ons_lanes))));

static inline ons_lanes ons_lanes_choose(ons_lanes_bits mask, ons_lanes yes, ons_lanes no) {
    return (ons_lanes)((mask & (ons_lanes_bits)yes) | (~mask & (ons_lanes_bits)no));
}
static inline ons_lanes ons_lanes_larger(ons_lanes a, ons_lanes b) {
    return ons_lanes_choose((b > a) | (b != b), b, a);
}
static inline ons_lanes ons_lanes_smaller(ons_lanes a, ons_lanes b) {
    return ons_lanes_choose((b < a) | (b != b), b, a);
}
static inline ons_lanes ons_lanes_add_magnitude(ons_lanes a, ons_lanes x) {
    return a + (ons_lanes)((ons_lanes_bits)x & 0x7fffffff);
}

#endif
