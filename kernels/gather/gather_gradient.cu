#include "kernels/common/indexing/cuda_indexing.cuh"

namespace {

constexpr int GATHER_THREADS = ons::INDEXING_THREADS;

/* A block for each place: where it is the first that looked up its row it adds the cotangents of all places of that row in the order
 * of the places; otherwise another block does. Each row is written once, nothing is added by atomic operations, and a
 * row that nobody looked up keeps the zeros that the output was filled with. */
__global__ void gather_gradient_rows(ons_gather s, bool narrow, const float *cotangent, const void *indices, float *table) {
    __shared__ bool matches[GATHER_THREADS];
    int64_t blocks = s.outer * s.count;
    for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
        int64_t outer = block / s.count, place = block % s.count;
        int64_t row = ons::resolve_index(ons::index_at(narrow, indices, place), s.length);
        if (row < 0) continue; /* a fault that the forward node reports */
        bool earlier = false;
        for (int64_t i = threadIdx.x; i < place; i += GATHER_THREADS)
            earlier |= ons::resolve_index(ons::index_at(narrow, indices, i), s.length) == row;
        if (__syncthreads_or(earlier)) continue;
        float *to = table + (outer * s.length + row) * s.inner;
        for (int64_t begin = place / GATHER_THREADS * GATHER_THREADS; begin < s.count; begin += GATHER_THREADS) {
            int64_t i = begin + threadIdx.x;
            bool match = i < s.count && ons::resolve_index(ons::index_at(narrow, indices, i), s.length) == row;
            matches[threadIdx.x] = match;
            if (!__syncthreads_or(match)) continue;
            for (int64_t column = threadIdx.x; column < s.inner; column += GATHER_THREADS) {
                float sum = to[column];
                for (int k = 0; k < GATHER_THREADS; ++k)
                    if (matches[k]) sum += cotangent[(outer * s.count + begin + k) * s.inner + column];
                to[column] = sum;
            }
            __syncthreads();
        }
    }
}

} // namespace

extern "C" void ons_cuda_run_gather_gradient(const ons_launch *launch) {
    const ons_gather *s = (const ons_gather *)launch->state;
    size_t bytes = (size_t)(s->outer * s->length * s->inner) * sizeof(float);
    if (bytes > 0) (void)cudaMemsetAsync(launch->outputs[0], 0, bytes, (cudaStream_t)launch->stream);
    if (bytes > 0)
        ons::launch(launch, gather_gradient_rows, s->outer * s->count, GATHER_THREADS, *s, s->index_dtype == ONS_INT32,
                    (const float *)launch->inputs[0], launch->inputs[1], (float *)launch->outputs[0]);
}
