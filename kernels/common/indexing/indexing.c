#include "kernels/common/indexing/indexing.h"

ons_status *ons_check_indices(const ons_operands *o, uint32_t input, int64_t length) {
    ons_dtype dtype = o->inputs[input].dtype;
    if (dtype != ONS_INT64 && dtype != ONS_INT32)
        return ons_node_error(o, "indices must be int64 or int32, not %s", ons_dtype_name(dtype));
    const void *known = o->constants[input].data;
    for (int64_t i = 0, n = known == NULL ? 0 : ons_elements(&o->inputs[input]); i < n; ++i) {
        int64_t index = ons_index_at(dtype, known, i);
        if (ons_resolve_index(index, length) < 0)
            return ons_node_error(o, "index %lld lies outside an axis of %lld elements", (long long)index,
                                  (long long)length);
    }
    return NULL;
}

int64_t ons_reference_index(const ons_step *step, int64_t position, int64_t index, int64_t length) {
    int64_t resolved = ons_resolve_index(index, length);
    if (resolved < 0) ons_reference_fault(step, ons_indexing_outside, position, index);
    return resolved;
}
