#include "kernels/common/rows/cuda_rows.cuh"
#include "kernels/deform_conv/cuda_deformable.cuh"

namespace {

/* What reaches a column from the results that took it. */
struct column_gradient {
    ons_deformable d;
    const float *dy, *w; /* dy of the sample */
    float *gradients;
    __device__ void operator()(int64_t i) const {
        int64_t row = i / d.positions, at = i - row * d.positions, depth = d.channels / d.groups * d.taps;
        int64_t group = row / depth, share = d.outputs / d.groups;
        float sum = 0;
        for (int64_t output = group * share; output < (group + 1) * share; ++output)
            sum += dy[output * d.positions + at] * w[output * depth + (row - group * depth)];
        gradients[i] = sum;
    }
};

/* dw += dy · columnsᵀ of one sample: a warp for each weight. */
__global__ void add_weights(ons_deformable d, const float *dy, const float *columns, float *dw) {
    int64_t depth = d.channels / d.groups * d.taps;
    for (int64_t i = ons::warp_group::first(); i < d.outputs * depth; i += ons::warp_group::stride()) {
        int64_t output = i / depth, row = output / (d.outputs / d.groups) * depth + (i - output * depth);
        float sum = 0;
        for (int64_t at = ons::warp_group::lane(); at < d.positions; at += ons::WARP)
            sum += dy[output * d.positions + at] * columns[row * d.positions + at];
        sum = ons::warp_reduce(sum, ons::add());
        if (ons::warp_group::lane() == 0) dw[i] += sum;
    }
}

/* A thread for each channel goes through its columns in order, since taps may share pixels. */
struct spread_channel {
    ons::deformable_sample s;
    const float *gradients;
    float *dx; /* of the sample */
    __device__ void operator()(int64_t channel) const {
        int64_t rows = s.d.taps * s.d.positions;
        float *plane = dx + channel * s.d.pixels;
        for (int64_t i = 0; i < s.d.pixels; ++i) plane[i] = 0;
        for (int64_t i = channel * rows; i < (channel + 1) * rows; ++i) {
            ons::deformable_sample::place p = s.place_of(i);
            ons_exact_corners c = s.corners(p);
            float share = gradients[i] * s.factor(p);
            for (int k = 0; k < 4; ++k) plane[c.pixels[k]] += share * (float)c.weights[k];
        }
    }
};

/* One offset and mask: all channels of the group read by it. nullptr: not wanted. */
struct place_gradients {
    ons::deformable_sample s;
    const float *gradients;
    float *doffset, *dmask; /* of the sample */
    __device__ void operator()(int64_t i) const {
        const ons_deformable &d = s.d;
        int64_t line = i / d.positions, share = d.channels / d.offset_groups, group = line / d.taps;
        ons::deformable_sample::place p = {group * share, line - group * d.taps, i - line * d.positions, group};
        ons_exact_corners c = s.corners(p);
        float by_row = 0, by_column = 0, by_mask = 0, factor = s.factor(p);
        for (int64_t channel = 0; channel < share; ++channel, ++p.channel) {
            float slope = gradients[(p.channel * d.taps + p.tap) * d.positions + p.at];
            by_row += slope * factor * s.read(p, c, c.row_slopes);
            by_column += slope * factor * s.read(p, c, c.column_slopes);
            by_mask += slope * s.read(p, c, c.weights);
        }
        int64_t offset = ons_deformable_offset_at(&d, group, p.tap, p.at);
        if (doffset != nullptr) doffset[offset] = by_row;
        if (doffset != nullptr) doffset[offset + d.positions] = by_column;
        if (dmask != nullptr) dmask[ons_deformable_mask_at(&d, group, p.tap, p.at)] = by_mask;
    }
};

} // namespace

extern "C" void ons_cuda_run_deform_conv_gradient(const ons_launch *launch) {
    const ons_cuda_deformable *s = (const ons_cuda_deformable *)launch->state;
    const ons_deformable &d = s->d;
    const float *const *in = (const float *const *)launch->inputs;
    float *const *out = (float *const *)launch->outputs;
    float *dx = out[0], *dw = out[1], *doffset = out[2], *dmask = d.has_mask ? out[3] : nullptr;
    float *columns = (float *)launch->scratch, *gradients = columns + s->columns;
    int64_t lines = d.offset_groups * d.taps * d.positions, weights = d.outputs * (d.channels / d.groups) * d.taps,
            bytes = sizeof(float);
    if (dw != nullptr) ons::zero_bytes(launch, dw, weights * bytes);
    if (d.pixels == 0 && doffset != nullptr) ons::zero_bytes(launch, doffset, 2 * d.batch * lines * bytes);
    if (d.pixels == 0 && dmask != nullptr) ons::zero_bytes(launch, dmask, d.batch * lines * bytes);
    for (int64_t n = 0; n < d.batch && d.pixels > 0; ++n) {
        ons::deformable_sample sample = ons::sample_of(d, n, in[1], in[3], d.has_mask ? in[4] : nullptr);
        const float *dy = in[0] + n * d.outputs * d.positions;
        if (dw != nullptr && s->columns > 0) {
            ons::each(launch, s->columns, ons::gather_columns{sample, columns});
            ons::launch(launch, add_weights, ons::warp_group::blocks(weights), ons::ROW_THREADS, d, dy,
                        (const float *)columns, dw);
        }
        ons::each(launch, s->columns, column_gradient{d, dy, in[2], gradients});
        if (dx != nullptr)
            ons::each(launch, d.channels, spread_channel{sample, gradients, dx + n * d.channels * d.pixels});
        if (doffset != nullptr || dmask != nullptr)
            ons::each(launch, lines,
                      place_gradients{sample, gradients, doffset == nullptr ? nullptr : doffset + 2 * n * lines,
                                      dmask == nullptr ? nullptr : dmask + n * lines});
    }
}
