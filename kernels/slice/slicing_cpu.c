/* What the CPU runs of slicing.h. */
#include "kernels/slice/slicing.h"

ons_strided ons_slicing_copy(const ons_slicing *slicing, ons_dtype dtype, const ons_shape *shape, bool to_tensor) {
    ons_strided copy = ons_strided_dense(dtype, &slicing->result);
    int64_t strides[ONS_RANK_MAX], *box = to_tensor ? copy.to : copy.from;
    int64_t *offset = to_tensor ? &copy.to_offset : &copy.from_offset;
    ons_dense_strides(shape, strides);
    for (uint32_t i = 0; i < shape->rank; ++i) {
        box[i] = strides[i] * slicing->steps[i];
        *offset += strides[i] * slicing->starts[i];
    }
    ons_strided_plan(&copy);
    return copy;
}
