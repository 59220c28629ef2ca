/* LSTM, GRU and RNN and their gradient, one sample and one step after the other, in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/recurrent/recurrent.h"

/* What is at hand while one direction of one sample goes through time. */
typedef struct sequence {
    const ons_recurrent *r;
    int64_t d, n, length;
    const double *w, *recurrent, *bias, *peephole; /* of this direction; bias and peephole NULL: none */
    const double *x;
    double *record;
} sequence;

static int64_t length_of(const ons_recurrent *r, const int64_t *lengths, int64_t n) {
    if (lengths == NULL) return r->steps;
    return lengths[n] < 0 ? 0 : lengths[n] > r->steps ? r->steps : lengths[n];
}

static double *gates_at(const sequence *s, int64_t t) {
    return s->record + ons_recurrent_gates_row(s->r, s->d, t, s->n);
}
static double *slopes_at(const sequence *s, int64_t t) {
    return s->r->keeps_slopes ? s->record + s->r->slopes_at + ons_recurrent_gates_row(s->r, s->d, t, s->n) : NULL;
}
static double *candidates_at(const sequence *s, int64_t t) {
    return s->record + s->r->candidate_at + ons_recurrent_candidate_row(s->r, s->d, t, s->n);
}
static double *hidden_slot(const sequence *s, int64_t slot) {
    return s->record + s->r->hidden_at + ons_recurrent_state_row(s->r, s->d, slot, s->n);
}
static double *cell_slot(const sequence *s, int64_t slot) {
    return s->record + s->r->cell_at + ons_recurrent_state_row(s->r, s->d, slot, s->n);
}

/* The activation of each gate: LSTM's i, o, f and GRU's z, r have the first, the last gate has the second. */
static const ons_recurrent_activation *activation_of(const ons_recurrent *r, int64_t d, int64_t gate) {
    return &r->activations[d][r->cell != ONS_CELL_RNN && gate == r->gates - 1 ? 1 : 0];
}

/* ---------------------------------------------------------------------------------------------------------- forward */

/* W x + Wb of one row of the weights. */
static double from_input(const sequence *s, int64_t t, int64_t row) {
    const double *x = s->x + ons_recurrent_x_row(s->r, t, s->n), *w = s->w + row * s->r->inputs;
    double sum = s->bias == NULL ? 0 : s->bias[row];
    for (int64_t k = 0; k < s->r->inputs; ++k) sum += w[k] * x[k];
    return sum;
}

/* R h + Rb */
static double from_hidden(const sequence *s, const double *h, int64_t row) {
    const double *weights = s->recurrent + row * s->r->hidden;
    double sum = s->bias == NULL ? 0 : s->bias[s->r->rows + row];
    for (int64_t k = 0; k < s->r->hidden; ++k) sum += weights[k] * h[k];
    return sum;
}

static double activate(const sequence *s, int64_t t, int64_t gate, int64_t j, double x) {
    const ons_recurrent *r = s->r;
    const ons_recurrent_activation *activation = activation_of(r, s->d, gate);
    double clipped = fmin(fmax(x, -r->clip), r->clip), *slopes = slopes_at(s, t);
    double y = ons_recurrent_activation_value(activation, clipped);
    gates_at(s, t)[r->gate_at[gate] + j] = y;
    if (slopes != NULL)
        slopes[r->gate_at[gate] + j] = fabs(x) > r->clip ? 0 : ons_recurrent_activation_slope(activation, clipped);
    return y;
}

static void step_rnn(const sequence *s, int64_t t, const double *h, double *result) {
    for (int64_t j = 0; j < s->r->hidden; ++j)
        result[j] = activate(s, t, 0, j, from_input(s, t, j) + from_hidden(s, h, j));
}

static void step_gru(const sequence *s, int64_t t, const double *h, double *result) {
    int64_t hidden = s->r->hidden;
    const int64_t *at = s->r->gate_at;
    double *gates = gates_at(s, t), *z = gates + at[ONS_GRU_Z], *reset = gates + at[ONS_GRU_R];
    double *candidates = candidates_at(s, t);
    for (int64_t gate = ONS_GRU_Z; gate <= ONS_GRU_R; ++gate)
        for (int64_t j = 0; j < hidden; ++j)
            activate(s, t, gate, j, from_input(s, t, at[gate] + j) + from_hidden(s, h, at[gate] + j));
    for (int64_t j = 0; j < hidden; ++j)
        candidates[j] = s->r->reset_after ? from_hidden(s, h, 2 * hidden + j) : reset[j] * h[j];
    for (int64_t j = 0; j < hidden; ++j) {
        double inner = s->r->reset_after ? reset[j] * candidates[j] : from_hidden(s, candidates, 2 * hidden + j);
        double fresh = activate(s, t, ONS_GRU_H, j, from_input(s, t, 2 * hidden + j) + inner);
        result[j] = (1 - z[j]) * fresh + z[j] * h[j];
    }
}

static void step_lstm(const sequence *s, int64_t t, const double *h, const double *c, double *result,
                      double *result_cell) {
    int64_t hidden = s->r->hidden;
    const int64_t *at = s->r->gate_at;
    const double *p = s->peephole;
    double x[ONS_RECURRENT_GATES];
    for (int64_t j = 0; j < hidden; ++j) {
        for (int64_t gate = 0; gate < ONS_RECURRENT_GATES; ++gate)
            x[gate] = from_input(s, t, at[gate] + j) + from_hidden(s, h, at[gate] + j);
        double input = activate(s, t, ONS_LSTM_I, j, x[ONS_LSTM_I] + (p == NULL ? 0 : p[j] * c[j]));
        double forget = activate(s, t, ONS_LSTM_F, j, x[ONS_LSTM_F] + (p == NULL ? 0 : p[2 * hidden + j] * c[j]));
        if (s->r->coupled) {
            forget = gates_at(s, t)[at[ONS_LSTM_F] + j] = 1 - input;
            if (slopes_at(s, t) != NULL) slopes_at(s, t)[at[ONS_LSTM_F] + j] = 0;
        }
        double cell = forget * c[j] + input * activate(s, t, ONS_LSTM_C, j, x[ONS_LSTM_C]);
        double output = activate(s, t, ONS_LSTM_O, j, x[ONS_LSTM_O] + (p == NULL ? 0 : p[hidden + j] * cell));
        result_cell[j] = cell;
        result[j] = output * ons_recurrent_activation_value(&s->r->activations[s->d][2], cell);
    }
}

/* The states stay, all else is 0. */
static void skip_step(const sequence *s, int64_t t, int64_t before, int64_t after) {
    const ons_recurrent *r = s->r;
    for (int64_t j = 0; j < r->rows; ++j) {
        gates_at(s, t)[j] = 0;
        if (r->keeps_slopes) slopes_at(s, t)[j] = 0;
    }
    for (int64_t j = 0; j < r->hidden; ++j) {
        hidden_slot(s, after)[j] = hidden_slot(s, before)[j];
        if (r->cell == ONS_CELL_LSTM) cell_slot(s, after)[j] = cell_slot(s, before)[j];
        if (r->cell == ONS_CELL_GRU) candidates_at(s, t)[j] = 0;
    }
}

static void run_sequence(const sequence *s, double *y) {
    const ons_recurrent *r = s->r;
    for (int64_t step = 0; step < r->steps; ++step) {
        int64_t t = ons_recurrent_time(r, s->d, step);
        int64_t before = ons_recurrent_slot_before(r, s->d, t), after = ons_recurrent_slot_after(r, s->d, t);
        const double *h = hidden_slot(s, before);
        double *result = hidden_slot(s, after);
        bool counts = t < s->length;
        if (!counts)
            skip_step(s, t, before, after);
        else if (r->cell == ONS_CELL_LSTM)
            step_lstm(s, t, h, cell_slot(s, before), result, cell_slot(s, after));
        else if (r->cell == ONS_CELL_GRU)
            step_gru(s, t, h, result);
        else
            step_rnn(s, t, h, result);
        for (int64_t j = 0; y != NULL && j < r->hidden; ++j)
            y[ons_recurrent_y_row(r, s->d, t, s->n) + j] = counts ? result[j] : 0;
    }
}

static const double *optional(const ons_operands *o, const void *const *inputs, uint32_t index) {
    return ons_has_input(o, index) ? inputs[index] : NULL;
}

void ons_recurrent_reference(const ons_operands *o, const ons_step *step, ons_cell cell, const void *const *inputs,
                             void *const *outputs) {
    ons_recurrent r;
    ons_resolved(ons_recurrent_of(o, cell, &r));
    uint32_t record = ons_recurrent_record(cell);
    double *kept = record < o->output_count ? outputs[record] : NULL;
    double *own = kept == NULL ? malloc(((size_t)r.record + 1) * sizeof *own) : NULL;
    if (kept == NULL && own == NULL) return;
    const double *b = optional(o, inputs, ONS_RECURRENT_B), *p = optional(o, inputs, ONS_RECURRENT_P);
    const double *h0 = optional(o, inputs, ONS_RECURRENT_H0), *c0 = optional(o, inputs, ONS_RECURRENT_C0);
    const int64_t *lengths = ons_has_input(o, ONS_RECURRENT_LENGTHS) ? inputs[ONS_RECURRENT_LENGTHS] : NULL;
    for (int64_t n = 0; lengths != NULL && n < r.batch; ++n)
        if (lengths[n] < 0 || lengths[n] > r.steps) ons_reference_fault(step, ONS_RECURRENT_BAD_LENGTH, n, lengths[n]);
    double *y_c = cell == ONS_CELL_LSTM ? outputs[ONS_RECURRENT_Y_C] : NULL, *y_h = outputs[ONS_RECURRENT_Y_H];
    for (int64_t d = 0; d < r.directions; ++d)
        for (int64_t n = 0; n < r.batch; ++n) {
            sequence s = {.r = &r,
                          .d = d,
                          .n = n,
                          .length = length_of(&r, lengths, n),
                          .w = (const double *)inputs[ONS_RECURRENT_W] + d * r.rows * r.inputs,
                          .recurrent = (const double *)inputs[ONS_RECURRENT_R] + d * r.rows * r.hidden,
                          .bias = b == NULL ? NULL : b + d * 2 * r.rows,
                          .peephole = p == NULL ? NULL : p + d * 3 * r.hidden,
                          .x = inputs[ONS_RECURRENT_X],
                          .record = kept == NULL ? own : kept};
            int64_t first = r.reverse[d] ? r.steps : 0, last = r.reverse[d] ? 0 : r.steps;
            int64_t end = ons_recurrent_end_row(&r, d, n);
            for (int64_t j = 0; j < r.hidden; ++j) {
                hidden_slot(&s, first)[j] = h0 == NULL ? 0 : h0[end + j];
                if (cell == ONS_CELL_LSTM) cell_slot(&s, first)[j] = c0 == NULL ? 0 : c0[end + j];
            }
            run_sequence(&s, outputs[ONS_RECURRENT_Y]);
            for (int64_t j = 0; j < r.hidden; ++j) {
                if (y_h != NULL) y_h[end + j] = hidden_slot(&s, last)[j];
                if (y_c != NULL) y_c[end + j] = cell_slot(&s, last)[j];
            }
        }
    free(own);
}

/* --------------------------------------------------------------------------------------------------------- backward */

typedef struct backward {
    sequence s;
    double *dh, *dc;                /* of the states, on the way back: H each */
    double *before_input;           /* gradients of W x in what enters the activations: G·H */
    double *before_hidden;          /* gradients of R h in what enters the activations: others in GRU's last gate */
    double *dq;                     /* of GRU's candidates: H */
    double *dx, *dw, *dr, *db, *dp; /* of this direction; NULL: not wanted */
    double *before;                 /* of all directions; NULL: not wanted */
} backward;

static double slope_of(const sequence *s, int64_t t, int64_t gate, int64_t j) {
    int64_t at = s->r->gate_at[gate] + j;
    if (s->r->keeps_slopes) return slopes_at(s, t)[at];
    if (s->r->coupled && gate == ONS_LSTM_F) return 0;
    return ons_recurrent_activation_slope_from_result(activation_of(s->r, s->d, gate), gates_at(s, t)[at]);
}

/* Σ over rows [first, last) of R of gradient × weight: what reaches element k of that which R was multiplied with. */
static double through_weights(const backward *b, const double *gradient, int64_t first, int64_t last, int64_t k) {
    double sum = 0;
    for (int64_t row = first; row < last; ++row) sum += gradient[row] * b->s.recurrent[row * b->s.r->hidden + k];
    return sum;
}

static void back_rnn(const backward *b, int64_t t) {
    int64_t hidden = b->s.r->hidden;
    for (int64_t j = 0; j < hidden; ++j) b->before_input[j] = b->before_hidden[j] = b->dh[j] * slope_of(&b->s, t, 0, j);
    for (int64_t k = 0; k < hidden; ++k) b->dh[k] = through_weights(b, b->before_hidden, 0, hidden, k);
}

static void back_gru(const backward *b, int64_t t, const double *h) {
    const sequence *s = &b->s;
    int64_t hidden = s->r->hidden;
    int64_t z_at = s->r->gate_at[ONS_GRU_Z], reset_at = s->r->gate_at[ONS_GRU_R];
    const double *gates = gates_at(s, t), *z = gates + z_at, *reset = gates + reset_at, *fresh = gates + 2 * hidden;
    const double *candidates = candidates_at(s, t);
    for (int64_t j = 0; j < hidden; ++j) {
        double d_fresh = b->dh[j] * (1 - z[j]) * slope_of(s, t, ONS_GRU_H, j);
        b->before_input[z_at + j] = b->dh[j] * (h[j] - fresh[j]) * slope_of(s, t, ONS_GRU_Z, j);
        b->before_input[2 * hidden + j] = d_fresh;
        b->before_hidden[2 * hidden + j] = s->r->reset_after ? d_fresh * reset[j] : d_fresh;
    }
    for (int64_t k = 0; k < hidden; ++k) {
        b->dq[k] = through_weights(b, b->before_hidden, 2 * hidden, 3 * hidden, k);
        double d_reset = s->r->reset_after ? b->before_input[2 * hidden + k] * candidates[k] : b->dq[k] * h[k];
        b->before_input[reset_at + k] = d_reset * slope_of(s, t, ONS_GRU_R, k);
    }
    for (int64_t j = 0; j < 2 * hidden; ++j) b->before_hidden[j] = b->before_input[j];
    for (int64_t k = 0; k < hidden; ++k)
        b->dh[k] = b->dh[k] * z[k] + b->dq[k] * (s->r->reset_after ? 1 : reset[k]) +
                   through_weights(b, b->before_hidden, 0, 2 * hidden, k);
}

static void back_lstm(const backward *b, int64_t t, const double *before, const double *after) {
    const sequence *s = &b->s;
    int64_t hidden = s->r->hidden;
    const int64_t *at = s->r->gate_at;
    const double *gates = gates_at(s, t), *p = s->peephole;
    const ons_recurrent_activation *h = &s->r->activations[s->d][2];
    for (int64_t j = 0; j < hidden; ++j) {
        double input = gates[at[ONS_LSTM_I] + j], output = gates[at[ONS_LSTM_O] + j];
        double forget = gates[at[ONS_LSTM_F] + j], fresh = gates[at[ONS_LSTM_C] + j];
        double d_output = b->dh[j] * ons_recurrent_activation_value(h, after[j]) * slope_of(s, t, ONS_LSTM_O, j);
        double dc = b->dc[j] + b->dh[j] * output * ons_recurrent_activation_slope(h, after[j]);
        if (p != NULL) dc += d_output * p[hidden + j];
        double d_input = dc * (s->r->coupled ? fresh - before[j] : fresh) * slope_of(s, t, ONS_LSTM_I, j);
        double d_forget = dc * before[j] * slope_of(s, t, ONS_LSTM_F, j);
        b->before_input[at[ONS_LSTM_I] + j] = d_input;
        b->before_input[at[ONS_LSTM_O] + j] = d_output;
        b->before_input[at[ONS_LSTM_F] + j] = d_forget;
        b->before_input[at[ONS_LSTM_C] + j] = dc * input * slope_of(s, t, ONS_LSTM_C, j);
        b->dc[j] = dc * forget;
        if (p != NULL) b->dc[j] += d_input * p[j] + d_forget * p[2 * hidden + j];
        if (b->dp == NULL) continue;
        b->dp[j] += d_input * before[j];
        b->dp[hidden + j] += d_output * after[j];
        b->dp[2 * hidden + j] += d_forget * before[j];
    }
    for (int64_t j = 0; j < s->r->rows; ++j) b->before_hidden[j] = b->before_input[j];
    for (int64_t k = 0; k < hidden; ++k) b->dh[k] = through_weights(b, b->before_hidden, 0, s->r->rows, k);
}

/* Adds this step's part to the gradients of X and all weights. */
static void add_products(const backward *b, int64_t t, const double *h) {
    const ons_recurrent *r = b->s.r;
    const double *x = b->s.x + ons_recurrent_x_row(r, t, b->s.n);
    bool reset_before = r->cell == ONS_CELL_GRU && !r->reset_after;
    for (int64_t row = 0; row < r->rows; ++row) {
        double d_input = b->before_input[row], d_hidden = b->before_hidden[row];
        const double *operand = reset_before && row >= 2 * r->hidden ? candidates_at(&b->s, t) : h;
        for (int64_t k = 0; k < r->inputs; ++k) {
            if (b->dx != NULL) b->dx[ons_recurrent_x_row(r, t, b->s.n) + k] += d_input * b->s.w[row * r->inputs + k];
            if (b->dw != NULL) b->dw[row * r->inputs + k] += d_input * x[k];
        }
        for (int64_t k = 0; b->dr != NULL && k < r->hidden; ++k) b->dr[row * r->hidden + k] += d_hidden * operand[k];
        if (b->db == NULL) continue;
        b->db[row] += d_input;
        b->db[r->rows + row] += d_hidden;
    }
}

static void back_sequence(const backward *b, const double *dy) {
    const ons_recurrent *r = b->s.r;
    for (int64_t step = r->steps; step-- > 0;) {
        int64_t t = ons_recurrent_time(r, b->s.d, step);
        if (t >= b->s.length) continue;
        const double *h = hidden_slot(&b->s, ons_recurrent_slot_before(r, b->s.d, t));
        for (int64_t j = 0; dy != NULL && j < r->hidden; ++j)
            b->dh[j] += dy[ons_recurrent_y_row(r, b->s.d, t, b->s.n) + j];
        if (r->cell == ONS_CELL_LSTM)
            back_lstm(b, t, cell_slot(&b->s, ons_recurrent_slot_before(r, b->s.d, t)),
                      cell_slot(&b->s, ons_recurrent_slot_after(r, b->s.d, t)));
        else if (r->cell == ONS_CELL_GRU)
            back_gru(b, t, h);
        else
            back_rnn(b, t);
        if (b->before != NULL)
            memcpy(b->before + ons_recurrent_gates_row(r, b->s.d, t, b->s.n), b->before_input,
                   (size_t)r->rows * sizeof(double));
        add_products(b, t, h);
    }
}

static double *part_of(void *const *outputs, uint32_t index, int64_t offset) {
    return outputs[index] == NULL ? NULL : (double *)outputs[index] + offset;
}

void ons_recurrent_gradient_reference(const ons_operands *o, ons_cell cell, const void *const *inputs,
                                      void *const *outputs) {
    ons_recurrent r;
    ons_resolved(ons_recurrent_of(o, cell, &r));
    double *rows = calloc((size_t)(2 * r.rows + 3 * r.hidden) + 1, sizeof *rows);
    if (rows == NULL) return;
    double *results[ONS_RG_OUTPUTS] = {0};
    for (uint32_t i = 0; i < ONS_RG_OUTPUTS && i < o->output_count; ++i) {
        if (!ons_has_output(o, i) || outputs[i] == NULL) continue;
        results[i] = outputs[i];
        for (int64_t k = 0, count = ons_elements(&o->outputs[i]); k < count; ++k) results[i][k] = 0;
    }
    if (results[ONS_RG_BEFORE] != NULL)
        memcpy(results[ONS_RG_BEFORE] + r.hidden_at, (const double *)inputs[ONS_RG_RECORD] + r.hidden_at,
               (size_t)(r.record - r.hidden_at) * sizeof(double));
    const double *p = optional(o, inputs, ONS_RG_P), *dy_h = optional(o, inputs, ONS_RG_DY_H);
    const double *dy_c = optional(o, inputs, ONS_RG_DY_C);
    const int64_t *lengths = ons_has_input(o, ONS_RG_LENGTHS) ? inputs[ONS_RG_LENGTHS] : NULL;
    for (int64_t d = 0; d < r.directions; ++d)
        for (int64_t n = 0; n < r.batch; ++n) {
            backward b = {
                .s = {.r = &r,
                      .d = d,
                      .n = n,
                      .length = length_of(&r, lengths, n),
                      .w = (const double *)inputs[ONS_RG_W] + d * r.rows * r.inputs,
                      .recurrent = (const double *)inputs[ONS_RG_R] + d * r.rows * r.hidden,
                      .peephole = p == NULL ? NULL : p + d * 3 * r.hidden,
                      .x = inputs[ONS_RG_X],
                      .record = (double *)inputs[ONS_RG_RECORD]}, /* is only read here */
                .before_input = rows,
                .before_hidden = rows + r.rows,
                .dh = rows + 2 * r.rows,
                .dc = rows + 2 * r.rows + r.hidden,
                .dq = rows + 2 * r.rows + 2 * r.hidden,
                .dx = results[ONS_RG_DX],
                .dw = part_of((void *const *)results, ONS_RG_DW, d * r.rows * r.inputs),
                .dr = part_of((void *const *)results, ONS_RG_DR, d * r.rows * r.hidden),
                .db = part_of((void *const *)results, ONS_RG_DB, d * 2 * r.rows),
                .dp = part_of((void *const *)results, ONS_RG_DP, d * 3 * r.hidden),
                .before = results[ONS_RG_BEFORE],
            };
            int64_t end = ons_recurrent_end_row(&r, d, n);
            for (int64_t j = 0; j < r.hidden; ++j) {
                b.dh[j] = dy_h == NULL ? 0 : dy_h[end + j];
                b.dc[j] = dy_c == NULL ? 0 : dy_c[end + j];
            }
            back_sequence(&b, optional(o, inputs, ONS_RG_DY));
            for (int64_t j = 0; j < r.hidden; ++j) {
                if (results[ONS_RG_DH0] != NULL) results[ONS_RG_DH0][end + j] = b.dh[j];
                if (results[ONS_RG_DC0] != NULL) results[ONS_RG_DC0][end + j] = b.dc[j];
            }
        }
    free(rows);
}
