/* The gradient of GatherElements, and of TopK's values: zeros, and the cotangents added at the elements that were
 * looked up, line by line in the order of the indices. */
#include "kernels/gather_elements/gather_elements_gradient_node.h"

#include "kernels/gather_scatter/lines.h"

static ons_status *gather_elements_gradient_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(find_map(o, &map));
    if (!ons_shape_equal(&o->inputs[COTANGENT].shape, &map.indices))
        return ons_node_error(o, "the cotangent does not have the shape of what was looked up");
    o->outputs[0] = ons_type_make(o->inputs[COTANGENT].dtype, map.data);
    return NULL;
}

static void gather_elements_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                               void *const *outputs) {
    ons_line_map map = {0};
    ons_resolved(find_map(o, &map));
    double *out = outputs[0];
    memset(out, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *out);
    for (int64_t i = 0, n = ons_elements(&o->inputs[COTANGENT]); i < n; ++i) {
        int64_t to = ons_line_target(&map, i, ((const int64_t *)inputs[INDICES])[i]);
        if (to >= 0) out[to] += ((const double *)inputs[COTANGENT])[i];
    }
}

ONS_DEFINE_OPERATOR(gather_elements_gradient, "GatherElementsGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(gather_elements_gradient_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gather_elements_gradient_reference));
