/* Groups become the channels of an InstanceNormalization, whose scale of one and bias of zero leave the work to a
 * multiplication and an addition by channel. */
#include "kernels/group_normalization/patterns.h"

#include <stdlib.h>

#include "graph/evaluate.h"
#include "graph/passes/fuse.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/operators.h"

/* A number for each channel of x, broadcast from axis 1 on. */
static bool is_by_channel(const ons_shape *x, const ons_type *type) {
    const ons_shape *shape = &type->shape;
    if (shape->rank > x->rank || shape->rank + 1 < x->rank) return false;
    uint32_t axis = shape->rank + 1 - x->rank;
    return shape->dims[axis] == x->dims[1] && ons_shape_elements(shape) == x->dims[1];
}

static ons_value_id vector_of(ons_builder *builder, ons_value_id value, int64_t channels) {
    ons_type type = ons_builder_type(builder, value);
    if (type.shape.rank == 1) return value;
    return ons_build(builder, ons_registry_role(builder->registry, ONS_ROLE_RESHAPE),
                     ONS_IN(value, ons_build_integers(builder, &channels, 1)), ONS_DEFAULTS);
}

static ons_value_id filled(ons_builder *builder, const char *name, ons_dtype dtype, int64_t count, double number) {
    ons_type type = ons_type_make(dtype, (ons_shape){.rank = 1, .dims = {count}});
    double *words = malloc(((size_t)count + 1) * sizeof *words);
    if (words == NULL) {
        ons_builder_fail(builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    for (int64_t i = 0; i < count; ++i) words[i] = number;
    ons_value_id value = ons_build_constant(builder, name, &type, words);
    free(words);
    return value;
}

static bool is_trained(ons_match *match, const char *word) {
    return ons_graph_value(ons_match_builder(match)->graph, ons_match_value(match, word))->kind == ONS_PARAMETER;
}

static ons_value_id replace_by_group_norm(ons_match *match) {
    const ons_operands *norm = ons_match_node(match, "norm");
    ons_type x = ons_match_type(match, "x"), y = ons_match_type(match, "result");
    ons_value_id scale = ons_match_value(match, "scale"), bias = ons_match_value(match, "bias");
    ons_type scale_type = ons_match_type(match, "scale"), bias_type = ons_match_type(match, "bias");
    if (norm == NULL || x.shape.rank < 3 || !ons_type_equal(&x, &y)) return ONS_NONE;
    const ons_shape *grouped = &norm->inputs[0].shape;
    int64_t channels = x.shape.dims[1], groups = grouped->rank > 2 ? grouped->dims[1] : 0;
    if (groups < 1 || channels % groups != 0 || grouped->dims[0] != x.shape.dims[0] ||
        !ons_match_is_filled(match, "one", 1) || !ons_match_is_filled(match, "zero", 0))
        return ONS_NONE;
    /* Alone it may be a normalisation whose groups have learned a scale of their own. */
    if (scale == ONS_NONE && (is_trained(match, "one") || is_trained(match, "zero"))) return ONS_NONE;
    if (scale != ONS_NONE && (!is_by_channel(&x.shape, &scale_type) || !is_by_channel(&x.shape, &bias_type)))
        return ONS_NONE;
    ons_builder *builder = ons_match_builder(match);
    scale = scale == ONS_NONE ? filled(builder, "group_norm_ones", x.dtype, channels, 1)
                              : vector_of(builder, scale, channels);
    bias = bias == ONS_NONE ? filled(builder, "group_norm_zeros", x.dtype, channels, 0)
                            : vector_of(builder, bias, channels);
    return ons_build(builder, &ons_op_group_normalization, ONS_IN(ons_match_value(match, "x"), scale, bias),
                     ONS_WITH(ONS_AT_INT(0, groups), ONS_AT_FLOAT(1, ons_attribute_float(norm, 0))));
}

#define NORMALIZED "Reshape(norm=InstanceNormalization(Reshape(x, grouped), one, zero), whole)"
const ons_pattern ons_group_norm_patterns[] = {
    {"Add(Mul(" NORMALIZED ", scale), bias)", replace_by_group_norm},
    {NORMALIZED, replace_by_group_norm},
    {.form = NULL},
};
