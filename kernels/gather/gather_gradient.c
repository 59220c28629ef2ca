/* The gradient of Gather: every row of the table is the sum of the cotangents of the places that looked it up.
 *
 * The places are sorted by row first (a stable radix sort, whose scratch depends on the places alone, however many rows
 * there are). On the CPU each element is written once, by one thread, and its cotangents are added in the order of
 * their places: the same bits for any number of threads, no atomic additions. Threads share rows, places and columns
 * evenly, as one row may hold most places. CUDA's order: kernels/gather_scatter/cuda_sorted_places.cuh.
 */
#include "kernels/gather/gather_gradient.h"

#include "kernels/common/indexing/indexing.h"

ons_status *ons_gather_gradient_infer(ons_operands *o) {
    const ons_attribute *given = &o->attributes[SHAPE];
    uint32_t axis;
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), shape.rank, &axis));
    int64_t entries = shape.dims[axis];
    if (ons_operator_attributes(o->op) > FIRST) {
        entries = ons_attribute_int(o, ENTRIES);
        ONS_TRY(ons_node_shard(o, ons_attribute_int(o, FIRST), shape.dims[axis], entries));
    }
    ONS_TRY(ons_check_indices(o, INDICES, entries));
    int64_t around = ons_shape_span(&shape, 0, axis) * ons_shape_span(&shape, axis + 1, shape.rank);
    if (ons_elements(&o->inputs[COTANGENT]) != around * ons_elements(&o->inputs[INDICES]))
        return ons_node_error(o, "the cotangent does not have the shape of what was looked up");
    o->outputs[0] = ons_type_make(o->inputs[COTANGENT].dtype, shape);
    return NULL;
}

void ons_gather_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    state s = make_state(o);
    const double *cotangent = inputs[COTANGENT];
    const int64_t *indices = inputs[INDICES];
    double *out = outputs[0];
    memset(out, 0, (size_t)ons_elements(&o->outputs[0]) * sizeof *out);
    for (int64_t outer = 0; outer < s.outer; ++outer)
        for (int64_t i = 0; i < s.count; ++i) {
            int64_t row = ons_gather_gradient_row(&s, indices[i]);
            for (int64_t k = 0; row >= 0 && k < s.inner; ++k)
                out[(outer * s.length + row) * s.inner + k] += cotangent[(outer * s.count + i) * s.inner + k];
        }
}

ONS_DEFINE_OPERATOR(gather_gradient, "GatherGradient", ONS_INTERNAL, ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS),
                                   ONS_OPTIONAL_ATTRIBUTE("onstage_padding", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(ons_gather_gradient_infer), ONS_COST(ons_cost_each_input),
                    ONS_NOT_DIFFERENTIABLE("a gradient"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(ons_gather_gradient_reference));
