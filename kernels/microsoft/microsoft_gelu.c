#include "kernels/microsoft/microsoft_gelu.h"

#include <math.h>

#include "kernels/gelu/gelu_formulas.h"
#include "kernels/operators.h"

double ons_gelu_exact(double x) { return 0.5 * x * erfc(-x * M_SQRT1_2); }

ons_status *ons_microsoft_gelu_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    o->outputs[0] = o->inputs[0];
    if (!ons_has_input(o, 1)) return NULL;
    const ons_shape *x = &o->inputs[0].shape, *bias = &o->inputs[1].shape;
    if (o->inputs[1].dtype != o->inputs[0].dtype || bias->rank != 1 || x->rank == 0 ||
        bias->dims[0] != x->dims[x->rank - 1])
        return ons_node_error(o, "the bias must be a vector as long as the last axis, of the input's element type");
    return NULL;
}

ons_status *ons_microsoft_gelu_expand(ons_replacement *m, const char *approximate) {
    ons_value_id x = ons_expand_sum(m, m->inputs[0], ons_expand_input(m, 1));
    return ons_expand_finish(m,
                             ons_build(m->builder, &ons_op_gelu, ONS_IN(x), ONS_WITH(ONS_AT_STRING(0, approximate))));
}

void ons_microsoft_gelu_reference(const ons_operands *o, const void *const *inputs, void *const *outputs,
                                  double (*formula)(double x)) {
    const double *x = inputs[0], *bias = ons_has_input(o, 1) ? inputs[1] : NULL;
    const ons_shape *shape = &o->inputs[0].shape;
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        ((double *)outputs[0])[i] = formula(bias == NULL ? x[i] : x[i] + bias[i % shape->dims[shape->rank - 1]]);
}
