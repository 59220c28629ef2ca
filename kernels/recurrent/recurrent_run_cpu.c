/* LSTM, GRU and RNN forward in float32: W x of all steps as one product, then step by step. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/common/gemm/small_gemm.h"
#include "kernels/common/rows/rows.h"
#include "kernels/recurrent/recurrent_cell.h"

typedef struct recurrent_state {
    ons_recurrent r;
    ons_recurrent_blocks blocks;
    ons_gemm projections[ONS_RECURRENT_DIRECTIONS]; /* gates = X Wᵀ + b */
    uint32_t present;                               /* bit i: there is an input i */
    bool has_bias;
    ons_recurrent_row_function *rows[ONS_RECURRENT_DIRECTIONS];
    bool keeps_record;                                                      /* else it lies in scratch */
    int64_t record_at, x_at, bias_at, packed_at, product_at, scratch_bytes; /* in bytes */
} recurrent_state;

/* One run. */
typedef struct forward {
    const recurrent_state *state;
    const ons_launch *launch;
    ons_recurrent_parts parts;
    float *packed;            /* [block][gate][H][width]: R transposed */
    float *y;                 /* NULL: not wanted */
    const float *hidden_bias; /* GRU's Rb_h of every direction, 2·G·H apart, where it is added on its own; or NULL */
    const float *peepholes;
    const int32_t *lengths;
} forward;

/* ---------------------------------------------------------------------------------------------------------- prepare */

static void recurrent_destroy(void *memory) {
    recurrent_state *state = memory;
    for (int d = 0; d < ONS_RECURRENT_DIRECTIONS; ++d) ons_onednn_destroy(&state->projections[d]);
}

static ons_status *prepare_projections(ons_prepare *p, recurrent_state *state, int64_t *largest) {
    static const ons_gemm_form form = {.transpose_b = true, .alpha = 1};
    const ons_recurrent *r = &state->r;
    for (int64_t d = 0; d < r->directions; ++d)
        ONS_TRY(ons_recurrent_prepare_gemm(p, (ons_shape){2, {r->steps * r->batch, r->inputs}},
                                           (ons_shape){2, {r->rows, r->inputs}}, &form, state->has_bias, false, largest,
                                           &state->projections[d]));
    return NULL;
}

ons_status *ons_recurrent_prepare(ons_prepare *p, ons_cell cell) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_require_float32(o));
    recurrent_state *state;
    ONS_NEW_STATE(state, p);
    ONS_TRY(ons_recurrent_of(o, cell, &state->r));
    const ons_recurrent *r = &state->r;
    ons_recurrent_divide(r, false, p->threads, &state->blocks);
    for (uint32_t i = 0; i < o->input_count; ++i) state->present |= ons_has_input(o, i) ? 1u << i : 0;
    state->has_bias = ons_has_input(o, ONS_RECURRENT_B);
    state->keeps_record = ons_has_output(o, ons_recurrent_record(cell));
    for (int64_t d = 0; d < r->directions; ++d)
        state->rows[d] = ons_recurrent_row_function_of(r, d, ons_has_input(o, ONS_RECURRENT_P));
    int64_t bytes = 0, largest = 0;
    state->record_at = ons_recurrent_book(&bytes, state->keeps_record ? 0 : r->record);
    state->x_at = ons_recurrent_book(&bytes, r->batch_first ? r->steps * r->batch * r->inputs : 0);
    state->bias_at = ons_recurrent_book(&bytes, r->directions * r->rows);
    state->packed_at = ons_recurrent_book(&bytes, state->blocks.count * state->blocks.width * r->rows);
    state->product_at = bytes;
    ons_status *status = prepare_projections(p, state, &largest);
    int64_t needed = bytes + largest;
    if (status == NULL) status = ons_require_scratch(p, needed);
    if (status != NULL) {
        recurrent_destroy(state);
        p->destroy = NULL;
        return status;
    }
    p->destroy = recurrent_destroy;
    p->scratch_bytes = bytes + largest;
    p->implementation = ons_recurrent_implementation(&state->blocks);
    return NULL;
}

static const void *input_of(const recurrent_state *state, const ons_launch *launch, uint32_t index) {
    return (state->present >> index & 1) != 0 ? launch->inputs[index] : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- one row */

static ons_recurrent_row row_at(const forward *f, const ons_recurrent_block *b, int64_t t, int64_t n) {
    const ons_recurrent *r = &f->state->r;
    int64_t gates = ons_recurrent_gates_row(r, b->d, t, n) + b->first;
    int64_t before = ons_recurrent_state_row(r, b->d, ons_recurrent_slot_before(r, b->d, t), n) + b->first;
    int64_t after = ons_recurrent_state_row(r, b->d, ons_recurrent_slot_after(r, b->d, t), n) + b->first;
    const ons_recurrent_parts *parts = &f->parts;
    return (ons_recurrent_row){
        .count = b->width,
        .hidden = r->hidden,
        .gate_at = r->gate_at,
        .gates = parts->gates + gates,
        .slopes = parts->slopes == NULL ? NULL : parts->slopes + gates,
        .candidates = parts->candidates == NULL
                          ? NULL
                          : parts->candidates + ons_recurrent_candidate_row(r, b->d, t, n) + b->first,
        .h_before = parts->hidden + before,
        .h_after = parts->hidden + after,
        .c_before = parts->cell == NULL ? NULL : parts->cell + before,
        .c_after = parts->cell == NULL ? NULL : parts->cell + after,
        .y = f->y == NULL ? NULL : f->y + ons_recurrent_y_row(r, b->d, t, n) + b->first,
        .peepholes = f->peepholes == NULL ? NULL : f->peepholes + b->d * 3 * r->hidden + b->first,
        .hidden_bias =
            f->hidden_bias == NULL ? NULL : f->hidden_bias + b->d * 2 * r->rows + r->rows + 2 * r->hidden + b->first,
    };
}

/* --------------------------------------------------------------------------------------------------------- one step */

static float *panels_of(const forward *f, int64_t index) {
    return f->packed + index * f->state->blocks.width * f->state->r.rows;
}

/* One gate of a block: from × Rᵀ, to rows of G·H (or H, the candidates). */
static void multiply(const forward *f, const ons_recurrent_block *b, int64_t gate, float *from, float *to,
                     int64_t stride, bool add) {
    const ons_recurrent *r = &f->state->r;
    int64_t width = f->state->blocks.width;
    ons_small_gemm product = {.m = b->samples, .n = b->width, .k = r->hidden, .add = add};
    ons_small_multiply(&product, (ons_small_matrix){from + b->sample * r->hidden, r->hidden},
                       (ons_small_matrix){panels_of(f, b->index) + gate * r->hidden * width, width},
                       (ons_small_matrix){to + b->sample * stride, stride});
}

static void multiply_gate(const forward *f, const ons_recurrent_block *b, int64_t gate, int64_t t, float *from) {
    const ons_recurrent *r = &f->state->r;
    float *to = f->parts.gates + ons_recurrent_gates_row(r, b->d, t, 0) + gate * r->hidden + b->first;
    multiply(f, b, gate, from, to, r->rows, true);
}

static void each_row(const forward *f, const ons_recurrent_block *b, int64_t t, ons_recurrent_row_function *function) {
    const ons_recurrent *r = &f->state->r;
    for (int64_t n = b->sample; n < b->sample + b->samples; ++n) {
        ons_recurrent_row w = row_at(f, b, t, n);
        if (t < ons_recurrent_length(r, f->lengths, n))
            function(r, r->activations[b->d], &w);
        else
            ons_recurrent_skip_row(r, &w);
    }
}

static void first_half(const void *run, const ons_recurrent_block *b, int64_t t) {
    const forward *f = run;
    const ons_recurrent *r = &f->state->r;
    float *h = f->parts.hidden + ons_recurrent_state_row(r, b->d, ons_recurrent_slot_before(r, b->d, t), 0);
    int64_t with_h = r->cell == ONS_CELL_GRU ? 2 : r->gates;
    for (int64_t gate = 0; gate < with_h; ++gate) multiply_gate(f, b, gate, t, h);
    if (r->reset_after)
        multiply(f, b, ONS_GRU_H, h, f->parts.candidates + ons_recurrent_candidate_row(r, b->d, t, 0) + b->first,
                 r->hidden, false);
    each_row(f, b, t, f->state->rows[b->d]);
}

/* GRU whose reset gate comes before the product: r·h of all units must be there. */
static void second_half(const void *run, const ons_recurrent_block *b, int64_t t) {
    const forward *f = run;
    const ons_recurrent *r = &f->state->r;
    float *q = f->parts.candidates + ons_recurrent_candidate_row(r, b->d, t, 0);
    multiply_gate(f, b, ONS_GRU_H, t, q);
    each_row(f, b, t, ons_recurrent_gru_finish_row);
}

/* -------------------------------------------------------------------------------------------------------- all steps */

/* Initial states (`in`) or last ones, of a thread's units and samples, between an operand and the record's slot. */
static void copy_state(const forward *f, const ons_recurrent_block *b, const float *in, float *out, float *state) {
    const ons_recurrent *r = &f->state->r;
    bool start = out == NULL;
    int64_t slot = r->reverse[b->d] == start ? r->steps : 0;
    size_t bytes = (size_t)b->width * sizeof(float);
    for (int64_t n = b->sample; n < b->sample + b->samples; ++n) {
        float *kept = state + ons_recurrent_state_row(r, b->d, slot, n) + b->first;
        int64_t end = ons_recurrent_end_row(r, b->d, n) + b->first;
        if (!start)
            memcpy(out + end, kept, bytes);
        else if (in != NULL)
            memcpy(kept, in + end, bytes);
        else
            memset(kept, 0, bytes);
    }
}

static void pack_block(const forward *f, int64_t index) {
    const ons_recurrent *r = &f->state->r;
    ons_recurrent_block b = ons_recurrent_block_at(r, &f->state->blocks, index);
    int64_t width = f->state->blocks.width;
    for (int64_t gate = 0; gate < r->gates; ++gate) {
        float *from =
            (float *)f->launch->inputs[ONS_RECURRENT_R] + (b.d * r->rows + gate * r->hidden + b.first) * r->hidden;
        ons_small_transpose(b.width, r->hidden, (ons_small_matrix){from, r->hidden},
                            (ons_small_matrix){panels_of(f, index) + gate * r->hidden * width, width});
    }
}

static void begin_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const forward *f = run;
    copy_state(f, b, input_of(f->state, f->launch, ONS_RECURRENT_H0), NULL, f->parts.hidden);
    if (f->state->r.cell == ONS_CELL_LSTM)
        copy_state(f, b, input_of(f->state, f->launch, ONS_RECURRENT_C0), NULL, f->parts.cell);
}

static void end_block(const void *run, const ons_recurrent_block *b, int64_t t) {
    const forward *f = run;
    void *const *outputs = f->launch->outputs;
    if (outputs[ONS_RECURRENT_Y_H] != NULL) copy_state(f, b, NULL, outputs[ONS_RECURRENT_Y_H], f->parts.hidden);
    if (f->state->r.cell == ONS_CELL_LSTM && outputs[ONS_RECURRENT_Y_C] != NULL)
        copy_state(f, b, NULL, outputs[ONS_RECURRENT_Y_C], f->parts.cell);
}

static void run_steps(const forward *f, const ons_recurrent_member *m) {
    const ons_recurrent *r = &f->state->r;
    const ons_recurrent_blocks *blocks = &f->state->blocks;
    bool halves = r->cell == ONS_CELL_GRU && !r->reset_after;
    ons_recurrent_each_block(r, blocks, m, 0, begin_block, f);
    for (int64_t step = 0; step < r->steps; ++step) {
        ons_recurrent_wait(blocks);
        ons_recurrent_each_block(r, blocks, m, step, first_half, f);
        if (!halves) continue;
        ons_recurrent_wait(blocks);
        ons_recurrent_each_block(r, blocks, m, step, second_half, f);
    }
    ons_recurrent_each_block(r, blocks, m, 0, end_block, f);
}

static void run_member(const forward *f, int part, int parts) {
    const ons_recurrent_blocks *blocks = &f->state->blocks;
    int64_t first = ons_part_begin(blocks->count, parts, part), last = ons_part_begin(blocks->count, parts, part + 1);
    for (int64_t i = first; i < last; ++i) pack_block(f, i);
#pragma omp barrier
    int64_t together = ons_recurrent_together(&f->state->r, blocks);
    for (int64_t d = 0; d < f->state->r.directions; d += together)
        run_steps(f, &(ons_recurrent_member){part, parts, d, d + together});
}

/* Wb + Rb, but for GRU's Rb_h where that is under the reset gate. */
static void add_biases(const recurrent_state *state, const float *b, float *sums) {
    const ons_recurrent *r = &state->r;
    for (int64_t d = 0; d < r->directions; ++d)
        for (int64_t i = 0; i < r->rows; ++i) {
            bool apart = r->reset_after && i >= 2 * r->hidden;
            sums[d * r->rows + i] = b[d * 2 * r->rows + i] + (apart ? 0 : b[d * 2 * r->rows + r->rows + i]);
        }
}

static void project(const forward *f, float *biases) {
    const recurrent_state *state = f->state;
    const ons_recurrent *r = &state->r;
    char *scratch = f->launch->scratch;
    const float *x = f->launch->inputs[ONS_RECURRENT_X], *b = input_of(state, f->launch, ONS_RECURRENT_B);
    if (r->batch_first) {
        ons_recurrent_swap_time(r, x, (float *)(scratch + state->x_at), false);
        x = (float *)(scratch + state->x_at);
    }
    if (state->has_bias) add_biases(state, b, biases);
    ons_launch launch = *f->launch;
    launch.scratch = scratch + state->product_at;
    for (int64_t d = 0; d < r->directions; ++d)
        ons_gemm_run(&state->projections[d], x,
                     (const float *)f->launch->inputs[ONS_RECURRENT_W] + d * r->rows * r->inputs,
                     state->has_bias ? biases + d * r->rows : NULL, 0,
                     f->parts.gates + ons_recurrent_gates_row(r, d, 0, 0), &launch);
}

static void check_lengths(const forward *f) {
    ons_fault *fault = f->launch->fault;
    for (int64_t n = 0; f->lengths != NULL && n < f->state->r.batch; ++n)
        if ((f->lengths[n] < 0 || f->lengths[n] > f->state->r.steps) && fault != NULL && fault->problem == NULL)
            *fault = (ons_fault){.problem = ONS_RECURRENT_BAD_LENGTH, .index = n, .value = f->lengths[n]};
}

void ons_recurrent_run(const ons_launch *launch) {
    const recurrent_state *state = launch->state;
    const ons_recurrent *r = &state->r;
    char *scratch = launch->scratch;
    float *record = (float *)(scratch + state->record_at);
    if (state->keeps_record) record = launch->outputs[ons_recurrent_record(r->cell)];
    forward f = {.state = state,
                 .launch = launch,
                 .parts = ons_recurrent_parts_of(r, record),
                 .packed = (float *)(scratch + state->packed_at),
                 .y = launch->outputs[ONS_RECURRENT_Y],
                 .hidden_bias = r->reset_after ? input_of(state, launch, ONS_RECURRENT_B) : NULL,
                 .peepholes = input_of(state, launch, ONS_RECURRENT_P),
                 .lengths = input_of(state, launch, ONS_RECURRENT_LENGTHS)};
    check_lengths(&f);
    project(&f, (float *)(scratch + state->bias_at));
#pragma omp parallel num_threads(state->blocks.threads) if (state->blocks.threads > 1)
    { run_member(&f, omp_get_thread_num(), omp_get_num_threads()); }
}
