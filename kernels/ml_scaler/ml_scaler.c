/* ai.onnx.ml.Scaler: (x - offset) × scale, numbers of their own for each column or one for all. */
#include "kernels/common/operator/expand.h"

enum { OFFSET, SCALE };

static ons_status *check_list(const ons_operands *o, uint32_t attribute, int64_t columns) {
    const ons_attribute *list = &o->attributes[attribute];
    if (list->kind == ONS_ATTRIBUTE_ABSENT || list->count == 1 || (int64_t)list->count == columns) return NULL;
    return ons_node_error(o, "%u offsets or scales for %lld columns", list->count, (long long)columns);
}

static ons_status *ml_scaler_infer(ons_operands *o) {
    const ons_shape *x = &o->inputs[0].shape;
    ONS_TRY(ons_need_number(o, 0));
    if (x->rank == 0) return ons_node_error(o, "the input must have columns");
    ONS_TRY(check_list(o, OFFSET, x->dims[x->rank - 1]));
    ONS_TRY(check_list(o, SCALE, x->dims[x->rank - 1]));
    o->outputs[0] = ons_type_make(ONS_FLOAT32, *x);
    return NULL;
}

static ons_value_id list_of(ons_replacement *m, uint32_t attribute) {
    const ons_attribute *list = &m->operands->attributes[attribute];
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(1, (int64_t[]){list->count}));
    return ons_build_constant(m->builder, m->operands->name, &type, list->floats);
}

static ons_status *ml_scaler_expand(ons_replacement *m) {
    ons_value_id x = ons_expand_cast(m, m->inputs[0], ONS_FLOAT32);
    if (ons_has_attribute(m->operands, OFFSET)) x = ons_expand2(m, &ons_op_sub, x, list_of(m, OFFSET));
    if (ons_has_attribute(m->operands, SCALE)) x = ons_expand2(m, &ons_op_mul, x, list_of(m, SCALE));
    return ons_expand_finish(m, x);
}

static double number_at(const ons_attribute *list, int64_t column, double otherwise) {
    return list->kind == ONS_ATTRIBUTE_ABSENT ? otherwise : (double)(float)list->floats[list->count == 1 ? 0 : column];
}

static void ml_scaler_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    const ons_shape *shape = &o->inputs[0].shape;
    bool is_float = ons_dtype_is_float(o->inputs[0].dtype);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        int64_t column = i % shape->dims[shape->rank - 1];
        double x = is_float ? ((const double *)inputs[0])[i] : (double)((const int64_t *)inputs[0])[i];
        ((double *)outputs[0])[i] =
            (x - number_at(&o->attributes[OFFSET], column, 0)) * number_at(&o->attributes[SCALE], column, 1);
    }
}

ONS_DEFINE_EXPANSION(ml_scaler, "Scaler", ONS_IN_DOMAIN("ai.onnx.ml", 1, 5), ONS_ARITY(1, 1, 1, 1),
                     ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("offset", ONS_ATTRIBUTE_FLOATS),
                                    ONS_OPTIONAL_ATTRIBUTE("scale", ONS_ATTRIBUTE_FLOATS)),
                     ml_scaler_infer, ons_cost_elementwise, ONS_ALL_INPUTS, ml_scaler_expand, ml_scaler_reference);
