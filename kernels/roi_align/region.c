#include "kernels/roi_align/region.h"

#include <string.h>

enum { SIDE_MAX = 1 << 20 };

static ons_status *read_attributes(const ons_operands *o, ons_regions *r) {
    const char *coordinates = ons_attribute_string(o, ONS_REGION_COORDINATES);
    const char *mode = ons_attribute_string(o, ONS_REGION_MODE);
    r->half_pixel = strcmp(coordinates, "half_pixel") == 0;
    r->maximum = strcmp(mode, "max") == 0;
    r->out_height = ons_attribute_int(o, ONS_REGION_HEIGHT);
    r->out_width = ons_attribute_int(o, ONS_REGION_WIDTH);
    r->sampling_ratio = ons_attribute_int(o, ONS_REGION_SAMPLING_RATIO);
    r->scale = ons_attribute_float(o, ONS_REGION_SCALE);
    if (!r->half_pixel && strcmp(coordinates, "output_half_pixel") != 0)
        return ons_node_error(o, "unknown coordinate_transformation_mode '%s'", coordinates);
    if (!r->maximum && strcmp(mode, "avg") != 0) return ons_node_error(o, "unknown mode '%s'", mode);
    if (r->out_height < 1 || r->out_width < 1 || r->out_height > SIDE_MAX || r->out_width > SIDE_MAX)
        return ons_node_error(o, "%lld × %lld bins", (long long)r->out_height, (long long)r->out_width);
    if (r->sampling_ratio < 0 || r->sampling_ratio > ONS_REGION_SAMPLES_MAX)
        return ons_node_error(o, "a sampling ratio of %lld", (long long)r->sampling_ratio);
    return NULL;
}

ons_status *ons_regions_of(const ons_operands *o, const ons_type *x, uint32_t first, ons_regions *r) {
    const ons_type *corners = &o->inputs[first], *images = &o->inputs[first + 1];
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    *r = (ons_regions){0};
    ONS_TRY(read_attributes(o, r));
    if (x->shape.rank != 4 || !ons_dtype_is_float(x->dtype))
        return ons_node_error(o, "%s is no batch of images", ons_type_print(x, left));
    if (corners->shape.rank != 2 || corners->shape.dims[1] != 4 || !ons_dtype_is_float(corners->dtype) ||
        images->shape.rank != 1 || images->shape.dims[0] != corners->shape.dims[0] || images->dtype != ONS_INT64)
        return ons_node_error(o, "regions in %s and their images in %s do not fit", ons_type_print(corners, left),
                              ons_type_print(images, right));
    r->batch = x->shape.dims[0];
    r->channels = x->shape.dims[1];
    r->height = x->shape.dims[2];
    r->width = x->shape.dims[3];
    r->count = corners->shape.dims[0];
    if (r->count > 0 && (r->height == 0 || r->width == 0))
        return ons_node_error(o, "%s has no elements", ons_type_print(x, left));
    return NULL;
}

ons_type ons_regions_result(const ons_regions *r, ons_dtype dtype) {
    return ons_type_make(dtype, (ons_shape){4, {r->count, r->channels, r->out_height, r->out_width}});
}
