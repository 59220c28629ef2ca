/* The gradient of ScatterND for data and updates (see kernels/gather_scatter/scatter_shares.h). Without a reduction it
 * is the data's alone; the updates' is GatherND. */
#include "kernels/scatter_nd/scatter_nd_gradient_node.h"

#include "kernels/gather_scatter/nd_indexing.h"
#include "kernels/gather_scatter/scatter_shares.h"

static ons_status *scatter_nd_gradient_infer(ons_operands *o) {
    ons_nd_indexing indexing;
    uint32_t tail;
    ons_shape shape;
    ONS_TRY(find_indexing(o, &indexing, &tail));
    ONS_TRY(ons_nd_indexing_shape(o, &o->inputs[ONS_SHARES_COTANGENT].shape, tail, &shape));
    ons_type updates = ons_type_make(o->inputs[ONS_SHARES_COTANGENT].dtype, shape);
    return ons_shares_infer(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), &updates);
}

static int64_t target_of(const void *map, const int64_t *indices, int64_t update) {
    const ons_nd_indexing *indexing = map;
    int64_t bad = 0, to = ons_nd_indexing_at(indexing, ONS_INT64, indices, update / indexing->slice, &bad);
    return to < 0 ? -1 : to + update % indexing->slice;
}

static void scatter_nd_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                          void *const *outputs) {
    ons_nd_indexing indexing = {0};
    uint32_t tail;
    ons_resolved(find_indexing(o, &indexing, &tail));
    ons_shares_reference(o, ons_scatter_mode_of(ons_attribute_string(o, REDUCTION)), inputs, outputs,
                         indexing.tuples * indexing.slice, &indexing, target_of);
}

ONS_DEFINE_OPERATOR(scatter_nd_gradient, "ScatterNDGradient", ONS_INTERNAL, ONS_ARITY(2, 5, 0, 2),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("reduction", "none")), ONS_INFER(scatter_nd_gradient_infer),
                    ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(scatter_nd_gradient_reference));
