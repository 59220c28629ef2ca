/* Σ x² of all elements, in double and in fixed order: the square of a gradient's norm. */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/rows.h"
#include "kernels/common/several.h"

static ons_status *square_sum_infer(ons_operands *o) {
    char text[ONS_TYPE_TEXT];
    if (!ons_dtype_is_float(o->inputs[0].dtype))
        return ons_node_error(o, "needs a float operand, not %s", ons_type_print(&o->inputs[0], text));
    o->outputs[0] = ons_type_make(ONS_FLOAT64, (ons_shape){0});
    return NULL;
}

static ons_cost square_sum_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

static void square_sum_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs) {
    (void)step;
    const double *x = inputs[0];
    double sum = 0;
    for (int64_t i = 0; i < ons_elements(&o->inputs[0]); ++i) sum += x[i] * x[i];
    *(double *)outputs[0] = sum;
}

typedef struct square_sum_state {
    int64_t elements;
    int parts;
} square_sum_state;

static ons_status *square_sum_prepare(ons_prepare *p) {
    ONS_TRY(ons_require_float32(p->operands));
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(square_sum_state), &memory));
    square_sum_state *state = memory;
    state->elements = ons_elements(&p->operands->inputs[0]);
    state->parts = ons_parts(state->elements, 1);
    p->scratch_bytes = ONS_PARTS_MAX * (int64_t)sizeof(double);
    return NULL;
}

static double part_sum(const float *x, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += (double)x[i] * (double)x[i];
    return sum;
}

static void square_sum_run(const ons_launch *launch) {
    const square_sum_state *state = launch->state;
    const float *x = launch->inputs[0];
    double *sums = launch->scratch;
    int parts = state->parts;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = ons_part_begin(state->elements, parts, part);
        sums[part] = part_sum(x + begin, ons_part_begin(state->elements, parts, part + 1) - begin);
    }
    *(double *)launch->outputs[0] = ons_sum_parts(sums, parts);
}

static ons_status *square_sum_cuda_prepare(ons_prepare *p) {
    int64_t elements = ons_elements(&p->operands->inputs[0]), chunks = elements / ONS_CUDA_CHUNK + 1;
    p->scratch_bytes = (chunks * (int64_t)sizeof(double) + 63) / 64 * 64; /* the sum of each */
    return ons_cuda_flat_prepare(p);
}

static const ons_case square_sum_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-12, .flops = 70},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-12, .flops = 2},
    {.name = "threads", .inputs = {ONS_F32(9, 5003)}, .tolerance = 1e-12, .flops = 90054},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(2048, 2048)}, .tolerance = 1e-12, .flops = 8388608, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(square_sum, "SquareSum", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(square_sum_infer), ONS_COST(square_sum_cost),
                    ONS_NOT_DIFFERENTIABLE("it belongs to the update"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_ROLE_SQUARE_SUM, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(square_sum_reference), ONS_CPU_KERNEL(square_sum_prepare, square_sum_run),
                    ONS_CUDA_KERNEL_OF_SEVERAL(square_sum_cuda_prepare, ons_cuda_square_sum,
                                               ons_cuda_several_square_sum),
                    square_sum_cases);
