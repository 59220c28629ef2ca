#include "kernels/deform_conv/cuda_deformable.cuh"

namespace {

/* One result of a sample. */
struct weighted_columns {
    ons_deformable d;
    const float *columns, *w, *bias;
    float *y;
    __device__ void operator()(int64_t i) const {
        int64_t output = i / d.positions, at = i - output * d.positions, depth = d.channels / d.groups * d.taps;
        const float *from = columns + output / (d.outputs / d.groups) * depth * d.positions + at;
        float sum = bias == nullptr ? 0 : bias[output];
        for (int64_t k = 0; k < depth; ++k) sum += w[output * depth + k] * from[k * d.positions];
        y[i] = sum;
    }
};

} // namespace

extern "C" void ons_cuda_run_deform_conv(const ons_launch *launch) {
    const ons_cuda_deformable *s = (const ons_cuda_deformable *)launch->state;
    const ons_deformable &d = s->d;
    const float *const *in = (const float *const *)launch->inputs;
    float *columns = (float *)launch->scratch, *y = (float *)launch->outputs[0];
    for (int64_t n = 0; n < d.batch; ++n) {
        ons::deformable_sample sample = ons::sample_of(d, n, in[0], in[2], d.has_mask ? in[4] : nullptr);
        if (d.pixels > 0)
            ons::each(launch, s->columns, ons::gather_columns{sample, columns});
        else
            ons::zero_bytes(launch, columns, s->columns * (int64_t)sizeof(float));
        ons::each(launch, d.outputs * d.positions,
                  weighted_columns{d, columns, in[1], s->bias ? in[3] : nullptr, y + n * d.outputs * d.positions});
    }
}
