/* Col2Im: blocks that lie as columns (N, C × taps, blocks), added up where they overlap in an image. */
#include <string.h>

#include "kernels/col2im/unfold.h"
#include "kernels/operators.h"

static ons_status *col2im_infer(ons_operands *o) {
    ons_unfold u;
    return ons_unfold_of_columns(o, &o->inputs[0], &u, &o->outputs[0]);
}

/* One addition for each element of a block. */
static void col2im_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                             void *const *outputs) {
    ons_unfold u;
    ons_type image;
    ons_resolved(ons_unfold_of_columns(o, &o->inputs[0], &u, &image));
    bool is_float = ons_dtype_is_float(image.dtype);
    memset(outputs[0], 0, (size_t)ons_elements(&image) * 8);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        int64_t row = i / u.positions, at = ons_unfold_pixel(&u, row % u.taps, i % u.positions);
        if (at < 0) continue;
        at += row / u.taps * u.pixels;
        if (is_float)
            ((double *)outputs[0])[at] += ((const double *)inputs[0])[i];
        else
            ((uint64_t *)outputs[0])[at] += ((const uint64_t *)inputs[0])[i];
    }
}

static ons_status *col2im_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_col2im_gradient,
                        ONS_IN(g->cotangents[0], ons_gradient_input(g, 1), ons_gradient_input(g, 2)),
                        g->operands->attributes, 1, NULL, &g->gradients[0]);
    return NULL;
}

ONS_DEFINE_OPERATOR(col2im, "Col2Im", ONS_ONNX(18, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1),
                    ONS_ATTRIBUTES(ONS_UNFOLD_ATTRIBUTES), ONS_INFER(col2im_infer), ONS_COST(ons_cost_each_input),
                    ONS_GRADIENT_RULE(col2im_gradient, ONS_INPUT_BIT(0)), ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(col2im_reference));
