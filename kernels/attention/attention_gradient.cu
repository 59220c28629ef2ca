#include "kernels/attention/cuda_attention_products.cuh"

namespace {

/* Operands of the gradient; those that are left out, or that nobody wants, are NULL. */
template <class T> struct gradient_operands {
    const T *dy, *query, *key, *value, *result; /* result nullptr: Σ p dp is summed */
    const float *mask, *saved;
    const uint8_t *kept;
    T *dq, *dk, *dv;
    float *dm;
    float *dots;    /* Σ p dp of every row */
    float *shares;  /* of every row: what its probabilities are multiplied by, see far_share */
    float *samples; /* the mask's gradient of every sample, where it is then summed over the batch */
};

/* Probability of a pair and what its score's gradient is before Σ p dp is taken off. */
struct pair_gradient {
    float p, dp, kept;
};

template <class T>
__device__ inline pair_gradient query_pair(const ons_attention &a, const gradient_operands<T> &o,
                                           const ons::attention_place &at, int64_t i, int64_t j, const float *q,
                                           const float *dy, float saved, float share) {
    float score = ons::dot(a, q, o.key, ons::start_of(a.key, at, j), a.key.size);
    float kept = ons::kept_factor(a, o.kept, at, i, j);
    float dp = kept * ons::dot(a, dy, o.value, ons::start_of(a.value, at, j), a.value.size);
    return {share * expf(ons::masked(a, score, o.mask, at, i, j) - saved), dp, kept};
}

template <class T> __device__ inline void put_mask(const gradient_operands<T> &o, int64_t at, float ds) {
    if (o.samples != nullptr)
        o.samples[at] = ds;
    else if (o.dm != nullptr)
        o.dm[at] = ds;
}

/* The mask's gradient, over the samples in their order. */
__global__ void sum_samples(int64_t elements, int64_t samples, const float *from, float *to) {
    for (int64_t i = ons::global_thread(); i < elements; i += ons::global_threads()) {
        float sum = 0;
        for (int64_t sample = 0; sample < samples; ++sample) sum += from[sample * elements + i];
        to[i] = sum;
    }
}

/* 1 ÷ the sum of a query's probabilities where what was saved of it is far, otherwise 1: for every lane of a warp. */
template <class T>
__device__ inline float far_share(const ons_attention &a, const gradient_operands<T> &o, const ons::attention_place &at,
                                  int64_t i, int64_t seen, const float *q, float saved) {
    if (!ons_is_far(saved)) return 1.0f;
    float sum = 0;
    for (int64_t j = (int)threadIdx.x % ons::WARP; j < seen; j += ons::WARP) {
        float score = ons::dot(a, q, o.key, ons::start_of(a.key, at, j), a.key.size);
        sum += expf(ons::masked(a, score, o.mask, at, i, j) - saved);
    }
    return 1 / ons::warp_reduce(sum, ons::add());
}

/* A warp each query: Σ p dp first, then dQ and the mask's gradient. */
template <class T>
__global__ void __launch_bounds__(ons::ATTENTION_THREADS, 4) query_gradient(ons_attention a, gradient_operands<T> o) {
    __shared__ float vectors[ons::ATTENTION_WARPS][2][ONS_CUDA_ATTENTION_SIZE];
    int lane = (int)threadIdx.x % ons::WARP;
    float *q = vectors[threadIdx.x / ons::WARP][0], *dy = vectors[threadIdx.x / ons::WARP][1];
    int64_t items = a.batch * a.heads * a.queries, warps = ons::global_threads() / ons::WARP;
    for (int64_t item = ons::global_thread() / ons::WARP; item < items; item += warps) {
        ons::attention_place at = ons::place_of(a, item, a.queries);
        int64_t i = at.position, seen = a.causal && i + 1 < a.keys ? i + 1 : a.keys;
        float saved = o.saved[item], dot = 0, sums[ons::ATTENTION_PIECES] = {};
        __syncwarp();
        ons::take(a, o.query, ons::start_of(a.query, at, i), a.query.size, q);
        ons::take(a, o.dy, ons::start_of(a.result, at, i), a.result.size, dy);
        __syncwarp();
        float share = far_share(a, o, at, i, seen, q, saved);
        for (int64_t j = lane; o.result == nullptr && j < seen; j += ons::WARP) {
            pair_gradient pair = query_pair(a, o, at, i, j, q, dy, saved, share);
            dot += pair.p * pair.dp;
        }
        for (int64_t d = lane; o.result != nullptr && d < a.size; d += ons::WARP)
            dot += dy[d] * ons::widen(o.result[ons::start_of(a.result, at, i) + d * a.result.size]);
        dot = ons::warp_reduce(dot, ons::add());
        if (lane == 0) o.dots[item] = dot, o.shares[item] = share;
        for (int64_t first = 0; first < seen; first += ons::WARP) {
            int64_t j = first + lane;
            float ds = 0;
            if (j < seen) {
                pair_gradient pair = query_pair(a, o, at, i, j, q, dy, saved, share);
                ds = ons::is_closed(a, o.mask, at, i, j, saved) ? 0.0f : pair.p * (pair.dp - dot);
                put_mask(o, item * a.keys + j, ds);
            }
            ons::add_rows(a, ds, o.key, ons::start_of(a.key, at, first), a.key.position, a.key.size, seen - first,
                          sums);
        }
        for (int64_t j = seen + lane; j < a.keys; j += ons::WARP) put_mask(o, item * a.keys + j, 0);
        if (o.dq != nullptr) ons::put_row(a, sums, a.scale, o.dq, ons::start_of(a.query, at, i), a.query.size);
    }
}

/* A warp each key: dK and dV, from all queries that see it. */
template <class T>
__global__ void __launch_bounds__(ons::ATTENTION_THREADS, 4) key_gradient(ons_attention a, gradient_operands<T> o) {
    __shared__ float vectors[ons::ATTENTION_WARPS][2][ONS_CUDA_ATTENTION_SIZE];
    int lane = (int)threadIdx.x % ons::WARP;
    float *k = vectors[threadIdx.x / ons::WARP][0], *v = vectors[threadIdx.x / ons::WARP][1];
    int64_t items = a.batch * a.heads * a.keys, warps = ons::global_threads() / ons::WARP;
    for (int64_t item = ons::global_thread() / ons::WARP; item < items; item += warps) {
        ons::attention_place at = ons::place_of(a, item, a.keys);
        int64_t j = at.position, rows = (at.batch * a.heads + at.head) * a.queries;
        float of_key[ons::ATTENTION_PIECES] = {}, of_value[ons::ATTENTION_PIECES] = {};
        __syncwarp();
        ons::take(a, o.key, ons::start_of(a.key, at, j), a.key.size, k);
        ons::take(a, o.value, ons::start_of(a.value, at, j), a.value.size, v);
        __syncwarp();
        for (int64_t first = a.causal ? j : 0; first < a.queries; first += ons::WARP) {
            int64_t i = first + lane;
            float ds = 0, p = 0;
            if (i < a.queries) {
                float score = ons::dot(a, k, o.query, ons::start_of(a.query, at, i), a.query.size);
                float kept = ons::kept_factor(a, o.kept, at, i, j);
                float dp = kept * ons::dot(a, v, o.dy, ons::start_of(a.result, at, i), a.result.size);
                p = o.shares[rows + i] * expf(ons::masked(a, score, o.mask, at, i, j) - o.saved[rows + i]);
                ds = ons::is_closed(a, o.mask, at, i, j, o.saved[rows + i]) ? 0.0f : p * (dp - o.dots[rows + i]);
                p *= kept;
            }
            ons::add_rows(a, ds, o.query, ons::start_of(a.query, at, first), a.query.position, a.query.size,
                          a.queries - first, of_key);
            ons::add_rows(a, p, o.dy, ons::start_of(a.result, at, first), a.result.position, a.result.size,
                          a.queries - first, of_value);
        }
        if (o.dk != nullptr) ons::put_row(a, of_key, a.scale, o.dk, ons::start_of(a.key, at, j), a.key.size);
        if (o.dv != nullptr) ons::put_row(a, of_value, 1.0f, o.dv, ons::start_of(a.value, at, j), a.value.size);
    }
}

void join_samples(const ons_launch *l, int64_t elements, int64_t samples, const float *from, float *to) {
    ons::launch(l, sum_samples, ons::blocks_for(elements, 256), 256, elements, samples, from, to);
}

/* By cuDNN, which makes all three gradients. */
void run_gradient_plan(const ons_launch *l, const ons_cudnn_attention *plan) {
    void *gradients[3];
    for (int i = 0; i < 3; ++i) gradients[i] = l->outputs[ons_attention_gradient_output(&plan->attention, i)];
    const void *arguments[ONS_CUDNN_ATTENTION_ARGUMENTS] = {};
    arguments[ONS_CUDNN_RESULT_GRADIENT] = l->inputs[0];
    arguments[ONS_CUDNN_QUERY] = l->inputs[1];
    arguments[ONS_CUDNN_KEY] = l->inputs[2];
    arguments[ONS_CUDNN_VALUE] = l->inputs[3];
    arguments[ONS_CUDNN_SAVED] = l->inputs[4];
    arguments[ONS_CUDNN_RESULT] = l->inputs[7];
    arguments[ONS_CUDNN_QUERY_GRADIENT] = gradients[0];
    arguments[ONS_CUDNN_KEY_GRADIENT] = gradients[1];
    arguments[ONS_CUDNN_VALUE_GRADIENT] = gradients[2];
    ons_cudnn_attention_run(plan, l, arguments, nullptr);
}

template <class T> void run_attention_gradient(const ons_launch *l, const ons_cuda_attention_state *s) {
    const ons_attention *a = &s->attention;
    gradient_operands<T> o = {};
    o.dy = (const T *)l->inputs[0];
    o.query = (const T *)l->inputs[1];
    o.key = (const T *)l->inputs[2];
    o.value = (const T *)l->inputs[3];
    o.saved = (const float *)l->inputs[4];
    o.mask = a->has_mask ? (const float *)l->inputs[5] : nullptr;
    o.kept = a->has_kept ? (const uint8_t *)l->inputs[6] : nullptr;
    o.dq = (T *)l->outputs[0];
    o.dk = (T *)l->outputs[ons_attention_gradient_output(a, 1)];
    o.dv = (T *)l->outputs[ons_attention_gradient_output(a, 2)];
    o.dm = a->has_mask ? (float *)l->outputs[3] : nullptr;
    o.result = s->has_result ? (const T *)l->inputs[7] : nullptr;
    o.dots = (float *)l->scratch;
    o.shares = o.dots + a->batch * a->heads * a->queries;
    int64_t of_sample = a->heads * a->queries * a->keys;
    bool joins = o.dm != nullptr && a->mask.batch == 0 && a->batch > 1;
    if (joins) o.samples = o.shares + a->batch * a->heads * a->queries;
    if (s->products.scores != nullptr) {
        ons::differentiate_by_products<T>(l, *a, s->products,
                                          {o.dy, o.result, o.mask, o.saved, o.kept, joins ? o.samples : o.dm},
                                          {o.query, o.key, o.value, o.dq, o.dk, o.dv});
        if (joins) join_samples(l, of_sample, a->batch, o.samples, o.dm);
        return;
    }
    ons::launch(l, query_gradient<T>, ons::blocks_for(a->batch * a->heads * a->queries, ons::ATTENTION_WARPS),
                ons::ATTENTION_THREADS, *a, o);
    if (joins) join_samples(l, of_sample, a->batch, o.samples, o.dm);
    if (o.dk != nullptr || o.dv != nullptr)
        ons::launch(l, key_gradient<T>, ons::blocks_for(a->batch * a->heads * a->keys, ons::ATTENTION_WARPS),
                    ons::ATTENTION_THREADS, *a, o);
}

} // namespace

extern "C" void ons_cuda_run_attention_gradient(const ons_launch *launch) {
    const ons_cuda_attention_state *s = (const ons_cuda_attention_state *)launch->state;
    if (s->dnn.plan != nullptr) return run_gradient_plan(launch, &s->dnn);
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_attention_gradient, launch, s);
}
