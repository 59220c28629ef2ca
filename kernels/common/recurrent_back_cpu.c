/* The gradient of LSTM, GRU and RNN in float32: back through time step by step, which leaves the gradient of what
 * enters the gates at every step; then the gradients of X and of all weights as single large products with that. */
#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/common/recurrent_plan.h"
#include "kernels/common/rows.h"
#include "kernels/common/small_product.h"

typedef struct recurrent_back_state {
    ons_recurrent r;
    ons_recurrent_blocks blocks;
    ons_product to_x[ONS_RECURRENT_DIRECTIONS], to_w[ONS_RECURRENT_DIRECTIONS];
    ons_product to_r[ONS_RECURRENT_DIRECTIONS],
        to_last_r[ONS_RECURRENT_DIRECTIONS]; /* GRU: first two gates, last gate */
    bool wants_dx, wants_dw, wants_dr;
    uint32_t present;
    int64_t x_at, dx_at, before_at, first_at, last_at, dh_at, dc_at, dq_at, packed_at, product_at;
} recurrent_back_state;

/* One run. `before` is [D][T][N][G·H]. GRU's products with R take the first two gates, [D][T][N][2·H], and the last,
 * [D][T][N][H], from places of their own: what reaches R_h is not what reaches W_h. */
typedef struct backward {
    const recurrent_back_state *state;
    const ons_launch *launch;
    ons_recurrent_parts parts; /* is only read */
    float *before, *first, *last;
    float *dh, *dc, *dq; /* [D][N][H] */
    float *packed;       /* [block][G·H][width]: columns of R */
    const float *peepholes, *dy;
    const int32_t *lengths;
} backward;

static const void *input_of(const recurrent_back_state *state, const ons_launch *launch, uint32_t index) {
    return (state->present >> index & 1) != 0 ? launch->inputs[index] : NULL;
}

/* ------------------------------------------------------------------------------------------------------------ prepare
 */

static void recurrent_back_destroy(void *memory) {
    recurrent_back_state *state = memory;
    for (int d = 0; d < ONS_RECURRENT_DIRECTIONS; ++d) {
        ons_dnnl_destroy(&state->to_x[d]);
        ons_dnnl_destroy(&state->to_w[d]);
        ons_dnnl_destroy(&state->to_r[d]);
        ons_dnnl_destroy(&state->to_last_r[d]);
    }
}

static ons_status *prepare_products(ons_prepare *p, recurrent_back_state *state, int64_t *largest) {
    const ons_recurrent *r = &state->r;
    int64_t samples = r->steps * r->batch, split = r->cell == ONS_CELL_GRU ? 2 * r->hidden : r->rows;
    for (int64_t d = 0; d < r->directions; ++d) {
        if (state->wants_dx)
            ONS_TRY(ons_recurrent_prepare_product(p, (ons_shape){2, {samples, r->rows}},
                                                  (ons_shape){2, {r->rows, r->inputs}}, false, false, false, d > 0,
                                                  largest, &state->to_x[d]));
        if (state->wants_dw)
            ONS_TRY(ons_recurrent_prepare_product(p, (ons_shape){2, {samples, r->rows}},
                                                  (ons_shape){2, {samples, r->inputs}}, true, false, false, false,
                                                  largest, &state->to_w[d]));
        if (!state->wants_dr) continue;
        ONS_TRY(ons_recurrent_prepare_product(p, (ons_shape){2, {samples, split}}, (ons_shape){2, {samples, r->hidden}},
                                              true, false, false, false, largest, &state->to_r[d]));
        if (r->cell == ONS_CELL_GRU)
            ONS_TRY(ons_recurrent_prepare_product(p, (ons_shape){2, {samples, r->hidden}},
                                                  (ons_shape){2, {samples, r->hidden}}, true, false, false, false,
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
    state->before_at = ons_recurrent_book(&bytes, ends * r->steps * r->gates);
    state->first_at = ons_recurrent_book(&bytes, 2 * gru);
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
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(recurrent_back_state), &memory));
    recurrent_back_state *state = memory;
    ONS_TRY(ons_recurrent_of(o, cell, &state->r));
    ons_recurrent_divide(&state->r, p->threads, &state->blocks);
    for (uint32_t i = 0; i < o->input_count; ++i) state->present |= ons_has_input(o, i) ? 1u << i : 0;
    state->wants_dx = ons_has_output(o, ONS_RG_DX);
    state->wants_dw = ons_has_output(o, ONS_RG_DW);
    state->wants_dr = ons_has_output(o, ONS_RG_DR);
    int64_t bytes = book_scratch(state), largest = 0;
    ons_status *status = prepare_products(p, state, &largest);
    int64_t needed = bytes + largest;
    if (status == NULL && needed > p->scratch_limit)
        status = ons_node_error(o, "needs %lld bytes of scratch, more than the %lld that the plan grants",
                                (long long)needed, (long long)p->scratch_limit);
    if (status != NULL) {
        recurrent_back_destroy(state);
        p->destroy = NULL;
        return status;
    }
    p->destroy = recurrent_back_destroy;
    p->scratch_bytes = bytes + largest;
    p->implementation = "steps by blocks of units";
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ one row
 */

/* The units of one block, of one sample at one step. */
typedef struct row {
    int64_t count, hidden;
    const float *gates, *slopes, *candidates, *h_before, *c_before, *c_after;
    const float *peepholes;
    float *before, *first, *last;
    float *dh, *dc, *dq;
} row;

static row row_at(const backward *f, const ons_recurrent_block *b, int64_t t, int64_t n) {
    const ons_recurrent *r = &f->state->r;
    const ons_recurrent_parts *parts = &f->parts;
    int64_t gates = ons_recurrent_gates_row(r, b->d, t, n) + b->first;
    int64_t before = ons_recurrent_state_row(r, b->d, ons_recurrent_slot_before(r, b->d, t), n) + b->first;
    int64_t after = ons_recurrent_state_row(r, b->d, ons_recurrent_slot_after(r, b->d, t), n) + b->first;
    int64_t end = (b->d * r->batch + n) * r->hidden + b->first;
    int64_t candidates = ons_recurrent_candidate_row(r, b->d, t, n);
    row w = {.count = b->width,
             .hidden = r->hidden,
             .gates = parts->gates + gates,
             .slopes = parts->slopes == NULL ? NULL : parts->slopes + gates,
             .h_before = parts->hidden + before,
             .before = f->before + gates,
             .dh = f->dh + end};
    if (r->cell == ONS_CELL_LSTM) {
        w.c_before = parts->cell + before;
        w.c_after = parts->cell + after;
        w.dc = f->dc + end;
        w.peepholes = f->peepholes == NULL ? NULL : f->peepholes + b->d * 3 * r->hidden + b->first;
    } else if (r->cell == ONS_CELL_GRU) {
        w.candidates = parts->candidates + candidates + b->first;
        w.first = f->first + 2 * candidates + b->first;
        w.last = f->last + candidates + b->first;
        w.dq = f->dq + end;
    }
    return w;
}

/* Derivatives of a gate's activation: the record's, or made from its results into `own`. */
static const float *slopes_of(const ons_activation *activation, const row *w, int gate, float *own) {
    if (w->slopes != NULL) return w->slopes + gate * w->hidden;
    ons_activation_row_slopes(activation, w->gates + gate * w->hidden, own, w->count);
    return own;
}

static void skip_row(const ons_recurrent *r, const row *w) {
    size_t bytes = (size_t)w->count * sizeof(float);
    for (int64_t gate = 0; gate < r->gates; ++gate) memset(w->before + gate * w->hidden, 0, bytes);
    if (r->cell != ONS_CELL_GRU) return;
    memset(w->first, 0, bytes);
    memset(w->first + w->hidden, 0, bytes);
    memset(w->last, 0, bytes);
}

/* From here on dh of a row is what passes by the products; they are added to it. */
static void rnn_row(const ons_recurrent *r, const ons_activation *activations, const row *w) {
    float own[ONS_RECURRENT_BLOCK];
    const float *slopes = slopes_of(&activations[0], w, 0, own);
    for (int64_t j = 0; j < w->count; ++j) {
        w->before[j] = w->dh[j] * slopes[j];
        w->dh[j] = 0;
    }
}

static void lstm_output(const ons_recurrent *r, const ons_activation *activations, const row *w, float *restrict dc) {
    float value[ONS_RECURRENT_BLOCK], slope[ONS_RECURRENT_BLOCK], own[ONS_RECURRENT_BLOCK];
    const float *output = w->gates + ONS_LSTM_O * w->hidden;
    float *restrict d_output = w->before + ONS_LSTM_O * w->hidden, *restrict dh = w->dh;
    memcpy(value, w->c_after, (size_t)w->count * sizeof(float));
    if (ons_activation_result_tells(&activations[2])) {
        ons_activation_row(&activations[2], INFINITY, value, NULL, w->count);
        ons_activation_row_slopes(&activations[2], value, slope, w->count);
    } else {
        ons_activation_row(&activations[2], INFINITY, value, slope, w->count);
    }
    const float *slopes = slopes_of(&activations[0], w, ONS_LSTM_O, own);
    for (int64_t j = 0; j < w->count; ++j) {
        d_output[j] = dh[j] * value[j] * slopes[j];
        dc[j] = w->dc[j] + dh[j] * output[j] * slope[j];
        dh[j] = 0;
    }
    for (int64_t j = 0; w->peepholes != NULL && j < w->count; ++j) dc[j] += d_output[j] * w->peepholes[w->hidden + j];
}

static void lstm_row(const ons_recurrent *r, const ons_activation *activations, const row *w) {
    int64_t hidden = w->hidden, count = w->count;
    const float *input = w->gates, *forget = input + 2 * hidden, *fresh = input + 3 * hidden;
    const float *c_before = w->c_before, *p = w->peepholes;
    float *d_input = w->before, *d_forget = d_input + 2 * hidden, *d_fresh = d_input + 3 * hidden;
    float dc[ONS_RECURRENT_BLOCK];
    float own_i[ONS_RECURRENT_BLOCK], own_f[ONS_RECURRENT_BLOCK], own_c[ONS_RECURRENT_BLOCK];
    lstm_output(r, activations, w, dc);
    const float *slope_i = slopes_of(&activations[0], w, ONS_LSTM_I, own_i);
    const float *slope_f = slopes_of(&activations[0], w, ONS_LSTM_F, own_f);
    const float *slope_c = slopes_of(&activations[1], w, ONS_LSTM_C, own_c);
    if (r->coupled) {
        for (int64_t j = 0; j < count; ++j) d_input[j] = dc[j] * (fresh[j] - c_before[j]) * slope_i[j];
        memset(d_forget, 0, (size_t)count * sizeof(float));
    } else {
        for (int64_t j = 0; j < count; ++j) d_input[j] = dc[j] * fresh[j] * slope_i[j];
        for (int64_t j = 0; j < count; ++j) d_forget[j] = dc[j] * c_before[j] * slope_f[j];
    }
    for (int64_t j = 0; j < count; ++j) d_fresh[j] = dc[j] * input[j] * slope_c[j];
    for (int64_t j = 0; j < count; ++j) w->dc[j] = dc[j] * forget[j];
    for (int64_t j = 0; p != NULL && j < count; ++j) w->dc[j] += d_input[j] * p[j] + d_forget[j] * p[2 * hidden + j];
}

/* The gates z and h; r too where the reset comes after the product. */
static void gru_row(const ons_recurrent *r, const ons_activation *activations, const row *w) {
    float own_z[ONS_RECURRENT_BLOCK], own_r[ONS_RECURRENT_BLOCK], own_h[ONS_RECURRENT_BLOCK];
    int64_t hidden = w->hidden, count = w->count;
    const float *z = w->gates, *reset = z + hidden, *fresh = z + 2 * hidden, *h = w->h_before;
    const float *slope_z = slopes_of(&activations[0], w, ONS_GRU_Z, own_z);
    const float *slope_r = slopes_of(&activations[0], w, ONS_GRU_R, own_r);
    const float *slope_h = slopes_of(&activations[1], w, ONS_GRU_H, own_h);
    float *restrict d_fresh = w->before + 2 * hidden, *restrict d_z = w->before, *restrict dh = w->dh;
    for (int64_t j = 0; j < count; ++j) {
        d_fresh[j] = dh[j] * (1.0f - z[j]) * slope_h[j];
        d_z[j] = dh[j] * (h[j] - fresh[j]) * slope_z[j];
        dh[j] *= z[j];
    }
    assert(w->first != NULL && w->last != NULL); /* every row of a GRU has them */
    memcpy(w->first, d_z, (size_t)count * sizeof(float));
    memcpy(w->last, d_fresh, (size_t)count * sizeof(float));
    if (!r->reset_after) return;
    for (int64_t j = 0; j < count; ++j) {
        w->last[j] = d_fresh[j] * reset[j];
        w->before[hidden + j] = w->first[hidden + j] = d_fresh[j] * w->candidates[j] * slope_r[j];
    }
}

/* The reset gate where it comes before the product, whose gradient is now in dq. */
static void gru_reset_row(const ons_recurrent *r, const ons_activation *activations, const row *w) {
    float own[ONS_RECURRENT_BLOCK];
    int64_t hidden = w->hidden;
    const float *slope_r = slopes_of(&activations[0], w, ONS_GRU_R, own), *reset = w->gates + hidden;
    for (int64_t j = 0; j < w->count; ++j) {
        w->before[hidden + j] = w->first[hidden + j] = w->dq[j] * w->h_before[j] * slope_r[j];
        w->dh[j] += w->dq[j] * reset[j];
    }
}

/* ----------------------------------------------------------------------------------------------------------- one step
 */

typedef void row_function(const ons_recurrent *r, const ons_activation *activations, const row *w);

static void each_row(const backward *f, const ons_recurrent_block *b, int64_t t, row_function *function) {
    const ons_recurrent *r = &f->state->r;
    for (int64_t n = 0; n < r->batch; ++n) {
        row w = row_at(f, b, t, n);
        if (t < ons_recurrent_length(r, f->lengths, n))
            function(r, r->activations[b->d], &w);
        else
            skip_row(r, &w);
    }
}

static void add_cotangent(const backward *f, const ons_recurrent_block *b, int64_t t) {
    const ons_recurrent *r = &f->state->r;
    for (int64_t n = 0; f->dy != NULL && n < r->batch; ++n) {
        if (t >= ons_recurrent_length(r, f->lengths, n)) continue;
        float *dh = f->dh + (b->d * r->batch + n) * r->hidden + b->first;
        const float *dy = f->dy + ons_recurrent_y_row(r, b->d, t, n) + b->first;
        for (int64_t j = 0; j < b->width; ++j) dh[j] += dy[j];
    }
}

/* Gradients of `rows` gate sums (from row `first` of R on) × those rows of R: the block's part of [N][H]. */
static void multiply(const backward *f, const ons_recurrent_block *b, const float *panel, const float *gradients,
                     int64_t first, int64_t rows, float *to, bool add) {
    const ons_recurrent *r = &f->state->r;
    int64_t width = f->state->blocks.width;
    ons_small_product product = {.m = r->batch, .n = b->width, .k = rows, .add = add};
    ons_small_multiply(&product, (ons_small_matrix){(float *)gradients, rows},
                       (ons_small_matrix){(float *)panel + first * width, width},
                       (ons_small_matrix){to + b->d * r->batch * r->hidden + b->first, r->hidden});
}

/* After all units of the step are there. */
static void multiply_all(const backward *f, const ons_recurrent_block *b, const float *panel, int64_t t) {
    const ons_recurrent *r = &f->state->r;
    int64_t at = ons_recurrent_candidate_row(r, b->d, t, 0);
    if (r->cell != ONS_CELL_GRU) {
        multiply(f, b, panel, f->before + ons_recurrent_gates_row(r, b->d, t, 0), 0, r->rows, f->dh, true);
        return;
    }
    multiply(f, b, panel, f->first + 2 * at, 0, 2 * r->hidden, f->dh, true);
    if (r->reset_after) multiply(f, b, panel, f->last + at, 2 * r->hidden, r->hidden, f->dh, true);
}

static const float *panel_of(const backward *f, int64_t index) {
    return f->packed + index * f->state->blocks.width * f->state->r.rows;
}

/* Packs the block's columns of R, and takes the cotangents of the last states. */
static void begin_block(const backward *f, int64_t index) {
    const ons_recurrent *r = &f->state->r;
    ons_recurrent_block b = ons_recurrent_block_at(r, &f->state->blocks, index);
    size_t bytes = (size_t)b.width * sizeof(float);
    const float *from = (const float *)f->launch->inputs[ONS_RG_R] + b.d * r->rows * r->hidden + b.first;
    float *panel = f->packed + index * f->state->blocks.width * r->rows;
    for (int64_t k = 0; k < r->rows; ++k) memcpy(panel + k * f->state->blocks.width, from + k * r->hidden, bytes);
    const float *dy_h = input_of(f->state, f->launch, ONS_RG_DY_H), *dy_c = input_of(f->state, f->launch, ONS_RG_DY_C);
    for (int64_t n = 0; n < r->batch; ++n) {
        int64_t to = (b.d * r->batch + n) * r->hidden + b.first, end = ons_recurrent_end_row(r, b.d, n) + b.first;
        for (int64_t j = 0; j < b.width; ++j) {
            f->dh[to + j] = dy_h == NULL ? 0 : dy_h[end + j];
            f->dc[to + j] = dy_c == NULL ? 0 : dy_c[end + j];
        }
    }
}

static void end_block(const backward *f, int64_t index) {
    const ons_recurrent *r = &f->state->r;
    ons_recurrent_block b = ons_recurrent_block_at(r, &f->state->blocks, index);
    float *dh0 = f->launch->outputs[ONS_RG_DH0], *dc0 = f->launch->outputs[ONS_RG_DC0];
    for (int64_t n = 0; n < r->batch; ++n) {
        int64_t from = (b.d * r->batch + n) * r->hidden + b.first, end = ons_recurrent_end_row(r, b.d, n) + b.first;
        if (dh0 != NULL) memcpy(dh0 + end, f->dh + from, (size_t)b.width * sizeof(float));
        if (dc0 != NULL) memcpy(dc0 + end, f->dc + from, (size_t)b.width * sizeof(float));
    }
}

static void run_steps(const backward *f, int64_t begin, int64_t end) {
    const ons_recurrent *r = &f->state->r;
    const ons_recurrent_blocks *blocks = &f->state->blocks;
    bool halves = r->cell == ONS_CELL_GRU && !r->reset_after;
    row_function *function = r->cell == ONS_CELL_LSTM ? lstm_row : r->cell == ONS_CELL_GRU ? gru_row : rnn_row;
    for (int64_t i = begin; i < end; ++i) begin_block(f, i);
    for (int64_t step = r->steps; step-- > 0;) {
        for (int64_t i = begin; i < end; ++i) {
            ons_recurrent_block b = ons_recurrent_block_at(r, blocks, i);
            int64_t t = ons_recurrent_time(r, b.d, step);
            add_cotangent(f, &b, t);
            each_row(f, &b, t, function);
        }
#pragma omp barrier
        for (int64_t i = begin; halves && i < end; ++i) {
            ons_recurrent_block b = ons_recurrent_block_at(r, blocks, i);
            int64_t t = ons_recurrent_time(r, b.d, step);
            multiply(f, &b, panel_of(f, i), f->last + ons_recurrent_candidate_row(r, b.d, t, 0), 2 * r->hidden,
                     r->hidden, f->dq, false);
            each_row(f, &b, t, gru_reset_row);
        }
        if (halves) {
#pragma omp barrier
        }
        for (int64_t i = begin; i < end; ++i) {
            ons_recurrent_block b = ons_recurrent_block_at(r, blocks, i);
            multiply_all(f, &b, panel_of(f, i), ons_recurrent_time(r, b.d, step));
        }
    }
    for (int64_t i = begin; i < end; ++i) end_block(f, i);
}

/* -------------------------------------------------------------------------------------------------- sums over all
 * steps
 */

/* Sums over `rows` rows that lie `stride` apart, of a (times b, rows `stride_b` apart, where it is given). Rows are
 * added up in short runs first: a long sum of floats loses digits. */
static void sum_rows(const float *a, int64_t stride, const float *b, int64_t stride_b, int64_t rows, float *to,
                     int64_t columns) {
    enum { RUN = 64, COLUMNS = 32 };
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
        sum_rows(f->before + ons_recurrent_gates_row(r, d, 0, 0), r->rows, NULL, 0, samples, to, r->rows);
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
            sum_rows(f->before + ons_recurrent_gates_row(r, d, 0, 0) + gates[i] * r->hidden, r->rows,
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
    const float *gradients = r->cell == ONS_CELL_GRU ? f->first + 2 * at : f->before + at * r->gates;
    ons_product_run(&state->to_r[d], gradients, h, NULL, 0, dr, launch);
    if (r->cell == ONS_CELL_GRU)
        ons_product_run(&state->to_last_r[d], f->last + at, r->reset_after ? h : f->parts.candidates + at, NULL, 0,
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
        const float *before = f->before + ons_recurrent_gates_row(r, d, 0, 0);
        if (state->wants_dx)
            ons_product_run(&state->to_x[d], before, w + d * r->rows * r->inputs, NULL, d > 0, dx, &launch);
        if (state->wants_dw)
            ons_product_run(&state->to_w[d], before, x, NULL, 0, dw + d * r->rows * r->inputs, &launch);
        if (state->wants_dr) multiply_recurrent(f, d, dr + d * r->rows * r->hidden, &launch);
    }
    if (r->batch_first && state->wants_dx) ons_recurrent_swap_time(r, dx, outputs[ONS_RG_DX], true);
    if (outputs[ONS_RG_DB] != NULL) sum_biases(f, outputs[ONS_RG_DB]);
    if (outputs[ONS_RG_DP] != NULL) sum_peepholes(f, outputs[ONS_RG_DP]);
}

void ons_recurrent_gradient_run(const ons_launch *launch) {
    const recurrent_back_state *state = launch->state;
    char *scratch = launch->scratch;
    backward f = {.state = state,
                  .launch = launch,
                  .parts = ons_recurrent_parts_of(&state->r, (float *)launch->inputs[ONS_RG_RECORD]),
                  .before = (float *)(scratch + state->before_at),
                  .first = (float *)(scratch + state->first_at),
                  .last = (float *)(scratch + state->last_at),
                  .dh = (float *)(scratch + state->dh_at),
                  .dc = (float *)(scratch + state->dc_at),
                  .dq = (float *)(scratch + state->dq_at),
                  .packed = (float *)(scratch + state->packed_at),
                  .peepholes = input_of(state, launch, ONS_RG_P),
                  .dy = input_of(state, launch, ONS_RG_DY),
                  .lengths = input_of(state, launch, ONS_RG_LENGTHS)};
#pragma omp parallel num_threads(state->blocks.threads) if (state->blocks.threads > 1)
    {
        int part = omp_get_thread_num(), parts = omp_get_num_threads();
        run_steps(&f, ons_part_begin(state->blocks.count, parts, part),
                  ons_part_begin(state->blocks.count, parts, part + 1));
    }
    run_products(&f);
}
