/* Optimisers on CUDA: every element of a parameter with its gradient and states, in one pass. After a fault of the step nothing
 * is changed: the host learns of it later, and must find the parameters as they were. */
#ifndef ONSTAGE_KERNELS_COMMON_CUDA_OPTIMIZER_CUH
#define ONSTAGE_KERNELS_COMMON_CUDA_OPTIMIZER_CUH

#include "kernels/common/cuda.cuh"
extern "C" {
#include "kernels/common/optimizer.h"
}

namespace ons {

constexpr int UPDATE_THREADS = 256;
constexpr int64_t UPDATE_BLOCKS = 2048; /* each works out the step's rates once */

/* Arrays of `elements`; those that the optimiser does not have are NULL. */
struct update_operands {
    const float *parameter, *gradient, *factor, *states[2];
    float *new_parameter, *new_states[2];
};

/* Rule: what one element does, made from the optimiser's numbers and the step; STATES: how many it has. */
template <class Rule, int STATES>
__global__ void update_elements(ons_optimizer o, update_operands at, const ons_step *step, const ons_fault *fault) {
    __shared__ Rule shared_rule;
    if (fault != nullptr && fault->problem != nullptr) return;
    if (o.counts_skipped && at.factor[0] < 0) return; /* this step is skipped, too */
    if (threadIdx.x == 0) {
        ons_step counted = *step;
        if (o.counts_skipped) counted.step -= (uint64_t)at.factor[1];
        shared_rule.prepare(o, counted);
    }
    __syncthreads();
    Rule rule = shared_rule;
    float factor = at.factor == nullptr ? 1.0f : *at.factor;
    for (int64_t i = global_thread(); i < o.elements; i += global_threads()) {
        float first = STATES > 0 ? at.states[0][i] : 0, second = STATES > 1 ? at.states[1][i] : 0;
        at.new_parameter[i] = rule(at.parameter[i], at.gradient[i] * factor, first, second);
        if (STATES > 0) at.new_states[0][i] = first;
        if (STATES > 1) at.new_states[1][i] = second;
    }
}

template <class Rule, int STATES> void update(const ons_launch *l) {
    const ons_optimizer *o = (const ons_optimizer *)l->state;
    update_operands at = {};
    at.parameter = (const float *)l->inputs[ONS_PARAMETER_IN];
    at.gradient = (const float *)l->inputs[ONS_GRADIENT_IN];
    at.factor = o->has_factor ? (const float *)l->inputs[ONS_FACTOR_IN] : nullptr;
    at.new_parameter = (float *)l->outputs[0];
    for (int i = 0; i < STATES; ++i) {
        at.states[i] = (const float *)l->inputs[ONS_STATE_IN + i];
        at.new_states[i] = (float *)l->outputs[1 + i];
    }
    int64_t blocks = blocks_for(o->elements, UPDATE_THREADS);
    launch(l, update_elements<Rule, STATES>, blocks < UPDATE_BLOCKS ? blocks : UPDATE_BLOCKS, UPDATE_THREADS, *o, at,
           l->device_step, (const ons_fault *)l->fault);
}

/* Adam, and AdamW with its decoupled decay. */
template <bool DECOUPLED> struct adam_rule {
    float into_gradient, keep, weight, weight_rest, square_weight, square_rest, root_correction, step_size, epsilon;

    __device__ void prepare(const ons_optimizer &o, const ons_step &step) {
        double beta1 = o.numbers[ONS_ADAM_BETA1], beta2 = o.numbers[ONS_ADAM_BETA2];
        double decay = o.numbers[ONS_ADAM_WEIGHT_DECAY], count = (double)step.step;
        root_correction = (float)(1 / sqrt(1 - pow(beta2, count)));
        step_size = (float)(step.learning_rate / (1 - pow(beta1, count)));
        into_gradient = DECOUPLED ? 0 : (float)decay;
        keep = DECOUPLED ? (float)(1 - step.learning_rate * decay) : 1;
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

#endif
