#include "kernels/quantization/fake_quantization.h"

ons_status *ons_fake_resolve(const ons_operands *o, uint32_t first, ons_fake *fake) {
    double low, high;
    *fake = (ons_fake){.low = (float)ons_attribute_float(o, ONS_FAKE_LOW),
                       .high = (float)ons_attribute_float(o, ONS_FAKE_HIGH)};
    for (uint32_t i = first; i < first + 3; ++i) ONS_TRY(ons_need_float(o, i));
    if (!ons_type_equal(&o->inputs[first + 1], &o->inputs[first + 2]) ||
        o->inputs[first].dtype != o->inputs[first + 1].dtype)
        return ons_node_error(o, "the two scales differ in type");
    for (uint32_t i = first + 3; i < first + 5; ++i) {
        if (!ons_has_input(o, i)) continue;
        if (!ons_quantized_range(o->inputs[i].dtype, &low, &high) ||
            (fake->zero_dtype != ONS_NO_DTYPE && fake->zero_dtype != o->inputs[i].dtype) ||
            !ons_scales_alike(&o->inputs[i].shape, &o->inputs[first + 1].shape))
            return ons_node_error(o, "a zero point does not fit");
        fake->zero_dtype = o->inputs[i].dtype;
    }
    return ons_scales_resolve(o, &o->inputs[first], first + 1, ONS_NONE, ons_attribute_int(o, ONS_FAKE_AXIS),
                              ons_attribute_int(o, ONS_FAKE_BLOCK), &fake->scales);
}
