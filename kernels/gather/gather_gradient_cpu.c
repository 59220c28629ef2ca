/* GatherGradient on the CPU. */
#include "kernels/gather/gather_gradient.h"

#include <omp.h>

#include "kernels/common/indexing/indexing.h"
#include "kernels/common/math/simd.h"

enum { COLUMN_BLOCK = 4 * ONS_SIMD_FLOATS, CACHED = 1 << 16 };

static int64_t column_blocks(const state *s) { return (s->inner + COLUMN_BLOCK - 1) / COLUMN_BLOCK; }

/* The places whose rows lie in the table, or in this shard of it, sorted by row. */
typedef struct places {
    const void *indices;
    const int64_t *sorted;
    int64_t count;
} places;

ons_status *ons_gather_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[COTANGENT].dtype != ONS_FLOAT32)
        return ons_node_error(o, "no CPU kernel for %s", ons_dtype_name(o->inputs[COTANGENT].dtype));
    state *s;
    ONS_NEW_STATE(s, p);
    *s = make_state(o);
    if (ons_elements(&o->outputs[0]) == 0) return NULL;
    p->scratch_bytes = (2 * s->count * (int64_t)sizeof(int64_t) + 63) / 64 * 64; /* sort_places */
    return NULL;
}

static int64_t row_of(const state *s, const void *indices, int64_t place) {
    return ons_gather_gradient_row(s, ons_index_at(s->index_dtype, indices, place));
}

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* Sorts places by the digit of their row at bit `shift`; equal ones keep their order. `from` NULL: all places in order,
 * of which those stay out whose row lies in another shard, or outside, a fault that the forward node reports. Returns
 * how many there are. */
static int64_t sort_by_digit(const state *s, const void *indices, int shift, const int64_t *from, int64_t count,
                             int64_t *to) {
    int64_t firsts[DIGITS + 1] = {0};
    for (int64_t i = 0; i < count; ++i) {
        int64_t row = row_of(s, indices, from == NULL ? i : from[i]);
        if (row >= 0) ++firsts[(row >> shift) % DIGITS + 1];
    }
    for (int digit = 0; digit < DIGITS; ++digit) firsts[digit + 1] += firsts[digit];
    int64_t sorted = firsts[DIGITS];
    for (int64_t i = 0; i < count; ++i) {
        int64_t place = from == NULL ? i : from[i], row = row_of(s, indices, place);
        if (row >= 0) to[firsts[(row >> shift) % DIGITS]++] = place;
    }
    return sorted;
}

/* Places by row, those of one row in their own order. `scratch` has two entries a place: what a sort takes depends on
 * how many places there are, not on how many rows. */
static places sort_places(const state *s, const void *indices, int64_t *scratch) {
    int64_t *from = NULL, *to = scratch, *other = scratch + s->count, count = s->count;
    for (int shift = 0; shift == 0 || (s->length - 1) >> shift > 0; shift += DIGIT_BITS) {
        count = sort_by_digit(s, indices, shift, from, count, to);
        from = to;
        to = other;
        other = from;
    }
    return (places){indices, from, count};
}

/* How many places belong to rows before `row`. */
static int64_t places_before(const state *s, const places *p, int64_t row) {
    int64_t low = 0, high = p->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (row_of(s, p->indices, p->sorted[middle]) < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last row that begins at or before that unit of work. */
static int64_t row_at(const state *s, const places *p, int64_t work) {
    int64_t low = 0, high = s->length - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if ((middle + places_before(s, p, middle)) * column_blocks(s) <= work)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Columns [k, end) of a row. Sixty-four at a time stay in registers over all places. */
static void sum_row(const float *cotangent, const int64_t *row_places, int64_t count, int64_t inner, int64_t k,
                    int64_t end, float *out) {
    for (; k + COLUMN_BLOCK <= end; k += COLUMN_BLOCK) {
        ons_simd_float sums[4] = {{0}};
        for (int64_t i = 0; i < count; ++i)
            for (int lane = 0; lane < 4; ++lane)
                sums[lane] += ons_simd_load(cotangent + row_places[i] * inner + k + lane * ONS_SIMD_FLOATS);
        for (int lane = 0; lane < 4; ++lane) ons_simd_store(out + k + lane * ONS_SIMD_FLOATS, sums[lane]);
    }
    for (; k < end; k += ONS_SIMD_FLOATS) {
        int64_t some = end - k < ONS_SIMD_FLOATS ? end - k : ONS_SIMD_FLOATS;
        ons_simd_float sum = {0};
        for (int64_t i = 0; i < count; ++i) {
            const float *from = cotangent + row_places[i] * inner + k;
            sum += some == ONS_SIMD_FLOATS ? ons_simd_load(from) : ons_simd_load_some(from, some, 0);
        }
        if (some == ONS_SIMD_FLOATS)
            ons_simd_store(out + k, sum);
        else
            ons_simd_store_some(out + k, sum, some);
    }
}

static int64_t within(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

/* Zeros for column blocks [begin, end) of rows that follow each other. */
static void clear_blocks(const state *s, int64_t begin, int64_t end, float *rows) {
    int64_t blocks = column_blocks(s);
    int64_t from = begin / blocks * s->inner + begin % blocks * COLUMN_BLOCK;
    int64_t to = end / blocks * s->inner + end % blocks * COLUMN_BLOCK;
    if (from < to) memset(rows + from, 0, (size_t)(to - from) * sizeof *rows);
}

/* What begins in [begin, end) of one outer entry's work: for each row its column blocks, each of one unit and one more
 * for each place. */
static void sum_rows(const state *s, const places *p, const float *cotangent, int64_t begin, int64_t end, float *out) {
    int64_t blocks = column_blocks(s), row = row_at(s, p, begin), at = places_before(s, p, row);
    while (row < s->length && (row + at) * blocks < end) {
        int64_t start = (row + at) * blocks, next = at;
        int64_t looked_up = at < p->count ? row_of(s, p->indices, p->sorted[at]) : s->length;
        float *to = out + row * s->inner;
        if (row < looked_up) {
            int64_t most = (looked_up - row) * blocks;
            clear_blocks(s, within(begin - start, 0, most), within(end - start, 0, most), to);
            row = looked_up;
            continue;
        }
        while (next < p->count && row_of(s, p->indices, p->sorted[next]) == row) ++next;
        int64_t weight = 1 + next - at;
        int64_t first = within((begin - start + weight - 1) / weight, 0, blocks) * COLUMN_BLOCK;
        int64_t last = within((end - start + weight - 1) / weight, 0, blocks) * COLUMN_BLOCK;
        sum_row(cotangent, p->sorted + at, next - at, s->inner, first, last < s->inner ? last : s->inner, to);
        at = next;
        ++row;
    }
}

/* Whether outer entries are tasks enough, and each stays in a core's cache between being cleared and added to. */
static bool has_whole_entries(const state *s, int64_t threads) {
    return s->outer >= 4 * threads && s->length * s->inner <= CACHED;
}

/* Every outer entry by itself: its places in their own order, which is also that of the sums below. `rows`: of places.
 */
static void add_entries(const state *s, const int64_t *rows, const float *cotangent, float *out) {
    int64_t size = s->length * s->inner, work = s->outer * (size + s->count * s->inner);
#pragma omp parallel for schedule(static) if (work > ONS_PARALLEL_GRAIN)
    for (int64_t outer = 0; outer < s->outer; ++outer) {
        float *to = out + outer * size;
        const float *from = cotangent + outer * s->count * s->inner;
        memset(to, 0, (size_t)size * sizeof *to);
        for (int64_t place = 0; place < s->count; ++place, from += s->inner) {
            if (rows[place] < 0) continue; /* of another shard, or outside: a fault that the forward node reports */
            float *row = to + rows[place] * s->inner;
            for (int64_t k = 0; k < s->inner; ++k) row[k] += from[k];
        }
    }
}

void ons_gather_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    const float *cotangent = launch->inputs[COTANGENT];
    float *out = launch->outputs[0];
    if (s->outer * s->length * s->inner == 0) return;
    if (has_whole_entries(s, omp_get_max_threads())) {
        int64_t *rows = launch->scratch;
        for (int64_t place = 0; place < s->count; ++place) rows[place] = row_of(s, launch->inputs[INDICES], place);
        add_entries(s, rows, cotangent, out);
        return;
    }
    places sorted = sort_places(s, launch->inputs[INDICES], launch->scratch);
    int64_t work = (s->length + sorted.count) * column_blocks(s), total = work * s->outer;
#pragma omp parallel if (total * COLUMN_BLOCK > ONS_PARALLEL_GRAIN)
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        int64_t begin = total * thread / threads, end = total * (thread + 1) / threads;
        for (int64_t outer = begin / work; outer * work < end && outer < s->outer; ++outer) {
            int64_t from = begin - outer * work, to = end - outer * work;
            sum_rows(s, &sorted, cotangent + outer * s->count * s->inner, from < 0 ? 0 : from, to > work ? work : to,
                     out + outer * s->length * s->inner);
        }
    }
}

ONS_KERNELS(cpu, gather_gradient, ONS_KERNEL(ons_gather_gradient_prepare, ons_gather_gradient_run))
