/* QLinearMatMul: a matrix product of quantised tensors. For inference; see kernels/quantization/qlinear.h. */
#include <stdlib.h>

#include "kernels/common/gemm/gemm.h"
#include "kernels/quantization/qlinear.h"

static const ons_gemm_form plain = {.alpha = 1};

static int64_t rows_of(const ons_shape *a) { return a->rank < 2 ? 1 : a->dims[a->rank - 2]; }

static int64_t columns_of(const ons_shape *b) { return b->rank < 2 ? 1 : b->dims[b->rank - 1]; }

static ons_status *qlinear_matmul_infer(ons_operands *o) {
    const ons_shape *a = &o->inputs[ONS_Q_A].shape, *b = &o->inputs[ONS_Q_B].shape;
    ons_gemm_sizes sizes;
    ons_shape result;
    ONS_TRY(ons_gemm_resolve(o, a, b, &plain, &sizes, &result));
    ONS_TRY(ons_qlinear_check(o, rows_of(a), columns_of(b)));
    o->outputs[0] = ons_type_make(o->inputs[ONS_Q_Y_ZERO].dtype, result);
    return NULL;
}

static ons_cost qlinear_matmul_cost(const ons_operands *o) {
    ons_gemm_sizes sizes;
    ons_shape result;
    ons_resolved(ons_gemm_resolve(o, &o->inputs[ONS_Q_A].shape, &o->inputs[ONS_Q_B].shape, &plain, &sizes, &result));
    return (ons_cost){ons_gemm_flops(&sizes), ons_operand_bytes(o)};
}

static void qlinear_matmul_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    const ons_shape *a_shape = &o->inputs[ONS_Q_A].shape, *b_shape = &o->inputs[ONS_Q_B].shape;
    int64_t rows = rows_of(a_shape), columns = columns_of(b_shape), n = ons_elements(&o->outputs[0]);
    double *a = ons_qlinear_lift(o, ONS_Q_A, inputs, a_shape->rank == 0 ? 1 : a_shape->dims[a_shape->rank - 1], rows);
    double *b = ons_qlinear_lift(o, ONS_Q_B, inputs, 1, columns);
    double *sums = malloc(((size_t)n + 1) * sizeof *sums);
    if (a != NULL && b != NULL && sums != NULL) {
        ons_gemm_reference(o, a_shape, b_shape, &plain, a, b, sums);
        for (int64_t i = 0; i < n; ++i)
            ((int64_t *)outputs[0])[i] = ons_qlinear_finish(o, inputs, sums[i], i / columns % rows, i % columns);
    }
    free(a);
    free(b);
    free(sums);
}

ONS_DEFINE_OPERATOR(qlinear_matmul, "QLinearMatMul", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(8, 8, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(qlinear_matmul_infer), ONS_COST(qlinear_matmul_cost), ONS_NOT_TRAINABLE_QUANTIZED,
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_QUANTIZED | ONS_TRAIT_DENSE, 0), ONS_NO_ALIASES,
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(qlinear_matmul_reference));
