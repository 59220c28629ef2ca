/* The gradient of LSTM, GRU and RNN in float32: back through time step by step, which leaves the gradient of what
 * enters the gates at every step; then the gradients of X and of all weights as single large products with that. */
#include <omp.h>
#include <string.h>

#include "kernels/common/gemm/small_gemm.h"
#include "kernels/common/rows/rows.h"
#include "kernels/recurrent/recurrent_cell.h"

typedef struct recurrent_back_state {
    ons_recurrent r;
    ons_recurrent_blocks blocks;
    ons_gemm to_x[ONS_RECURRENT_DIRECTIONS], to_w[ONS_RECURRENT_DIRECTIONS];
    ons_gemm to_r[ONS_RECURRENT_DIRECTIONS], to_last_r[ONS_RECURRENT_DIRECTIONS]; /* GRU: first two gates, last gate */
    bool wants_dx, wants_dw, wants_dr;
    ons_recurrent_back_row_function *rows[ONS_RECURRENT_DIRECTIONS];
    uint32_t present;
    int64_t x_at, dx_at, last_at, dh_at, dc_at, dq_at, packed_at, product_at;
} recurrent_back_state;

/* One run. `before` is [D][T][N][G·H]. The gradient of GRU's last gate reaches R_h from a place of its own, `last`,
 * [D][T][N][H], that of the first two from where it reaches W. */
typedef struct backward {
    const recurrent_back_state *state;
    const ons_launch *launch;
    ons_recurrent_parts parts; /* is only read */
    float *before, *last;
    float *dh, *dc, *dq; /* [D][N][H] */
    float *packed;       /* [block][G·H][width]: columns of R */
    const float *peepholes, *dy;
    const int32_t *lengths;
} backward;

static const void *input_of(const recurrent_back_state *state, const ons_launch *launch, uint32_t index) {
    return (state->present >> index & 1) != 0 ? launch->inputs[index] : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- prepare */

static void recurrent_back_destroy(void *memory) {
    recurrent_back_state *state = memory;
    for (int d = 0; d < ONS_RECURRENT_DIRECTIONS; ++d) {
        ons_onednn_destroy(&state->to_x[d]);
        ons_onednn_destroy(&state->to_w[d]);
        ons_onednn_destroy(&state->to_r[d]);
        ons_onednn_destroy(&state->to_last_r[d]);
    }
}

static ons_status *prepare_products(ons_prepare *p, recurrent_back_state *state, int64_t *largest) {
    const ons_recurrent *r = &state->r;
    int64_t samples = r->steps * r->batch, split = r->cell == ONS_CELL_GRU ? 2 * r->hidden : r->rows;
    const ons_shape before = {2, {samples, r->rows}}, x = {2, {samples, r->inputs}}, h = {2, {samples, r->hidden}};
    const ons_gemm_form plain = {.alpha = 1}, sum = {.transpose_a = true, .alpha = 1, .row_a = r->rows};
    for (int64_t d = 0; d < r->directions; ++d) {
        if (state->wants_dx)
            ONS_TRY(ons_recurrent_prepare_gemm(p, before, (ons_shape){2, {r->rows, r->inputs}}, &plain, false, d > 0,
                                               largest, &state->to_x[d]));
        if (state->wants_dw)
            ONS_TRY(ons_recurrent_prepare_gemm(p, before, x, &sum, false, false, largest, &state->to_w[d]));
        if (!state->wants_dr) continue;
        ONS_TRY(ons_recurrent_prepare_gemm(p, (ons_shape){2, {samples, split}}, h, &sum, false, false, largest,
                                           &state->to_r[d]));
        if (r->cell == ONS_CELL_GRU)
            ONS_TRY(ons_recurrent_prepare_gemm(p, h, h, &(ons_gemm_form){.transpose_a = true, .alpha = 1}, false, false,
                                               largest, &state->to_last_r[d]));
    }
    return NULL;
}

static int64_t book_scratch(recurrent_back_state *state) {
    const ons_recurrent *r = &state->r;
    int64_t bytes = 0, samples = r->steps * r->batch, ends = r->directions * r->batch * r->hidden;
    int64_t gru = r->cell == ONS_CELL_GRU ? ends * r->steps : 0;
    state->x_at = ons_recurrent_book(&bytes, r->batch_first && state->wants_dw ? samples * r->inputs : 0);
    state->dx_at = ons_recurrent_book(&bytes, r->batch_first && state->wants_dx ? samples * r->inputs : 0);
    state->last_at = ons_recurrent_book(&bytes, gru);
    state->dh_at = ons_recurrent_book(&bytes, ends);
    state->dc_at = ons_recurrent_book(&bytes, ends);
    state->dq_at = ons_recurrent_book(&bytes, ends);
    state->packed_at = ons_recurrent_book(&bytes, state->blocks.count * state->blocks.width * r->rows);
    state->product_at = bytes;
    return bytes;
}

ons_status *ons_recurrent_gradient_prepare(ons_prepare *p, ons_cell cell) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    recurrent_back_state *state;
    ONS_NEW_STATE(state, p);
    ONS_TRY(ons_recurrent_of(o, cell, &state->r));
    ons_recurrent_divide(&state->r, true, p->threads, &state->blocks);
    for (uint32_t i = 0; i < o->input_count; ++i) state->present |= ons_has_input(o, i) ? 1u << i : 0;
    state->wants_dx = ons_has_output(o, ONS_RG_DX);
    state->wants_dw = ons_has_output(o, ONS_RG_DW);
    state->wants_dr = ons_has_output(o, ONS_RG_DR);
    for (int64_t d = 0; d < state->r.directions; ++d)
        state->rows[d] = ons_recurrent_back_row_function_of(&state->r, d, ons_has_input(o, ONS_RG_P));
    int64_t bytes = book_scratch(state), largest = 0;
    ons_status *status = prepare_products(p, state, &largest);
    int64_t needed = bytes + largest;
    if (status == NULL) status = ons_require_scratch(p, needed);
    if (status != NULL) {
        recurrent_back_destroy(state);
        p->destroy = NULL;
        return status;
    }
    p->destroy = recurrent_back_destroy;
    p->scratch_bytes = bytes + largest;
    p->implementation = ons_recurrent_implementation(&state->blocks);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- one row */

static float *before_at(const backward *f, int64_t d, int64_t t, int64_t n) {
    const ons_recurrent *r = &f->state->r;
    return f->before + ons_recurrent_gates_row(r, d, t, n);
}

static ons_recurrent_back_row row_at(const backward *f, const ons_recurrent_block *b, int64_t t, int64_t n) {
    const ons_recurrent *r = &f->state->r;
    const ons_recurrent_parts *parts = &f->parts;
    int64_t gates = ons_recurrent_gates_row(r, b->d, t, n) + b->first;
    int64_t before = ons_recurrent_state_row(r, b->d, ons_recurrent_slot_before(r, b->d, t), n) + b->first;
    int64_t after = ons_recurrent_state_row(r, b->d, ons_recurrent_slot_after(r, b->d, t), n) + b->first;
    int64_t end = (b->d * r->batch + n) * r->hidden + b->first;
    int64_t candidates = ons_recurrent_candidate_row(r, b->d, t, n);
    ons_recurrent_back_row w = {.count = b->width,
                                .hidden = r->hidden,
                                .gate_at = r->gate_at,
                                .gates = parts->gates + gates,
                                .slopes = parts->slopes == NULL ? NULL : parts->slopes + gates,
                                .h_before = parts->hidden + before,
                                .before = before_at(f, b->d, t, n) + b->first,
                                .dh = f->dh + end};
    if (r->cell == ONS_CELL_LSTM) {
        w.c_before = parts->cell + before;
        w.c_after = parts->cell + after;
        w.dc = f->dc + end;
        w.peepholes = f->peepholes == NULL ? NULL : f->peepholes + b->d * 3 * r->hidden + b->first;
    } else if (r->cell == ONS_CELL_GRU) {
        w.candidates = parts->candidates + candidates + b->first;
        w.last = f->last + candidates + b->first;
        w.dq = f->dq + end;
    }
    return w;
}

/* --------------------------------------------------------------------------------------------------------- one step */

static void add_cotangent(const backward *f, const ons_recurrent_block *b, int64_t t, int64_t n, float *restrict dh) {
    const ons_recurrent *r = &f->state->r;
    if (f->dy == NULL) return;
    const float *restrict dy = f->dy + ons_recurrent_y_row(r, b->d, t, n) + b->first;
    for (int64_t j = 0; j < b->width; ++j) dh[j] += dy[j];
}

/* The gates of a step, from the gradient of the state behind it and the cotangent of Y. */
static void gates_of_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const backward *f = run;
    const ons_recurrent *r = &f->state->r;
    for (int64_t n = b->sample; n < b->sample + b->samples; ++n) {
        ons_recurrent_back_row w = row_at(f, b, t, n);
        if (t >= ons_recurrent_length(r, f->lengths, n)) {
            ons_recurrent_back_skip_row(r, &w);
            continue;
        }
        add_cotangent(f, b, t, n, w.dh);
        f->state->rows[b->d](r, r->activations[b->d], &w);
    }
}

/* Gradients of `rows` gate sums (from row `first` of R on), those of samples `apart` elements apart, × those rows of R:
 * the block's part of [N][H]. */
static void multiply(const backward *f, const ons_recurrent_block *b, const float *gradients, int64_t apart,
                     int64_t first, int64_t rows, float *to, bool add) {
    const ons_recurrent *r = &f->state->r;
    int64_t width = f->state->blocks.width;
    float *panel = f->packed + b->index * width * r->rows;
    ons_small_gemm product = {.m = b->samples, .n = b->width, .k = rows, .add = add};
    ons_small_multiply(&product, (ons_small_matrix){(float *)gradients + b->sample * apart, apart},
                       (ons_small_matrix){panel + first * width, width},
                       (ons_small_matrix){to + (b->d * r->batch + b->sample) * r->hidden + b->first, r->hidden});
}

/* After all units of the step are there. */
static void products_of_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const backward *f = run;
    const ons_recurrent *r = &f->state->r;
    int64_t at = ons_recurrent_candidate_row(r, b->d, t, 0), hidden = r->hidden;
    int64_t rows = r->cell == ONS_CELL_GRU ? 2 * hidden : r->rows;
    multiply(f, b, before_at(f, b->d, t, 0), r->rows, 0, rows, f->dh, true);
    if (r->reset_after) multiply(f, b, f->last + at, hidden, 2 * hidden, hidden, f->dh, true);
}

/* GRU whose reset gate comes before the product: after the last gates of all units are there. */
static void reset_gates_of_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const backward *f = run;
    const ons_recurrent *r = &f->state->r;
    multiply(f, b, f->last + ons_recurrent_candidate_row(r, b->d, t, 0), r->hidden, 2 * r->hidden, r->hidden, f->dq,
             false);
    for (int64_t n = b->sample; n < b->sample + b->samples; ++n) {
        ons_recurrent_back_row w = row_at(f, b, t, n);
        if (t < ons_recurrent_length(r, f->lengths, n))
            ons_recurrent_gru_reset_row(r, r->activations[b->d], &w);
        else
            ons_recurrent_back_skip_row(r, &w);
    }
}

/* The block's columns of R. */
static void pack_block(const backward *f, int64_t index) {
    const ons_recurrent *r = &f->state->r;
    ons_recurrent_block b = ons_recurrent_block_at(r, &f->state->blocks, index);
    const float *from = (const float *)f->launch->inputs[ONS_RG_R] + b.d * r->rows * r->hidden + b.first;
    float *panel = f->packed + index * f->state->blocks.width * r->rows;
    for (int64_t k = 0; k < r->rows; ++k)
        memcpy(panel + k * f->state->blocks.width, from + k * r->hidden, (size_t)b.width * sizeof(float));
}

/* Takes the cotangents of the last states. */
static void begin_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const backward *f = run;
    const ons_recurrent *r = &f->state->r;
    const float *dy_h = input_of(f->state, f->launch, ONS_RG_DY_H), *dy_c = input_of(f->state, f->launch, ONS_RG_DY_C);
    for (int64_t n = b->sample; n < b->sample + b->samples; ++n) {
        int64_t to = (b->d * r->batch + n) * r->hidden + b->first, end = ons_recurrent_end_row(r, b->d, n) + b->first;
        for (int64_t j = 0; j < b->width; ++j) {
            f->dh[to + j] = dy_h == NULL ? 0 : dy_h[end + j];
            f->dc[to + j] = dy_c == NULL ? 0 : dy_c[end + j];
        }
    }
}

static void end_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const backward *f = run;
    const ons_recurrent *r = &f->state->r;
    float *dh0 = f->launch->outputs[ONS_RG_DH0], *dc0 = f->launch->outputs[ONS_RG_DC0];
    size_t bytes = (size_t)b->width * sizeof(float);
    for (int64_t n = b->sample; n < b->sample + b->samples; ++n) {
        int64_t from = (b->d * r->batch + n) * r->hidden + b->first, end = ons_recurrent_end_row(r, b->d, n) + b->first;
        if (dh0 != NULL) memcpy(dh0 + end, f->dh + from, bytes);
        if (dc0 != NULL) memcpy(dc0 + end, f->dc + from, bytes);
    }
}

static void run_steps(const backward *f, const ons_recurrent_member *m) {
    const ons_recurrent *r = &f->state->r;
    const ons_recurrent_blocks *blocks = &f->state->blocks;
    bool halves = r->cell == ONS_CELL_GRU && !r->reset_after;
    ons_recurrent_each_block(r, blocks, m, 0, begin_block, f);
    for (int64_t step = r->steps; step-- > 0;) {
        ons_recurrent_each_block(r, blocks, m, step, gates_of_block, f);
        ons_recurrent_wait(blocks);
        if (halves) {
            ons_recurrent_each_block(r, blocks, m, step, reset_gates_of_block, f);
            ons_recurrent_wait(blocks);
        }
        ons_recurrent_each_block(r, blocks, m, step, products_of_block, f);
    }
    ons_recurrent_each_block(r, blocks, m, 0, end_block, f);
}

static void run_member(const backward *f, int part, int parts) {
    const ons_recurrent_blocks *blocks = &f->state->blocks;
    int64_t first = ons_part_begin(blocks->count, parts, part), last = ons_part_begin(blocks->count, parts, part + 1);
    for (int64_t i = first; i < last; ++i) pack_block(f, i);
#pragma omp barrier
    int64_t together = ons_recurrent_together(&f->state->r, blocks);
    for (int64_t d = 0; d < f->state->r.directions; d += together)
        run_steps(f, &(ons_recurrent_member){part, parts, d, d + together});
}

/* ---------------------------------------------------------------------------------------------- sums over all steps */

/* Sums over `rows` rows that lie `stride` apart, of a (times b, rows `stride_b` apart, where it is given). Rows are
 * added up in short runs first: a long sum of floats loses digits. */
static void sum_rows(const float *a, int64_t stride, const float *b, int64_t stride_b, int64_t rows, float *to,
                     int64_t columns) {
    enum { RUN = 64, COLUMNS = 128 };
#pragma omp parallel for schedule(static) if (rows * columns > ONS_PARALLEL_GRAIN)
    for (int64_t first = 0; first < columns; first += COLUMNS) {
        int64_t count = columns - first < COLUMNS ? columns - first : COLUMNS;
        float total[COLUMNS] = {0};
        for (int64_t begin = 0; begin < rows; begin += RUN) {
            float sum[COLUMNS] = {0};
            for (int64_t i = begin; i < begin + RUN && i < rows; ++i)
                for (int64_t j = 0; j < count; ++j) {
                    float factor = b == NULL ? 1.0f : b[i * stride_b + first + j];
                    sum[j] += a[i * stride + first + j] * factor;
                }
            for (int64_t j = 0; j < count; ++j) total[j] += sum[j];
        }
        for (int64_t j = 0; j < count; ++j) to[first + j] = total[j];
    }
}

static void sum_biases(const backward *f, float *db) {
    const ons_recurrent *r = &f->state->r;
    int64_t samples = r->steps * r->batch;
    for (int64_t d = 0; d < r->directions; ++d) {
        float *to = db + d * 2 * r->rows;
        sum_rows(before_at(f, d, 0, 0), r->rows, NULL, 0, samples, to, r->rows);
        memcpy(to + r->rows, to, (size_t)r->rows * sizeof(float));
        if (r->reset_after)
            sum_rows(f->last + ons_recurrent_candidate_row(r, d, 0, 0), r->hidden, NULL, 0, samples,
                     to + r->rows + 2 * r->hidden, r->hidden);
    }
}

/* P in the order i, o, f: i and f saw the cell before the step, o the one after it. */
static void sum_peepholes(const backward *f, float *dp) {
    const ons_recurrent *r = &f->state->r;
    static const int gates[3] = {ONS_LSTM_I, ONS_LSTM_O, ONS_LSTM_F};
    for (int64_t d = 0; d < r->directions; ++d)
        for (int i = 0; i < 3; ++i) {
            int64_t slot = r->reverse[d] != (gates[i] == ONS_LSTM_O) ? 1 : 0;
            sum_rows(before_at(f, d, 0, 0) + r->gate_at[gates[i]], r->rows,
                     f->parts.cell + ons_recurrent_state_row(r, d, slot, 0), r->hidden, r->steps * r->batch,
                     dp + (d * 3 + i) * r->hidden, r->hidden);
        }
}

/* dR: of all gates with the state before each step; GRU's last gate with what R_h was multiplied with. */
static void multiply_recurrent(const backward *f, int64_t d, float *dr, const ons_launch *launch) {
    const recurrent_back_state *state = f->state;
    const ons_recurrent *r = &state->r;
    int64_t at = ons_recurrent_candidate_row(r, d, 0, 0);
    const float *h = f->parts.hidden + ons_recurrent_state_row(r, d, r->reverse[d] ? 1 : 0, 0);
    ons_gemm_run(&state->to_r[d], before_at(f, d, 0, 0), h, NULL, 0, dr, launch);
    if (r->cell == ONS_CELL_GRU)
        ons_gemm_run(&state->to_last_r[d], f->last + at, r->reset_after ? h : f->parts.candidates + at, NULL, 0,
                     dr + 2 * r->hidden * r->hidden, launch);
}

static void run_products(const backward *f) {
    const recurrent_back_state *state = f->state;
    const ons_recurrent *r = &state->r;
    char *scratch = f->launch->scratch;
    const void *const *inputs = f->launch->inputs;
    void *const *outputs = f->launch->outputs;
    const float *x = inputs[ONS_RG_X], *w = inputs[ONS_RG_W];
    float *dx = outputs[ONS_RG_DX], *dw = outputs[ONS_RG_DW], *dr = outputs[ONS_RG_DR];
    if (r->batch_first && state->wants_dw) {
        ons_recurrent_swap_time(r, x, (float *)(scratch + state->x_at), false);
        x = (float *)(scratch + state->x_at);
    }
    if (r->batch_first && state->wants_dx) dx = (float *)(scratch + state->dx_at);
    ons_launch launch = *f->launch;
    launch.scratch = scratch + state->product_at;
    for (int64_t d = 0; d < r->directions; ++d) {
        const float *before = before_at(f, d, 0, 0);
        if (state->wants_dx)
            ons_gemm_run(&state->to_x[d], before, w + d * r->rows * r->inputs, NULL, d > 0, dx, &launch);
        if (state->wants_dw) ons_gemm_run(&state->to_w[d], before, x, NULL, 0, dw + d * r->rows * r->inputs, &launch);
        if (state->wants_dr) multiply_recurrent(f, d, dr + d * r->rows * r->hidden, &launch);
    }
    if (r->batch_first && state->wants_dx) ons_recurrent_swap_time(r, dx, outputs[ONS_RG_DX], true);
    if (outputs[ONS_RG_DB] != NULL) sum_biases(f, outputs[ONS_RG_DB]);
    if (outputs[ONS_RG_DP] != NULL) sum_peepholes(f, outputs[ONS_RG_DP]);
}

/* The parts of the record behind the gates, where the result does not lie in its place. */
static void keep_record(const ons_recurrent *r, const float *record, float *result) {
    if (result != record)
        memcpy(result + r->hidden_at, record + r->hidden_at, (size_t)(r->record - r->hidden_at) * sizeof(float));
}

void ons_recurrent_gradient_run(const ons_launch *launch) {
    const recurrent_back_state *state = launch->state;
    char *scratch = launch->scratch;
    keep_record(&state->r, launch->inputs[ONS_RG_RECORD], launch->outputs[ONS_RG_BEFORE]);
    backward f = {.state = state,
                  .launch = launch,
                  .parts = ons_recurrent_parts_of(&state->r, (float *)launch->inputs[ONS_RG_RECORD]),
                  .before = launch->outputs[ONS_RG_BEFORE],
                  .last = (float *)(scratch + state->last_at),
                  .dh = (float *)(scratch + state->dh_at),
                  .dc = (float *)(scratch + state->dc_at),
                  .dq = (float *)(scratch + state->dq_at),
                  .packed = (float *)(scratch + state->packed_at),
                  .peepholes = input_of(state, launch, ONS_RG_P),
                  .dy = input_of(state, launch, ONS_RG_DY),
                  .lengths = input_of(state, launch, ONS_RG_LENGTHS)};
#pragma omp parallel num_threads(state->blocks.threads) if (state->blocks.threads > 1)
    { run_member(&f, omp_get_thread_num(), omp_get_num_threads()); }
    run_products(&f);
}
