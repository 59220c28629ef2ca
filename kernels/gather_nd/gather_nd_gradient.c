/* The gradient of GatherND: zeros, and the cotangents added to the slices that were looked up, in the order of the
 * tuples. */
#include "kernels/gather_nd/gather_nd_gradient_node.h"

#include "kernels/gather_scatter/nd_indexing.h"

static ons_status *gather_nd_gradient_infer(ons_operands *o) {
    ons_nd_indexing indexing;
    uint32_t tail;
    ons_shape data, shape;
    ONS_TRY(find_indexing(o, &data, &indexing, &tail));
    ONS_TRY(ons_nd_indexing_shape(o, &data, tail, &shape));
    if (!ons_shape_equal(&o->inputs[COTANGENT].shape, &shape))
        return ons_node_error(o, "the cotangent does not have the shape of what was looked up");
    o->outputs[0] = ons_type_make(o->inputs[COTANGENT].dtype, data);
    return NULL;
}

static void gather_nd_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                         void *const *outputs) {
    ons_nd_indexing indexing = {0};
    uint32_t tail;
    ons_shape data;
    ons_resolved(find_indexing(o, &data, &indexing, &tail));
    double *out = outputs[0];
    memset(out, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *out);
    for (int64_t i = 0, bad = 0; i < indexing.batches * indexing.tuples; ++i) {
        int64_t to = ons_nd_indexing_at(&indexing, ONS_INT64, inputs[INDICES], i, &bad);
        for (int64_t k = 0; to >= 0 && k < indexing.slice; ++k)
            out[to + k] += ((const double *)inputs[COTANGENT])[i * indexing.slice + k];
    }
}

ONS_DEFINE_OPERATOR(gather_nd_gradient, "GatherNDGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_dims", 0),
                                   ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(gather_nd_gradient_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(gather_nd_gradient_reference));
