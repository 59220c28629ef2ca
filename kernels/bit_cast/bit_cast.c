/* BitCast: the same bytes, read as another element type of the same size. */
#include "graph/evaluate.h"
#include "kernels/common/layout/axes.h"

enum { TO };

static ons_status *bit_cast_infer(ons_operands *o) {
    ons_dtype to = (ons_dtype)ons_attribute_int(o, TO);
    size_t size = ons_dtype_size(o->inputs[0].dtype);
    if (size == 0 || ons_dtype_size(to) != size)
        return ons_node_error(o, "the bytes of %s cannot be read as ONNX's element type %d",
                              ons_dtype_name(o->inputs[0].dtype), (int)to);
    o->outputs[0] = ons_type_make(to, o->inputs[0].shape);
    return NULL;
}

static void bit_cast_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        unsigned char bytes[8];
        ons_narrow(o->inputs[0].dtype, (const uint64_t *)inputs[0] + i, 1, bytes);
        ons_widen(o->outputs[0].dtype, bytes, 1, (uint64_t *)outputs[0] + i);
    }
}

ONS_DEFINE_OPERATOR(
    bit_cast, "BitCast", ONS_ONNX(26, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("to", ONS_ATTRIBUTE_INT)), ONS_INFER(bit_cast_infer), ONS_COST(ons_cost_free),
    ONS_NOT_DIFFERENTIABLE("the value that bytes have as another type does not follow the value smoothly"),
    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_VIEW_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
    ONS_REFERENCE(bit_cast_reference));
