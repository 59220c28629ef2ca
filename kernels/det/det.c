/* Det: the determinants of square matrices. Output 1, which no file has, is room for the elimination. */
#include <string.h>

#include "kernels/common/operator/rules.h"
#include "kernels/det/determinant.h"
#include "kernels/operators.h"

static ons_status *det_infer(ons_operands *o) {
    int64_t count, size;
    ONS_TRY(ons_square_matrices(o, &count, &size));
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape = ons_shape_make(o->inputs[0].shape.rank - 2, o->inputs[0].shape.dims);
    if (o->output_count > 1) o->outputs[1] = o->inputs[0];
    return NULL;
}

static void det_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    int64_t count, size;
    ons_resolved(ons_square_matrices(o, &count, &size));
    double *work = outputs[1];
    if (count * size > 0) memcpy(work, inputs[0], (size_t)(count * size * size) * sizeof *work);
    for (int64_t i = 0; i < count; ++i) ((double *)outputs[0])[i] = ons_determinant(work + i * size * size, size);
}

/* Two thirds of the cube of the size for each matrix. */
static ons_cost det_cost(const ons_operands *o) {
    double size = (double)o->inputs[0].shape.dims[o->inputs[0].shape.rank - 1];
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]) * size / 3, ons_operand_bytes(o)};
}

static ons_status *det_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    g->gradients[0] = ons_make2(g, &ons_op_det_gradient, g->cotangents[0], ons_gradient_input(g, 0));
    return NULL;
}

ONS_DEFINE_OPERATOR(det, "Det", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(1, 1, 1, 2), ONS_NO_ATTRIBUTES,
                    ONS_INFER(det_infer), ONS_COST(det_cost), ONS_GRADIENT_RULE(det_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(det_reference));
