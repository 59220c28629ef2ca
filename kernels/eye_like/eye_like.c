/* EyeLike: ones on a diagonal, zeros elsewhere, of the input's shape; known as soon as shapes are. */
#include "kernels/common/operator/kernel.h"

enum { DTYPE, K };

static ons_status *eye_like_infer(ons_operands *o) {
    if (o->inputs[0].shape.rank != 2) return ons_node_error(o, "needs a matrix, not rank %u", o->inputs[0].shape.rank);
    o->outputs[0] = o->inputs[0];
    if (ons_has_attribute(o, DTYPE)) o->outputs[0].dtype = (ons_dtype)ons_attribute_int(o, DTYPE);
    if (ons_dtype_size(o->outputs[0].dtype) == 0)
        return ons_node_error(o, "element type %lld is not supported", (long long)ons_attribute_int(o, DTYPE));
    return NULL;
}

static void eye_like_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    int64_t width = o->outputs[0].shape.dims[1];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        bool one = i % width - i / width == ons_attribute_int(o, K);
        if (ons_dtype_is_float(o->outputs[0].dtype))
            ((double *)outputs[0])[i] = one;
        else
            ((int64_t *)outputs[0])[i] = one;
    }
}

ONS_DEFINE_OPERATOR(eye_like, "EyeLike", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("dtype", ONS_ATTRIBUTE_INT), ONS_INT_ATTRIBUTE("k", 0)),
                    ONS_INFER(eye_like_infer), ONS_COST(ons_cost_free),
                    ONS_NOT_DIFFERENTIABLE("a shape does not depend on values"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_CONSTANT, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(eye_like_reference));
