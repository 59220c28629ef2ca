#include "kernels/attention/cuda_attention_products.cuh"

namespace {

template <class T>
__global__ void __launch_bounds__(ons::ATTENTION_THREADS, 4)
    attend(ons_attention a, const T *query, const T *key, const T *value, const float *mask, const uint8_t *kept,
           T *result, float *saved) {
    __shared__ float queries[ons::ATTENTION_WARPS][ONS_CUDA_ATTENTION_SIZE];
    int lane = (int)threadIdx.x % ons::WARP;
    float *q = queries[threadIdx.x / ons::WARP];
    int64_t items = a.batch * a.heads * a.queries, warps = ons::global_threads() / ons::WARP;
    for (int64_t item = ons::global_thread() / ons::WARP; item < items; item += warps) {
        ons::attention_place at = ons::place_of(a, item, a.queries);
        int64_t i = at.position, seen = a.causal && i + 1 < a.keys ? i + 1 : a.keys;
        int64_t key_start = ons::start_of(a.key, at, 0), value_start = ons::start_of(a.value, at, 0);
        float max = -INFINITY, sum = 0, sums[ons::ATTENTION_PIECES] = {};
        __syncwarp();
        ons::take(a, query, ons::start_of(a.query, at, i), a.query.size, q);
        __syncwarp();
        for (int64_t first = 0; first < seen; first += ons::WARP) {
            int64_t j = first + lane;
            float score = -INFINITY;
            if (j < seen)
                score = ons::masked(a, ons::dot(a, q, key, key_start + j * a.key.position, a.key.size), mask, at, i, j);
            float most = ons::larger()(ons::warp_reduce(score, ons::larger()), max);
            if (most == -INFINITY) continue; /* nothing seen so far */
            float fade = max == -INFINITY ? 0.0f : expf(max - most), p = j < seen ? expf(score - most) : 0.0f;
            sum = sum * fade + ons::warp_reduce(p, ons::add());
            if (j < seen) p *= ons::kept_factor(a, kept, at, i, j);
#pragma unroll
            for (int piece = 0; piece < ons::ATTENTION_PIECES; ++piece) sums[piece] *= fade;
            ons::add_rows(a, p, value, value_start + first * a.value.position, a.value.position, a.value.size,
                          seen - first, sums);
            max = most;
        }
        bool blind = max == -INFINITY, guarded = blind && a.guard;
        ons::put_row(a, sums,
                     guarded ? 0.0f
                     : blind ? NAN
                             : 1 / sum,
                     result, ons::start_of(a.result, at, i), a.result.size);
        if (lane == 0 && saved != nullptr) saved[item] = guarded ? INFINITY : blind ? NAN : max + logf(sum);
    }
}

/* By cuDNN. */
void run_plan(const ons_launch *l, const ons_cudnn_attention *plan) {
    const void *arguments[ONS_CUDNN_ATTENTION_ARGUMENTS] = {};
    arguments[ONS_CUDNN_QUERY] = l->inputs[0];
    arguments[ONS_CUDNN_KEY] = l->inputs[1];
    arguments[ONS_CUDNN_VALUE] = l->inputs[2];
    arguments[ONS_CUDNN_MASK] = plan->attention.has_mask ? l->inputs[3] : nullptr;
    arguments[ONS_CUDNN_KEPT] = plan->attention.has_kept ? l->inputs[4] : nullptr;
    arguments[ONS_CUDNN_RESULT] = l->outputs[0];
    arguments[ONS_CUDNN_SAVED] = l->outputs[1];
    ons_cudnn_attention_run(plan, l, arguments, ons::write_kept);
}

template <class T> void run_attention(const ons_launch *l, const ons_cuda_attention_state *s) {
    const ons_attention *a = &s->attention;
    const T *query = (const T *)l->inputs[0], *key = (const T *)l->inputs[1], *value = (const T *)l->inputs[2];
    const float *mask = a->has_mask ? (const float *)l->inputs[3] : nullptr;
    const uint8_t *kept = a->has_kept ? (const uint8_t *)l->inputs[4] : nullptr;
    T *result = (T *)l->outputs[0];
    float *saved = (float *)l->outputs[1];
    if (s->products.scores != nullptr)
        ons::attend_by_products(l, *a, s->products, query, key, value, mask, kept, result, saved);
    else
        ons::launch(l, attend<T>, ons::blocks_for(a->batch * a->heads * a->queries, ons::ATTENTION_WARPS),
                    ons::ATTENTION_THREADS, *a, query, key, value, mask, kept, result, saved);
}

} // namespace

extern "C" void ons_cuda_run_attention(const ons_launch *launch) {
    const ons_cuda_attention_state *s = (const ons_cuda_attention_state *)launch->state;
    if (s->dnn.plan != nullptr && (!s->saves || launch->outputs[1] != nullptr))
        run_plan(launch, &s->dnn);
    else
        ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_attention, launch, s);
}
