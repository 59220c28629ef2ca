/* Dropout while training: an element is 0 with probability `ratio`, else it is divided by 1 - ratio. The second output
 * says which were kept. */
#include "kernels/common/cases.h"
#include "kernels/common/checks.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/dropout.h"

enum { RATIO, SEED };

static ons_status *dropout_training_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    ONS_TRY(ons_dropout_check(o, ons_attribute_float(o, RATIO)));
    o->outputs[0] = o->inputs[0];
    if (o->output_count > 1) o->outputs[1] = ons_type_make(ONS_BOOL, o->inputs[0].shape);
    return NULL;
}

static void dropout_training_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    double ratio = ons_attribute_float(o, RATIO), scale = ons_dropout_scale(ratio);
    ons_dropout_key key = ons_dropout_key_of(step, step->node_key, &o->attributes[SEED], ratio);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i) {
        uint8_t draw[ONS_DROPOUT_DRAW];
        ons_dropout_mask(&key, i / ONS_DROPOUT_DRAW * ONS_DROPOUT_DRAW, ONS_DROPOUT_DRAW, draw);
        uint8_t kept = draw[i % ONS_DROPOUT_DRAW];
        ((double *)outputs[0])[i] = kept ? ((const double *)inputs[0])[i] * scale : 0;
        if (ons_has_output(o, 1) && outputs[1] != NULL) ((int64_t *)outputs[1])[i] = kept;
    }
}

static ons_status *make_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_dropout_state), &memory));
    *(ons_dropout_state *)memory = (ons_dropout_state){.elements = ons_elements(&o->inputs[0]),
                                                       .node_key = p->node_key,
                                                       .seed = o->attributes[SEED],
                                                       .ratio = ons_attribute_float(o, RATIO),
                                                       .has_mask = ons_has_output(o, 1),
                                                       .dtype = o->inputs[0].dtype};
    p->implementation = "philox";
    return NULL;
}

static ons_status *dropout_training_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    return dtype == ONS_FLOAT32 ? make_state(p) : ons_refuse_dtype(p->operands, dtype);
}

static ons_status *dropout_training_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    return ons_cuda_prepare_like_cpu(p, make_state);
}

static void dropout_training_run(const ons_launch *launch) {
    const ons_dropout_state *state = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    uint8_t *masks = state->has_mask ? launch->outputs[1] : NULL;
    float scale = (float)ons_dropout_scale(state->ratio);
    ons_dropout_key key = ons_dropout_key_of(launch->step, state->node_key, &state->seed, state->ratio);
    int64_t elements = state->elements;
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < elements; begin += ONS_DROPOUT_BLOCK) {
        int64_t count = elements - begin < ONS_DROPOUT_BLOCK ? elements - begin : ONS_DROPOUT_BLOCK;
        uint8_t drawn[ONS_DROPOUT_BLOCK];
        uint8_t *mask = masks == NULL ? drawn : masks + begin;
        ons_dropout_mask(&key, begin, count, mask);
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) y[begin + i] = mask[i] != 0 ? x[begin + i] * scale : 0.0f;
    }
}

static ons_status *dropout_training_gradient(ons_gradient *g) {
    g->gradients[0] =
        ons_build(g->builder, &ons_op_dropout_gradient, ONS_IN(g->cotangents[0], ons_gradient_output(g, 1)),
                  ONS_WITH(ONS_AT_FLOAT(0, ons_attribute_float(g->operands, RATIO))));
    return NULL;
}

static const ons_case dropout_training_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .outputs = 2, .tolerance = 1e-6, .flops = 70},
    {.name = "no_mask",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_FLOAT("ratio", 0.1)},
     .tolerance = 1e-6,
     .flops = 70},
    {.name = "seed",
     .inputs = {ONS_F32(5, 7)},
     .settings = {ONS_SET_INT("seed", 7)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 70},
    {.name = "rank0", .inputs = {ONS_F32()}, .outputs = 2, .tolerance = 1e-6, .flops = 2},
    {.name = "threads", .inputs = {ONS_F32(3, 16, 33, 35)}, .outputs = 2, .tolerance = 1e-6, .flops = 110880},
    {.name = "none", .inputs = {ONS_F32(300)}, .settings = {ONS_SET_FLOAT("ratio", 0)}, .outputs = 2, .flops = 600},
    {.name = "all", .inputs = {ONS_F32(300)}, .settings = {ONS_SET_FLOAT("ratio", 1)}, .outputs = 2, .flops = 600},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .outputs = 2, .flops = 0},
    {.name = "large",
     .inputs = {ONS_F32(64, 128, 1024)},
     .outputs = 2,
     .tolerance = 1e-6,
     .flops = 16777216,
     .benchmark = true},
    {.name = "ratio", .inputs = {ONS_F32(3)}, .settings = {ONS_SET_FLOAT("ratio", -0.1)}, .error = "ratio"},
    {.name = NULL},
};

static ons_cost dropout_training_cost(const ons_operands *o) {
    return (ons_cost){2 * (double)ons_elements(&o->inputs[0]), ons_operand_bytes(o)};
}

ONS_DEFINE_OPERATOR(dropout_training, "DropoutTraining", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 2),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("ratio", 0.5),
                                   ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_INT)),
                    ONS_INFER(dropout_training_infer), ONS_COST(dropout_training_cost),
                    ONS_GRADIENT_RULE(dropout_training_gradient, ONS_ALL_INPUTS), ONS_SAVES(0, ONS_INPUT_BIT(1)),
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM | ONS_TRAIT_ELEMENTWISE, 0),
                    ONS_ALIASES({ONS_ALIAS_MAY, 0, 0}), ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(dropout_training_reference),
                    ONS_CPU_KERNEL(dropout_training_prepare, dropout_training_run),
                    ONS_CUDA_KERNEL(dropout_training_prepare_cuda, ons_cuda_dropout_training), dropout_training_cases);
