/* NonZero: the indices of all elements that are not zero, one column an element. How many there are decides the shape,
 * so the contents must be known when shapes are bound. */
#include <stdlib.h>

#include "graph/evaluate.h"
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/kernel.h"

static bool is_zero(ons_dtype dtype, const void *words, int64_t i) {
    return ons_dtype_is_float(dtype) ? ((const double *)words)[i] == 0 : ((const int64_t *)words)[i] == 0;
}

static ons_status *non_zero_infer(ons_operands *o) {
    const ons_tensor *known = &o->constants[0];
    if (known->data == NULL)
        return ons_node_error(o, "its result's shape depends on data; export the model with static shapes");
    int64_t elements = ons_elements(&known->type), count = 0;
    for (int64_t i = 0; i < elements; ++i) {
        uint64_t word = 0;
        size_t size = ons_dtype_size(known->type.dtype);
        ons_widen(known->type.dtype, (const char *)known->data + (size_t)i * size, 1, &word);
        count += !is_zero(known->type.dtype, &word, 0);
    }
    o->outputs[0] = ons_type_make(ONS_INT64, (ons_shape){2, {o->inputs[0].shape.rank, count}});
    return NULL;
}

static void non_zero_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                               void *const *outputs) {
    const ons_shape *shape = &o->inputs[0].shape;
    int64_t found = 0, count = o->outputs[0].shape.dims[1], index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        if (is_zero(o->inputs[0].dtype, inputs[0], i)) continue;
        ons_unravel(shape, i, index);
        for (uint32_t axis = 0; axis < shape->rank; ++axis) ((int64_t *)outputs[0])[axis * count + found] = index[axis];
        ++found;
    }
}

ONS_DEFINE_OPERATOR(non_zero, "NonZero", ONS_ONNX(9, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(non_zero_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("an index does not change gradually"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(non_zero_reference));
