#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/trilu/trilu.h"
}

namespace {

template <class Unit> struct triangle {
    ons_trilu s;
    const int64_t *diagonal; /* nullptr: 0 */
    const Unit *in;
    Unit *out;
    __device__ void operator()(int64_t i) const {
        int64_t row = i / s.width, distance = i - row * s.width - row % s.height;
        int64_t edge = diagonal == nullptr ? 0 : *diagonal;
        out[i] = (s.upper ? distance >= edge : distance <= edge) ? in[i] : Unit(0);
    }
};

template <class Unit> void run_trilu(const ons_launch *l, const ons_trilu *s) {
    triangle<Unit> f = {*s, (const int64_t *)l->inputs[1], (const Unit *)l->inputs[0], (Unit *)l->outputs[0]};
    ons::each(l, s->rows * s->width, f);
}

} // namespace

extern "C" void ons_cuda_run_trilu(const ons_launch *launch) {
    const ons_trilu *s = (const ons_trilu *)launch->state;
    ONS_CUDA_UNIT_DISPATCH(s->size, run_trilu, launch, s);
}
