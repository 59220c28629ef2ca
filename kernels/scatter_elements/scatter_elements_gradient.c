/* The gradient of ScatterElements for data and updates (see kernels/gather_scatter/scatter_shares.h). Without a
 * reduction it is the data's alone; the updates' is GatherElements. */
#include "kernels/scatter_elements/scatter_elements_gradient_node.h"

#include "kernels/gather_scatter/lines.h"
#include "kernels/gather_scatter/scatter_shares.h"

static ons_status *scatter_elements_gradient_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(find_map(o, &map));
    ons_type updates = ons_type_make(o->inputs[ONS_SHARES_COTANGENT].dtype, map.indices);
    return ons_shares_infer(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), &updates);
}

static int64_t target_of(const void *map, const int64_t *indices, int64_t update) {
    return ons_line_target(map, update, indices[update]);
}

static void scatter_elements_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                void *const *outputs) {
    ons_line_map map = {0};
    ons_resolved(find_map(o, &map));
    ons_shares_reference(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), inputs, outputs,
                         ons_elements(&o->inputs[ONS_SHARES_INDICES]), &map, target_of);
}

ONS_DEFINE_OPERATOR(scatter_elements_gradient, "ScatterElementsGradient", ONS_INTERNAL, ONS_ARITY(2, 5, 0, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_STRING_ATTRIBUTE("reduction", "none")),
                    ONS_INFER(scatter_elements_gradient_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(scatter_elements_gradient_reference));
