/* Constant: a value that stands in the node itself. The importer turns such nodes into constants of the graph, tensors
 * included; what is left for this descriptor are the attributes that are plain numbers. */
#include <string.h>

#include "kernels/common/operator/kernel.h"

enum { VALUE, VALUE_FLOAT, VALUE_FLOATS, VALUE_INT, VALUE_INTS, VALUE_STRING, VALUE_STRINGS, SPARSE_VALUE };

static ons_status *constant_infer(ons_operands *o) {
    const ons_attribute *a = o->attributes;
    ons_type type = {0};
    if (a[VALUE_FLOAT].kind != ONS_ATTRIBUTE_ABSENT)
        type.dtype = ONS_FLOAT32;
    else if (a[VALUE_FLOATS].kind != ONS_ATTRIBUTE_ABSENT)
        type = (ons_type){.dtype = ONS_FLOAT32, .shape = {1, {a[VALUE_FLOATS].count}}};
    else if (a[VALUE_INT].kind != ONS_ATTRIBUTE_ABSENT)
        type.dtype = ONS_INT64;
    else if (a[VALUE_INTS].kind != ONS_ATTRIBUTE_ABSENT)
        type = (ons_type){.dtype = ONS_INT64, .shape = {1, {a[VALUE_INTS].count}}};
    else
        return ons_node_error(o, "only tensors and numbers can be constants");
    o->outputs[0] = type;
    return NULL;
}

static void constant_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    (void)step, (void)inputs;
    const ons_attribute *a = o->attributes;
    if (a[VALUE_FLOAT].kind != ONS_ATTRIBUTE_ABSENT)
        memcpy(outputs[0], &a[VALUE_FLOAT].f, sizeof(double));
    else if (a[VALUE_FLOATS].kind != ONS_ATTRIBUTE_ABSENT)
        memcpy(outputs[0], a[VALUE_FLOATS].floats, a[VALUE_FLOATS].count * sizeof(double));
    else if (a[VALUE_INT].kind != ONS_ATTRIBUTE_ABSENT)
        memcpy(outputs[0], &a[VALUE_INT].i, sizeof(int64_t));
    else
        memcpy(outputs[0], a[VALUE_INTS].ints, a[VALUE_INTS].count * sizeof(int64_t));
}

ONS_DEFINE_OPERATOR(constant, "Constant", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(0, 0, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("value", ONS_ATTRIBUTE_TENSOR),
                                   ONS_OPTIONAL_ATTRIBUTE("value_float", ONS_ATTRIBUTE_FLOAT),
                                   ONS_OPTIONAL_ATTRIBUTE("value_floats", ONS_ATTRIBUTE_FLOATS),
                                   ONS_OPTIONAL_ATTRIBUTE("value_int", ONS_ATTRIBUTE_INT),
                                   ONS_OPTIONAL_ATTRIBUTE("value_ints", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("value_string", ONS_ATTRIBUTE_STRING),
                                   ONS_OPTIONAL_ATTRIBUTE("value_strings", ONS_ATTRIBUTE_STRINGS),
                                   ONS_OPTIONAL_ATTRIBUTE("sparse_value", ONS_ATTRIBUTE_TENSOR)),
                    ONS_INFER(constant_infer), ONS_COST(ons_cost_free), ONS_NOT_DIFFERENTIABLE("it has no inputs"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_CONSTANT, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(constant_reference));
