#include "kernels/common/cuda/cuda_each.cuh"
extern "C" {
#include "kernels/pad/pad.h"
}

namespace {

__device__ inline int64_t floor_modulo(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

/* The input's index along an axis of `length`, `index` counted from its beginning; -1: the constant. */
__device__ inline int64_t pad_source(ons_padding_mode mode, int64_t length, int64_t index) {
    if (index >= 0 && index < length) return index;
    if (mode == ONS_PAD_EDGE) return index < 0 ? 0 : length - 1;
    if (mode == ONS_PAD_WRAP) return floor_modulo(index, length);
    if (mode == ONS_PAD_CONSTANT) return -1;
    int64_t period = 2 * (length - 1);
    if (period == 0) return 0;
    index = floor_modulo(index, period);
    return index < length ? index : period - index;
}

template <class Unit> struct padded {
    ons_pad s;
    const Unit *in, *value;
    Unit *out;
    __device__ void operator()(int64_t i) const {
        const ons_padding &p = s.padding;
        int64_t rest = i, from = 0, stride = 1;
        bool inside = true;
        for (int d = (int)p.output.rank - 1; d >= 0; --d) {
            int64_t next = rest / p.output.dims[d];
            int64_t source = pad_source(p.mode, p.input.dims[d], rest - next * p.output.dims[d] - p.before[d]);
            inside = inside && source >= 0;
            from += source * stride;
            stride *= p.input.dims[d];
            rest = next;
        }
        out[i] = inside ? in[from] : s.has_value ? *value : (Unit)s.value;
    }
};

template <class Unit> void run_pad(const ons_launch *l, const ons_pad *s) {
    const Unit *value = s->has_value ? (const Unit *)l->inputs[ONS_PADDING_VALUE] : nullptr;
    padded<Unit> f = {*s, (const Unit *)l->inputs[0], value, (Unit *)l->outputs[0]};
    ons::each(l, s->elements, f);
}

} // namespace

extern "C" void ons_cuda_run_pad(const ons_launch *launch) {
    const ons_pad *s = (const ons_pad *)launch->state;
    ONS_CUDA_UNIT_DISPATCH(s->size, run_pad, launch, s);
}
