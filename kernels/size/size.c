/* Size: the number of elements of the input, which is known as soon as shapes are. */
#include "kernels/common/operator/kernel.h"

static ons_status *size_infer(ons_operands *o) {
    o->outputs[0] = (ons_type){.dtype = ONS_INT64};
    return NULL;
}

static void size_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    *(int64_t *)outputs[0] = ons_elements(&o->inputs[0]);
}

ONS_DEFINE_OPERATOR(size, "Size", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(size_infer), ONS_COST(ons_cost_free),
                    ONS_NOT_DIFFERENTIABLE("a size does not depend on values"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_CONSTANT, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(size_reference));
