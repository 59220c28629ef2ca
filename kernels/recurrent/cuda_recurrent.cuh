/* LSTM, GRU and RNN on CUDA: see cuda_recurrent.h and recurrent.h. A thread makes one unit of one sample at one step.
 */
#ifndef ONSTAGE_KERNELS_RECURRENT_CUDA_RECURRENT_CUH
#define ONSTAGE_KERNELS_RECURRENT_CUDA_RECURRENT_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/recurrent/cuda_recurrent.h"
}

namespace ons {

/* ------------------------------------------------------------------------------------------------------ activations */

__device__ inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

__device__ inline float activation_value(const ons_recurrent_activation &a, float v) {
    float alpha = (float)a.alpha, beta = (float)a.beta;
    switch (a.kind) {
    case ONS_ACTIVATION_SIGMOID: return sigmoid(v);
    case ONS_ACTIVATION_TANH: return tanhf(v);
    case ONS_ACTIVATION_RELU: return v < 0 ? 0 : v;
    case ONS_ACTIVATION_AFFINE: return alpha * v + beta;
    case ONS_ACTIVATION_LEAKY_RELU: return v < 0 ? alpha * v : v;
    case ONS_ACTIVATION_THRESHOLDED_RELU: return v < alpha ? 0 : v;
    case ONS_ACTIVATION_SCALED_TANH: return alpha * tanhf(beta * v);
    case ONS_ACTIVATION_HARD_SIGMOID: return fminf(fmaxf(alpha * v + beta, 0.0f), 1.0f);
    case ONS_ACTIVATION_ELU: return v < 0 ? alpha * expm1f(v) : v;
    case ONS_ACTIVATION_SOFTSIGN: return v / (1 + fabsf(v));
    default: return fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));
    }
}

/* The derivative, y being the value at v; the first three kinds follow from y alone. */
__device__ inline float activation_slope(const ons_recurrent_activation &a, float v, float y) {
    float alpha = (float)a.alpha, beta = (float)a.beta, inner;
    switch (a.kind) {
    case ONS_ACTIVATION_SIGMOID: return y * (1 - y);
    case ONS_ACTIVATION_TANH: return 1 - y * y;
    case ONS_ACTIVATION_RELU: return y > 0 ? 1 : 0;
    case ONS_ACTIVATION_AFFINE: return alpha;
    case ONS_ACTIVATION_LEAKY_RELU: return v < 0 ? alpha : 1;
    case ONS_ACTIVATION_THRESHOLDED_RELU: return v < alpha ? 0 : 1;
    case ONS_ACTIVATION_SCALED_TANH: inner = tanhf(beta * v); return alpha * beta * (1 - inner * inner);
    case ONS_ACTIVATION_HARD_SIGMOID: return y > 0 && y < 1 ? alpha : 0;
    case ONS_ACTIVATION_ELU: return v < 0 ? alpha * expf(v) : 1;
    case ONS_ACTIVATION_SOFTSIGN: return 1 / ((1 + fabsf(v)) * (1 + fabsf(v)));
    default: return sigmoid(v);
    }
}

/* -------------------------------------------------------------------------------------------------------- the parts */

/* The record as its parts; what the cell does not have is not looked at. */
struct recurrent_record {
    float *gates, *hidden, *cell, *candidates, *slopes;
};
inline recurrent_record record_of(const ons_recurrent &r, float *record) {
    return {record, record + r.hidden_at, record + r.cell_at, record + r.candidate_at,
            r.keeps_slopes ? record + r.slopes_at : nullptr};
}

__device__ inline int64_t sequence_length(const ons_recurrent &r, const int32_t *lengths, int64_t n) {
    if (lengths == nullptr) return r.steps;
    return lengths[n] < 0 ? 0 : lengths[n] > r.steps ? r.steps : lengths[n];
}

template <class T> inline const T *recurrent_input(const ons_launch *l, uint32_t index) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    return (s->present >> index & 1) != 0 ? (const T *)l->inputs[index] : nullptr;
}
inline float *recurrent_scratch(const ons_launch *l, int64_t at) { return (float *)((char *)l->scratch + at); }

inline void multiply(const ons_launch *l, ons_recurrent_gemm which, const float *a, const float *b, float *c,
                     const float *bias = nullptr) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    ons_cuda_gemm_memory memory = {};
    memory.a = a;
    memory.b = b;
    memory.c = c;
    memory.vector = (void *)bias;
    memory.workspace = (char *)l->scratch + s->workspace_at;
    if (s->plans[which] != nullptr) ons_cuda_plan_run(s->plans[which], l->stream, &memory);
}

/* X between [batch][time] and [time][batch]. */
struct swap_time {
    ons_recurrent r;
    const float *from;
    float *to;
    bool to_batch_first;
    __device__ void operator()(int64_t i) const {
        int64_t rest = i / r.inputs, n = rest % r.batch, t = rest / r.batch;
        int64_t swapped = (n * r.steps + t) * r.inputs + (i - rest * r.inputs);
        to[to_batch_first ? swapped : i] = from[to_batch_first ? i : swapped];
    }
};

/* Between an operand, a state at one end, and a place [D][…][N][H] whose directions lie `stride` apart. */
struct copy_ends {
    ons_recurrent r;
    const float *operand; /* nullptr: zeros */
    float *out;           /* not nullptr: from the place to there */
    float *place;
    int64_t stride;
    int64_t slots[ONS_RECURRENT_DIRECTIONS]; /* elements before the place of each direction */
    __device__ void operator()(int64_t i) const {
        int64_t j = i % r.hidden, n = i / r.hidden % r.batch, d = i / r.hidden / r.batch;
        int64_t end = ons_recurrent_end_row(&r, d, n) + j, at = d * stride + slots[d] + n * r.hidden + j;
        if (out != nullptr)
            out[end] = place[at];
        else
            place[at] = operand == nullptr ? 0 : operand[end];
    }
};

/* ---------------------------------------------------------------------------------------------------------- forward */

struct gate_step {
    ons_recurrent r;
    recurrent_record record;
    const float *product;     /* GRU: h Rᵀ by itself, or (r h) R_hᵀ */
    const float *hidden_bias; /* GRU's Rb_h of this direction, or nullptr */
    const float *peepholes;   /* of this direction */
    const int32_t *lengths;
    float *y; /* nullptr: not wanted */
    int d;
    int64_t t;
    bool second; /* GRU: after the second product */

    struct unit {
        int64_t n, j, gates, before, after, candidate;
    };
    __device__ float activate(const unit &u, int gate, const ons_recurrent_activation &a) const {
        int64_t at = u.gates + r.gate_at[gate];
        float x = record.gates[at];
        if (record.slopes == nullptr) return record.gates[at] = activation_value(a, x);
        float clip = (float)r.clip, v = fminf(fmaxf(x, -clip), clip), y = activation_value(a, v);
        record.slopes[at] = fabsf(x) > clip ? 0 : activation_slope(a, v, y);
        return record.gates[at] = y;
    }
    __device__ void skip(const unit &u) const {
        for (int64_t gate = 0; gate < r.gates; ++gate) {
            record.gates[u.gates + gate * r.hidden] = 0;
            if (record.slopes != nullptr) record.slopes[u.gates + gate * r.hidden] = 0;
        }
        record.hidden[u.after] = record.hidden[u.before];
        if (r.cell == ONS_CELL_LSTM) record.cell[u.after] = record.cell[u.before];
        if (r.cell == ONS_CELL_GRU) record.candidates[u.candidate] = 0;
    }
    __device__ void lstm(const unit &u) const {
        const ons_recurrent_activation *a = r.activations[d];
        float *gates = record.gates + u.gates, before = record.cell[u.before];
        int64_t H = r.hidden;
        if (peepholes != nullptr) gates[r.gate_at[ONS_LSTM_I]] += peepholes[u.j] * before;
        if (peepholes != nullptr && !r.coupled) gates[r.gate_at[ONS_LSTM_F]] += peepholes[2 * H + u.j] * before;
        float input = activate(u, ONS_LSTM_I, a[0]), fresh = activate(u, ONS_LSTM_C, a[1]), forget = 1 - input;
        if (r.coupled) {
            gates[r.gate_at[ONS_LSTM_F]] = forget;
            if (record.slopes != nullptr) record.slopes[u.gates + r.gate_at[ONS_LSTM_F]] = 0;
        } else {
            forget = activate(u, ONS_LSTM_F, a[0]);
        }
        float after = forget * before + input * fresh;
        record.cell[u.after] = after;
        if (peepholes != nullptr) gates[r.gate_at[ONS_LSTM_O]] += peepholes[H + u.j] * after;
        record.hidden[u.after] = activate(u, ONS_LSTM_O, a[0]) * activation_value(a[2], after);
    }
    __device__ void gru_finish(const unit &u, float z) const {
        float fresh = activate(u, ONS_GRU_H, r.activations[d][1]);
        record.hidden[u.after] = (1 - z) * fresh + z * record.hidden[u.before];
    }
    __device__ void gru(const unit &u) const {
        const ons_recurrent_activation *a = r.activations[d];
        float *gates = record.gates + u.gates;
        int64_t H = r.hidden, width = r.reset_after ? 3 * H : 2 * H;
        const float *own = product + u.n * width + u.j;
        if (second) {
            gates[2 * H] += product[u.n * H + u.j];
            gru_finish(u, gates[r.gate_at[ONS_GRU_Z]]);
            return;
        }
        gates[0] += own[0];
        gates[H] += own[H];
        float z = activate(u, ONS_GRU_Z, a[0]), reset = activate(u, ONS_GRU_R, a[0]);
        float candidate = r.reset_after ? own[2 * H] + (hidden_bias == nullptr ? 0 : hidden_bias[u.j])
                                        : reset * record.hidden[u.before];
        record.candidates[u.candidate] = candidate;
        if (!r.reset_after) return;
        gates[2 * H] += reset * candidate;
        gru_finish(u, z);
    }
    __device__ void operator()(int64_t i) const {
        int64_t n = i / r.hidden, j = i - n * r.hidden;
        unit u = {n,
                  j,
                  ons_recurrent_gates_row(&r, d, t, n) + j,
                  ons_recurrent_state_row(&r, d, ons_recurrent_slot_before(&r, d, t), n) + j,
                  ons_recurrent_state_row(&r, d, ons_recurrent_slot_after(&r, d, t), n) + j,
                  ons_recurrent_candidate_row(&r, d, t, n) + j};
        bool active = t < sequence_length(r, lengths, n);
        if (!active) {
            skip(u);
        } else if (r.cell == ONS_CELL_LSTM) {
            lstm(u);
        } else if (r.cell == ONS_CELL_GRU) {
            gru(u);
        } else {
            record.hidden[u.after] = activate(u, 0, r.activations[d][0]);
        }
        bool done = r.cell != ONS_CELL_GRU || r.reset_after || second;
        if (y != nullptr && done) y[ons_recurrent_y_row(&r, d, t, n) + j] = active ? record.hidden[u.after] : 0;
    }
};

/* Wb + Rb, but for GRU's Rb_h where that is under the reset gate. */
struct add_biases {
    ons_recurrent r;
    const float *b;
    float *sums;
    __device__ void operator()(int64_t i) const {
        int64_t d = i / r.rows, row = i - d * r.rows;
        bool apart = r.reset_after && row >= 2 * r.hidden;
        sums[i] = b[d * 2 * r.rows + row] + (apart ? 0 : b[d * 2 * r.rows + r.rows + row]);
    }
};

/* Where there is nothing to multiply. */
struct fill_gates {
    const float *bias;
    int64_t rows;
    float *gates;
    __device__ void operator()(int64_t i) const { gates[i] = bias == nullptr ? 0 : bias[i % rows]; }
};

[[maybe_unused]] static __global__ void check_sequence_lengths(int64_t batch, int64_t steps, const int32_t *lengths,
                                                               fault_place fault) {
    int64_t worst = batch;
    for (int64_t i = threadIdx.x; i < batch && worst == batch; i += INDEXING_THREADS)
        if (lengths[i] < 0 || lengths[i] > steps) worst = i;
    worst = block_reduce<INDEXING_THREADS>(worst, batch, smaller());
    if (threadIdx.x == 0 && worst < batch) note_fault(fault, worst, lengths[worst]);
}

inline void project_inputs(const ons_launch *l, const recurrent_record &record) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    const ons_recurrent &r = s->r;
    const float *x = (const float *)l->inputs[ONS_RECURRENT_X], *b = recurrent_input<float>(l, ONS_RECURRENT_B);
    float *sums = recurrent_scratch(l, s->bias_at);
    if (r.batch_first) {
        each(l, r.steps * r.batch * r.inputs, swap_time{r, x, recurrent_scratch(l, s->x_at), false});
        x = recurrent_scratch(l, s->x_at);
    }
    if (b != nullptr) each(l, r.directions * r.rows, add_biases{r, b, sums});
    for (int64_t d = 0; d < r.directions; ++d) {
        float *gates = record.gates + ons_recurrent_gates_row(&r, d, 0, 0),
              *bias = b == nullptr ? nullptr : sums + d * r.rows;
        if (s->plans[ONS_RP_INPUT] == nullptr) each(l, r.steps * r.batch * r.rows, fill_gates{bias, r.rows, gates});
        multiply(l, ONS_RP_INPUT, x, (const float *)l->inputs[ONS_RECURRENT_W] + d * r.rows * r.inputs, gates, bias);
    }
}

inline copy_ends ends_of(const ons_recurrent &r, float *states, bool start) {
    copy_ends copy = {r, nullptr, nullptr, states, (r.steps + 1) * r.batch * r.hidden, {0, 0}};
    for (int64_t d = 0; d < r.directions; ++d) copy.slots[d] = r.reverse[d] == start ? r.steps * r.batch * r.hidden : 0;
    return copy;
}

inline void run_step(const ons_launch *l, gate_step step, int64_t d, int64_t t) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    const ons_recurrent &r = s->r;
    const float *weights = (const float *)l->inputs[ONS_RECURRENT_R] + d * r.rows * r.hidden;
    const float *h = step.record.hidden + ons_recurrent_state_row(&r, d, ons_recurrent_slot_before(&r, d, t), 0);
    float *gates = step.record.gates + ons_recurrent_gates_row(&r, d, t, 0),
          *product = recurrent_scratch(l, s->product_at);
    step.d = (int)d;
    step.t = t;
    step.product = product;
    multiply(l, ONS_RP_STEP, h, weights, r.cell == ONS_CELL_GRU ? product : gates);
    each(l, r.batch * r.hidden, step);
    if (r.cell != ONS_CELL_GRU || r.reset_after) return;
    step.second = true;
    multiply(l, ONS_RP_LAST, step.record.candidates + ons_recurrent_candidate_row(&r, d, t, 0),
             weights + 2 * r.hidden * r.hidden, product);
    each(l, r.batch * r.hidden, step);
}

inline void run_recurrent(const ons_launch *l) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    const ons_recurrent &r = s->r;
    bool lstm = r.cell == ONS_CELL_LSTM;
    float *memory =
        s->keeps_record ? (float *)l->outputs[ons_recurrent_record(r.cell)] : recurrent_scratch(l, s->record_at);
    recurrent_record record = record_of(r, memory);
    const int32_t *lengths = recurrent_input<int32_t>(l, ONS_RECURRENT_LENGTHS);
    const float *biases = r.reset_after ? recurrent_input<float>(l, ONS_RECURRENT_B) : nullptr;
    const float *peepholes = lstm ? recurrent_input<float>(l, ONS_RECURRENT_P) : nullptr;
    int64_t ends = r.directions * r.batch * r.hidden;
    if (lengths != nullptr)
        launch(l, check_sequence_lengths, 1, INDEXING_THREADS, r.batch, r.steps, lengths,
               fault_of(l, ONS_RECURRENT_BAD_LENGTH));
    project_inputs(l, record);
    copy_ends begin = ends_of(r, record.hidden, true);
    begin.operand = recurrent_input<float>(l, ONS_RECURRENT_H0);
    each(l, ends, begin);
    if (lstm) {
        begin = ends_of(r, record.cell, true);
        begin.operand = recurrent_input<float>(l, ONS_RECURRENT_C0);
        each(l, ends, begin);
    }
    gate_step step = {r, record, nullptr, nullptr, nullptr, lengths, (float *)l->outputs[ONS_RECURRENT_Y], 0, 0, false};
    for (int64_t d = 0; d < r.directions; ++d) {
        step.hidden_bias = biases == nullptr ? nullptr : biases + d * 2 * r.rows + r.rows + 2 * r.hidden;
        step.peepholes = peepholes == nullptr ? nullptr : peepholes + d * 3 * r.hidden;
        for (int64_t i = 0; i < r.steps; ++i) run_step(l, step, d, ons_recurrent_time(&r, d, i));
    }
    for (uint32_t i = 0; i < (lstm ? 2u : 1u); ++i) {
        copy_ends end = ends_of(r, i == 0 ? record.hidden : record.cell, false);
        end.out = (float *)l->outputs[ONS_RECURRENT_Y_H + i];
        if (end.out != nullptr) each(l, ends, end);
    }
}

} // namespace ons

#endif
