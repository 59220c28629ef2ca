#include "kernels/reduction/cuda_reduction.cuh"

namespace {

struct joined_product {
    template <class W> __device__ W operator()(W a, W b) const { return a * b; }
};

/* The cotangent times the product of the others, right also where an element is 0. */
template <class Group, class T>
__global__ void product_slopes(ons_cuda_reduction r, const T *x, const T *cotangent, T *out) {
    for (int64_t result = Group::first(); result < r.results; result += Group::stride()) {
        int64_t base = ons::offset_of(r.kept, result);
        double others = 1; /* of all elements that are not 0 */
        int zeros = 0;
        for (int64_t i = Group::lane(); i < r.count; i += Group::SIZE) {
            float value = ons::widen(x[base + ons::offset_of(r.reduced, i)]);
            zeros += value == 0;
            others *= value == 0 ? 1.0 : (double)value;
        }
        others = Group::reduce(others, 1.0, joined_product());
        zeros = Group::reduce(zeros, 0, ons::add());
        float slope = ons::widen(cotangent[result]);
        for (int64_t i = Group::lane(); i < r.count; i += Group::SIZE) {
            int64_t at = base + ons::offset_of(r.reduced, i);
            double value = ons::widen(x[at]);
            double product = zeros > (value == 0) ? 0 : value == 0 ? others : others / value;
            out[at] = ons::narrow<T>((float)(slope * product));
        }
    }
}

template <class T> void run_reduce_prod_gradient(const ons_launch *l) {
    const ons_cuda_reduction *r = (const ons_cuda_reduction *)l->state;
    ons_axis_view view = {r->results, r->count, r->columns ? 2 : 1}; /* columns: a thread each */
    ONS_CUDA_LAUNCH_ROWS(l, view, r->results, product_slopes, T, *r, (const T *)l->inputs[0], (const T *)l->inputs[2],
                         (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_reduce_prod_gradient(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_reduction *)launch->state)->dtype, run_reduce_prod_gradient, launch);
}
