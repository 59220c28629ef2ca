/* Rows of LSTM, GRU and RNN on the way back. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "kernels/common/math/simd.h"
#include "kernels/recurrent/recurrent_cell.h"

/* --------------------------------------------------------------------------------------------------------- any cell */

/* Derivatives of a gate's activation: the record's, or made from its results into `own`. */
static const float *slopes_of(const ons_recurrent_activation *activation, const ons_recurrent_back_row *w, int gate,
                              float *own) {
    if (w->slopes != NULL) return w->slopes + w->gate_at[gate];
    ons_recurrent_activation_row_slopes(activation, w->gates + w->gate_at[gate], own, w->count);
    return own;
}

void ons_recurrent_back_skip_row(const ons_recurrent *r, const ons_recurrent_back_row *w) {
    size_t bytes = (size_t)w->count * sizeof(float);
    for (int64_t gate = 0; gate < r->gates; ++gate) memset(w->before + gate * w->hidden, 0, bytes);
    if (r->cell == ONS_CELL_GRU) memset(w->last, 0, bytes);
}

/* A gate's results, which stay what they are when gradients take their place. */
static void keep_gate(const ons_recurrent_back_row *w, int gate, float *own) {
    memcpy(own, w->gates + w->gate_at[gate], (size_t)w->count * sizeof(float));
}

static void rnn_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                    const ons_recurrent_back_row *w) {
    float own[ONS_RECURRENT_BLOCK];
    const float *slopes = slopes_of(&activations[0], w, 0, own);
    for (int64_t j = 0; j < w->count; ++j) {
        w->before[j] = w->dh[j] * slopes[j];
        w->dh[j] = 0;
    }
}

static void lstm_output(const ons_recurrent *r, const ons_recurrent_activation *activations,
                        const ons_recurrent_back_row *w, float *restrict dc) {
    float value[ONS_RECURRENT_BLOCK], slope[ONS_RECURRENT_BLOCK], own[ONS_RECURRENT_BLOCK], output[ONS_RECURRENT_BLOCK];
    float *restrict d_output = w->before + w->gate_at[ONS_LSTM_O], *restrict dh = w->dh;
    memcpy(value, w->c_after, (size_t)w->count * sizeof(float));
    if (ons_recurrent_activation_result_tells(&activations[2])) {
        ons_recurrent_activation_row(&activations[2], INFINITY, value, NULL, w->count);
        ons_recurrent_activation_row_slopes(&activations[2], value, slope, w->count);
    } else {
        ons_recurrent_activation_row(&activations[2], INFINITY, value, slope, w->count);
    }
    const float *slopes = slopes_of(&activations[0], w, ONS_LSTM_O, own);
    keep_gate(w, ONS_LSTM_O, output);
    for (int64_t j = 0; j < w->count; ++j) {
        d_output[j] = dh[j] * value[j] * slopes[j];
        dc[j] = w->dc[j] + dh[j] * output[j] * slope[j];
        dh[j] = 0;
    }
    for (int64_t j = 0; w->peepholes != NULL && j < w->count; ++j) dc[j] += d_output[j] * w->peepholes[w->hidden + j];
}

static void lstm_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                     const ons_recurrent_back_row *w) {
    int64_t hidden = w->hidden, count = w->count;
    const float *c_before = w->c_before, *p = w->peepholes;
    float *d_input = w->before + w->gate_at[ONS_LSTM_I], *d_forget = w->before + w->gate_at[ONS_LSTM_F];
    float *d_fresh = w->before + w->gate_at[ONS_LSTM_C];
    float dc[ONS_RECURRENT_BLOCK], input[ONS_RECURRENT_BLOCK], forget[ONS_RECURRENT_BLOCK], fresh[ONS_RECURRENT_BLOCK];
    float own_i[ONS_RECURRENT_BLOCK], own_f[ONS_RECURRENT_BLOCK], own_c[ONS_RECURRENT_BLOCK];
    lstm_output(r, activations, w, dc);
    const float *slope_i = slopes_of(&activations[0], w, ONS_LSTM_I, own_i);
    const float *slope_f = slopes_of(&activations[0], w, ONS_LSTM_F, own_f);
    const float *slope_c = slopes_of(&activations[1], w, ONS_LSTM_C, own_c);
    keep_gate(w, ONS_LSTM_I, input);
    keep_gate(w, ONS_LSTM_F, forget);
    keep_gate(w, ONS_LSTM_C, fresh);
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
static void gru_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                    const ons_recurrent_back_row *w) {
    float own_z[ONS_RECURRENT_BLOCK], own_r[ONS_RECURRENT_BLOCK], own_h[ONS_RECURRENT_BLOCK];
    float z[ONS_RECURRENT_BLOCK], reset[ONS_RECURRENT_BLOCK], fresh[ONS_RECURRENT_BLOCK];
    int64_t count = w->count;
    const float *h = w->h_before;
    const float *slope_z = slopes_of(&activations[0], w, ONS_GRU_Z, own_z);
    const float *slope_r = slopes_of(&activations[0], w, ONS_GRU_R, own_r);
    const float *slope_h = slopes_of(&activations[1], w, ONS_GRU_H, own_h);
    keep_gate(w, ONS_GRU_Z, z);
    keep_gate(w, ONS_GRU_R, reset);
    keep_gate(w, ONS_GRU_H, fresh);
    float *restrict d_fresh = w->before + w->gate_at[ONS_GRU_H], *restrict d_z = w->before + w->gate_at[ONS_GRU_Z];
    float *restrict d_reset = w->before + w->gate_at[ONS_GRU_R], *restrict dh = w->dh;
    for (int64_t j = 0; j < count; ++j) {
        d_fresh[j] = dh[j] * (1.0f - z[j]) * slope_h[j];
        d_z[j] = dh[j] * (h[j] - fresh[j]) * slope_z[j];
        dh[j] *= z[j];
    }
    assert(w->last != NULL); /* every row of a GRU has it */
    memcpy(w->last, d_fresh, (size_t)count * sizeof(float));
    if (!r->reset_after) return;
    for (int64_t j = 0; j < count; ++j) {
        w->last[j] = d_fresh[j] * reset[j];
        d_reset[j] = d_fresh[j] * w->candidates[j] * slope_r[j];
    }
}

/* The reset gate where it comes before the product, whose gradient is now in dq. */
void ons_recurrent_gru_reset_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                                 const ons_recurrent_back_row *w) {
    float own[ONS_RECURRENT_BLOCK], *d_reset = w->before + w->gate_at[ONS_GRU_R];
    const float *slope_r = slopes_of(&activations[0], w, ONS_GRU_R, own), *reset = w->gates + w->gate_at[ONS_GRU_R];
    for (int64_t j = 0; j < w->count; ++j) w->dh[j] += w->dq[j] * reset[j];
    for (int64_t j = 0; j < w->count; ++j) d_reset[j] = w->dq[j] * w->h_before[j] * slope_r[j];
}

/* ------------------------------------------------------------------------------------------------------ usual cells */

/* y (1 - y), the slope of a sigmoid, and 1 - y², that of tanh, from their results. */
static inline ons_simd_float sigmoid_slope(ons_simd_float y) { return y * (1.0f - y); }
static inline ons_simd_float tanh_slope(ons_simd_float y) { return 1.0f - y * y; }

/* The units from `j` on, as many as there are lanes or, at the end of a row, fewer. */
static inline __attribute__((always_inline)) void usual_lstm_units(const void *argument, int64_t j, int64_t count) {
    const ons_recurrent_back_row *w = argument;
    const float *gates = w->gates + j;
    float *before = w->before + j;
    const int64_t *at = w->gate_at;
    ons_simd_float input = ons_simd_load_first(gates + at[ONS_LSTM_I], count);
    ons_simd_float output = ons_simd_load_first(gates + at[ONS_LSTM_O], count);
    ons_simd_float forget = ons_simd_load_first(gates + at[ONS_LSTM_F], count);
    ons_simd_float fresh = ons_simd_load_first(gates + at[ONS_LSTM_C], count);
    ons_simd_float value = ons_simd_tanh(ons_simd_load_first(w->c_after + j, count));
    ons_simd_float dh = ons_simd_load_first(w->dh + j, count);
    ons_simd_float dc = ons_simd_load_first(w->dc + j, count) + dh * output * tanh_slope(value);
    ons_simd_float c_before = ons_simd_load_first(w->c_before + j, count);
    ons_simd_store_first(before + at[ONS_LSTM_I], dc * fresh * sigmoid_slope(input), count);
    ons_simd_store_first(before + at[ONS_LSTM_O], dh * value * sigmoid_slope(output), count);
    ons_simd_store_first(before + at[ONS_LSTM_F], dc * c_before * sigmoid_slope(forget), count);
    ons_simd_store_first(before + at[ONS_LSTM_C], dc * input * tanh_slope(fresh), count);
    ons_simd_store_first(w->dc + j, dc * forget, count);
    ons_simd_store_first(w->dh + j, (ons_simd_float){0}, count);
}

static void usual_lstm_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                           const ons_recurrent_back_row *w) {
    ons_simd_each(w->count, usual_lstm_units, w);
}

static inline __attribute__((always_inline)) void usual_gru_units(const void *argument, int64_t j, int64_t count) {
    const ons_recurrent_back_row *w = argument;
    const float *gates = w->gates + j;
    float *before = w->before + j;
    const int64_t *at = w->gate_at;
    ons_simd_float update = ons_simd_load_first(gates + at[ONS_GRU_Z], count);
    ons_simd_float reset = ons_simd_load_first(gates + at[ONS_GRU_R], count);
    ons_simd_float fresh = ons_simd_load_first(gates + at[ONS_GRU_H], count);
    ons_simd_float dh = ons_simd_load_first(w->dh + j, count);
    ons_simd_float d_fresh = dh * (1.0f - update) * tanh_slope(fresh);
    ons_simd_float d_update = dh * (ons_simd_load_first(w->h_before + j, count) - fresh) * sigmoid_slope(update);
    ons_simd_float d_reset = d_fresh * ons_simd_load_first(w->candidates + j, count) * sigmoid_slope(reset);
    ons_simd_store_first(before + at[ONS_GRU_Z], d_update, count);
    ons_simd_store_first(before + at[ONS_GRU_R], d_reset, count);
    ons_simd_store_first(before + at[ONS_GRU_H], d_fresh, count);
    ons_simd_store_first(w->last + j, d_fresh * reset, count);
    ons_simd_store_first(w->dh + j, dh * update, count);
}

static void usual_gru_row(const ons_recurrent *r, const ons_recurrent_activation *activations,
                          const ons_recurrent_back_row *w) {
    ons_simd_each(w->count, usual_gru_units, w);
}

ons_recurrent_back_row_function *ons_recurrent_back_row_function_of(const ons_recurrent *r, int64_t d,
                                                                    bool has_peepholes) {
    bool usual = ons_recurrent_is_usual(r, d, has_peepholes);
    switch (r->cell) {
    case ONS_CELL_LSTM: return usual ? usual_lstm_row : lstm_row;
    case ONS_CELL_GRU: return usual ? usual_gru_row : gru_row;
    default: return rnn_row;
    }
}
