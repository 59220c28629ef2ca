/* What the CPU runs of slicing.h. */
#include "kernels/common/layout/channels.h"
#include "kernels/slice/slicing.h"

ons_strided ons_slicing_copy(const ons_slicing *slicing, const ons_type *tensor, bool to_tensor) {
    ons_type result = {.dtype = tensor->dtype, .layout = tensor->layout, .shape = slicing->result};
    int64_t whole[ONS_RANK_MAX], part[ONS_RANK_MAX], start = 0;
    ons_channels_strides(tensor, whole);
    ons_channels_strides(&result, part);
    for (uint32_t i = 0; i < tensor->shape.rank; ++i) {
        start += whole[i] * slicing->starts[i];
        whole[i] *= slicing->steps[i];
    }
    ons_strided copy = ons_strided_box(tensor->dtype, &result.shape, tensor->layout, to_tensor ? part : whole,
                                       to_tensor ? whole : part);
    *(to_tensor ? &copy.to_offset : &copy.from_offset) = start;
    ons_strided_plan(&copy);
    return copy;
}
