/* TensorScatter: a cache with updates written along an axis, of each sample from its own position on; going round
 * (mode "circular") or not. Binding replaces it by a ScatterElements, whose indices are made from the positions. */
#include <string.h>

#include "kernels/common/layout/index.h"
#include "kernels/common/operator/expand.h"

enum { CACHE, UPDATES, POSITIONS };

enum { AXIS, MODE };

static ons_status *resolve_axis(const ons_operands *o, uint32_t *axis, bool *circular) {
    const ons_shape *cache = &o->inputs[CACHE].shape, *updates = &o->inputs[UPDATES].shape;
    ONS_TRY(ons_node_axis(o, ons_attribute_int(o, AXIS), cache->rank, axis));
    if (*axis == 0) return ons_node_error(o, "the axis may not be that of the samples");
    *circular = strcmp(ons_attribute_string(o, MODE), "circular") == 0;
    if (!*circular && strcmp(ons_attribute_string(o, MODE), "linear") != 0)
        return ons_node_error(o, "unknown mode '%s'", ons_attribute_string(o, MODE));
    bool fits = o->inputs[UPDATES].dtype == o->inputs[CACHE].dtype && updates->rank == cache->rank;
    for (uint32_t i = 0; fits && i < cache->rank; ++i)
        fits = i == *axis ? updates->dims[i] <= cache->dims[i] : updates->dims[i] == cache->dims[i];
    if (!fits) return ons_node_error(o, "the updates do not fit the cache");
    if (!ons_has_input(o, POSITIONS)) return NULL;
    const ons_type *positions = &o->inputs[POSITIONS];
    if (positions->dtype != ONS_INT64 || positions->shape.rank != 1 || positions->shape.dims[0] != cache->dims[0])
        return ons_node_error(o, "needs an int64 position for each sample");
    return NULL;
}

static ons_status *tensor_scatter_infer(ons_operands *o) {
    uint32_t axis;
    bool circular;
    ONS_TRY(resolve_axis(o, &axis, &circular));
    o->outputs[0] = o->inputs[CACHE];
    return NULL;
}

static void tensor_scatter_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    uint32_t axis = 0;
    bool circular = false;
    const ons_shape *cache = &o->inputs[CACHE].shape, *updates = &o->inputs[UPDATES].shape;
    ons_resolved(resolve_axis(o, &axis, &circular));
    memcpy(outputs[0], inputs[CACHE], (size_t)ons_elements(&o->inputs[CACHE]) * 8);
    for (int64_t i = 0, n = ons_shape_elements(updates); i < n; ++i) {
        int64_t index[ONS_RANK_MAX], length = cache->dims[axis];
        ons_unravel(updates, i, index);
        int64_t first = ons_has_input(o, POSITIONS) ? ((const int64_t *)inputs[POSITIONS])[index[0]] : 0;
        int64_t at = first < -length || first > length ? -1 : first + index[axis]; /* far outside: nothing */
        if (circular && first >= -length && first <= length) at = (at + length) % length;
        if (at < 0 || at >= length) {
            ons_reference_fault(step, "an update lies outside of the cache", i, first);
            continue;
        }
        index[axis] = at;
        ons_copy_word(outputs[0], ons_ravel(cache, index), inputs[UPDATES], i);
    }
}

static ons_status *tensor_scatter_expand(ons_replacement *m) {
    uint32_t axis;
    bool circular;
    const ons_operands *o = m->operands;
    ons_resolved(resolve_axis(o, &axis, &circular));
    const ons_shape *updates = &o->inputs[UPDATES].shape;
    int64_t dims[ONS_RANK_MAX], length = o->inputs[CACHE].shape.dims[axis];
    for (uint32_t i = 0; i < ONS_RANK_MAX; ++i) dims[i] = 1;
    dims[axis] = updates->dims[axis];
    ons_value_id indices = ons_expand_range(m, 0, updates->dims[axis], updates->rank, dims);
    if (ons_has_input(o, POSITIONS)) {
        dims[axis] = 1;
        dims[0] = updates->dims[0];
        indices =
            ons_expand2(m, &ons_op_add, indices, ons_expand_reshape(m, m->inputs[POSITIONS], updates->rank, dims));
    }
    if (circular)
        indices = ons_expand2(m, &ons_op_mod, indices, ons_build_scalar(m->builder, ONS_INT64, (double)length));
    indices = ons_expand2(m, &ons_op_expand, indices, ons_build_integers(m->builder, updates->dims, updates->rank));
    return ons_expand_finish(m, ons_build(m->builder, &ons_op_scatter_elements,
                                          ONS_IN(m->inputs[CACHE], indices, m->inputs[UPDATES]),
                                          ONS_WITH(ONS_AT_INT(0, axis))));
}

ONS_DEFINE_EXPANSION(tensor_scatter, "TensorScatter", ONS_ONNX(24, ONS_NEWEST), ONS_ARITY(2, 3, 1, 1),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -2), ONS_STRING_ATTRIBUTE("mode", "linear")),
                     tensor_scatter_infer, ons_cost_copy, ONS_INPUT_BIT(CACHE) | ONS_INPUT_BIT(UPDATES),
                     tensor_scatter_expand, tensor_scatter_reference);
