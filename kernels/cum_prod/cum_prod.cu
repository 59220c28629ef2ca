#include "kernels/cumulative/cuda_cumulative.cuh"

namespace {

template <class T> void run_cum_prod(const ons_launch *l, const ons_cumulative *s) {
    ons::run_cumulative<ons::times, T>(l, s, 1);
}

} // namespace

extern "C" void ons_cuda_run_cum_prod(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_cumulative, run_cum_prod, launch);
}
