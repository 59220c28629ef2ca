/* Gradients of LayerNormalization, all in one pass over the rows: from cotangent dy, input x, scale, and the saved mean
 * and inverse standard deviation r of every row, with n = (x - mean) r and a = dy scale:
 *
 *   dx = r (a - mean(a) - n mean(a n)),   dscale = Σ dy n,   dbias = Σ dy   (sums over rows)
 */
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/cuda_rows.h"
#include "kernels/common/norm_rows.h"

static ons_status *find_norm(const ons_operands *o, ons_layer_norm *norm) {
    static const ons_type none = {0};
    return ons_layer_norm_of(o, &o->inputs[1], ons_attribute_int(o, 0), &o->inputs[2], &none, norm);
}

static ons_status *layer_normalization_gradient_infer(ons_operands *o) {
    char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
    ons_layer_norm norm;
    ONS_TRY(find_norm(o, &norm));
    if (!ons_type_equal(&o->inputs[0], &o->inputs[1]))
        return ons_node_error(o, "cotangent %s and input %s differ", ons_type_print(&o->inputs[0], left),
                              ons_type_print(&o->inputs[1], right));
    for (uint32_t i = 3; i < 5; ++i)
        if (ons_elements(&o->inputs[i]) != norm.rows)
            return ons_node_error(o, "input %u must hold a number for each of %lld rows, not %s", i,
                                  (long long)norm.rows, ons_type_print(&o->inputs[i], left));
    o->outputs[0] = o->inputs[1];
    o->outputs[1] = o->outputs[2] = o->inputs[2];
    return NULL;
}

/* Normalisation 2, scale 1, the two means 3, dx 4, the two sums 3. */
static ons_cost layer_normalization_gradient_cost(const ons_operands *o) {
    return (ons_cost){13 * (double)ons_elements(&o->inputs[1]), ons_operand_bytes(o)};
}

static void layer_normalization_gradient_reference(const ons_operands *o, const ons_step *step,
                                                   const void *const *inputs, void *const *outputs) {
    (void)step;
    ons_layer_norm norm;
    ons_status_free(find_norm(o, &norm));
    const double *scale = inputs[2];
    double *dscale = outputs[1], *dbias = outputs[2], columns = (double)norm.columns;
    for (int64_t i = 0; i < norm.columns; ++i) {
        if (dscale != NULL) dscale[i] = 0;
        if (dbias != NULL) dbias[i] = 0;
    }
    for (int64_t row = 0; row < norm.rows; ++row) {
        const double *dy = (const double *)inputs[0] + row * norm.columns;
        const double *x = (const double *)inputs[1] + row * norm.columns;
        double mean = ((const double *)inputs[3])[row], r = ((const double *)inputs[4])[row], first = 0, second = 0;
        for (int64_t i = 0; i < norm.columns; ++i) {
            double n = (x[i] - mean) * r;
            first += dy[i] * scale[i] / columns;
            second += dy[i] * scale[i] * n / columns;
            if (dscale != NULL) dscale[i] += dy[i] * n;
            if (dbias != NULL) dbias[i] += dy[i];
        }
        for (int64_t i = 0; outputs[0] != NULL && i < norm.columns; ++i)
            ((double *)outputs[0])[row * norm.columns + i] =
                r * (dy[i] * scale[i] - first - (x[i] - mean) * r * second);
    }
}

static ons_status *layer_normalization_gradient_prepare(ons_prepare *p) {
    ons_layer_norm norm;
    ONS_TRY(find_norm(p->operands, &norm));
    return ons_norm_gradient_prepare(p, &norm);
}

static void layer_normalization_gradient_run(const ons_launch *launch) {
    ons_norm_gradient_run(launch, &(ons_norm_gradient){.dy = launch->inputs[0],
                                                       .x = launch->inputs[1],
                                                       .scale = launch->inputs[2],
                                                       .means = launch->inputs[3],
                                                       .inverses = launch->inputs[4],
                                                       .dx = launch->outputs[0],
                                                       .dscale = launch->outputs[1],
                                                       .dbias = launch->outputs[2]});
}

static ons_status *layer_normalization_gradient_cuda_prepare(ons_prepare *p) {
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

static const ons_case layer_normalization_gradient_cases[] = {
    {.name = "rows",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32(5, 1), ONS_F32_IN(0.5, 2, 5, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 455},
    {.name = "input_alone",
     .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(7), ONS_F32(5, 1), ONS_F32_IN(0.5, 2, 5, 1)},
     .tolerance = 1e-5,
     .flops = 455},
    {.name = "two_axes",
     .inputs = {ONS_F32(2, 3, 4, 5), ONS_F32(2, 3, 4, 5), ONS_F32(4, 5), ONS_F32(2, 3, 1, 1),
                ONS_F32_IN(0.5, 2, 2, 3, 1, 1)},
     .settings = {ONS_SET_INT("axis", 2)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 1560},
    {.name = "long_rows",
     .inputs = {ONS_F32(6, 333), ONS_F32(6, 333), ONS_F32(333), ONS_F32(6, 1), ONS_F32_IN(0.5, 2, 6, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 25974},
    {.name = "half",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -1, 1, 6, 72), ONS_RANDOM(ONS_BFLOAT16, -1, 1, 6, 72), ONS_F32(72),
                ONS_F32(6, 1), ONS_F32_IN(0.5, 2, 6, 1)},
     .outputs = 3,
     .tolerance = 8e-3,
     .flops = 5616},
    {.name = "a_warp",
     .inputs = {ONS_F32(6, 1024), ONS_F32(6, 1024), ONS_F32(1024), ONS_F32(6, 1), ONS_F32_IN(0.5, 2, 6, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 79872},
    {.name = "a_block",
     .inputs = {ONS_F32(3, 1032), ONS_F32(3, 1032), ONS_F32(1032), ONS_F32(3, 1), ONS_F32_IN(0.5, 2, 3, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 40248},
    {.name = "longer_than_a_block_keeps",
     .inputs = {ONS_F32(2, 8200), ONS_F32(2, 8200), ONS_F32(8200), ONS_F32(2, 1), ONS_F32_IN(0.5, 2, 2, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 213200},
    {.name = "empty",
     .inputs = {ONS_F32(0, 7), ONS_F32(0, 7), ONS_F32(7), ONS_F32(0, 1), ONS_F32(0, 1)},
     .outputs = 3,
     .flops = 0},
    {.name = "threads",
     .inputs = {ONS_F32(301, 100), ONS_F32(301, 100), ONS_F32(100), ONS_F32(301, 1), ONS_F32_IN(0.5, 2, 301, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 391300},
    {.name = "gpt",
     .inputs = {ONS_F32(16, 128, 256), ONS_F32(16, 128, 256), ONS_F32(256), ONS_F32(16, 128, 1),
                ONS_F32_IN(0.5, 2, 16, 128, 1)},
     .outputs = 3,
     .tolerance = 1e-5,
     .flops = 6815744,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(layer_normalization_gradient, "LayerNormalizationGradient", ONS_INTERNAL, ONS_ARITY(5, 5, 1, 3),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", -1)), ONS_INFER(layer_normalization_gradient_infer),
                    ONS_COST(layer_normalization_gradient_cost), ONS_NOT_DIFFERENTIABLE("it is itself a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}, {ONS_ALIAS_MAY, 0, 1}),
                    ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(layer_normalization_gradient_reference),
                    ONS_CPU_KERNEL(layer_normalization_gradient_prepare, layer_normalization_gradient_run),
                    ONS_CUDA_KERNEL(layer_normalization_gradient_cuda_prepare, ons_cuda_layer_normalization_gradient),
                    layer_normalization_gradient_cases);
