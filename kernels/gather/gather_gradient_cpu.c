/* GatherGradient on the CPU. */
#include "kernels/gather/gather_gradient.h"

#include <omp.h>

#include "kernels/common/indexing/indexing.h"
#include "kernels/common/math/simd.h"

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
                sums[lane] += ons_simd_load(cotangent + places[i] * inner + k + lane * ONS_LANES);
        for (int lane = 0; lane < 4; ++lane) ons_simd_store(out + k + lane * ONS_LANES, sums[lane]);
    }
    for (; k < inner; k += ONS_LANES) {
        int64_t some = inner - k < ONS_LANES ? inner - k : ONS_LANES;
        ons_lanes sum = {0};
        for (int64_t i = 0; i < count; ++i) {
            const float *from = cotangent + places[i] * inner + k;
            sum += some == ONS_LANES ? ons_simd_load(from) : ons_simd_load_some(from, some, 0);
        }
        if (some == ONS_LANES)
            ons_simd_store(out + k, sum);
        else
            ons_simd_store_some(out + k, sum, some);
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

ONS_KERNELS(cpu, gather_gradient, ONS_KERNEL(gather_gradient_prepare, gather_gradient_run))
