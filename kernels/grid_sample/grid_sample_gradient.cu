#include "kernels/grid_sample/cuda_grid.cuh"

namespace {

/* A thread for each plane goes through all places in order, since places may share elements. */
struct plane_gradient {
    ons_grid g;
    const float *dy, *places;
    float *dx;
    __device__ void operator()(int64_t plane) const {
        for (int64_t i = 0; i < g.inputs; ++i) dx[plane * g.inputs + i] = 0;
        for (int64_t i = 0; i < g.outputs; ++i) {
            ons_grid_view view;
            ons::look_at(g, places, plane / g.channels * g.outputs + i, &view);
            float slope = dy[plane * g.outputs + i];
            for (int32_t k = 0; k < g.combinations; ++k)
                if (view.element[k] >= 0) dx[plane * g.inputs + view.element[k]] += (float)view.weight[k] * slope;
        }
    }
};

struct place_gradient {
    ons_grid g;
    const float *dy, *x, *places;
    float *dplaces;
    __device__ void operator()(int64_t i) const {
        ons_grid_view view;
        int64_t sample = i / g.outputs, output = i - sample * g.outputs;
        float sums[ONS_GRID_DIMS] = {0, 0, 0};
        ons::look_at(g, places, i, &view);
        for (int64_t c = 0; c < g.channels; ++c) {
            int64_t plane = sample * g.channels + c;
            float slope = dy[plane * g.outputs + output];
            for (int32_t k = 0; k < g.combinations; ++k) {
                if (view.element[k] < 0) continue;
                float product = x[plane * g.inputs + view.element[k]] * slope;
                for (int32_t j = 0; j < g.dims; ++j) sums[j] += (float)view.slope[j][k] * product;
            }
        }
        for (int32_t j = 0; j < g.dims; ++j) dplaces[i * g.dims + j] = sums[j];
    }
};

} // namespace

extern "C" void ons_cuda_run_grid_sample_gradient(const ons_launch *launch) {
    const ons_grid &g = ((const ons_grid_state *)launch->state)->grid;
    const float *const *in = (const float *const *)launch->inputs;
    float *const *out = (float *const *)launch->outputs;
    if (out[0] != nullptr) ons::each(launch, g.batch * g.channels, plane_gradient{g, in[0], in[2], out[0]});
    if (out[1] != nullptr) ons::each(launch, g.batch * g.outputs, place_gradient{g, in[0], in[1], in[2], out[1]});
}
