#include "kernels/random/cuda_random.cuh"

namespace {

/* Four elements by one access where they are all there; y may be x. */
template <class T> struct dropout_draw {
    uint32_t threshold;
    float scale;
    const T *x;
    T *y;
    uint8_t *mask; /* nullptr: nobody reads it */
    __device__ void operator()(const uint32_t *words, int64_t begin, int count) const {
        ons::pack<T, 4> values;
        ons::pack<uint8_t, 4> kept;
        bool whole = count == 4;
        if (whole) values = *reinterpret_cast<const ons::pack<T, 4> *>(x + begin);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            kept.at[i] = words[i] >> 8 >= threshold;
            if (!whole && i < count) values.at[i] = x[begin + i];
            if (i < count) values.at[i] = ons::narrow<T>(kept.at[i] != 0 ? ons::widen(values.at[i]) * scale : 0.0f);
        }
        if (whole) {
            *reinterpret_cast<ons::pack<T, 4> *>(y + begin) = values;
            if (mask != nullptr) *reinterpret_cast<ons::pack<uint8_t, 4> *>(mask + begin) = kept;
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i < count) y[begin + i] = values.at[i];
            if (i < count && mask != nullptr) mask[begin + i] = kept.at[i];
        }
    }
};

template <class T> void run_dropout(const ons_launch *l, const ons_dropout_state *s) {
    float scale = s->ratio < 1 ? (float)(1 / (1 - s->ratio)) : 0;
    dropout_draw<T> draw = {ons_dropout_threshold(s->ratio), scale, (const T *)l->inputs[0], (T *)l->outputs[0],
                            s->has_mask ? (uint8_t *)l->outputs[1] : nullptr};
    ons::each_draw(l, s->elements, s->node_key, s->seed, draw);
}

} // namespace

/* Operands are aligned to 64 bytes. */
extern "C" void ons_cuda_run_dropout_training(const ons_launch *launch) {
    const ons_dropout_state *s = (const ons_dropout_state *)launch->state;
    ONS_CUDA_FLOAT_DISPATCH(s->dtype, run_dropout, launch, s);
}
