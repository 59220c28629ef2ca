/* Upsample: Resize as it was up to opset 9, with one way to place and to round. */
#include "graph/upgrade.h"
#include "kernels/resampling/resample.h"

static ons_status *set_text(ons_upgrade *u, const char *name, const char *text) {
    return ons_upgrade_set(u, name, (ons_attribute){.kind = ONS_ATTRIBUTE_STRING, .s = text});
}

/* Opsets 1 to 8 have the scales in attributes. */
static ons_status *make_scales(ons_upgrade *u, double *scales, uint32_t *count) {
    const ons_attribute *height = ons_upgrade_find(u, "height_scale"), *width = ons_upgrade_find(u, "width_scale");
    const ons_attribute *all = ons_upgrade_find(u, "scales");
    *count = 0;
    if (all != NULL && all->kind == ONS_ATTRIBUTE_FLOATS && all->count <= ONS_RANK_MAX) {
        *count = all->count;
        for (uint32_t i = 0; i < *count; ++i) scales[i] = all->floats[i];
    } else if (height != NULL && width != NULL && height->kind == ONS_ATTRIBUTE_FLOAT &&
               width->kind == ONS_ATTRIBUTE_FLOAT) {
        *count = 4;
        memcpy(scales, (const double[]){1, 1, height->f, width->f}, 4 * sizeof *scales);
    }
    ONS_CHECK(*count > 0, ONS_INVALID_MODEL, "node '%s' (Upsample): the scales are missing", u->node_name);
    ons_upgrade_remove(u, "scales");
    ons_upgrade_remove(u, "height_scale");
    ons_upgrade_remove(u, "width_scale");
    return NULL;
}

static ons_status *upsample_upgrade(ons_upgrade *u) {
    ons_value_id scales = u->inputs.count > 1 ? u->inputs.items[1] : (ons_value_id)ONS_NONE;
    while (u->inputs.count <= ONS_RESAMPLE_SCALES) ONS_PUSH(&u->inputs, ONS_NONE);
    u->inputs.items[ONS_RESAMPLE_ROI] = ONS_NONE;
    u->inputs.items[ONS_RESAMPLE_SCALES] = scales;
    if (u->opset < 9) {
        double values[ONS_RANK_MAX];
        uint32_t count;
        ONS_TRY(make_scales(u, values, &count));
        ONS_TRY(ons_upgrade_set_input_floats(u, ONS_RESAMPLE_SCALES, values, count));
    }
    const ons_attribute *mode = ons_upgrade_find(u, "mode");
    if (mode != NULL && mode->kind == ONS_ATTRIBUTE_STRING && strcmp(mode->s, "bilinear") == 0)
        ONS_TRY(set_text(u, "mode", "linear"));
    ONS_TRY(set_text(u, "coordinate_transformation_mode", "asymmetric"));
    return set_text(u, "nearest_mode", "onstage_simple");
}

ONS_DEFINE_OPERATOR(upsample, "Upsample", ONS_ONNX(1, 9), ONS_ARITY(1, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_RESAMPLE_ATTRIBUTES), ONS_INFER(ons_resize_infer), ONS_COST(ons_resize_cost),
                    ONS_GRADIENT_RULE(ons_resize_gradient, ONS_INPUT_BIT(ONS_RESAMPLE_X)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_choose_first),
                    ONS_FORMS(upsample_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(ons_resize_reference));
