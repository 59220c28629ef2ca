/* GridSample: the tensor (N, C, spatial…) at the places of a grid (N, positions…, coordinates). */
#include "kernels/grid_sample/grid_sample.h"

#include "kernels/common/layout/index.h"
#include "kernels/grid_sample/grid_look.h"
#include "kernels/operators.h"

static ons_status *grid_sample_infer(ons_operands *o) {
    ons_grid grid;
    ONS_TRY(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid));
    if (grid.mode != ONS_GRID_NEAREST && !ons_dtype_is_float(o->inputs[X].dtype))
        return ons_node_error(o, "cannot interpolate %s", ons_dtype_name(o->inputs[X].dtype));
    o->outputs[0] = ons_type_make(o->inputs[X].dtype, grid.result);
    return NULL;
}

/* A multiplication and an addition for every element that is seen. */
static ons_cost grid_sample_cost(const ons_operands *o) {
    ons_grid grid;
    ons_resolved(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &grid));
    return (ons_cost){2.0 * grid.combinations * (double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static void sample_plane(const ons_grid *g, const ons_grid_view *view, const void *x, int64_t plane, void *y,
                         int64_t output) {
    if (g->mode == ONS_GRID_NEAREST) { /* without arithmetic, so that every dtype stays as it is */
        uint64_t zero = 0;
        bool inside = view->element[0] >= 0;
        ons_copy_word(y, output, inside ? x : &zero, inside ? plane * g->inputs + view->element[0] : 0);
        return;
    }
    double sum = 0;
    for (int32_t k = 0; k < g->combinations; ++k)
        if (view->element[k] >= 0) sum += view->weight[k] * ((const double *)x)[plane * g->inputs + view->element[k]];
    ((double *)y)[output] = sum;
}

static void grid_sample_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs) {
    ons_grid g;
    ons_resolved(ons_grid_of(o, &o->inputs[X], &o->inputs[GRID], &g));
    for (int64_t i = 0; i < g.batch * g.outputs; ++i) {
        ons_grid_view view;
        ons_grid_look(&g, (const double *)inputs[GRID] + i * g.dims, &view);
        for (int64_t c = 0; c < g.channels; ++c) {
            int64_t plane = i / g.outputs * g.channels + c;
            sample_plane(&g, &view, inputs[X], plane, outputs[0], plane * g.outputs + i % g.outputs);
        }
    }
}

static ons_status *grid_sample_gradient(ons_gradient *g) {
    ons_value_id results[2];
    ons_build_node_like(g->builder, &ons_op_grid_sample_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, X), ons_gradient_input(g, GRID)),
                        g->operands->attributes, 2, g->wanted, results);
    for (uint32_t i = X; i <= GRID; ++i)
        if (g->wanted[i]) g->gradients[i] = results[i];
    return NULL;
}

ONS_DEFINE_OPERATOR(grid_sample, "GridSample", ONS_ONNX(16, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_GRID_ATTRIBUTES), ONS_INFER(grid_sample_infer), ONS_COST(grid_sample_cost),
                    ONS_GRADIENT_RULE(grid_sample_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(X) | ONS_INPUT_BIT(GRID), 0), ONS_SAMPLING_OPERATOR(ONS_INPUT_BIT(GRID)),
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(grid_sample_reference));
