/* ai.onnx.ml.ArrayFeatureExtractor: columns of the input by their numbers; of a vector, a matrix with one row. */
#include "kernels/common/indexing/indexing.h"
#include "kernels/common/operator/expand.h"

enum { X, COLUMNS };

static ons_status *ml_array_feature_extractor_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[X].shape;
    if (x->rank == 0) return ons_node_error(o, "the input must have columns");
    ONS_TRY(ons_check_indices(o, COLUMNS, x->dims[x->rank - 1]));
    ons_shape shape = *x;
    if (x->rank == 1) shape = (ons_shape){2, {1, 0}};
    shape.dims[shape.rank - 1] = ons_elements(&o->inputs[COLUMNS]);
    o->outputs[0] = ons_type_make(o->inputs[X].dtype, shape);
    return NULL;
}

static ons_status *ml_array_feature_extractor_expand(ons_replacement *m) {
    const ons_shape *result = &m->operands->outputs[0].shape;
    int64_t count = ons_elements(&m->operands->inputs[COLUMNS]);
    ons_value_id columns = ons_expand_reshape(m, m->inputs[COLUMNS], 1, &count);
    ons_value_id y = ons_build(m->builder, &ons_op_gather, ONS_IN(m->inputs[X], columns), ONS_WITH(ONS_AT_INT(0, -1)));
    return ons_expand_finish(m, ons_expand_reshape(m, y, result->rank, result->dims));
}

static void ml_array_feature_extractor_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                 void *const *outputs) {
    const ons_shape *x = &o->inputs[X].shape;
    int64_t size = x->dims[x->rank - 1], count = ons_elements(&o->inputs[COLUMNS]);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        int64_t column = ons_reference_index(step, i % count, ((const int64_t *)inputs[COLUMNS])[i % count], size);
        if (column < 0)
            memset((char *)outputs[0] + 8 * i, 0, 8);
        else
            ons_copy_word(outputs[0], i, inputs[X], i / count * size + column);
    }
}

ONS_DEFINE_EXPANSION(ml_array_feature_extractor, "ArrayFeatureExtractor", ONS_IN_DOMAIN("ai.onnx.ml", 1, 5),
                     ONS_ARITY(2, 2, 1, 1), ONS_NO_ATTRIBUTES, ml_array_feature_extractor_infer, ons_cost_copy,
                     ONS_INPUT_BIT(X), ml_array_feature_extractor_expand, ml_array_feature_extractor_reference);
