/* What graph/passes/fuse_gemm.h has to know of kernels: products by cuBLASLt and their epilogues, and by oneDNN. */
#include "graph/passes/fuse_gemm.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/gelu/gelu_formulas.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "kernels/reduction/reduction.h"

/* Rows of what goes into Gelu are as long as a multiple of this, or cuBLASLt does not take it. */
enum { ROW_MULTIPLE = 8 };

static bool is_of_one_type(const ons_operands *o, ons_dtype dtype) {
    bool same = dtype == ONS_FLOAT32 || dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16;
    for (uint32_t i = 0; i < o->input_count; ++i) same = same && ons_has_input(o, i) && o->inputs[i].dtype == dtype;
    return same && o->outputs[0].dtype == dtype;
}

static ons_attribute integer(int64_t value) { return (ons_attribute){.kind = ONS_ATTRIBUTE_INT, .i = value}; }

/* x op(w) + b. */
static bool is_layer(const ons_operands *o, bool *transpose) {
    if (o->op == &ons_op_linear) {
        *transpose = ons_attribute_int(o, 0) != 0;
        return true;
    }
    if (o->op != &ons_op_gemm || o->input_count < 3) return false;
    *transpose = ons_attribute_int(o, 3) != 0;
    return ons_attribute_float(o, 0) == 1 && ons_attribute_float(o, 1) == 1 && ons_attribute_int(o, 2) == 0 &&
           o->inputs[2].shape.rank == 1 && o->inputs[2].shape.dims[0] == o->outputs[0].shape.dims[1];
}

/* dy op(w), w a matrix. */
static bool is_layer_back(const ons_operands *o, bool *transpose) {
    if (o->op != &ons_op_matmul_transposed) return false;
    *transpose = ons_attribute_int(o, 1) != 0;
    return ons_attribute_int(o, 0) == 0 && ons_attribute_int(o, 2) == 0 && ons_attribute_float(o, 3) == 1 &&
           o->inputs[0].shape.rank >= 2 && o->inputs[1].shape.rank == 2;
}

/* x w, w a matrix. */
static bool is_plain(const ons_operands *o, bool *transpose) {
    *transpose = false;
    return o->op == &ons_op_matmul && o->inputs[0].shape.rank >= 2 && o->inputs[1].shape.rank == 2;
}

/* Both operands of a sum have its shape: nothing is spread. */
static bool adds_alike(const ons_operands *sum) {
    return sum->op == &ons_op_add && ons_shape_equal(&sum->inputs[0].shape, &sum->outputs[0].shape) &&
           ons_shape_equal(&sum->inputs[1].shape, &sum->outputs[0].shape);
}

/* A product with Gelu or its slope behind it. */
static bool with_gelu(const ons_operands *product, const ons_operands *function, bool keeps, ons_fused_gemm *joined) {
    const ons_shape *result = &product->outputs[0].shape;
    bool transpose;
    if (result->dims[result->rank - 1] % ROW_MULTIPLE != 0) return false;
    if (function->op == &ons_op_gelu && ons_gelu_by_tanh(function) && is_layer(product, &transpose)) {
        *joined = (ons_fused_gemm){&ons_op_linear_gelu, {integer(transpose), integer(keeps)}};
        return true;
    }
    if (function->op == &ons_op_gelu_gradient && ons_gelu_by_tanh(function) && !keeps &&
        is_layer_back(product, &transpose)) {
        *joined = (ons_fused_gemm){&ons_op_linear_gelu_gradient, {integer(transpose)}};
        return true;
    }
    return false;
}

static bool with_function(const ons_operands *product, const ons_operands *function, uint32_t operand, bool keeps,
                          ons_fused_gemm *joined) {
    bool transpose;
    if (!is_of_one_type(product, product->outputs[0].dtype) || !is_of_one_type(function, product->outputs[0].dtype))
        return false;
    if (operand == 0 && with_gelu(product, function, keeps, joined)) return true;
    if (keeps || !adds_alike(function) ||
        (!is_layer(product, &transpose) && !is_layer_back(product, &transpose) && !is_plain(product, &transpose)))
        return false;
    *joined = (ons_fused_gemm){&ons_op_linear_add, {integer(transpose)}};
    return true;
}

/* On a CPU: what is added to a layer's result, while that is in registers. Its ReLU is not joined with it: oneDNN's
 * turns NaN into 0. */
static bool with_sum_of_a_layer(const ons_operands *product, const ons_operands *function, uint32_t operand, bool keeps,
                                ons_fused_gemm *joined) {
    bool transpose;
    if (keeps || !is_of_one_type(product, ONS_FLOAT32) || !is_of_one_type(function, ONS_FLOAT32) ||
        !adds_alike(function) || !is_layer(product, &transpose))
        return false;
    *joined = (ons_fused_gemm){&ons_op_linear_add, {integer(transpose)}};
    return true;
}

static bool sums_columns(const ons_operands *sum) {
    bool reduced[ONS_RANK_MAX];
    ons_status *status = ons_reduction_axes(sum, reduced);
    bool columns = status == NULL;
    ons_status_free(status);
    uint32_t rank = sum->inputs[0].shape.rank;
    for (uint32_t i = 0; columns && i < rank; ++i) columns = reduced[i] == (i + 1 < rank);
    return columns && rank >= 2;
}

/* aᵀ b of matrices, or of what is folded to matrices. */
static bool with_sum(const ons_operands *product, const ons_operands *sum, uint32_t operand, ons_fused_gemm *joined) {
    const ons_shape *a = &product->inputs[0].shape, *b = &product->inputs[1].shape, *x = &sum->inputs[0].shape;
    if (product->op != &ons_op_matmul_transposed || operand > 1 ||
        !is_of_one_type(product, product->outputs[0].dtype) || ons_attribute_int(product, 0) == 0 ||
        ons_attribute_int(product, 1) != 0 || ons_attribute_float(product, 3) != 1 ||
        (ons_attribute_int(product, 2) == 0 && (a->rank != 2 || b->rank != 2)))
        return false;
    const ons_shape *summed = operand == 0 ? a : b;
    if (sum->outputs[0].dtype != product->outputs[0].dtype || !sums_columns(sum) ||
        ons_shape_elements(summed) != ons_shape_elements(x) || ons_shape_elements(x) == 0 ||
        summed->dims[summed->rank - 1] != x->dims[x->rank - 1])
        return false;
    *joined = (ons_fused_gemm){&ons_op_linear_weight_gradient, {integer(operand)}};
    return true;
}

const ons_gemm_fusion *ons_gemm_fusion_rules(bool for_gpu) {
    static const ons_gemm_fusion on_gpu = {.with_function = with_function, .with_sum = with_sum},
                                 on_cpu = {.with_function = with_sum_of_a_layer};
    return for_gpu ? &on_gpu : &on_cpu;
}
