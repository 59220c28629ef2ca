/* Resize: the tensor sampled anew along its axes; nearest elements, or straight lines or cubic curves through them. */
#include "graph/upgrade.h"
#include "kernels/resampling/resample.h"

/* Opset 10 has the tensor and its scales only, and one way to place and to round. */
static ons_status *resize_upgrade(ons_upgrade *u) {
    if (u->opset > 10) return NULL;
    ons_value_id scales = u->inputs.count > 1 ? u->inputs.items[1] : (ons_value_id)ONS_NONE;
    while (u->inputs.count <= ONS_RESAMPLE_SCALES) ONS_PUSH(&u->inputs, ONS_NONE);
    u->inputs.items[ONS_RESAMPLE_ROI] = ONS_NONE;
    u->inputs.items[ONS_RESAMPLE_SCALES] = scales;
    ONS_TRY(ons_upgrade_set(u, "coordinate_transformation_mode",
                            (ons_attribute){.kind = ONS_ATTRIBUTE_STRING, .s = "asymmetric"}));
    return ons_upgrade_set(u, "nearest_mode", (ons_attribute){.kind = ONS_ATTRIBUTE_STRING, .s = "onstage_simple"});
}

ONS_DEFINE_OPERATOR(resize, "Resize", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(1, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_RESAMPLE_ATTRIBUTES), ONS_INFER(ons_resize_infer), ONS_COST(ons_resize_cost),
                    ONS_GRADIENT_RULE(ons_resize_gradient, ONS_INPUT_BIT(ONS_RESAMPLE_X)), ONS_SAVES_NOTHING,
                    ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_CHOOSES_LAYOUT(ons_channels_choose_first),
                    ONS_FORMS(resize_upgrade, ONS_NO_PATTERNS, NULL), ONS_REFERENCE(ons_resize_reference));
