/* Several elementwise operators in one kernel: what graph/passes/fuse_elementwise.h makes for a GPU. What their results
 * are to each other stays in registers. */
#include <stdlib.h>

#include "graph/passes/fuse_elementwise.h"
#include "kernels/fused_elementwise/fused.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

static ons_status *fused_infer(ons_operands *o) {
    ons_arena *arena = ons_arena_new();
    ons_fused *f = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *f);
    ons_status *status = f == NULL ? ons_status_out_of_memory() : ons_fused_read(o, arena, f);
    if (status == NULL && f->output_count > o->output_count)
        status = ons_node_error(o, "%u outputs are named, the node has %u", f->output_count, o->output_count);
    for (uint32_t i = 0; status == NULL && i < f->output_count; ++i) o->outputs[i] = f->types[f->outputs[i]];
    ons_arena_free(arena);
    return status;
}

/* Calls with the steps; nothing where they cannot be read, which shape inference has told. */
typedef void step_function(const ons_fused *f, void *argument);

static void with_steps(const ons_operands *o, step_function *function, void *argument) {
    ons_arena *arena = ons_arena_new();
    ons_fused *f = arena == NULL ? NULL : ons_arena_allocate(arena, 1, sizeof *f);
    ons_status *status = f == NULL ? NULL : ons_fused_read(o, arena, f);
    if (f != NULL && status == NULL) function(f, argument);
    ons_status_free(status);
    ons_arena_free(arena);
}

static void add_flops(const ons_fused *f, void *argument) {
    for (uint32_t i = 0; i < f->step_count; ++i)
        *(double *)argument += f->steps[i].operands.op->cost(&f->steps[i].operands).flops;
}

/* All the arithmetic, but memory for what comes in and goes out alone. */
static ons_cost fused_cost(const ons_operands *o) {
    ons_cost cost = {0, ons_operand_bytes(o)};
    with_steps(o, add_flops, &cost.flops);
    return cost;
}

typedef struct evaluation {
    const ons_step *step;
    const void *const *inputs;
    void *const *outputs;
} evaluation;

static void evaluate(const ons_fused *f, void *argument) {
    const evaluation *e = argument;
    const void *values[ONS_FUSED_VALUES];
    void *made[ONS_FUSED_STEPS] = {0};
    size_t words = (size_t)ons_elements(&f->types[f->input_count]);
    for (uint32_t i = 0; i < f->input_count; ++i) values[i] = e->inputs[i];
    for (uint32_t i = 0; i < f->step_count; ++i) {
        const ons_fused_step *step = &f->steps[i];
        const void *inputs[ONS_FUSED_OPERANDS];
        made[i] = calloc(words + 1, sizeof(uint64_t));
        if (made[i] == NULL) abort();
        for (uint32_t k = 0; k < step->operands.input_count; ++k)
            inputs[k] = step->inputs[k] == ONS_NONE ? NULL : values[step->inputs[k]];
        step->operands.op->reference(&step->operands, e->step, inputs, &made[i]);
        values[f->input_count + i] = made[i];
    }
    for (uint32_t i = 0; i < f->output_count; ++i)
        if (e->outputs[i] != NULL) memcpy(e->outputs[i], values[f->outputs[i]], words * sizeof(uint64_t));
    for (uint32_t i = 0; i < f->step_count; ++i) free(made[i]);
}

static void fused_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    evaluation e = {step, inputs, outputs};
    with_steps(o, evaluate, &e);
}

const ons_elementwise_fusion *ons_elementwise_fusion_rules(void) {
    static const ons_elementwise_fusion rules = {
        .fused = &ons_op_fused_elementwise,
        .inputs_max = ONS_FUSED_INPUTS,
        .outputs_max = ONS_FUSED_OUTPUTS,
        .steps_max = ONS_FUSED_STEPS,
        .uses_max = ONS_FUSED_JOINS,
        .takes = ons_fused_takes,
        .write_step = ons_fused_write_step,
    };
    return &rules;
}

#define FROM_ANY(OUTPUT)                                                                                               \
    {ONS_ALIAS_MAY, OUTPUT, 0}, {ONS_ALIAS_MAY, OUTPUT, 1}, {ONS_ALIAS_MAY, OUTPUT, 2}, {ONS_ALIAS_MAY, OUTPUT, 3},    \
        {ONS_ALIAS_MAY, OUTPUT, 4}, {ONS_ALIAS_MAY, OUTPUT, 5}, {ONS_ALIAS_MAY, OUTPUT, 6},                            \
        {ONS_ALIAS_MAY, OUTPUT, 7}, {ONS_ALIAS_MAY, OUTPUT, 8}, {ONS_ALIAS_MAY, OUTPUT, 9},                            \
        {ONS_ALIAS_MAY, OUTPUT, 10}, {                                                                                 \
        ONS_ALIAS_MAY, OUTPUT, 11                                                                                      \
    }

ONS_DEFINE_OPERATOR(
    fused_elementwise, "FusedElementwise", ONS_INTERNAL, ONS_ARITY(1, ONS_FUSED_INPUTS, 1, ONS_FUSED_OUTPUTS),
    ONS_ATTRIBUTES({"steps", ONS_ATTRIBUTE_STRING, true, {.kind = ONS_ATTRIBUTE_ABSENT}},
                   {"outputs", ONS_ATTRIBUTE_INTS, true, {.kind = ONS_ATTRIBUTE_ABSENT}}),
    ONS_INFER(fused_infer), ONS_COST(fused_cost), ONS_NOT_DIFFERENTIABLE("it is made after differentiation"),
    ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
    ONS_ALIASES(FROM_ANY(0), FROM_ANY(1), FROM_ANY(2), FROM_ANY(3), FROM_ANY(4), FROM_ANY(5), FROM_ANY(6), FROM_ANY(7)),
    ONS_FOLLOWS_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(fused_reference));
