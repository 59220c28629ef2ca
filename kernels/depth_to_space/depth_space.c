#include "kernels/depth_to_space/depth_space.h"

void ons_depth_space_reference(const ons_shape *deep, int64_t block, bool crd, bool to_space, const void *from,
                               void *to) {
    int64_t channels = deep->dims[1] / (block * block), h = deep->dims[2], w = deep->dims[3];
    ons_shape wide = {4, {deep->dims[0], channels, h * block, w * block}};
    int64_t at[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_shape_elements(&wide); i < n; ++i) {
        ons_unravel(&wide, i, at);
        int64_t pixel = at[2] % block * block + at[3] % block;
        int64_t depth = crd ? at[1] * block * block + pixel : pixel * channels + at[1];
        int64_t other = ons_ravel(deep, (int64_t[]){at[0], depth, at[2] / block, at[3] / block});
        ons_copy_word(to, to_space ? i : other, from, to_space ? other : i);
    }
}

ons_status *ons_depth_space_check_mode(const ons_operands *o, uint32_t attribute) {
    const char *mode = ons_attribute_string(o, attribute);
    bool known = strcmp(mode, "DCR") == 0 || strcmp(mode, "CRD") == 0;
    return known ? NULL : ons_node_error(o, "unknown mode '%s'", mode);
}

ons_status *ons_depth_space_grow(ons_operands *o, uint32_t axis, int64_t factor, ons_status *failure) {
    int64_t *dim = &o->outputs[0].shape.dims[axis];
    if (failure != NULL) return failure;
    return __builtin_mul_overflow(*dim, factor, dim) ? ons_node_error(o, "axis %u would be too long", axis) : NULL;
}
