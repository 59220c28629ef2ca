/* The gradient of Gather: every row of the table is the sum of the cotangents of the places that looked it up.
 *
 * The places are sorted by row first (counting sort, stable), so that each row is written once, by one thread, and its
 * cotangents are added in the order of their places: the same bits for any number of threads, no atomic additions.
 * Threads share rows and places evenly, as a few rows may hold most places.
 */
#include <omp.h>

#include "kernels/common/lanes.h"
#include "kernels/common/lookup.h"

enum { COTANGENT, INDICES };
enum { AXIS, SHAPE };

static ons_status *gather_gradient_infer(ons_operands *o) {
    const ons_attribute *given = &o->attributes[SHAPE];
    uint32_t axis;
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), shape.rank, &axis));
    ONS_TRY(ons_check_indices(o, INDICES, shape.dims[axis]));
    int64_t around = ons_shape_span(&shape, 0, axis) * ons_shape_span(&shape, axis + 1, shape.rank);
    if (ons_elements(&o->inputs[COTANGENT]) != around * ons_elements(&o->inputs[INDICES]))
        return ons_node_error(o, "the cotangent does not have the shape of what was looked up");
    o->outputs[0] = ons_type_make(o->inputs[COTANGENT].dtype, shape);
    return NULL;
}

static ons_cost gather_gradient_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->inputs[COTANGENT]), ons_operand_bytes(o)};
}

typedef ons_gather state;

static state make_state(const ons_operands *o) {
    const ons_shape *table = &o->outputs[0].shape;
    uint32_t axis = 0;
    ons_axis_resolve(ons_attribute_int(o, AXIS), table->rank, &axis);
    return (state){ons_shape_span(table, 0, axis), table->dims[axis], ons_shape_span(table, axis + 1, table->rank),
                   ons_elements(&o->inputs[INDICES]), o->inputs[INDICES].dtype};
}

static void gather_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    state s = make_state(o);
    const double *cotangent = inputs[COTANGENT];
    const int64_t *indices = inputs[INDICES];
    double *out = outputs[0];
    memset(out, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *out);
    for (int64_t outer = 0; outer < s.outer; ++outer)
        for (int64_t i = 0; i < s.count; ++i) {
            int64_t row = ons_resolve_index(indices[i], s.length);
            for (int64_t k = 0; row >= 0 && k < s.inner; ++k)
                out[(outer * s.length + row) * s.inner + k] += cotangent[(outer * s.count + i) * s.inner + k];
        }
}

static ons_status *gather_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[COTANGENT].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s", ons_dtype_name(o->inputs[COTANGENT].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    *s = make_state(o);
    if (ons_elements(&o->outputs[0]) == 0) return NULL;
    /* first place of each row, and of the row after the last; then the places themselves */
    p->scratch_bytes = ((s->length + 2 + s->count) * (int64_t)sizeof(int64_t) + 63) / 64 * 64;
    return NULL;
}

/* places[firsts[row] … firsts[row + 1]) looked up `row`. `firsts` has length + 2 entries. */
static void sort_places(const state *s, const void *indices, int64_t *firsts, int64_t *places) {
    memset(firsts, 0, (size_t)(s->length + 2) * sizeof *firsts);
    for (int64_t i = 0; i < s->count; ++i) {
        int64_t row = ons_resolve_index(ons_index_at(s->index_dtype, indices, i), s->length);
        firsts[row + 2] += row >= 0; /* a row outside is a fault that the forward node reports */
    }
    for (int64_t row = 0; row < s->length; ++row) firsts[row + 2] += firsts[row + 1];
    for (int64_t i = 0; i < s->count; ++i) {
        int64_t row = ons_resolve_index(ons_index_at(s->index_dtype, indices, i), s->length);
        if (row >= 0) places[firsts[row + 1]++] = i;
    }
}

/* The row at which `work` units of work (one a row and one a place) are done. */
static int64_t row_at(const state *s, const int64_t *firsts, int64_t work) {
    int64_t low = 0, high = s->length;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (firsts[middle] + middle < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sixty-four columns at a time stay in registers over all places. */
static void sum_row(const float *cotangent, const int64_t *places, int64_t count, int64_t inner, float *out) {
    if (count == 0) {
        memset(out, 0, (size_t)inner * sizeof *out);
        return;
    }
    int64_t k = 0;
    for (; k + 4 * ONS_LANES <= inner; k += 4 * ONS_LANES) {
        ons_lanes sums[4] = {{0}};
        for (int64_t i = 0; i < count; ++i)
            for (int lane = 0; lane < 4; ++lane)
                sums[lane] += ons_lanes_load(cotangent + places[i] * inner + k + lane * ONS_LANES);
        for (int lane = 0; lane < 4; ++lane) ons_lanes_store(out + k + lane * ONS_LANES, sums[lane]);
    }
    for (; k < inner; k += ONS_LANES) {
        int64_t some = inner - k < ONS_LANES ? inner - k : ONS_LANES;
        ons_lanes sum = {0};
        for (int64_t i = 0; i < count; ++i) {
            const float *from = cotangent + places[i] * inner + k;
            sum += some == ONS_LANES ? ons_lanes_load(from) : ons_lanes_load_some(from, some, 0);
        }
        if (some == ONS_LANES)
            ons_lanes_store(out + k, sum);
        else
            ons_lanes_store_some(out + k, sum, some);
    }
}

/* Work in [begin, end) of one outer entry's rows. */
static void sum_rows(const state *s, const int64_t *firsts, const int64_t *places, const float *cotangent,
                     int64_t begin, int64_t end, float *out) {
    for (int64_t row = row_at(s, firsts, begin), last = row_at(s, firsts, end); row < last; ++row)
        sum_row(cotangent, places + firsts[row], firsts[row + 1] - firsts[row], s->inner, out + row * s->inner);
}

static void gather_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    const float *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    int64_t *firsts = launch->scratch, *places = firsts + s->length + 2;
    if (s->outer * s->length * s->inner == 0) return;
    sort_places(s, launch->inputs[INDICES], firsts, places);
    int64_t work = s->length + firsts[s->length], total = work * s->outer;
#pragma omp parallel if (total * s->inner > ONS_PARALLEL_GRAIN)
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        int64_t begin = total * thread / threads, end = total * (thread + 1) / threads;
        for (int64_t outer = begin / (work > 0 ? work : 1); outer * work < end && outer < s->outer; ++outer) {
            int64_t from = begin - outer * work, to = end - outer * work;
            sum_rows(s, firsts, places, cotangent + outer * s->count * s->inner, from < 0 ? 0 : from,
                     to > work ? work : to, out + outer * s->length * s->inner);
        }
    }
}

#define OF_TABLE(AXIS, ...) .settings = {ONS_SET_INT("axis", AXIS), ONS_SET_INTS("shape", __VA_ARGS__)}

/* No scratch: see gather_gradient.cu. */
static ons_status *gather_gradient_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[COTANGENT].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CUDA kernel for %s", ons_dtype_name(o->inputs[COTANGENT].dtype));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    *(state *)memory = make_state(o);
    return NULL;
}

static const ons_case gather_gradient_cases[] = {
    {.name = "embedding",
     .inputs = {ONS_F32(3, 4, 5), ONS_RANDOM(ONS_INT64, 0, 10, 3, 4)},
     OF_TABLE(0, 11, 5),
     .tolerance = 1e-5,
     .flops = 60},
    {.name = "crowded",
     .inputs = {ONS_F32(500, 7), ONS_RANDOM(ONS_INT64, 0, 2, 500)},
     OF_TABLE(0, 4, 7),
     .tolerance = 1e-5,
     .flops = 3500},
    {.name = "negative",
     .inputs = {ONS_F32(9, 3), ONS_RANDOM(ONS_INT32, -6, 5, 9)},
     OF_TABLE(0, 6, 3),
     .tolerance = 1e-5,
     .flops = 27},
    {.name = "columns",
     .inputs = {ONS_F32(4, 9), ONS_RANDOM(ONS_INT64, 0, 6, 9)},
     OF_TABLE(-1, 4, 7),
     .tolerance = 1e-5,
     .flops = 36},
    {.name = "middle",
     .inputs = {ONS_F32(3, 2, 2, 2), ONS_RANDOM(ONS_INT64, 0, 4, 2, 2)},
     OF_TABLE(1, 3, 5, 2),
     .tolerance = 1e-5,
     .flops = 24},
    {.name = "one",
     .inputs = {ONS_F32(3, 4), ONS_I64_SCALAR(-1)},
     OF_TABLE(1, 3, 5, 4),
     .tolerance = 1e-5,
     .flops = 12},
    {.name = "none", .inputs = {ONS_F32(0, 4), ONS_RANDOM(ONS_INT64, 0, 2, 0)}, OF_TABLE(0, 3, 4), .tolerance = 1e-5},
    {.name = "threads",
     .inputs = {ONS_F32(512, 128), ONS_RANDOM(ONS_INT64, 0, 64, 512)},
     OF_TABLE(0, 65, 128),
     .tolerance = 1e-5,
     .flops = 65536},
    {.name = "threads_outer",
     .inputs = {ONS_F32(30, 40, 32), ONS_RANDOM(ONS_INT64, 0, 6, 40)},
     OF_TABLE(1, 30, 7, 32),
     .tolerance = 1e-5,
     .flops = 38400},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 5), ONS_RANDOM(ONS_INT64, 0, 10, 4)},
     OF_TABLE(0, 11, 5),
     .error = "looked up"},
    {.name = "large",
     .inputs = {ONS_F32(8192, 768), ONS_RANDOM(ONS_INT64, 0, 50256, 8, 1024)},
     OF_TABLE(0, 50257, 768),
     .flops = 6291456,
     .benchmark = true},
    {.name = "characters",
     .inputs = {ONS_F32(4096, 384), ONS_RANDOM(ONS_INT64, 0, 64, 16, 256)},
     OF_TABLE(0, 65, 384),
     .flops = 1572864,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(gather_gradient, "GatherGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(gather_gradient_infer), ONS_COST(gather_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gather_gradient_reference),
                    ONS_CPU_KERNEL(gather_gradient_prepare, gather_gradient_run),
                    ONS_CUDA_KERNEL(gather_gradient_cuda_prepare, ons_cuda_gather_gradient), gather_gradient_cases);
