/* Shape: the dimensions [start, end) of the input, which are known as soon as shapes are. */
#include "kernels/common/operator/kernel.h"

enum { START, END };

static int64_t clamp_axis(int64_t axis, int64_t rank) {
    axis += axis < 0 ? rank : 0;
    return axis < 0 ? 0 : axis > rank ? rank : axis;
}

static void find_range(const ons_operands *o, int64_t *start, int64_t *end) {
    int64_t rank = o->inputs[0].shape.rank;
    *start = clamp_axis(ons_attribute_int(o, START), rank);
    *end = ons_has_attribute(o, END) ? clamp_axis(ons_attribute_int(o, END), rank) : rank;
}

static ons_status *shape_infer(ons_operands *o) {
    int64_t start, end;
    find_range(o, &start, &end);
    o->outputs[0] = ons_type_make(ONS_INT64, (ons_shape){1, {end > start ? end - start : 0}});
    return NULL;
}

static void shape_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    int64_t start, end;
    find_range(o, &start, &end);
    for (int64_t i = start; i < end; ++i) ((int64_t *)outputs[0])[i - start] = o->inputs[0].shape.dims[i];
}

ONS_DEFINE_OPERATOR(shape, "Shape", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("start", 0), ONS_OPTIONAL_ATTRIBUTE("end", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(shape_infer), ONS_COST(ons_cost_free),
                    ONS_NOT_DIFFERENTIABLE("a shape does not depend on values"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_CONSTANT, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(shape_reference));
