/* Det: the determinants of square matrices. Output 1, which no file has, is room for the elimination. */
#include <string.h>

#include "kernels/common/cuda_determinant.h"
#include "kernels/common/determinant.h"
#include "kernels/common/rules.h"
#include "kernels/common/stand_in.h"

static ons_status *det_infer(ons_operands *o) {
    int64_t count, size;
    ONS_TRY(ons_square_matrices(o, &count, &size));
    o->outputs[0] = o->inputs[0];
    o->outputs[0].shape = ons_shape_make(o->inputs[0].shape.rank - 2, o->inputs[0].shape.dims);
    if (o->output_count > 1) o->outputs[1] = o->inputs[0];
    return NULL;
}

static void det_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    (void)step;
    int64_t count, size;
    ons_status_free(ons_square_matrices(o, &count, &size)); /* has passed inference */
    double *work = outputs[1];
    if (count * size > 0) memcpy(work, inputs[0], (size_t)(count * size * size) * sizeof *work);
    for (int64_t i = 0; i < count; ++i) ((double *)outputs[0])[i] = ons_determinant(work + i * size * size, size);
}

/* Two thirds of the cube of the size for each matrix. */
static ons_cost det_cost(const ons_operands *o) {
    double size = (double)o->inputs[0].shape.dims[o->inputs[0].shape.rank - 1];
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]) * size / 3, ons_operand_bytes(o)};
}

static ons_status *det_gradient(ons_gradient *g) {
    ONS_TRY(ons_refuse_cotangents(g, 1));
    g->gradients[0] = ons_make2(g, &ons_op_det_gradient, g->cotangents[0], ons_gradient_input(g, 0));
    return NULL;
}

static ons_status *det_prepare_cuda(ons_prepare *p) {
    return ons_cuda_determinant_prepare(p, &p->operands->inputs[0], 1);
}

static const ons_case det_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(3, 3)}, .tolerance = 1e-6, .flops = 18},
    {.name = "batch", .inputs = {ONS_F32(2, 3, 4, 4)}, .tolerance = 1e-6, .flops = 256},
    {.name = "larger", .inputs = {ONS_F32(2, 9, 9)}, .tolerance = 1e-5, .flops = 972},
    {.name = "number", .inputs = {ONS_F32(5, 1, 1)}, .tolerance = 1e-6, .flops = -1},
    {.name = "singular",
     .inputs =
         {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 3), .value_count = 9, .values = {1, 2, 3, 2, 4, 6, 0, 1, 5}}},
     .tolerance = 1e-6,
     .flops = 18},
    {.name = "zero_matrix",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(3, 3), .value_count = 1, .values = {0}}},
     .tolerance = 1e-6,
     .flops = 18},
    {.name = "double",
     .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 3)},
     .tolerance = 1e-6,
     .flops = 18,
     .no_gradient = true},
    {.name = "no_rows", .inputs = {ONS_F32(2, 0, 0)}, .flops = 0},
    {.name = "empty", .inputs = {ONS_F32(0, 3, 3)}, .flops = 0},
    {.name = "oblong", .inputs = {ONS_F32(3, 4)}, .error = "square"},
    {.name = "vector", .inputs = {ONS_F32(3)}, .error = "square"},
    {.name = "integer", .inputs = {ONS_RANDOM(ONS_INT64, 0, 9, 3, 3)}, .error = "float"},
    {.name = "large", .inputs = {ONS_F32(64, 32, 32)}, .tolerance = 1e-3, .flops = -1, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(det, "Det", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(1, 1, 1, 2), ONS_NO_ATTRIBUTES,
                    ONS_INFER(det_infer), ONS_COST(det_cost), ONS_GRADIENT_RULE(det_gradient, ONS_ALL_INPUTS),
                    ONS_SAVES(ONS_INPUT_BIT(0), 0), ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(det_reference), ONS_CPU_REFERENCE_KERNEL,
                    ONS_CUDA_KERNEL(det_prepare_cuda, ons_cuda_det), det_cases);
