/* What the CPU runs of slicing.h. */
#include "kernels/common/layout/channels.h"
#include "kernels/slice/slicing.h"

ons_strided ons_slicing_copy(const ons_slicing *slicing, const ons_type *tensor, bool to_tensor) {
    uint32_t rank = tensor->shape.rank;
    ons_type result = {.dtype = tensor->dtype, .layout = tensor->layout, .shape = slicing->result};
    ons_strided copy = {.rank = rank, .size = ons_dtype_size(tensor->dtype)};
    int64_t whole[ONS_RANK_MAX], part[ONS_RANK_MAX], *offset = to_tensor ? &copy.to_offset : &copy.from_offset;
    ons_channels_strides(tensor, whole);
    ons_channels_strides(&result, part);
    for (uint32_t place = 0; place < rank; ++place) {
        uint32_t i = ons_channels_axis(tensor->layout, rank, place);
        copy.dims[place] = result.shape.dims[i];
        copy.from[place] = to_tensor ? part[i] : whole[i] * slicing->steps[i];
        copy.to[place] = to_tensor ? whole[i] * slicing->steps[i] : part[i];
        *offset += whole[i] * slicing->starts[i];
    }
    ons_strided_plan(&copy);
    return copy;
}
