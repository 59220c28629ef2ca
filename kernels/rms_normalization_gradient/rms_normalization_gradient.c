/* Gradients of RMSNormalization, both in one pass over the rows: from cotangent dy, input x, scale, and the saved
 * r = 1 / √(mean(x²) + epsilon) of every row, with n = x r and a = dy scale:
 *
 *   dx = r (a - n mean(a n)),   dscale = Σ dy n   (sums over rows)
 */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/cuda_rows.h"
#include "kernels/common/norm_rows.h"

static ons_status *find_norm(const ons_operands *o, ons_layer_norm *norm) {
    static const ons_type none = {0};
    return ons_layer_norm_of(o, &o->inputs[1], ons_attribute_int(o, 0), &o->inputs[2], &none, norm);
}

static ons_status *rms_normalization_gradient_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_layer_norm norm;
    ONS_TRY(find_norm(o, &norm));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "cotangent %s and input %s differ", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->inputs[1], right));
    if (ons_elements(&o->inputs[3]) != norm.rows)
        return ons_node_error(o, "the saved input must hold a number for each of %lld rows, not %s",
                              (long long)norm.rows, ons_type_print(&o->inputs[3], left));
    o->outputs[0] = o->inputs[1];
    if (o->output_count > 1) o->outputs[1] = o->inputs[2];
    return NULL;
}

/* Normalisation 1, scale 1, the mean 2, dx 3, the sum 2. */
static ons_cost rms_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){9 * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void rms_normalization_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                                 void *const *outputs) {
    (void)step;
    ons_layer_norm norm;
    ons_status_free(find_norm(o, &norm));
    const double *scale = inputs[2];
    double *dscale = o->output_count > 1 ? outputs[1] : NULL;
    for (int64_t i = 0; dscale != NULL && i < norm.columns; ++i) dscale[i] = 0;
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *dy = (const double *)inputs[0] + row * norm.columns;
        const double *x = (const double *)inputs[1] + row * norm.columns;
        double r = ((const double *)inputs[3])[row], mean = 0;
        for (int64_t i = 0; i < norm.columns; ++i) {
            mean += dy[i] * scale[i] * x[i] * r / (double)norm.columns;
            if (dscale != NULL) dscale[i] += dy[i] * x[i] * r;
        }
        for (int64_t i = 0; outputs[0] != NULL && i < norm.columns; ++i)
            ((double *)outputs[0])[row * norm.columns + i] = r * (dy[i] * scale[i] - x[i] * r * mean);
    }
}

static ons_status *rms_normalization_gradient_prepare(ons_prepare *p) {
    ons_layer_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_norm_gradient_prepare(p, &norm);
}

static void rms_normalization_gradient_run(const ons_launch *launch) {
    ons_norm_gradient_run(launch, &(ons_norm_gradient){.dy = launch->inputs[0],
                                                       .x = launch->inputs[1],
                                                       .scale = launch->inputs[2],
                                                       .inverses = launch->inputs[3],
                                                       .dx = launch->outputs[0],
                                                       .dscale = launch->outputs[1]});
}

static ons_status *rms_normalization_gradient_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_norm *state;
    ONS_NEW(state, p->arena, 1);
    ONS_TRY(ons_cuda_norm_types(o, 1, 2, state));
    ONS_TRY(find_norm(o, &state->norm));
    ons_cuda_norm_parts(p, state);
    p->state = state;
    p->implementation = "cuda:rows";
    return NULL;
}

static const ons_case rms_normalization_gradient_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32_IN(0.5, 2, 5, 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 315},
    {.name = "input_alone",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32_IN(0.5, 2, 5, 1)},
     .tolerance = 1e-5,
     .flops = 315},
    {.name = "two_axes",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 4, 5), ONS_F32(4, 5), ONS_F32_IN(0.5, 2, 2, 3, 1, 1)},
     .settings = {ONS_SET_INT("axis", 2)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 1080},
    {.name = "threads",
     .inputs = {ONS_F32(301, 100), ONS_F32(301, 100), ONS_F32(100), ONS_F32_IN(0.5, 2, 301, 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 270900},
    {.name = "empty", .inputs = {ONS_F32(0, 7), ONS_F32(0, 7), ONS_F32(7), ONS_F32(0, 1)}, .outputs = 2, .flops = 0},
    {.name = "llama",
     .inputs = {ONS_F32(4, 128, 1024), ONS_F32(4, 128, 1024), ONS_F32(1024), ONS_F32_IN(0.5, 2, 4, 128, 1)},
     .outputs = 2,
     .tolerance = 1e-5,
     .flops = 4718592,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(rms_normalization_gradient, "RMSNormalizationGradient", ONS_INTERNAL, ONS_ARITY(4, 4, 1, 2),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(rms_normalization_gradient_infer),
                    ONS_COST(rms_normalization_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(rms_normalization_gradient_reference),
                    ONS_CPU_KERNEL(rms_normalization_gradient_prepare, rms_normalization_gradient_run),
                    ONS_CUDA_KERNEL(rms_normalization_gradient_cuda_prepare, ons_cuda_rms_normalization_gradient),
                    rms_normalization_gradient_cases);
