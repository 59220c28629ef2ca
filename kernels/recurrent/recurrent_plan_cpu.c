#include "kernels/recurrent/recurrent_plan.h"

#include <string.h>

#include "kernels/common/rows/rows.h"

/* Operations of a step below which waiting for a second thread costs more than it brings; of all steps, where nobody
 * waits. */
static const double STEP_GRAIN = 4e5, RUN_GRAIN = 1e6;

/* For layers that the table does not have. Each thread reads all of R for its samples: they must be worth it, more so
 * where R comes from beyond its cache. */
static ons_way usual_way(const ons_recurrent *r, int threads) {
    int64_t bytes = r->rows * r->hidden * (int64_t)sizeof(float), least = bytes <= 1 << 20 ? 4 : 16;
    return r->directions * r->batch >= least * threads ? ONS_RECURRENT_SAMPLES : ONS_RECURRENT_UNITS;
}

static ons_way choose_way(const ons_recurrent *r, bool gradient, int threads) {
    uint32_t both = ONS_WAY_BIT(ONS_RECURRENT_SAMPLES) | ONS_WAY_BIT(ONS_RECURRENT_UNITS);
    ons_way rule = usual_way(r, threads);
    return ons_choose(&(ons_choice_question){
        .point = ONS_CHOICE_RECURRENT,
        .threads = threads,
        .sizes = {gradient, r->hidden > 0 ? r->rows / r->hidden : 0, r->directions, r->batch, r->hidden, r->steps},
        .possible = threads > 1 ? both : ONS_WAY_BIT(rule),
        .rule = rule,
    });
}

void ons_recurrent_divide(const ons_recurrent *r, bool gradient, int threads, ons_recurrent_blocks *blocks) {
    double step = 2.0 * (double)(r->directions * r->batch) * (double)r->rows * (double)r->hidden;
    blocks->by_samples = choose_way(r, gradient, threads) == ONS_RECURRENT_SAMPLES;
    bool alone = blocks->by_samples ? step * (double)r->steps < RUN_GRAIN : step < STEP_GRAIN;
    blocks->threads = alone || threads < 1 ? 1 : threads;
    blocks->by_samples |= blocks->threads == 1;
    for (blocks->width = blocks->by_samples ? ONS_RECURRENT_BLOCK : ONS_RECURRENT_BLOCK / 2;; blocks->width /= 2) {
        blocks->each = (r->hidden + blocks->width - 1) / blocks->width;
        blocks->count = r->directions * blocks->each;
        bool even = blocks->count % blocks->threads == 0 || blocks->count >= 8 * blocks->threads;
        if (even || blocks->by_samples || blocks->width <= ONS_RECURRENT_BLOCK / 4) return;
    }
}

/* The part of [0, total) that lies in [first, first + count), counted from `first`. */
static void clip_part(int64_t total, const ons_recurrent_member *m, int64_t first, int64_t count, int64_t *begin,
                      int64_t *end) {
    int64_t from = ons_part_begin(total, m->parts, m->part) - first,
            to = ons_part_begin(total, m->parts, m->part + 1) - first;
    *begin = from < 0 ? 0 : from > count ? count : from;
    *end = to < *begin ? *begin : to > count ? count : to;
}

ons_recurrent_block ons_recurrent_block_at(const ons_recurrent *r, const ons_recurrent_blocks *blocks, int64_t index) {
    int64_t first = index % blocks->each * blocks->width, left = r->hidden - first;
    return (ons_recurrent_block){.index = index,
                                 .d = index / blocks->each,
                                 .first = first,
                                 .width = left < blocks->width ? left : blocks->width};
}

void ons_recurrent_each_block(const ons_recurrent *r, const ons_recurrent_blocks *blocks,
                              const ons_recurrent_member *member, int64_t step, ons_recurrent_block_function *function,
                              const void *run) {
    for (int64_t d = member->first_d; d < member->last_d; ++d) {
        int64_t begin = 0, end = blocks->each, first = 0, last = r->batch;
        if (blocks->by_samples)
            clip_part(r->directions * r->batch, member, d * r->batch, r->batch, &first, &last);
        else
            clip_part(blocks->count, member, d * blocks->each, blocks->each, &begin, &end);
        for (int64_t i = begin; i < end && first < last; ++i) {
            ons_recurrent_block b = ons_recurrent_block_at(r, blocks, d * blocks->each + i);
            b.sample = first;
            b.samples = last - first;
            function(run, &b, ons_recurrent_time(r, d, step));
        }
    }
}

int64_t ons_recurrent_book(int64_t *bytes, int64_t floats) {
    int64_t at = *bytes;
    *bytes += (floats * (int64_t)sizeof(float) + 63) / 64 * 64;
    return at;
}

ons_status *ons_recurrent_prepare_gemm(ons_prepare *p, ons_shape a, ons_shape b, const ons_gemm_form *form, bool bias,
                                       bool beta, int64_t *largest, ons_gemm *product) {
    p->scratch_bytes = 0;
    ONS_TRY(ons_gemm_prepare(p, &a, &b, form, bias, beta, product));
    if (p->scratch_bytes > *largest) *largest = p->scratch_bytes;
    return NULL;
}

ons_recurrent_parts ons_recurrent_parts_of(const ons_recurrent *r, float *record) {
    return (ons_recurrent_parts){
        .gates = record,
        .hidden = record + r->hidden_at,
        .cell = r->cell == ONS_CELL_LSTM ? record + r->cell_at : NULL,
        .candidates = r->cell == ONS_CELL_GRU ? record + r->candidate_at : NULL,
        .slopes = r->keeps_slopes ? record + r->slopes_at : NULL,
    };
}

void ons_recurrent_swap_time(const ons_recurrent *r, const float *from, float *to, bool to_batch_first) {
    size_t bytes = (size_t)r->inputs * sizeof(float);
#pragma omp parallel for schedule(static) if (r->steps * r->batch * r->inputs > ONS_PARALLEL_GRAIN)
    for (int64_t t = 0; t < r->steps; ++t)
        for (int64_t n = 0; n < r->batch; ++n) {
            int64_t plain = (t * r->batch + n) * r->inputs, swapped = (n * r->steps + t) * r->inputs;
            memcpy(to + (to_batch_first ? swapped : plain), from + (to_batch_first ? plain : swapped), bytes);
        }
}
