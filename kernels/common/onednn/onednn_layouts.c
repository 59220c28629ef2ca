#include "kernels/common/layout/layouts.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include "kernels/common/onednn/onednn.h"

bool ons_layout_same_bytes(const ons_shape *shape, ons_layout a, ons_layout b) {
    if (a == b) return true;
    if (ons_layout_is_weight(a) || ons_layout_is_weight(b)) return false;
    return shape->rank < 3 || shape->dims[1] == 1 || ons_shape_span(shape, 2, shape->rank) == 1;
}

bool ons_layout_broadcasts(const ons_shape *whole, ons_layout layout, const ons_shape *part) {
    if (layout == ONS_LAYOUT_ONNX || ons_shape_elements(part) == 1) return true;
    if (layout != ONS_LAYOUT_CHANNELS_LAST || part->rank > whole->rank) return false;
    if (part->rank + 1 < whole->rank) return true; /* it has no channels */
    uint32_t channels = part->rank + 1 - whole->rank;
    return part->dims[channels] == 1 || ons_shape_span(part, channels + 1, part->rank) == 1;
}

int64_t ons_layout_bytes(const ons_type *type) {
    ons_onednn_memory description;
    if (!ons_layout_is_weight(type->layout) || !ons_onednn_describe(type, 0, &description))
        return ons_type_dense_bytes(type);
    return ons_onednn_memory_bytes(&description);
}

const char *ons_layout_name(ons_layout layout) {
    switch (layout) {
    case ONS_LAYOUT_ONNX: return "onnx";
    case ONS_LAYOUT_CHANNELS_LAST: return "channels_last";
    default: return dnnl_fmt_tag2str((dnnl_format_tag_t)ons_layout_tag(layout));
    }
}
