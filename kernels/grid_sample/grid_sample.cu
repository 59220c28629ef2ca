#include "kernels/grid_sample/cuda_grid.cuh"

namespace {

/* A thread for each place, which all channels share. */
struct sampled {
    ons_grid g;
    const float *x, *places;
    float *y;
    __device__ void operator()(int64_t i) const {
        ons_grid_view view;
        int64_t sample = i / g.outputs, output = i - sample * g.outputs;
        ons::look_at(g, places, i, &view);
        for (int64_t c = 0; c < g.channels; ++c) {
            int64_t plane = sample * g.channels + c;
            float sum = 0;
            for (int32_t k = 0; k < g.combinations; ++k)
                if (view.element[k] >= 0) sum += (float)view.weight[k] * x[plane * g.inputs + view.element[k]];
            y[plane * g.outputs + output] = sum;
        }
    }
};

template <class Unit> struct nearest {
    ons_grid g;
    const Unit *x;
    const float *places;
    Unit *y;
    __device__ void operator()(int64_t i) const {
        ons_grid_view view;
        int64_t sample = i / g.outputs, output = i - sample * g.outputs;
        ons::look_at(g, places, i, &view);
        for (int64_t c = 0; c < g.channels; ++c) {
            int64_t plane = sample * g.channels + c;
            y[plane * g.outputs + output] = view.element[0] < 0 ? Unit(0) : x[plane * g.inputs + view.element[0]];
        }
    }
};

template <class Unit> void run_nearest(const ons_launch *l, const ons_grid &g) {
    ons::each(l, g.batch * g.outputs,
              nearest<Unit>{g, (const Unit *)l->inputs[0], (const float *)l->inputs[1], (Unit *)l->outputs[0]});
}

} // namespace

extern "C" void ons_cuda_run_grid_sample(const ons_launch *launch) {
    const ons_cuda_grid *s = (const ons_cuda_grid *)launch->state;
    const ons_grid &g = s->grid;
    if (g.mode == ONS_GRID_NEAREST) {
        ONS_CUDA_UNIT_DISPATCH(s->size, run_nearest, launch, g);
        return;
    }
    ons::each(
        launch, g.batch * g.outputs,
        sampled{g, (const float *)launch->inputs[0], (const float *)launch->inputs[1], (float *)launch->outputs[0]});
}
