#include "kernels/recurrent/cuda_recurrent.cuh"

namespace {

/* A thread has one unit of one sample. `before`: what reaches the gates' sums, where the gates lie or elsewhere; GRU's
 * products with R take the first two gates and the last from places of their own, since what reaches R_h is not what
 * reaches W_h. */
struct gate_back {
    ons_recurrent r;
    ons::recurrent_record record; /* is only read */
    float *before, *first, *last, *dh, *dc;
    const float *dq; /* GRU whose reset gate comes first: after the product; otherwise nullptr */
    const float *peepholes, *dy;
    const int32_t *lengths;
    int d;
    int64_t t;

    struct unit {
        int64_t j, gates, before, after, candidate, end;
    };
    __device__ float slope(const unit &u, int gate, const ons_recurrent_activation &a) const {
        int64_t at = u.gates + r.gate_at[gate];
        return record.slopes != nullptr ? record.slopes[at] : ons::activation_slope(a, 0, record.gates[at]);
    }
    __device__ void lstm(const unit &u, float slope_h) const {
        const ons_recurrent_activation *a = r.activations[d];
        const float *gates = record.gates + u.gates;
        int64_t H = r.hidden;
        float after = record.cell[u.after], c_before = record.cell[u.before],
              value = ons::activation_value(a[2], after);
        const int64_t *at = r.gate_at;
        float input = gates[at[ONS_LSTM_I]], output = gates[at[ONS_LSTM_O]], forget = gates[at[ONS_LSTM_F]],
              fresh = gates[at[ONS_LSTM_C]];
        float d_output = slope_h * value * slope(u, ONS_LSTM_O, a[0]);
        float of_cell = dc[u.end] + slope_h * output * ons::activation_slope(a[2], after, value);
        if (peepholes != nullptr) of_cell += d_output * peepholes[H + u.j];
        float d_input = of_cell * (r.coupled ? fresh - c_before : fresh) * slope(u, ONS_LSTM_I, a[0]);
        float d_forget = r.coupled ? 0 : of_cell * c_before * slope(u, ONS_LSTM_F, a[0]);
        before[u.gates + at[ONS_LSTM_I]] = d_input;
        before[u.gates + at[ONS_LSTM_O]] = d_output;
        before[u.gates + at[ONS_LSTM_F]] = d_forget;
        before[u.gates + at[ONS_LSTM_C]] = of_cell * input * slope(u, ONS_LSTM_C, a[1]);
        dc[u.end] = of_cell * forget;
        if (peepholes != nullptr) dc[u.end] += d_input * peepholes[u.j] + d_forget * peepholes[2 * H + u.j];
        dh[u.end] = 0;
    }
    __device__ int64_t first_at(const unit &u) const { return 2 * (u.candidate - u.j) + u.j; }
    __device__ void gru(const unit &u, float slope_h) const {
        const ons_recurrent_activation *a = r.activations[d];
        const float *gates = record.gates + u.gates;
        int64_t z_at = r.gate_at[ONS_GRU_Z], r_at = r.gate_at[ONS_GRU_R], h_at = r.gate_at[ONS_GRU_H];
        float z = gates[z_at], reset = gates[r_at], fresh = gates[h_at];
        float d_fresh = slope_h * (1 - z) * slope(u, ONS_GRU_H, a[1]);
        float d_z = slope_h * (record.hidden[u.before] - fresh) * slope(u, ONS_GRU_Z, a[0]);
        before[u.gates + z_at] = first[first_at(u) + z_at] = d_z;
        before[u.gates + h_at] = d_fresh;
        last[u.candidate] = r.reset_after ? d_fresh * reset : d_fresh;
        dh[u.end] = slope_h * z;
        if (!r.reset_after) return;
        float d_reset = d_fresh * record.candidates[u.candidate] * slope(u, ONS_GRU_R, a[0]);
        before[u.gates + r_at] = first[first_at(u) + r_at] = d_reset;
    }
    /* The reset gate where it comes before the product, whose gradient is in dq. */
    __device__ void gru_reset(const unit &u) const {
        int64_t r_at = r.gate_at[ONS_GRU_R];
        float d_reset = dq[u.end] * record.hidden[u.before] * slope(u, ONS_GRU_R, r.activations[d][0]);
        dh[u.end] += dq[u.end] * record.gates[u.gates + r_at];
        before[u.gates + r_at] = first[first_at(u) + r_at] = d_reset;
    }
    __device__ void skip(const unit &u) const {
        for (int64_t gate = 0; gate < r.gates; ++gate) before[u.gates + gate * r.hidden] = 0;
        if (r.cell != ONS_CELL_GRU) return;
        first[first_at(u)] = first[first_at(u) + r.hidden] = last[u.candidate] = 0;
    }
    __device__ void operator()(int64_t i) const {
        int64_t n = i / r.hidden, j = i - n * r.hidden;
        unit u = {j,
                  ons_recurrent_gates_row(&r, d, t, n) + j,
                  ons_recurrent_state_row(&r, d, ons_recurrent_slot_before(&r, d, t), n) + j,
                  ons_recurrent_state_row(&r, d, ons_recurrent_slot_after(&r, d, t), n) + j,
                  ons_recurrent_candidate_row(&r, d, t, n) + j,
                  (d * r.batch + n) * r.hidden + j};
        if (t >= ons::sequence_length(r, lengths, n)) {
            skip(u);
            return;
        }
        if (dq != nullptr) {
            gru_reset(u);
            return;
        }
        float slope_h = dh[u.end] + (dy == nullptr ? 0 : dy[ons_recurrent_y_row(&r, d, t, n) + j]);
        if (r.cell == ONS_CELL_LSTM) {
            lstm(u, slope_h);
        } else if (r.cell == ONS_CELL_GRU) {
            gru(u, slope_h);
        } else {
            before[u.gates] = slope_h * slope(u, 0, r.activations[d][0]);
            dh[u.end] = 0;
        }
    }
};

constexpr int SUM_COLUMNS = 32, SUM_LANES = 8;

/* Σ over rows of a (times b, where it is given): a block for 32 columns, whose lanes are joined in order. */
__global__ void sum_rows(const float *a, int64_t stride, const float *b, int64_t stride_b, int64_t rows,
                         int64_t columns, float *to, float *also_to) {
    __shared__ double lanes[SUM_LANES][SUM_COLUMNS];
    int column = (int)threadIdx.x % SUM_COLUMNS, lane = (int)threadIdx.x / SUM_COLUMNS;
    for (int64_t block = blockIdx.x; block < (columns + SUM_COLUMNS - 1) / SUM_COLUMNS; block += gridDim.x) {
        int64_t at = block * SUM_COLUMNS + column;
        double sum = 0;
        for (int64_t row = lane; at < columns && row < rows; row += SUM_LANES)
            sum += (double)a[row * stride + at] * (b == nullptr ? 1.0f : b[row * stride_b + at]);
        lanes[lane][column] = sum;
        __syncthreads();
        if (lane == 0 && at < columns) {
            for (int i = 1; i < SUM_LANES; ++i) sum += lanes[i][column];
            to[at] = (float)sum;
            if (also_to != nullptr) also_to[at] = (float)sum;
        }
        __syncthreads();
    }
}

void add_rows(const ons_launch *l, const float *a, int64_t stride, const float *b, int64_t stride_b, int64_t rows,
              int64_t columns, float *to, float *also_to) {
    ons::launch(l, sum_rows, (columns + SUM_COLUMNS - 1) / SUM_COLUMNS, SUM_COLUMNS * SUM_LANES, a, stride, b, stride_b,
                rows, columns, to, also_to);
}

void run_steps(const ons_launch *l, gate_back step) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    const ons_recurrent &r = s->r;
    bool gru = r.cell == ONS_CELL_GRU, halves = gru && !r.reset_after;
    float *dq = ons::recurrent_scratch(l, s->dq_at);
    for (int64_t d = 0; d < r.directions; ++d) {
        const float *weights = (const float *)l->inputs[ONS_RG_R] + d * r.rows * r.hidden,
                    *last_weights = weights + 2 * r.hidden * r.hidden;
        const float *peepholes = step.peepholes;
        int64_t ends = d * r.batch * r.hidden;
        step.d = (int)d;
        if (peepholes != nullptr) step.peepholes = peepholes + d * 3 * r.hidden;
        for (int64_t i = r.steps; i-- > 0;) {
            step.t = ons_recurrent_time(&r, d, i);
            int64_t at = ons_recurrent_candidate_row(&r, d, step.t, 0);
            ons::each(l, r.batch * r.hidden, step);
            if (halves) {
                gate_back reset = step;
                reset.dq = dq;
                ons::multiply(l, ONS_RP_BACK_H, step.last + at, last_weights, dq + ends);
                ons::each(l, r.batch * r.hidden, reset);
            }
            const float *gradients =
                gru ? step.first + 2 * at : step.before + ons_recurrent_gates_row(&r, d, step.t, 0);
            ons::multiply(l, ONS_RP_BACK, gradients, weights, step.dh + ends);
            if (gru && !halves) ons::multiply(l, ONS_RP_BACK_H, step.last + at, last_weights, step.dh + ends);
        }
        step.peepholes = peepholes;
    }
}

/* The gradients of X, W and R from those of the gates of all steps. */
void run_products(const ons_launch *l, const gate_back &step) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)l->state;
    const ons_recurrent &r = s->r;
    bool gru = r.cell == ONS_CELL_GRU;
    const float *x = (const float *)l->inputs[ONS_RG_X], *w = (const float *)l->inputs[ONS_RG_W];
    float *made = (float *)l->outputs[ONS_RG_DX], *dw = (float *)l->outputs[ONS_RG_DW],
          *dr = (float *)l->outputs[ONS_RG_DR];
    float *dx = made != nullptr && r.batch_first ? ons::recurrent_scratch(l, s->dx_at) : made;
    int64_t inputs = r.steps * r.batch * r.inputs;
    if (r.batch_first && dw != nullptr) {
        ons::each(l, inputs, ons::swap_time{r, x, ons::recurrent_scratch(l, s->x_at), false});
        x = ons::recurrent_scratch(l, s->x_at);
    }
    if (dx != nullptr && s->plans[ONS_RP_DX] == nullptr) ons::zero_bytes(l, dx, inputs * (int64_t)sizeof(float));
    if (dw != nullptr && s->plans[ONS_RP_DW] == nullptr)
        ons::zero_bytes(l, dw, r.directions * r.rows * r.inputs * (int64_t)sizeof(float));
    if (dr != nullptr && s->plans[ONS_RP_DR] == nullptr)
        ons::zero_bytes(l, dr, r.directions * r.rows * r.hidden * (int64_t)sizeof(float));
    for (int64_t d = 0; d < r.directions; ++d) {
        const float *before = step.before + ons_recurrent_gates_row(&r, d, 0, 0);
        int64_t at = ons_recurrent_candidate_row(&r, d, 0, 0);
        const float *h = step.record.hidden + ons_recurrent_state_row(&r, d, r.reverse[d] ? 1 : 0, 0);
        if (dx != nullptr) ons::multiply(l, d > 0 ? ONS_RP_DX_MORE : ONS_RP_DX, before, w + d * r.rows * r.inputs, dx);
        if (dw != nullptr) ons::multiply(l, ONS_RP_DW, before, x, dw + d * r.rows * r.inputs);
        if (dr == nullptr) continue;
        float *of_direction = dr + d * r.rows * r.hidden;
        ons::multiply(l, ONS_RP_DR, gru ? step.first + 2 * at : before, h, of_direction);
        if (gru)
            ons::multiply(l, ONS_RP_DR_H, step.last + at, r.reset_after ? h : step.record.candidates + at,
                          of_direction + 2 * r.hidden * r.hidden);
    }
    if (made != nullptr && r.batch_first) ons::each(l, inputs, ons::swap_time{r, dx, made, true});
}

/* P in the order i, o, f: i and f saw the cell before the step, o the one after it. */
void run_sums(const ons_launch *l, const gate_back &step) {
    const ons_recurrent &r = ((const ons_cuda_recurrent *)l->state)->r;
    static const int gates[3] = {ONS_LSTM_I, ONS_LSTM_O, ONS_LSTM_F};
    float *db = (float *)l->outputs[ONS_RG_DB], *dp = (float *)l->outputs[ONS_RG_DP];
    int64_t all = r.steps * r.batch;
    for (int64_t d = 0; d < r.directions; ++d) {
        const float *before = step.before + ons_recurrent_gates_row(&r, d, 0, 0);
        float *to = db == nullptr ? nullptr : db + d * 2 * r.rows;
        if (db != nullptr) add_rows(l, before, r.rows, nullptr, 0, all, r.rows, to, to + r.rows);
        if (db != nullptr && r.reset_after)
            add_rows(l, step.last + ons_recurrent_candidate_row(&r, d, 0, 0), r.hidden, nullptr, 0, all, r.hidden,
                     to + r.rows + 2 * r.hidden, nullptr);
        for (int i = 0; dp != nullptr && i < 3; ++i) {
            int64_t slot = r.reverse[d] != (gates[i] == ONS_LSTM_O) ? 1 : 0;
            add_rows(l, before + r.gate_at[gates[i]], r.rows,
                     step.record.cell + ons_recurrent_state_row(&r, d, slot, 0), r.hidden, all, r.hidden,
                     dp + (d * 3 + i) * r.hidden, nullptr);
        }
    }
}

/* Cotangents of the last states, or gradients of the first ones, are [D][N][H] here. */
void copy_end(const ons_launch *l, const float *operand, float *out, float *place) {
    const ons_recurrent &r = ((const ons_cuda_recurrent *)l->state)->r;
    ons::each(l, r.directions * r.batch * r.hidden, ons::copy_ends{r, operand, out, place, r.batch * r.hidden, {0, 0}});
}

} // namespace

extern "C" void ons_cuda_run_recurrent_gradient(const ons_launch *launch) {
    const ons_cuda_recurrent *s = (const ons_cuda_recurrent *)launch->state;
    const float *recorded = (const float *)launch->inputs[ONS_RG_RECORD];
    float *result = (float *)launch->outputs[ONS_RG_BEFORE];
    ons::recurrent_record record = ons::record_of(s->r, (float *)recorded);
    if (result != recorded)
        ons::copy_bytes(launch, result + s->r.hidden_at, recorded + s->r.hidden_at,
                        (s->r.record - s->r.hidden_at) * (int64_t)sizeof(float));
    float *dh = ons::recurrent_scratch(launch, s->dh_at), *dc = ons::recurrent_scratch(launch, s->dc_at);
    gate_back step = {s->r,
                      record,
                      result,
                      ons::recurrent_scratch(launch, s->first_at),
                      ons::recurrent_scratch(launch, s->last_at),
                      dh,
                      dc,
                      nullptr,
                      ons::recurrent_input<float>(launch, ONS_RG_P),
                      ons::recurrent_input<float>(launch, ONS_RG_DY),
                      ons::recurrent_input<int32_t>(launch, ONS_RG_LENGTHS),
                      0,
                      0};
    copy_end(launch, ons::recurrent_input<float>(launch, ONS_RG_DY_H), nullptr, dh);
    copy_end(launch, ons::recurrent_input<float>(launch, ONS_RG_DY_C), nullptr, dc);
    run_steps(launch, step);
    if (launch->outputs[ONS_RG_DH0] != nullptr) copy_end(launch, nullptr, (float *)launch->outputs[ONS_RG_DH0], dh);
    if (launch->outputs[ONS_RG_DC0] != nullptr) copy_end(launch, nullptr, (float *)launch->outputs[ONS_RG_DC0], dc);
    run_products(launch, step);
    run_sums(launch, step);
}
