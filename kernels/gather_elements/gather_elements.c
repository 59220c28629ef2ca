/* GatherElements: element i of the result is the data's element at the same indices, but along one axis at indices[i].
 */
#include "kernels/gather_elements/gather_elements_node.h"

#include "kernels/gather_scatter/lines.h"

extern const ons_operator ons_op_gather_elements_gradient;

static ons_status *gather_elements_infer(ons_operands *o) {
    ons_line_map map;
    ONS_TRY(find_map(o, &map));
    o->outputs[0] = ons_type_make(o->inputs[DATA].dtype, map.indices);
    return NULL;
}

static void gather_elements_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    ons_line_map map = {0};
    ons_resolved(find_map(o, &map));
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]), zero = 0; i < n; ++i) {
        int64_t from = ons_line_reference(&map, step, i, ((const int64_t *)inputs[INDICES])[i]);
        ons_copy_word(outputs[0], i, from < 0 ? &zero : inputs[DATA], from < 0 ? 0 : from);
    }
}

static ons_status *gather_elements_gradient(ons_gradient *g) {
    const ons_shape *shape = &g->operands->inputs[DATA].shape;
    g->gradients[DATA] = ons_build(
        g->builder, &ons_op_gather_elements_gradient, ONS_IN(g->cotangents[0], ons_gradient_input(g, INDICES)),
        ONS_WITH(ONS_AT_INT(0, ons_attribute_int(g->operands, AXIS)), ONS_AT_INTS(1, shape->rank, shape->dims)));
    return NULL;
}

ONS_DEFINE_OPERATOR(gather_elements, "GatherElements", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0)), ONS_INFER(gather_elements_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(gather_elements_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(INDICES), 0),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_ALONG_AXIS | ONS_TRAIT_TOGETHER, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gather_elements_reference));
