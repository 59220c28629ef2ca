/* The affine map of a batch normalisation and of its gradient, channel by channel, with the activation behind it. */
#ifndef ONSTAGE_KERNELS_NORMALIZATION_CUDA_CHANNEL_MAPS_CUH
#define ONSTAGE_KERNELS_NORMALIZATION_CUDA_CHANNEL_MAPS_CUH

#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/rows/cuda_rows.cuh"
extern "C" {
#include "kernels/normalization/cuda_batch.h"
}

namespace ons {

/* Per channel: y = (x - shift) × scale + rest, dx = dy × scale + (x - shift) × factor + rest. */
struct channel_maps {
    double *partial;
    float *shift, *scale, *rest, *factor;
};

inline channel_maps channel_maps_of(const ons_launch *l, const ons_cuda_batch *s) {
    double *partial = (double *)l->scratch;
    float *shift = (float *)(partial + 2 * s->parts * s->channels);
    return {partial, shift, shift + s->channels, shift + 2 * s->channels, shift + 3 * s->channels};
}

__device__ inline int64_t channel_element(const ons_cuda_batch &s, int64_t channel, uint32_t i) {
    uint32_t positions = (uint32_t)s.positions, sample = i / positions;
    return (sample * s.channels + channel) * s.positions + (i - sample * positions);
}

/* The map forwards. Gradients make it again, to know what the activation does to its result. */
__device__ inline float channel_map(float distance, float scale, float rest) { return distance * scale + rest; }

/* The activation behind the normalisation, whose gradient lets dy through by what the result was. By channel. */
template <class P> struct channel_gate {
    ons_batch_activation activation;
    const P *scale, *rest; /* of the map forwards; nullptr: there is no activation */
};

/* The gate of one channel; T: the result's type, to which it was rounded. */
template <class T> struct open_gate {
    ons_batch_activation activation;
    float scale, rest;
    __device__ float operator()(float distance, float slope) const {
        return activation.kind == ONS_BATCH_PLAIN ||
                       ons_batch_is_open(activation, widen(narrow<T>(channel_map(distance, scale, rest))))
                   ? slope
                   : 0;
    }
};

template <class T, class P> __device__ inline open_gate<T> gate_of(const channel_gate<P> &gate, int64_t channel) {
    if (gate.scale == nullptr) return {};
    return {gate.activation, widen(gate.scale[channel]), widen(gate.rest[channel])};
}

/* One value for COUNT neighbours of a channel, or those of COUNT channels side by side. */
template <int COUNT, bool LAST>
__device__ inline pack<float, COUNT> channel_values(const float *values, int64_t first) {
    pack<float, COUNT> result;
    if (LAST) return *reinterpret_cast<const pack<float, COUNT> *>(values + first);
    float value = values[first];
#pragma unroll
    for (int k = 0; k < COUNT; ++k) result.at[k] = value;
    return result;
}

/* What the map is of beside x: forwards, or of a gradient. nullptr where it is not there. */
template <class T> struct map_operands {
    ons_batch_activation activation;
    const T *residual; /* is added */
    const T *dy;       /* backwards */
    const float *gate_scale, *gate_rest;
};

/* One element. Forwards rounded as by two nodes. */
template <class T>
__device__ inline T map_forwards(const ons_batch_activation &activation, bool adds, float distance, float scale,
                                 float rest, float residual) {
    float result = channel_map(distance, scale, rest);
    if (adds) result = widen(narrow<T>(result)) + residual;
    return narrow<T>(ons_batch_activate(activation, widen(narrow<T>(result))));
}
template <class T>
__device__ inline T map_backwards(const open_gate<T> &open, float distance, float slope, float scale, float factor,
                                  float rest) {
    return narrow<T>(open(distance, slope) * scale + distance * factor + rest);
}

/* COUNT neighbouring elements, of one channel or, with channels last, of as many. y may be x, or residual. */
template <int COUNT, bool LAST, class T> struct map_channels {
    ons_cuda_batch s;
    channel_maps maps;
    const T *x;
    map_operands<T> o;
    T *to;
    __device__ void operator()(int64_t i) const {
        int64_t first = (LAST ? i * COUNT : i * COUNT / s.positions) % s.channels;
        pack<float, COUNT> shift = channel_values<COUNT, LAST>(maps.shift, first), factor = {}, gate_scale = {},
                           gate_rest = {};
        pack<float, COUNT> scale = channel_values<COUNT, LAST>(maps.scale, first);
        pack<float, COUNT> rest = channel_values<COUNT, LAST>(maps.rest, first);
        if (o.dy != nullptr) factor = channel_values<COUNT, LAST>(maps.factor, first);
        if (o.gate_scale != nullptr) {
            gate_scale = channel_values<COUNT, LAST>(o.gate_scale, first);
            gate_rest = channel_values<COUNT, LAST>(o.gate_rest, first);
        }
        pack<T, COUNT> values = reinterpret_cast<const pack<T, COUNT> *>(x)[i], others = {};
        if (o.dy != nullptr) others = reinterpret_cast<const pack<T, COUNT> *>(o.dy)[i];
        if (o.residual != nullptr) others = reinterpret_cast<const pack<T, COUNT> *>(o.residual)[i];
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            float distance = widen(values.at[k]) - shift.at[k];
            open_gate<T> open = {o.activation, gate_scale.at[k], gate_rest.at[k]};
            float other = widen(others.at[k]);
            values.at[k] =
                o.dy == nullptr
                    ? map_forwards<T>(o.activation, o.residual != nullptr, distance, scale.at[k], rest.at[k], other)
                    : map_backwards(open, distance, other, scale.at[k], factor.at[k], rest.at[k]);
        }
        reinterpret_cast<pack<T, COUNT> *>(to)[i] = values;
    }
};

} // namespace ons

#endif
