/* Which elements a Dropout keeps, without the elements: for operators that drop in passing. */
#include "kernels/common/dropout.h"

enum { RATIO, SEED, SHAPE };

static ons_status *dropout_mask_infer(ons_operands *o) {
    const ons_attribute *given = &o->attributes[SHAPE];
    ONS_TRY(ons_dropout_check(o, ons_attribute_float(o, RATIO)));
    if (given->count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", given->count);
    ons_shape shape = ons_shape_make(given->count, given->ints);
    ONS_TRY_AT(ons_shape_check(&shape), "node '%s'", o->name);
    o->outputs[0] = ons_type_make(ONS_BOOL, shape);
    return NULL;
}

static ons_cost dropout_mask_cost(const ons_operands *o) {
    return (ons_cost){(double)ons_elements(&o->outputs[0]), ons_operand_bytes(o)};
}

static void dropout_mask_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                   void *const *outputs) {
    (void)inputs;
    ons_dropout_key key = ons_dropout_key_of(step, step->node_key, &o->attributes[SEED], ons_attribute_float(o, RATIO));
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        uint8_t draw[ONS_DROPOUT_DRAW];
        ons_dropout_mask(&key, i / ONS_DROPOUT_DRAW * ONS_DROPOUT_DRAW, ONS_DROPOUT_DRAW, draw);
        ((int64_t *)outputs[0])[i] = draw[i % ONS_DROPOUT_DRAW];
    }
}

static ons_status *dropout_mask_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_dropout_state), &memory));
    *(ons_dropout_state *)memory = (ons_dropout_state){.elements = ons_elements(&o->outputs[0]),
                                                       .node_key = p->node_key,
                                                       .seed = o->attributes[SEED],
                                                       .ratio = ons_attribute_float(o, RATIO)};
    return NULL;
}

static void dropout_mask_run(const ons_launch *launch) {
    const ons_dropout_state *s = launch->state;
    uint8_t *mask = launch->outputs[0];
    ons_dropout_key key = ons_dropout_key_of(launch->step, s->node_key, &s->seed, s->ratio);
    int64_t elements = s->elements;
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < elements; begin += ONS_DROPOUT_BLOCK)
        ons_dropout_mask(&key, begin, elements - begin < ONS_DROPOUT_BLOCK ? elements - begin : ONS_DROPOUT_BLOCK,
                         mask + begin);
}

static const ons_case dropout_mask_cases[] = {
    {.name = "matrix", .settings = {ONS_SET_INTS("shape", 5, 7)}, .flops = 35},
    {.name = "tenth", .settings = {ONS_SET_INTS("shape", 300), ONS_SET_FLOAT("ratio", 0.1)}, .flops = 300},
    {.name = "threads", .settings = {ONS_SET_INTS("shape", 3, 16, 33, 35)}, .flops = 55440},
    {.name = "empty", .settings = {ONS_SET_INTS("shape", 0, 3)}, .flops = 0},
    {.name = "ratio", .settings = {ONS_SET_INTS("shape", 3), ONS_SET_FLOAT("ratio", 2)}, .error = "ratio"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(dropout_mask, "DropoutMask", ONS_INTERNAL, ONS_ARITY(0, 0, 1, 1),
                    ONS_ATTRIBUTES(ONS_FLOAT_ATTRIBUTE("ratio", 0.5), ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_INT),
                                   ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(dropout_mask_infer), ONS_COST(dropout_mask_cost),
                    ONS_NOT_DIFFERENTIABLE("it has no inputs"), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(dropout_mask_reference), ONS_CPU_KERNEL(dropout_mask_prepare, dropout_mask_run),
                    ONS_CUDA_KERNEL(dropout_mask_prepare, ons_cuda_dropout_mask), dropout_mask_cases);
