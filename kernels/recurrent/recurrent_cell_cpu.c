/* Rows of LSTM, GRU and RNN forward. */
#include <math.h>
#include <string.h>

#include "kernels/common/math/simd.h"
#include "kernels/recurrent/recurrent_cell.h"

bool ons_recurrent_is_usual(const ons_recurrent *r, int64_t d, bool has_peepholes) {
    const ons_recurrent_activation *given = r->activations[d];
    bool lstm = r->cell == ONS_CELL_LSTM, gru = r->cell == ONS_CELL_GRU && r->reset_after;
    bool tanh_last = !lstm || given[2].kind == ONS_ACTIVATION_TANH;
    return (lstm || gru) && !has_peepholes && !r->coupled && !r->keeps_slopes && tanh_last &&
           given[0].kind == ONS_ACTIVATION_SIGMOID && given[1].kind == ONS_ACTIVATION_TANH;
}

/* --------------------------------------------------------------------------------------------------------- any cell */

static void activate(const ons_recurrent *r, const ons_recurrent_activation *activation, const ons_recurrent_row *w,
                     int gate) {
    int64_t at = w->gate_at[gate];
    ons_recurrent_activation_row(activation, (float)r->clip, w->gates + at, w->slopes == NULL ? NULL : w->slopes + at,
                                 w->count);
}

static void copy_y(const ons_recurrent_row *w) {
    float *restrict y = w->y;
    for (int64_t j = 0; y != NULL && j < w->count; ++j) y[j] = w->h_after[j];
}

static void add_product(float *restrict to, const float *a, const float *b, int64_t count) {
    for (int64_t j = 0; j < count; ++j) to[j] += a[j] * b[j];
}

void ons_recurrent_skip_row(const ons_recurrent *r, const ons_recurrent_row *w) {
    size_t bytes = (size_t)w->count * sizeof(float);
    for (int64_t gate = 0; gate < r->gates; ++gate) {
        memset(w->gates + gate * w->hidden, 0, bytes);
        if (w->slopes != NULL) memset(w->slopes + gate * w->hidden, 0, bytes);
    }
    memcpy(w->h_after, w->h_before, bytes);
    if (w->c_after != NULL) memcpy(w->c_after, w->c_before, bytes);
    if (w->candidates != NULL) memset(w->candidates, 0, bytes);
    if (w->y != NULL) memset(w->y, 0, bytes);
}

static void rnn_row(const ons_recurrent *r, const ons_recurrent_activation *activations, const ons_recurrent_row *w) {
    activate(r, &activations[0], w, 0);
    memcpy(w->h_after, w->gates, (size_t)w->count * sizeof(float));
    copy_y(w);
}

static void lstm_row(const ons_recurrent *r, const ons_recurrent_activation *activations, const ons_recurrent_row *w) {
    int64_t hidden = w->hidden, count = w->count;
    const int64_t *at = w->gate_at;
    float *input = w->gates + at[ONS_LSTM_I], *output = w->gates + at[ONS_LSTM_O];
    float *forget = w->gates + at[ONS_LSTM_F], *fresh = w->gates + at[ONS_LSTM_C];
    const float *c_before = w->c_before, *p = w->peepholes;
    float *c_after = w->c_after, *h_after = w->h_after, unread[ONS_RECURRENT_BLOCK];
    if (p != NULL) add_product(input, p, c_before, count);
    if (p != NULL && !r->coupled) add_product(forget, p + 2 * hidden, c_before, count);
    activate(r, &activations[0], w, ONS_LSTM_I);
    activate(r, &activations[1], w, ONS_LSTM_C);
    if (r->coupled) {
        for (int64_t j = 0; j < count; ++j) forget[j] = 1.0f - input[j];
        if (w->slopes != NULL) memset(w->slopes + at[ONS_LSTM_F], 0, (size_t)count * sizeof(float));
    } else {
        activate(r, &activations[0], w, ONS_LSTM_F);
    }
    for (int64_t j = 0; j < count; ++j) c_after[j] = forget[j] * c_before[j] + input[j] * fresh[j];
    if (p != NULL) add_product(output, p + hidden, c_after, count);
    activate(r, &activations[0], w, ONS_LSTM_O);
    memcpy(h_after, c_after, (size_t)count * sizeof(float));
    ons_recurrent_activation_row(&activations[2], INFINITY, h_after,
                                 ons_recurrent_activation_result_tells(&activations[2]) ? NULL : unread, count);
    for (int64_t j = 0; j < count; ++j) h_after[j] *= output[j];
    copy_y(w);
}

/* The new state from the last gate's sum. */
void ons_recurrent_gru_finish_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                                  const ons_recurrent_row *w) {
    const float *z = w->gates + w->gate_at[ONS_GRU_Z], *fresh = w->gates + w->gate_at[ONS_GRU_H], *h = w->h_before;
    float *h_after = w->h_after;
    activate(r, &activations[1], w, ONS_GRU_H);
    for (int64_t j = 0; j < w->count; ++j) h_after[j] = (1.0f - z[j]) * fresh[j] + z[j] * h[j];
    copy_y(w);
}

static void gru_row(const ons_recurrent *r, const ons_recurrent_activation *activations, const ons_recurrent_row *w) {
    activate(r, &activations[0], w, ONS_GRU_Z);
    activate(r, &activations[0], w, ONS_GRU_R);
    const float *reset = w->gates + w->gate_at[ONS_GRU_R], *h = w->h_before, *bias = w->hidden_bias;
    float *q = w->candidates, *fresh = w->gates + w->gate_at[ONS_GRU_H];
    if (!r->reset_after) {
        for (int64_t j = 0; j < w->count; ++j) q[j] = reset[j] * h[j];
        return;
    }
    for (int64_t j = 0; bias != NULL && j < w->count; ++j) q[j] += bias[j];
    for (int64_t j = 0; j < w->count; ++j) fresh[j] += reset[j] * q[j];
    ons_recurrent_gru_finish_row(r, activations, w);
}

/* ------------------------------------------------------------------------------------------------------ usual cells */

/* The units from `j` on, as many as there are lanes or, at the end of a row, fewer. */
static inline __attribute__((always_inline)) void usual_lstm_units(const void *argument, int64_t j, int64_t count) {
    const ons_recurrent_row *w = argument;
    float *gates = w->gates + j;
    const int64_t *at = w->gate_at;
    ons_simd_float input = ons_simd_sigmoid(ons_simd_load_first(gates + at[ONS_LSTM_I], count));
    ons_simd_float output = ons_simd_sigmoid(ons_simd_load_first(gates + at[ONS_LSTM_O], count));
    ons_simd_float forget = ons_simd_sigmoid(ons_simd_load_first(gates + at[ONS_LSTM_F], count));
    ons_simd_float fresh = ons_simd_tanh(ons_simd_load_first(gates + at[ONS_LSTM_C], count));
    ons_simd_float cell = forget * ons_simd_load_first(w->c_before + j, count) + input * fresh;
    ons_simd_float h = output * ons_simd_tanh(cell);
    ons_simd_store_first(gates + at[ONS_LSTM_I], input, count);
    ons_simd_store_first(gates + at[ONS_LSTM_O], output, count);
    ons_simd_store_first(gates + at[ONS_LSTM_F], forget, count);
    ons_simd_store_first(gates + at[ONS_LSTM_C], fresh, count);
    ons_simd_store_first(w->c_after + j, cell, count);
    ons_simd_store_first(w->h_after + j, h, count);
    if (w->y != NULL) ons_simd_store_first(w->y + j, h, count);
}

static void usual_lstm_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                           const ons_recurrent_row *w) {
    ons_simd_each(w->count, usual_lstm_units, w);
}

static inline __attribute__((always_inline)) void usual_gru_units(const void *argument, int64_t j, int64_t count) {
    const ons_recurrent_row *w = argument;
    float *gates = w->gates + j;
    const int64_t *at = w->gate_at;
    ons_simd_float update = ons_simd_sigmoid(ons_simd_load_first(gates + at[ONS_GRU_Z], count));
    ons_simd_float reset = ons_simd_sigmoid(ons_simd_load_first(gates + at[ONS_GRU_R], count));
    ons_simd_float q = ons_simd_load_first(w->candidates + j, count);
    if (w->hidden_bias != NULL) q += ons_simd_load_first(w->hidden_bias + j, count);
    ons_simd_float fresh = ons_simd_tanh(ons_simd_load_first(gates + at[ONS_GRU_H], count) + reset * q);
    ons_simd_float h = (1.0f - update) * fresh + update * ons_simd_load_first(w->h_before + j, count);
    ons_simd_store_first(gates + at[ONS_GRU_Z], update, count);
    ons_simd_store_first(gates + at[ONS_GRU_R], reset, count);
    ons_simd_store_first(gates + at[ONS_GRU_H], fresh, count);
    ons_simd_store_first(w->candidates + j, q, count);
    ons_simd_store_first(w->h_after + j, h, count);
    if (w->y != NULL) ons_simd_store_first(w->y + j, h, count);
}

static void usual_gru_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                          const ons_recurrent_row *w) {
    ons_simd_each(w->count, usual_gru_units, w);
}

ons_recurrent_row_function *ons_recurrent_row_function_of(const ons_recurrent *r, int64_t d, bool has_peepholes) {
    bool usual = ons_recurrent_is_usual(r, d, has_peepholes);
    switch (r->cell) {
    case ONS_CELL_LSTM: return usual ? usual_lstm_row : lstm_row;
    case ONS_CELL_GRU: return usual ? usual_gru_row : gru_row;
    default: return rnn_row;
    }
}
