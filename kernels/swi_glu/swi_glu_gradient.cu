#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/common/elementwise/cuda_elementwise.h"
}

namespace {

/* Elements are read before they are written: an output may be an input's memory. nullptr: nobody reads it. */
template <class T> struct glu_slopes {
    float alpha;
    const T *dy, *gates, *values;
    T *d_gates, *d_values;
    __device__ void operator()(int64_t i) const {
        float a = ons::widen(gates[i]), b = ons::widen(values[i]), slope = ons::widen(dy[i]),
              s = 1 / (1 + expf(-alpha * a));
        if (d_gates != nullptr) d_gates[i] = ons::narrow<T>(slope * b * (s + s * (1 - s) * (alpha * a)));
        if (d_values != nullptr) d_values[i] = ons::narrow<T>(slope * (a * s));
    }
};

template <class T> void run_swi_glu_gradient(const ons_launch *l, const ons_cuda_elementwise *s) {
    glu_slopes<T> f = {s->parameters[0],        (const T *)l->inputs[0], (const T *)l->inputs[1],
                       (const T *)l->inputs[2], (T *)l->outputs[0],      (T *)l->outputs[1]};
    ons::each(l, s->elements, f);
}

} // namespace

extern "C" void ons_cuda_run_swi_glu_gradient(const ons_launch *launch) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_swi_glu_gradient, launch, s);
}

ONS_KERNELS(cuda, swi_glu_gradient, ONS_KERNEL(ons_cuda_flat_prepare, ons_cuda_run_swi_glu_gradient))
