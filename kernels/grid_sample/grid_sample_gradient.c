/* The gradients of GridSample's tensor and grid. Inputs: cotangent, tensor, grid. */
#include "kernels/grid_sample/grid_sample_gradient.h"

#include <string.h>

#include "kernels/grid_sample/grid_look.h"

static ons_status *grid_sample_gradient_infer(ons_operands *o) {
    ons_grid grid;
    ONS_TRY(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid));
    if (!ons_shape_equal(&grid.result, &o->inputs[COTANGENT].shape) || !ons_dtype_is_float(o->inputs[X].dtype) ||
        o->inputs[COTANGENT].dtype != o->inputs[X].dtype)
        return ons_node_error(o, "the cotangent does not have the type of the result");
    o->outputs[X_GRADIENT] = o->inputs[X];
    o->outputs[GRID_GRADIENT] = o->inputs[GRID];
    return NULL;
}

/* A multiplication and an addition for every element that is seen, for each of the two. */
static ons_cost grid_sample_gradient_cost(const ons_operands *o) {
    ons_grid grid;
    ons_resolved(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid));
    return (ons_cost){4.0 * grid.combinations * (double)ons_elements(&o->inputs[COTANGENT]), ons_operand_bytes(o)};
}

static void grid_sample_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_grid g;
    ons_resolved(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &g));
    const double *dy = inputs[COTANGENT], *x = inputs[X], *grid = inputs[GRID];
    double *dx = outputs[X_GRADIENT], *dgrid = outputs[GRID_GRADIENT];
    if (dx != NULL) memset(dx, 0, (size_t)ons_elements(&o->inputs[X]) * sizeof *dx);
    if (dgrid != NULL) memset(dgrid, 0, (size_t)ons_elements(&o->inputs[GRID]) * sizeof *dgrid);
    for (int64_t i = 0; i < g.batch * g.outputs; ++i) {
        ons_grid_view view;
        ons_grid_look(&g, grid + i * g.dims, &view);
        for (int64_t c = 0; c < g.channels; ++c)
            for (int32_t k = 0; k < g.combinations; ++k) {
                int64_t plane = i / g.outputs * g.channels + c, at = plane * g.inputs + view.element[k];
                double cotangent = dy[plane * g.outputs + i % g.outputs];
                if (view.element[k] < 0) continue;
                if (dx != NULL) dx[at] += view.weight[k] * cotangent;
                for (int32_t j = 0; dgrid != NULL && j < g.dims; ++j)
                    dgrid[i * g.dims + j] += view.slope[j][k] * x[at] * cotangent;
            }
    }
}

ONS_DEFINE_OPERATOR(grid_sample_gradient, "GridSampleGradient", ONS_INTERNAL, ONS_ARITY(3, 3, 0, 2),
                    ONS_ATTRIBUTES(ONS_GRID_ATTRIBUTES), ONS_INFER(grid_sample_gradient_infer),
                    ONS_COST(grid_sample_gradient_cost), ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(grid_sample_gradient_reference));
