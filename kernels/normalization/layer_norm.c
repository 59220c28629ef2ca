#include "kernels/normalization/layer_norm.h"

#include <stdlib.h>

bool ons_layer_norm_fits(const ons_shape *shape, uint32_t axis, const ons_type *type) {
    const ons_shape *given = &type->shape;
    if (given->rank > shape->rank || ons_elements(type) != ons_shape_span(shape, axis, shape->rank)) return false;
    for (uint32_t i = 1; i <= given->rank; ++i) {
        bool inside = shape->rank - i >= axis;
        if (given->dims[given->rank - i] != (inside ? shape->dims[shape->rank - i] : 1)) return false;
    }
    return true;
}

ons_status *ons_layer_norm_of(const ons_operands *o, const ons_type *type, int64_t axis, const ons_type *scale,
                              const ons_type *bias, ons_layer_norm *norm) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(type->dtype))
        return ons_node_error(o, "needs a float operand, not %s", ons_type_print(type, left));
    ONS_TRY(ons_node_axis(o, axis, type->shape.rank, &norm->axis));
    norm->rows = ons_shape_span(&type->shape, 0, norm->axis);
    norm->columns = ons_shape_span(&type->shape, norm->axis, type->shape.rank);
    const ons_type *affine[] = {scale, bias};
    bool half = type->dtype == ONS_FLOAT16 || type->dtype == ONS_BFLOAT16;
    ons_dtype dtype = half && scale->dtype == ONS_FLOAT32 ? ONS_FLOAT32 : type->dtype;
    for (int i = 0; i < 2; ++i)
        if (affine[i]->dtype != ONS_NO_DTYPE &&
            (affine[i]->dtype != dtype || !ons_layer_norm_fits(&type->shape, norm->axis, affine[i])))
            return ons_node_error(o, "%s %s does not have the shape of the normalised axes of %s",
                                  i == 0 ? "scale" : "bias", ons_type_print(affine[i], left),
                                  ons_type_print(type, right));
    return NULL;
}

ons_status *ons_norm_gradient_check(const ons_operands *o, uint32_t extra) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    for (uint32_t i = extra; i < extra + 2; ++i)
        if (ons_has_input(o, i) && !ons_type_equal(&o->inputs[i], &o->inputs[1]))
            return ons_node_error(o, "what is added, %s, and input %s differ", ons_type_print(&o->inputs[i], left),
                                  ons_type_print(&o->inputs[1], right));
    return NULL;
}

bool ons_layer_norm_reduced(const ons_shape *x, const ons_shape *mean, uint32_t *axis) {
    if (x->rank == 0 || mean->rank != x->rank) return false;
    uint32_t first = 0;
    while (first < x->rank - 1 && mean->dims[first] == x->dims[first]) ++first;
    for (uint32_t i = first; i < x->rank; ++i)
        if (mean->dims[i] != 1) return false;
    *axis = first;
    return true;
}

ons_value_id ons_layer_norm_ones(ons_builder *builder, const ons_type *x, uint32_t axis) {
    ons_type type = ons_type_make(x->dtype, ons_shape_make(x->shape.rank - axis, x->shape.dims + axis));
    int64_t count = ons_elements(&type);
    double *words = malloc(((size_t)count + 1) * sizeof *words);
    if (words == NULL) {
        ons_builder_fail(builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; i < count; ++i) words[i] = 1;
    ons_value_id value = ons_build_constant(builder, "layer_norm_ones", &type, words);
    free(words);
    return value;
}
