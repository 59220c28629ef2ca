#include "kernels/reduction/cuda_reduction.cuh"

namespace {

/* With the largest element taken out first, so that no exponential overflows. */
template <class Group, class T> __global__ void log_sums(ons_cuda_reduction r, const T *x, T *out) {
    for (int64_t result = Group::first(); result < r.results; result += Group::stride()) {
        const T *from = x + ons::offset_of(r.kept, result);
        float largest = -INFINITY, sum = 0;
        for (int64_t i = Group::lane(); i < r.count; i += Group::SIZE)
            largest = ons::larger()(ons::widen(from[ons::offset_of(r.reduced, i)]), largest);
        largest = Group::reduce(largest, (float)-INFINITY, ons::larger());
        bool infinite = largest == INFINITY || largest == -INFINITY;
        for (int64_t i = Group::lane(); i < r.count && !infinite; i += Group::SIZE)
            sum += expf(ons::widen(from[ons::offset_of(r.reduced, i)]) - largest);
        sum = Group::reduce(sum, 0.0f, ons::add());
        if (Group::lane() == 0) out[result] = ons::narrow<T>(infinite ? largest : largest + logf(sum));
    }
}

template <class T> void run_reduce_log_sum_exp(const ons_launch *l) {
    const ons_cuda_reduction *r = (const ons_cuda_reduction *)l->state;
    ons_axis_view view = {r->results, r->count, r->columns ? 2 : 1}; /* columns: a thread each */
    ONS_CUDA_LAUNCH_ROWS(l, view, r->results, log_sums, T, *r, (const T *)l->inputs[0], (T *)l->outputs[0]);
}

} // namespace

extern "C" void ons_cuda_run_reduce_log_sum_exp(const ons_launch *launch) {
    ONS_CUDA_FLOAT_DISPATCH(((const ons_cuda_reduction *)launch->state)->dtype, run_reduce_log_sum_exp, launch);
}
