/* Gradient of Det: from the cotangent and the matrices, cotangent × cofactors. Output 1 is room for the elimination. */
#include "kernels/det/determinant.h"

static ons_status *det_gradient_infer(ons_operands *o) {
    ons_operands matrices = *o;
    matrices.inputs = o->inputs + 1;
    int64_t count, size;
    ONS_TRY(ons_square_matrices(&matrices, &count, &size));
    ons_shape batch = ons_shape_make(o->inputs[1].shape.rank - 2, o->inputs[1].shape.dims);
    if (o->inputs[0].dtype != o->inputs[1].dtype || !ons_shape_equal(&o->inputs[0].shape, &batch))
        return ons_node_error(o, "the cotangent does not have the type of the determinants");
    for (uint32_t i = 0; i < o->output_count; ++i) o->outputs[i] = o->inputs[1];
    return NULL;
}

static void det_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    const ons_shape *shape = &o->inputs[1].shape;
    int64_t count = ons_shape_span(shape, 0, shape->rank - 2), size = shape->dims[shape->rank - 1];
    for (int64_t i = 0; i < count; ++i) {
        double *dx = (double *)outputs[0] + i * size * size, dy = ((const double *)inputs[0])[i];
        ons_cofactors((const double *)inputs[1] + i * size * size, size, dx, outputs[1]);
        for (int64_t k = 0; k < size * size; ++k) dx[k] *= dy;
    }
}

/* Two thirds of the cube of the size for each matrix, twice as much for the inverse. */
static ons_cost det_gradient_cost(const ons_operands *o) {
    double size = (double)o->inputs[1].shape.dims[o->inputs[1].shape.rank - 1];
    return (ons_cost){2 * (double)ons_elements(&o->inputs[1]) * size, ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(det_gradient, "DetGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 2), ONS_NO_ATTRIBUTES,
                    ONS_INFER(det_gradient_infer), ONS_COST(det_gradient_cost),
                    ONS_NOT_DIFFERENTIABLE("it is itself a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(det_gradient_reference));
