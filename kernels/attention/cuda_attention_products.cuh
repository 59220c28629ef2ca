/* What lies between the products of cuda_attention_products.h, and the products themselves. */
#ifndef ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_PRODUCTS_CUH
#define ONSTAGE_KERNELS_ATTENTION_CUDA_ATTENTION_PRODUCTS_CUH

#include "kernels/attention/cuda_attention.cuh"
#include "kernels/common/rows/cuda_rows.cuh"

namespace ons {

/* Some matrices that lie at even distances, whose rows of scores lie one after another. */
struct score_rows {
    ons_attention_batch batch;
    int64_t sample, head, matrices; /* the first one's */
    __device__ attention_place place(const ons_attention &a, int64_t row) const {
        int64_t number = row / a.queries, position = row % a.queries;
        if (batch == ONS_ATTENTION_SAMPLES) return {sample + number, head, position};
        if (batch == ONS_ATTENTION_HEADS) return {sample, head + number, position};
        number += sample * a.heads + head;
        return {number / a.heads, number % a.heads, position};
    }
    __host__ __device__ int64_t count(const ons_attention &a) const { return matrices * a.queries; }
};

__device__ inline int64_t number_of(const ons_attention &a, const attention_place &at) {
    return (at.batch * a.heads + at.head) * a.queries + at.position;
}
__device__ inline int64_t keys_seen(const ons_attention &a, int64_t i) {
    return a.causal && i + 1 < a.keys ? i + 1 : a.keys;
}

/* Probabilities from scores, with what is dropped of them, and the logarithms of their sums: see `attend`. Keys that
 * are hidden are multiplied by 0, as the reference does: what is not finite in them shows, as it does not in `attend`.
 */
template <class Group, class T>
__global__ void make_weights(ons_attention a, score_rows rows, const float *scores, const float *mask,
                             const uint8_t *kept, T *weights, float *saved) {
    for (int64_t row = Group::first(); row < rows.count(a); row += Group::stride()) {
        attention_place at = rows.place(a, row);
        const float *from = scores + row * a.keys;
        int64_t seen = keys_seen(a, at.position);
        float most = -INFINITY, sum = 0;
        for (int64_t j = Group::lane(); j < seen; j += Group::SIZE)
            most = larger()(masked(a, from[j], mask, at, at.position, j), most);
        most = Group::reduce(most, (float)-INFINITY, larger());
        bool blind = most == -INFINITY;
        for (int64_t j = Group::lane(); j < seen && !blind; j += Group::SIZE)
            sum += expf(masked(a, from[j], mask, at, at.position, j) - most);
        sum = Group::reduce(sum, 0.0f, add());
        float blank = a.guard ? 0.0f : NAN;
        for (int64_t j = Group::lane(); j < a.keys; j += Group::SIZE) {
            float p = blind ? blank : 0;
            if (j < seen && !blind)
                p = expf(masked(a, from[j], mask, at, at.position, j) - most) / sum *
                    kept_factor(a, kept, at, at.position, j);
            weights[row * a.keys + j] = narrow<T>(p);
        }
        if (Group::lane() == 0 && saved != nullptr)
            saved[number_of(a, at)] = blind ? (a.guard ? INFINITY : NAN) : most + logf(sum);
    }
}

/* Operands of the gradient; those that are left out, or that nobody wants, are NULL. */
template <class T> struct score_gradient_operands {
    const T *dy, *result; /* result nullptr: Σ p dp is summed */
    const float *mask, *saved;
    const uint8_t *kept;
    float *dm; /* of the mask, of every sample */
};

/* From scores and dY Vᵀ: what is left of the probabilities, and the gradient of the scores before they are scaled. */
template <class Group, class T>
__global__ void make_score_gradients(ons_attention a, score_rows rows, score_gradient_operands<T> o,
                                     const float *scores, const float *slopes, T *weights, T *gradients) {
    for (int64_t row = Group::first(); row < rows.count(a); row += Group::stride()) {
        attention_place at = rows.place(a, row);
        int64_t i = at.position, item = number_of(a, at), first = row * a.keys, seen = keys_seen(a, i);
        float saved = o.saved[item], dot = 0;
        float share = 1;
        auto probability = [&](int64_t j) {
            return share * expf(masked(a, scores[first + j], o.mask, at, i, j) - saved);
        };
        if (ons_is_far(saved)) {
            float sum = 0;
            for (int64_t j = Group::lane(); j < seen; j += Group::SIZE) sum += probability(j);
            share = 1 / Group::reduce(sum, 0.0f, add());
        }
        for (int64_t d = Group::lane(); o.result != nullptr && d < a.size; d += Group::SIZE) {
            int64_t from = start_of(a.result, at, i) + d;
            dot += widen(o.dy[from]) * widen(o.result[from]);
        }
        for (int64_t j = Group::lane(); o.result == nullptr && j < seen; j += Group::SIZE)
            dot += probability(j) * (slopes[first + j] * kept_factor(a, o.kept, at, i, j));
        dot = Group::reduce(dot, 0.0f, add());
        for (int64_t j = Group::lane(); j < a.keys; j += Group::SIZE) {
            float left = 0, ds = 0;
            if (j < seen) {
                float p = probability(j), kept = kept_factor(a, o.kept, at, i, j);
                left = p * kept;
                ds = is_closed(a, o.mask, at, i, j, saved) ? 0.0f : p * (slopes[first + j] * kept - dot);
            }
            weights[first + j] = narrow<T>(left);
            gradients[first + j] = narrow<T>(ds);
            if (o.dm != nullptr) o.dm[item * a.keys + j] = ds;
        }
    }
}

/* Launches KERNEL<group, T> for rows of a.keys scores. */
#define ONS_CUDA_LAUNCH_SCORES(LAUNCH, A, ROWS, KERNEL, T, ...)                                                        \
    do {                                                                                                               \
        if ((A).keys <= ons::WARP_ROW)                                                                                 \
            ons::launch(LAUNCH, KERNEL<ons::warp_group, T>, ons::warp_group::blocks((ROWS).count(A)),                  \
                        ons::ROW_THREADS, __VA_ARGS__);                                                                \
        else                                                                                                           \
            ons::launch(LAUNCH, KERNEL<ons::block_group, T>, ons::block_group::blocks((ROWS).count(A)),                \
                        ons::ROW_THREADS, __VA_ARGS__);                                                                \
    } while (0)

/* An operand's part from the first of `rows`' matrices on. */
template <class T> T *part_of(T *operand, const ons_attention_steps &steps, const score_rows &rows) {
    return operand + ons_attention_offset(&steps, rows.sample, rows.head);
}

struct product_memory {
    const ons_launch *launch;
    char *workspace;
    void run(ons_cuda_plan *plan, const void *a, const void *b, void *c) const {
        ons_cuda_gemm_memory memory = {};
        memory.a = a;
        memory.b = b;
        memory.c = c;
        memory.workspace = workspace;
        ons_cuda_plan_run(plan, launch->stream, &memory);
    }
};

/* Calls f for all matrices, as many at a time as were planned. */
template <class F> void each_matrices(const ons_attention &a, const ons_attention_products &x, const F &f) {
    int64_t count = x.matrices;
    switch (x.batch) {
    case ONS_ATTENTION_SAMPLES:
        for (int64_t head = 0; head < a.heads; ++head)
            for (int64_t first = 0; first < a.batch; first += count) f(score_rows{x.batch, first, head, count});
        break;
    case ONS_ATTENTION_HEADS:
        for (int64_t sample = 0; sample < a.batch; ++sample)
            for (int64_t first = 0; first < a.heads; first += count) f(score_rows{x.batch, sample, first, count});
        break;
    default:
        for (int64_t first = 0; first < a.batch * a.heads; first += count)
            f(score_rows{x.batch, first / a.heads, first % a.heads, count});
    }
}

/* saved: nullptr where nobody reads it. */
template <class T>
void attend_by_products(const ons_launch *l, const ons_attention &a, const ons_attention_products &x, const T *query,
                        const T *key, const T *value, const float *mask, const uint8_t *kept, T *result, float *saved) {
    char *scratch = (char *)l->scratch;
    float *scores = (float *)(void *)(scratch + x.scores_at);
    T *weights = (T *)(void *)(scratch + x.weights_at);
    product_memory products = {l, scratch + x.workspace_at};
    each_matrices(a, x, [&](const score_rows &rows) {
        products.run(x.scores, part_of(query, a.query, rows), part_of(key, a.key, rows), scores);
        ONS_CUDA_LAUNCH_SCORES(l, a, rows, make_weights, T, a, rows, (const float *)scores, mask, kept, weights, saved);
        products.run(x.result, weights, part_of(value, a.value, rows), part_of(result, a.result, rows));
    });
}

/* Gradients that nobody wants are nullptr. */
template <class T> struct product_gradients {
    const T *query, *key, *value;
    T *dq, *dk, *dv;
};

template <class T>
void differentiate_by_products(const ons_launch *l, const ons_attention &a, const ons_attention_products &x,
                               const score_gradient_operands<T> &o, const product_gradients<T> &g) {
    char *scratch = (char *)l->scratch;
    float *scores = (float *)(void *)(scratch + x.scores_at), *slopes = (float *)(void *)(scratch + x.slopes_at);
    T *weights = (T *)(void *)(scratch + x.weights_at), *gradients = (T *)(void *)(scratch + x.score_gradient_at);
    product_memory products = {l, scratch + x.workspace_at};
    each_matrices(a, x, [&](const score_rows &rows) {
        const T *query = part_of(g.query, a.query, rows), *key = part_of(g.key, a.key, rows);
        const T *dy = part_of(o.dy, a.result, rows);
        products.run(x.scores, query, key, scores);
        products.run(x.slopes, dy, part_of(g.value, a.value, rows), slopes);
        ONS_CUDA_LAUNCH_SCORES(l, a, rows, make_score_gradients, T, a, rows, o, (const float *)scores,
                               (const float *)slopes, weights, gradients);
        if (g.dq != nullptr) products.run(x.query, gradients, key, part_of(g.dq, a.query, rows));
        if (g.dk != nullptr && a.keys_transposed)
            products.run(x.key, query, gradients, part_of(g.dk, a.key, rows));
        else if (g.dk != nullptr)
            products.run(x.key, gradients, query, part_of(g.dk, a.key, rows));
        if (g.dv != nullptr) products.run(x.value, weights, dy, part_of(g.dv, a.value, rows));
    });
}

} // namespace ons

#endif
