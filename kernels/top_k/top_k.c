/* TopK: the k largest (or smallest) elements along an axis, and their indices. Of equal elements the one with the
 * smaller index comes first; a NaN counts as the largest number, as in PyTorch. Results are sorted whether asked for or
 * not. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/kernel.h"
#include "kernels/top_k/select.h"
#include "kernels/top_k/top_k.h"

enum { DATA, COUNT };
enum { AXIS, LARGEST, SORTED };

static ons_status *make_state(const ons_operands *o, ons_top_k *s) {
    const ons_shape *shape = &o->inputs[DATA].shape;
    int64_t counts[ONS_INTEGERS_MAX];
    uint32_t number, axis;
    ONS_TRY(ons_constant_integers(o, COUNT, counts, &number));
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), shape->rank, &axis));
    if (number != 1 || counts[0] < 0 || counts[0] > shape->dims[axis])
        return ons_node_error(o, "k must be one number from 0 to the %lld elements of the axis",
                              (long long)shape->dims[axis]);
    *s = (ons_top_k){ons_shape_span(shape, 0, axis), shape->dims[axis], ons_shape_span(shape, axis + 1, shape->rank),
                     counts[0], ons_attribute_int(o, LARGEST) != 0};
    return NULL;
}

static ons_status *top_k_infer(ons_operands *o) {
    ons_top_k s;
    uint32_t axis = 0;
    ONS_TRY(make_state(o, &s));
    ons_axis_resolve(ons_attribute_int(o, AXIS), o->inputs[DATA].shape.rank, &axis);
    o->outputs[0] = o->inputs[DATA];
    o->outputs[0].shape.dims[axis] = s.k;
    if (o->output_count > 1) o->outputs[1] = ons_type_make(ONS_INT64, o->outputs[0].shape);
    return NULL;
}

static ons_cost top_k_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[DATA]), ons_operand_bytes(o)};
}

/* ----------------------------------------------------------------------------------------------------------- reference
 */

/* Whether word `a` comes before word `b` by value. */
static bool precedes(ons_dtype dtype, bool largest, const void *words, int64_t a, int64_t b) {
    if (ons_dtype_is_float(dtype)) {
        double x = ((const double *)words)[a], y = ((const double *)words)[b];
        bool x_nan = x != x, y_nan = y != y;
        if (x_nan || y_nan) return largest ? x_nan && !y_nan : y_nan && !x_nan;
        return largest ? x > y : x < y;
    }
    int64_t x = ((const int64_t *)words)[a], y = ((const int64_t *)words)[b];
    if (dtype == ONS_UINT64) return largest ? (uint64_t)x > (uint64_t)y : (uint64_t)x < (uint64_t)y;
    return largest ? x > y : x < y;
}

/* The next after `last` (-1: the first) in the order of value and index. */
static int64_t next_after(const ons_operands *o, const ons_top_k *s, const void *words, int64_t begin, int64_t last) {
    ons_dtype dtype = o->inputs[DATA].dtype;
    int64_t best = -1;
    for (int64_t i = 0; i < s->length; ++i) {
        int64_t at = begin + i * s->inner, before = begin + last * s->inner;
        bool taken = last >= 0 && (precedes(dtype, s->largest, words, at, before) ||
                                   (i <= last && !precedes(dtype, s->largest, words, before, at)));
        if (!taken && (best < 0 || precedes(dtype, s->largest, words, at, begin + best * s->inner))) best = i;
    }
    return best;
}

static void top_k_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    ons_top_k s = {0};
    ons_status_free(make_state(o, &s)); /* has passed inference */
    for (int64_t line = 0; line < s.outer * s.inner; ++line) {
        int64_t begin = line / s.inner * s.length * s.inner + line % s.inner, last = -1;
        for (int64_t k = 0; k < s.k; ++k) {
            int64_t to = (line / s.inner * s.k + k) * s.inner + line % s.inner;
            last = next_after(o, &s, inputs[DATA], begin, last);
            memcpy((char *)outputs[0] + 8 * to, (const char *)inputs[DATA] + 8 * (begin + last * s.inner), 8);
            if (ons_has_output(o, 1)) ((int64_t *)outputs[1])[to] = last;
        }
    }
}

/* -------------------------------------------------------------------------------------------------------------- kernel
 */

static ons_status *top_k_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_require_float32(p->operands));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_top_k), &memory));
    ons_top_k *s = memory;
    ONS_TRY(make_state(p->operands, s));
    if (s->length > INT32_MAX) return ons_node_error(p->operands, "no CPU kernel for so long an axis");
    p->scratch_bytes = (p->threads * ons_select_scratch(s->length, s->k) * (int64_t)sizeof(uint64_t) + 63) / 64 * 64;
    p->implementation = ons_select_inserts(s->length, s->k) ? "insertion" : "radix sort";
    return NULL;
}

static void select_line(const ons_top_k *s, int64_t line, const float *x, uint64_t *scratch, float *values,
                        int64_t *indices) {
    x += line / s->inner * s->length * s->inner + line % s->inner;
    int64_t to = line / s->inner * s->k * s->inner + line % s->inner;
    const uint64_t *chosen = ons_select(x, s->length, s->inner, s->k, s->largest, scratch);
    for (int64_t k = 0; k < s->k; ++k) {
        int64_t index = (int64_t)(uint32_t)chosen[k];
        values[to + k * s->inner] = x[index * s->inner];
        if (indices != NULL) indices[to + k * s->inner] = index;
    }
}

static void top_k_run(const ons_launch *launch) {
    const ons_top_k *s = launch->state;
    int64_t lines = s->outer * s->inner;
#pragma omp parallel for schedule(static) if (lines * s->length > ONS_PARALLEL_GRAIN / 4)
    for (int64_t line = 0; line < lines; ++line)
        select_line(s, line, launch->inputs[DATA],
                    (uint64_t *)launch->scratch + omp_get_thread_num() * ons_select_scratch(s->length, s->k),
                    launch->outputs[0], launch->outputs[1]);
}

static ons_status *top_k_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_elements_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 1)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

/* k was an attribute before opset 10. */
static ons_status *top_k_upgrade(ons_upgrade *u) { return ons_upgrade_attribute_to_input(u, "k", COUNT, ONS_INT64); }

#define GIVEN(DTYPE, COUNT, ...)                                                                                       \
    {                                                                                                                  \
        .dtype = (DTYPE), .shape = ONS_DIMS(COUNT), .value_count = (COUNT), .values = { __VA_ARGS__ }                  \
    }
static ons_status *top_k_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, top_k_prepare); }

#define SMALLEST(AXIS) .settings = {ONS_SET_INT("largest", 0), ONS_SET_INT("axis", AXIS)}

static const ons_case top_k_cases[] = {
    {.name = "last", .inputs = {ONS_F32(4, 9), ONS_I64(3)}, .outputs = 2, .flops = 36},
    {.name = "first", .inputs = {ONS_F32(9, 5), ONS_I64(4)}, SMALLEST(0), .outputs = 2, .flops = 45},
    {.name = "middle",
     .inputs = {ONS_F32(2, 70, 3), ONS_I64(5)},
     .settings = {ONS_SET_INT("axis", -2)},
     .outputs = 2,
     .flops = 420},
    {.name = "unsorted",
     .inputs = {ONS_F32(4, 9), ONS_I64(3)},
     .settings = {ONS_SET_INT("sorted", 0)},
     .outputs = 2,
     .flops = 36},
    {.name = "values_alone", .inputs = {ONS_F32(4, 9), ONS_I64(2)}, .flops = 36},
    {.name = "all", .inputs = {ONS_F32(3, 200), ONS_I64(200)}, .outputs = 2, .flops = 600},
    {.name = "all_smallest",
     .inputs = {ONS_F32_IN(-9, 9, 2, 300), ONS_I64(150)},
     SMALLEST(1),
     .outputs = 2,
     .flops = 600},
    {.name = "none", .inputs = {ONS_F32(3, 4), ONS_I64(0)}, .outputs = 2, .flops = 12},
    {.name = "ties",
     .inputs = {GIVEN(ONS_FLOAT32, 8, 1, 2, 2, 0.0, -0.0, 2, -1, 1), ONS_I64(6)},
     .outputs = 2,
     .flops = 8,
     .no_gradient = true},
    {.name = "not_numbers",
     .inputs = {GIVEN(ONS_FLOAT32, 6, 1, NAN, INFINITY, -INFINITY, NAN, 3), ONS_I64(4)},
     .outputs = 2,
     .flops = 6,
     .no_gradient = true},
    {.name = "smallest_not_numbers",
     .inputs = {GIVEN(ONS_FLOAT32, 6, 1, NAN, INFINITY, -INFINITY, NAN, 3), ONS_I64(5)},
     SMALLEST(0),
     .outputs = 2,
     .flops = 6,
     .no_gradient = true},
    {.name = "int64", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3, 8), ONS_I64(3)}, .outputs = 2, .flops = 24},
    {.name = "uint64", .inputs = {GIVEN(ONS_UINT64, 4, 1, 9, 3, 0), ONS_I64(3)}, .outputs = 2, .flops = 4},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_FLOAT16, -2, 2, 3, 8), ONS_I64(3)},
     .outputs = 2,
     .flops = 24,
     .no_gradient = true},
    {.name = "threads", .inputs = {ONS_F32(300, 65), ONS_I64(7)}, .outputs = 2, .flops = 19500},
    {.name = "threads_long", .inputs = {ONS_F32(9, 2000), ONS_I64(100)}, .outputs = 2, .flops = 18000},
    {.name = "too_many", .inputs = {ONS_F32(3, 4), ONS_I64(5)}, .error = "from 0 to the 4"},
    {.name = "scalar", .inputs = {ONS_F32(), ONS_I64(1)}, .error = "axis"},
    {.name = "unknown_k", .inputs = {ONS_F32(3, 4), ONS_RANDOM(ONS_INT64, 1, 2, 1)}, .error = "depends on data"},
    {.name = "experts", .inputs = {ONS_F32(16384, 64), ONS_I64(2)}, .outputs = 2, .flops = 1048576, .benchmark = true},
    {.name = "vocabulary",
     .inputs = {ONS_F32(64, 50257), ONS_I64(50)},
     .outputs = 2,
     .flops = 3216448,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(
    top_k, "TopK", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 2, 1, 2),
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1), ONS_INT_ATTRIBUTE("largest", 1), ONS_INT_ATTRIBUTE("sorted", 1)),
    ONS_INFER(top_k_infer), ONS_COST(top_k_cost), ONS_GRADIENT_RULE(top_k_gradient, ONS_INPUT_BIT(DATA)),
    ONS_SAVES(0, ONS_INPUT_BIT(1)), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
    ONS_FORMS(top_k_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(top_k_reference),
    ONS_CPU_KERNEL(top_k_prepare, top_k_run), ONS_CUDA_KERNEL(top_k_prepare_cuda, ons_cuda_top_k), top_k_cases);
