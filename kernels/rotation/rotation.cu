#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/rotation/rotation.h"
}

namespace {

/* A pair of a row, or an element of what follows the pairs. y may be x. */
template <class T> struct turn {
    ons_rotation r;
    const T *x, *cosines, *sines;
    T *y;
    __device__ void operator()(int64_t i) const {
        int64_t half = r.size / 2, items = r.length - half, row = i / items, item = i - row * items,
                base = row * r.length;
        if (item >= half) {
            y[base + item + half] = x[base + item + half];
            return;
        }
        int64_t offset = 0;
        for (int d = (int)r.rank - 1; d >= 0; --d) {
            int64_t rest = row / r.dims[d];
            offset += (row - rest * r.dims[d]) * r.strides[d];
            row = rest;
        }
        int64_t a = base + (r.interleaved ? 2 * item : item), b = r.interleaved ? a + 1 : a + half;
        int64_t at = offset + (r.interleaved && r.second == 1 ? 2 * item : item), next = at + r.second;
        float first = ons::widen(x[a]), other = ons::widen(x[b]);
        float forth = ons::widen(sines[r.inverse ? next : at]), back = ons::widen(sines[r.inverse ? at : next]);
        if (r.inverse) {
            forth = -forth;
            back = -back;
        }
        y[a] = ons::narrow<T>(first * ons::widen(cosines[at]) - other * forth);
        y[b] = ons::narrow<T>(other * ons::widen(cosines[next]) + first * back);
    }
};

template <class T> void run_rotation(const ons_launch *l, const ons_rotation *r) {
    turn<T> f = {*r, (const T *)l->inputs[0], (const T *)l->inputs[1], (const T *)l->inputs[2], (T *)l->outputs[0]};
    ons::each(l, r->rows * (r->length - r->size / 2), f);
}

} // namespace

extern "C" void ons_cuda_run_rotation(const ons_launch *launch) {
    ONS_CUDA_TYPED_DISPATCH(ons_rotation, run_rotation, launch);
}
