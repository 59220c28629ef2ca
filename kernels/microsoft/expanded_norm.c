#include "kernels/microsoft/expanded_norm.h"

#include <math.h>

void ons_norm_reference(const ons_norm_rows *norm, const double *x, double *y, double *inverses) {
    int64_t n = norm->columns;
    for (int64_t row = 0; row < norm->rows; ++row, x += n, y += n) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; norm->centred && i < n; ++i) mean += x[i] / (double)n;
        for (int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / (double)n;
        double inverse = 1 / sqrt(variance + norm->epsilon);
        for (int64_t i = 0; i < n; ++i)
            y[i] = (x[i] - mean) * inverse * norm->scale[i] + (norm->bias == NULL ? 0 : norm->bias[i]);
        if (inverses != NULL) inverses[row] = inverse;
    }
}

ons_status *ons_need_vector(const ons_operands *o, uint32_t index, int64_t size, const char *what) {
    if (!ons_has_input(o, index)) return NULL;
    const ons_type *type = &o->inputs[index];
    if (type->shape.rank != 1 || type->shape.dims[0] != size || !ons_dtype_is_float(type->dtype))
        return ons_node_error(o, "the %s must be a vector of %lld floats", what, (long long)size);
    return NULL;
}

ons_status *ons_skip_infer(ons_operands *o, uint32_t bias) {
    ONS_TRY(ons_need_float(o, 0));
    const ons_shape *x = &o->inputs[0].shape, *skip = &o->inputs[1].shape;
    ons_shape joined;
    if (x->rank < 2) return ons_node_error(o, "the input has rank %u; at least 2 is needed", x->rank);
    if (o->inputs[1].dtype != o->inputs[0].dtype || !ons_shape_broadcast(x, skip, &joined) ||
        !ons_shape_equal(&joined, x))
        return ons_node_error(o, "the skip input does not fit into the input");
    int64_t columns = x->dims[x->rank - 1];
    ONS_TRY(ons_need_vector(o, 2, columns, "scale"));
    if (bias != 3) ONS_TRY(ons_need_vector(o, 3, columns, "shift"));
    ONS_TRY(ons_need_vector(o, bias, columns, "bias"));
    ons_type rows = ons_type_make(ONS_FLOAT32, *x);
    rows.shape.dims[x->rank - 1] = 1;
    o->outputs[0] = o->inputs[0];
    if (o->output_count > 1) o->outputs[1] = rows;
    if (o->output_count > 2) o->outputs[2] = rows;
    if (o->output_count > 3) o->outputs[3] = o->inputs[0];
    return NULL;
}

double ons_skip_element(const ons_operands *o, const void *const *inputs, uint32_t bias, int64_t i) {
    const ons_shape *x = &o->inputs[0].shape, *skip = &o->inputs[1].shape;
    int64_t at = 0, stride = 1, rest = i;
    for (uint32_t k = 1; k <= skip->rank; ++k) {
        at += skip->dims[skip->rank - k] == 1 ? 0 : rest % x->dims[x->rank - k] * stride;
        stride *= skip->dims[skip->rank - k];
        rest /= x->dims[x->rank - k];
    }
    double sum = ((const double *)inputs[0])[i] + ((const double *)inputs[1])[at];
    return ons_has_input(o, bias) ? sum + ((const double *)inputs[bias])[i % x->dims[x->rank - 1]] : sum;
}

ons_value_id ons_skip_sum(ons_replacement *m, uint32_t bias) {
    return ons_expand_sum(m, ons_expand_sum(m, m->inputs[0], m->inputs[1]), ons_expand_input(m, bias));
}

ons_status *ons_skip_finish(ons_replacement *m, ons_value_id result, ons_value_id sum) {
    for (uint32_t i = 1; i < 3 && i < m->operands->output_count; ++i)
        ONS_CHECK(!m->outputs_used[i], ONS_UNSUPPORTED,
                  "node '%s' (%s): output %u (a statistic of the rows) is not made; compute it by nodes of its own",
                  m->operands->name, m->operands->op->name, i);
    if (m->operands->output_count > 3) m->outputs[3] = sum;
    return ons_expand_finish(m, result);
}
