#include "kernels/cumulative/cuda_cumulative.cuh"

namespace {

template <class T> void run_cum_sum(const ons_launch *l, const ons_cumulative *s) {
    ons::run_cumulative<ons::add, T>(l, s, 0);
}

} // namespace

extern "C" void ons_cuda_run_cum_sum(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_cumulative, run_cum_sum, launch);
}
