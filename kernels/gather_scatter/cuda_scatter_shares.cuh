/* The gradients of ScatterElements and ScatterND on CUDA: scatter_shares.h. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SCATTER_SHARES_CUH
#define ONSTAGE_KERNELS_GATHER_SCATTER_CUDA_SCATTER_SHARES_CUH

#include "kernels/gather_scatter/cuda_scatter.cuh"
extern "C" {
#include "kernels/gather_scatter/scatter_shares.h"
}

namespace ons {

template <class Targets> struct cover_data {
    Targets targets;
    float *d_data;
    __device__ void operator()(int64_t update) const {
        int64_t to = targets.target(update);
        if (to >= 0) d_data[to] = 0; /* all that meet write the same */
    }
};

struct begin_shares {
    ons_scatter_shares shares;
    __device__ void operator()(int64_t i) const { ons_shares_begin(&shares, i); }
};

template <class Targets> struct note_shares {
    Targets targets;
    ons_scatter_shares shares;
    __device__ void operator()(int64_t i) const {
        int64_t to = targets.target(i);
        peers all = targets.peers_of(i);
        if (to < 0 || has_earlier(targets, all, to)) return;
        for (int64_t k = all.own; k < all.count; ++k) {
            int64_t update = all.first + k * all.step;
            if (targets.target(update) == to) ons_shares_note(&shares, update, to);
        }
    }
};

template <class Targets> struct update_shares {
    Targets targets;
    ons_scatter_shares shares;
    float *d_updates;
    __device__ void operator()(int64_t update) const {
        int64_t to = targets.target(update);
        d_updates[update] = to < 0 ? 0 : ons_shares_of(&shares, shares.updates[update], to);
    }
};

struct data_shares {
    ons_scatter_shares shares;
    float *d_data;
    __device__ void operator()(int64_t i) const { d_data[i] = ons_shares_of(&shares, shares.data[i], i); }
};

template <class Targets>
void share_gradients(const ons_launch *l, const Targets &targets, ons_scatter_mode mode, int64_t elements) {
    const void *const *in = l->inputs;
    float *d_data = (float *)l->outputs[0], *counts = (float *)l->scratch;
    if (mode == ONS_SCATTER_NONE) {
        if (d_data == nullptr) return;
        copy_bytes(l, d_data, in[ONS_SHARES_COTANGENT], elements * (int64_t)sizeof(float));
        each(l, targets.updates(), cover_data<Targets>{targets, d_data});
        return;
    }
    ons_scatter_shares shares = {mode,
                                 (const float *)in[ONS_SHARES_COTANGENT],
                                 (const float *)in[ONS_SHARES_DATA],
                                 (const float *)in[ONS_SHARES_UPDATES],
                                 (const float *)in[ONS_SHARES_RESULT],
                                 counts,
                                 counts + elements};
    each(l, elements, begin_shares{shares});
    each(l, targets.updates(), note_shares<Targets>{targets, shares});
    if (l->outputs[1] != nullptr)
        each(l, targets.updates(), update_shares<Targets>{targets, shares, (float *)l->outputs[1]});
    if (d_data != nullptr) each(l, elements, data_shares{shares, d_data});
}

} // namespace ons

#endif
