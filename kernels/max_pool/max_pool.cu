#include "kernels/common/cuda_pooling.cuh"

namespace {

template <class T> struct maximum_of_window {
    ons_cuda_pooling s;
    const T *x;
    T *y;
    int64_t *indices; /* nullptr: nobody reads it; the same for the positions */
    void *positions;

    __device__ void operator()(int64_t i) const {
        const ons_window &w = s.window;
        ons::pooled to = ons::pooled_of(s, i, s.outputs, s.inputs);
        int64_t where = -1, found = 0;
        const T *from = x + to.first;
        float best = -INFINITY;
        ons::for_taps(w, to.at, [&](int64_t tap, int64_t at) {
            float value = ons::widen(from[at * s.width]);
            if (where >= 0 && !(value > best) && value == value) return;
            best = value;
            where = at;
            found = tap;
        });
        where = where < 0 ? 0 : where;
        y[i] = ons::narrow<T>(best);
        if (positions != nullptr && s.wide_position) ((int32_t *)positions)[i] = (int32_t)found;
        if (positions != nullptr && !s.wide_position) ((uint8_t *)positions)[i] = (uint8_t)found;
        if (indices == nullptr) return;
        ons::position at = ons::position_of(w.input, where);
        if (s.column_major) where = (at.at[2] * w.input[1] + at.at[1]) * w.input[0] + at.at[0];
        indices[i] = to.plane * s.inputs + where; /* which are asked for in ONNX's order alone */
    }
};

template <class T> void run_max_pool(const ons_launch *l, const ons_cuda_pooling *s) {
    ons::each(l, ons::pooled_elements(s, s->outputs), maximum_of_window<T>{*s, (const T *)l->inputs[0], (T *)l->outputs[0], (int64_t *)l->outputs[1], l->outputs[2]});
}

} // namespace

extern "C" void ons_cuda_max_pool(const ons_launch *launch) {
    const ons_cuda_pooling *s = (const ons_cuda_pooling *)launch->state;
    if (s->plan != nullptr) return ons_cuda_pooling_run(s, launch, launch->inputs[0], launch->outputs[0]);
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_max_pool, launch, s);
}
