/* com.microsoft.FusedGemm: activation(Gemm(a, b, c)). */
#include "kernels/microsoft/activation.h"
#include "kernels/operators.h"

enum { A, B, C };

enum { ACTIVATION = 4, ACTIVATION_ALPHA, ACTIVATION_BETA };

static ons_status *find_activation(const ons_operands *o, ons_activation *activation) {
    *activation = (ons_activation){.name = ons_attribute_string(o, ACTIVATION)};
    for (uint32_t i = 0; i < ONS_ACTIVATION_PARAMETERS && ons_has_attribute(o, ACTIVATION_ALPHA + i); ++i)
        activation->parameters[activation->parameter_count++] = ons_attribute_float(o, ACTIVATION_ALPHA + i);
    return ons_activation_resolve(o, activation);
}

static ons_status *microsoft_fused_gemm_infer(ons_operands *o) {
    ons_activation activation;
    ONS_TRY(ons_need_float(o, A));
    ONS_TRY(ons_op_gemm.infer(o));
    return find_activation(o, &activation);
}

static ons_cost microsoft_fused_gemm_cost(const ons_operands *o) { return ons_op_gemm.cost(o); }

static ons_status *microsoft_fused_gemm_expand(ons_replacement *m) {
    ons_activation activation;
    ons_resolved(find_activation(m->operands, &activation));
    ons_value_id y = ONS_NONE;
    ons_build_node_like(m->builder, &ons_op_gemm, ONS_IN(m->inputs[A], m->inputs[B], ons_expand_input(m, C)),
                        m->operands->attributes, 1, NULL, &y);
    return ons_expand_finish(m, ons_activation_expand(m, &activation, y));
}

static void microsoft_fused_gemm_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                           void *const *outputs) {
    ons_activation activation;
    ons_resolved(find_activation(o, &activation));
    ons_op_gemm.reference(o, step, inputs, outputs);
    double *y = outputs[0];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i)
        y[i] = ons_activation_reference(&activation, y[i]);
}

ONS_DEFINE_EXPANSION(microsoft_fused_gemm, "FusedGemm", ONS_MICROSOFT, ONS_ARITY(2, 3, 1, 1),
                     ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("alpha", 1), ONS_FLOAT_ATTRIBUTE("beta", 1),
                                    ONS_INT_ATTRIBUTE("transA", 0), ONS_INT_ATTRIBUTE("transB", 0),
                                    ONS_STRING_ATTRIBUTE("activation", ""),
                                    ONS_OPTIONAL_ATTRIBUTE("activation_alpha", ONS_ATTRIBUTE_FLOAT),
                                    ONS_OPTIONAL_ATTRIBUTE("activation_beta", ONS_ATTRIBUTE_FLOAT),
                                    ONS_OPTIONAL_ATTRIBUTE("activation_gamma", ONS_ATTRIBUTE_FLOAT)),
                     microsoft_fused_gemm_infer, microsoft_fused_gemm_cost, ONS_ALL_INPUTS, microsoft_fused_gemm_expand,
                     microsoft_fused_gemm_reference);
