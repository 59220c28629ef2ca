/* Optimisers on CUDA: every element of a parameter with its gradient and states, in one pass, and many parameters by
 * one launch. The next step's half parameter is written in the same pass, from the number that is in a register. After
 * a fault of the step nothing is changed: the host learns of it later, and must find the parameters as they were. */
#ifndef ONSTAGE_KERNELS_OPTIMIZERS_CUDA_OPTIMIZER_CUH
#define ONSTAGE_KERNELS_OPTIMIZERS_CUDA_OPTIMIZER_CUH

#include "kernels/common/cuda/cuda_multi_tensor.cuh"
extern "C" {
#include "kernels/optimizers/cuda_optimizer.h"
}

namespace ons {

/* One parameter. Arrays that the optimiser does not have are NULL. */
struct update_tensor {
    const float *parameter, *states[2];
    const void *gradient;
    float *new_parameter, *new_states[2];
    void *new_half;
    int64_t elements;
    uint8_t gradient_type, half_type; /* of ons_dtype, in a byte: tables hold many */
    bool in_fours;
};

__device__ inline void read_gradient(const update_tensor &t, int64_t at, int count, float (&to)[4]) {
    if (t.gradient_type == ONS_FLOAT32)
        read_some((const float *)t.gradient, at, count, t.in_fours, to);
    else if (t.gradient_type == ONS_BFLOAT16)
        read_some((const __nv_bfloat16 *)t.gradient, at, count, t.in_fours, to);
    else
        read_some((const __half *)t.gradient, at, count, t.in_fours, to);
}

__device__ inline void write_half(const update_tensor &t, int64_t at, int count, const float (&from)[4]) {
    if (t.half_type == ONS_BFLOAT16)
        write_some((__nv_bfloat16 *)t.new_half, at, count, t.in_fours, from);
    else if (t.half_type == ONS_FLOAT16)
        write_some((__half *)t.new_half, at, count, t.in_fours, from);
}

/* What all parameters of a launch have in common. */
struct update_common {
    ons_optimizer optimizer;
    const float *factor;
    const ons_step *step;
    const ons_fault *fault;
};

/* Rule: what one element does, made from the optimiser's numbers and the step, once in each block; STATES: how many it
 * has. */
template <class Rule, int STATES>
__global__ void update_tensors(const __grid_constant__ tensor_table<update_tensor> table,
                               const __grid_constant__ update_common with) {
    __shared__ Rule shared_rule;
    if (with.fault != nullptr && with.fault->problem != nullptr) return;
    if (with.optimizer.counts_skipped && with.factor[0] < 0) return; /* this step is skipped, too */
    if (threadIdx.x == 0) {
        ons_step counted = *with.step;
        if (with.optimizer.counts_skipped) counted.step -= (uint64_t)with.factor[1];
        shared_rule.prepare(with.optimizer, counted);
    }
    __syncthreads();
    Rule rule = shared_rule;
    float factor = with.factor == nullptr ? 1.0f : *with.factor;
    for (int64_t block = blockIdx.x; block < table.ends[table.count - 1]; block += gridDim.x) {
        int64_t chunk = block;
        const update_tensor t = table.items[find_tensor(table, chunk)];
        each_four(chunk, t.elements, [&](int64_t at, int count) {
            float p[4], g[4], first[4] = {}, second[4] = {};
            read_some(t.parameter, at, count, t.in_fours, p);
            read_gradient(t, at, count, g);
            if (STATES > 0) read_some(t.states[0], at, count, t.in_fours, first);
            if (STATES > 1) read_some(t.states[1], at, count, t.in_fours, second);
#pragma unroll
            for (int i = 0; i < 4; ++i) p[i] = rule(p[i], g[i] * factor, first[i], second[i]);
            write_some(t.new_parameter, at, count, t.in_fours, p);
            write_half(t, at, count, p);
            if (STATES > 0) write_some(t.new_states[0], at, count, t.in_fours, first);
            if (STATES > 1) write_some(t.new_states[1], at, count, t.in_fours, second);
        });
    }
}

inline update_common common_of(const ons_launch &l) {
    update_common common = {};
    common.optimizer = *(const ons_optimizer *)l.state;
    common.factor = common.optimizer.has_factor ? (const float *)l.inputs[ONS_FACTOR_IN] : nullptr;
    common.step = l.device_step;
    common.fault = (const ons_fault *)l.fault;
    return common;
}

inline bool is_alike(const update_common &a, const update_common &b) {
    for (int i = 0; i < ONS_OPTIMIZER_NUMBERS; ++i)
        if (a.optimizer.numbers[i] != b.optimizer.numbers[i]) return false;
    return a.optimizer.states == b.optimizer.states && a.optimizer.has_factor == b.optimizer.has_factor &&
           a.optimizer.counts_skipped == b.optimizer.counts_skipped && a.optimizer.has_rate == b.optimizer.has_rate &&
           a.optimizer.rate == b.optimizer.rate && a.factor == b.factor;
}

template <int STATES> update_tensor tensor_of(const ons_launch &l) {
    update_tensor t = {};
    const ons_optimizer *optimizer = (const ons_optimizer *)l.state;
    t.elements = optimizer->elements;
    t.parameter = (const float *)l.inputs[ONS_PARAMETER_IN];
    t.gradient = l.inputs[ONS_GRADIENT_IN];
    t.gradient_type = (uint8_t)optimizer->gradient;
    t.new_parameter = (float *)l.outputs[0];
    t.half_type = (uint8_t)optimizer->half;
    if (optimizer->half != ONS_NO_DTYPE) t.new_half = l.outputs[optimizer->half_output];
    constexpr size_t FOUR = 4 * sizeof(float), FOUR_HALVES = FOUR / 2;
    t.in_fours = is_aligned(t.parameter, FOUR) && is_aligned(t.gradient, 4 * ons_dtype_size(optimizer->gradient)) &&
                 is_aligned(t.new_parameter, FOUR) && is_aligned(t.new_half, FOUR_HALVES);
    for (int i = 0; i < STATES; ++i) {
        t.states[i] = (const float *)l.inputs[ONS_STATE_IN + i];
        t.new_states[i] = (float *)l.outputs[1 + i];
        t.in_fours = t.in_fours && is_aligned(t.states[i], FOUR) && is_aligned(t.new_states[i], FOUR);
    }
    return t;
}

/* Launches whose optimiser has STATES states; others are passed over. */
template <class Rule, int STATES> void update(const ons_launch *l, uint32_t count) {
    tensor_table<update_tensor> table = {};
    update_common common = {};
    auto flush = [&] {
        launch(l, update_tensors<Rule, STATES>, blocks_of(table), CHUNK_THREADS, table, common);
        table.count = 0;
    };
    for (uint32_t i = 0; i < count; ++i) {
        if (((const ons_optimizer *)l[i].state)->states != STATES) continue;
        update_common own = common_of(l[i]);
        update_tensor tensor = tensor_of<STATES>(l[i]);
        if (table.count > 0 && !is_alike(own, common)) flush();
        common = own;
        if (add_tensor(&table, tensor, chunks_of(tensor.elements))) continue;
        flush();
        add_tensor(&table, tensor, chunks_of(tensor.elements));
    }
    flush();
}

/* Adam, and AdamW with its decoupled decay. */
template <bool DECOUPLED> struct adam_rule {
    float into_gradient, keep, weight, weight_rest, square_weight, square_rest, root_correction, step_size, epsilon;

    __device__ void prepare(const ons_optimizer &o, const ons_step &step) {
        double beta1 = o.numbers[ONS_ADAM_BETA1], beta2 = o.numbers[ONS_ADAM_BETA2];
        double decay = o.numbers[ONS_ADAM_WEIGHT_DECAY], count = (double)step.step;
        root_correction = (float)(1 / sqrt(1 - pow(beta2, count)));
        float rate = ons_optimizer_rate(&o, &step);
        step_size = (float)(rate / (1 - pow(beta1, count)));
        into_gradient = DECOUPLED ? 0 : (float)decay;
        keep = DECOUPLED ? (float)(1 - rate * decay) : 1;
        weight = (float)(1 - beta1);
        weight_rest = (float)beta1;
        square_weight = (float)(1 - beta2);
        square_rest = (float)beta2;
        epsilon = (float)o.numbers[ONS_ADAM_EPSILON];
    }

    __device__ float operator()(float p, float g, float &m, float &v) const {
        g += into_gradient * p;
        m = m * weight_rest + g * weight;
        v = v * square_rest + g * g * square_weight;
        return p * keep - step_size * m / (sqrtf(v) * root_correction + epsilon);
    }
};

} // namespace ons

/* The functions of an operator's .cu file: one node, and several. UPDATE is called with launches and their number. */
#define ONS_CUDA_UPDATE(SYMBOL, UPDATE)                                                                                \
    extern "C" void ons_cuda_run_##SYMBOL(const ons_launch *launch) { UPDATE(launch, 1); }                             \
    extern "C" void ons_cuda_multi_tensor_##SYMBOL(const ons_launch *launches, uint32_t count) {                       \
        UPDATE(launches, count);                                                                                       \
    }

#endif
