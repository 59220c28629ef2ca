#include "kernels/common/operator/stand_in.h"

#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "kernels/common/elementwise/broadcast.h"
#include "kernels/common/operator/kernel.h"

/* Where a converted operand lies in the scratch; the inner kernel's own scratch comes after all of them. */
typedef struct place {
    int64_t offset; /* bytes; -1: the operand is used as it is, or left out */
    int64_t elements;
    ons_dtype dtype; /* outside */
} place;

typedef struct stand_in {
    ons_operands operands;    /* as the inner kernel or the reference sees them */
    place *inputs, *outputs;  /* of each operand */
    const void **input_words; /* what the inner kernel is launched with */
    void **output_words;
    uint64_t node_key;
    /* the inner kernel; NULL: the reference */
    ons_run_function *run;
    void *inner_state;
    void (*destroy_inner)(void *state);
    int64_t inner_scratch; /* offset */
} stand_in;

static bool is_half(ons_dtype dtype) { return dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16; }

static void destroy(void *state) {
    stand_in *s = state;
    if (s->destroy_inner != NULL) s->destroy_inner(s->inner_state);
}

static ons_status *reserve(ons_prepare *p, const ons_type *type, int64_t word, place *result) {
    if (type->layout != ONS_LAYOUT_ONNX)
        return ons_node_error(p->operands, "no CPU kernel for %s in this layout", ons_dtype_name(type->dtype));
    *result = (place){p->scratch_bytes, ons_elements(type), type->dtype};
    p->scratch_bytes += (result->elements * word + 63) / 64 * 64;
    if (p->scratch_bytes > p->scratch_limit)
        return ons_node_error(p->operands, "converting %s needs more scratch than is granted",
                              ons_dtype_name(type->dtype));
    return NULL;
}

static ons_status *make_stand_in(ons_prepare *p, stand_in **result) {
    stand_in *s;
    ONS_NEW(s, p->arena, 1);
    s->operands = *p->operands;
    s->node_key = p->node_key;
    uint32_t inputs = s->operands.input_count, outputs = s->operands.output_count;
    ONS_NEW(s->inputs, p->arena, inputs + 1);
    ONS_NEW(s->outputs, p->arena, outputs + 1);
    ONS_NEW(s->input_words, p->arena, inputs + 1);
    ONS_NEW(s->output_words, p->arena, outputs + 1);
    for (uint32_t i = 0; i < inputs; ++i) s->inputs[i].offset = -1;
    for (uint32_t i = 0; i < outputs; ++i) s->outputs[i].offset = -1;
    p->scratch_bytes = 0;
    *result = s;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- reference */

/* Every output that the operator can have: the reference may write those that nobody reads. Operators that go element
 * by element see axes as they lie in memory. */
static ons_status *with_all_outputs(ons_prepare *p, ons_operands *all) {
    *all = *p->operands;
    if (all->op->layout.policy == ONS_LAYOUT_FOLLOWS) ONS_TRY(ons_broadcast_in_memory(p->operands, p->arena, all));
    ONS_NEW(all->outputs, p->arena, all->output_count + 1);
    return ons_operands_infer(all);
}

ons_status *ons_reference_prepare(ons_prepare *p) {
    if (p->operands->op->reference == NULL) return ons_node_error(p->operands, "no CPU kernel for these element types");
    stand_in *s;
    ONS_TRY(make_stand_in(p, &s));
    ONS_TRY(with_all_outputs(p, &s->operands));
    for (uint32_t i = 0; i < s->operands.input_count; ++i)
        if (ons_has_input(&s->operands, i)) ONS_TRY(reserve(p, &s->operands.inputs[i], 8, &s->inputs[i]));
    for (uint32_t i = 0; i < s->operands.output_count; ++i)
        if (ons_has_output(&s->operands, i)) ONS_TRY(reserve(p, &s->operands.outputs[i], 8, &s->outputs[i]));
    p->state = s;
    p->implementation = "reference";
    return NULL;
}

void ons_reference_run(const ons_launch *launch) {
    const stand_in *s = launch->state;
    char *scratch = launch->scratch;
    for (uint32_t i = 0; i < s->operands.input_count; ++i) {
        const place *from = &s->inputs[i];
        s->input_words[i] = from->offset < 0 ? NULL : scratch + from->offset;
        if (from->offset >= 0) ons_widen(from->dtype, launch->inputs[i], from->elements, scratch + from->offset);
    }
    for (uint32_t i = 0; i < s->operands.output_count; ++i)
        s->output_words[i] = s->outputs[i].offset < 0 ? NULL : scratch + s->outputs[i].offset;
    ons_step step = *launch->step;
    step.node_key = s->node_key;
    step.fault = launch->fault;
    s->operands.op->reference(&s->operands, &step, s->input_words, s->output_words);
    for (uint32_t i = 0; i < s->operands.output_count; ++i)
        if (s->outputs[i].offset >= 0 && launch->outputs[i] != NULL)
            ons_narrow(s->outputs[i].dtype, s->output_words[i], s->outputs[i].elements, launch->outputs[i]);
}

/* ------------------------------------------------------------------------------------------------------------- half */

static void widen_half(const place *from, const void *data, float *to) {
    const uint16_t *in = data;
    bool brain = from->dtype == ONS_BFLOAT16;
#pragma omp parallel for schedule(static) if (from->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < from->elements; ++i)
        to[i] = brain ? ons_bfloat16_to_float(in[i]) : ons_half_to_float(in[i]);
}

static void narrow_half(const place *to, const float *from, void *data) {
    uint16_t *out = data;
    bool brain = to->dtype == ONS_BFLOAT16;
#pragma omp parallel for schedule(static) if (to->elements > ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < to->elements; ++i)
        out[i] = brain ? ons_float_to_bfloat16(from[i]) : ons_float_to_half(from[i]);
}

/* The input in whose place the output must lie; ONS_NONE: none. */
static uint32_t state_of(const ons_operator *op, uint32_t output) {
    for (const ons_alias *alias = op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        if (alias->kind == ONS_ALIAS_STATE && alias->output == output) return alias->input;
    return ONS_NONE;
}

static void half_run(const ons_launch *launch) {
    const stand_in *s = launch->state;
    char *scratch = launch->scratch;
    for (uint32_t i = 0; i < s->operands.input_count; ++i) {
        const place *from = &s->inputs[i];
        s->input_words[i] = from->offset < 0 ? launch->inputs[i] : scratch + from->offset;
        if (from->offset >= 0) widen_half(from, launch->inputs[i], (float *)(scratch + from->offset));
    }
    for (uint32_t i = 0; i < s->operands.output_count; ++i) {
        bool converted = s->outputs[i].offset >= 0 && launch->outputs[i] != NULL;
        s->output_words[i] = converted ? scratch + s->outputs[i].offset : launch->outputs[i];
    }
    ons_launch inner = *launch;
    inner.inputs = s->input_words;
    inner.outputs = s->output_words;
    inner.scratch = scratch + s->inner_scratch;
    inner.state = s->inner_state;
    s->run(&inner);
    for (uint32_t i = 0; i < s->operands.output_count; ++i)
        if (s->outputs[i].offset >= 0 && launch->outputs[i] != NULL)
            narrow_half(&s->outputs[i], s->output_words[i], launch->outputs[i]);
}

/* Types and known contents as float32. */
static ons_status *widen_operands(ons_prepare *p, ons_operands *o) {
    ons_type *inputs;
    ons_tensor *constants;
    ONS_NEW(inputs, p->arena, o->input_count + 1);
    ONS_NEW(constants, p->arena, o->input_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i) {
        inputs[i] = o->inputs[i];
        constants[i] = o->constants[i];
        if (!is_half(inputs[i].dtype)) continue;
        place here = {0, ons_elements(&inputs[i]), inputs[i].dtype};
        inputs[i].dtype = constants[i].type.dtype = ONS_FLOAT32;
        if (constants[i].data == NULL) continue;
        float *contents;
        ONS_NEW(contents, p->arena, (size_t)here.elements + 1);
        widen_half(&here, constants[i].data, contents);
        constants[i].data = contents;
    }
    ons_type *outputs;
    ONS_NEW(outputs, p->arena, o->output_count + 1);
    for (uint32_t i = 0; i < o->output_count; ++i) {
        outputs[i] = o->outputs[i];
        if (is_half(outputs[i].dtype)) outputs[i].dtype = ONS_FLOAT32;
    }
    o->inputs = inputs;
    o->constants = constants;
    o->outputs = outputs;
    return NULL;
}

static ons_status *half_prepare(ons_prepare *p) {
    const ons_operands *outside = p->operands;
    stand_in *s;
    ONS_TRY(make_stand_in(p, &s));
    ONS_TRY(widen_operands(p, &s->operands));
    for (uint32_t i = 0; i < outside->input_count; ++i)
        if (is_half(outside->inputs[i].dtype)) ONS_TRY(reserve(p, &outside->inputs[i], 4, &s->inputs[i]));
    for (uint32_t i = 0; i < outside->output_count; ++i) {
        if (!is_half(outside->outputs[i].dtype)) continue;
        uint32_t state = state_of(outside->op, i);
        if (state != ONS_NONE && state < outside->input_count && s->inputs[state].offset >= 0)
            s->outputs[i] = s->inputs[state];
        else
            ONS_TRY(reserve(p, &outside->outputs[i], 4, &s->outputs[i]));
    }
    ons_prepare inner = *p;
    inner.operands = &s->operands;
    inner.scratch_bytes = 0;
    inner.scratch_limit = p->scratch_limit - p->scratch_bytes;
    const ons_kernel *kernel = NULL;
    ons_status *status = ons_backend_prepare_own(p->backend, &inner, &kernel);
    s->run = kernel == NULL ? NULL : kernel->run;
    s->inner_state = inner.state;
    s->destroy_inner = inner.destroy;
    s->inner_scratch = p->scratch_bytes;
    p->scratch_bytes += inner.scratch_bytes;
    p->state = s;
    p->destroy = destroy;
    p->implementation = inner.implementation;
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- choice */

typedef struct dtypes {
    bool any_half, any_other; /* other than float32 */
} dtypes;

static void note(dtypes *d, ons_dtype dtype) {
    d->any_half |= is_half(dtype);
    d->any_other |= !is_half(dtype) && dtype != ONS_FLOAT32 && dtype != ONS_NO_DTYPE;
}

static dtypes dtypes_of(const ons_operands *o) {
    dtypes d = {0};
    for (uint32_t i = 0; i < o->input_count; ++i) note(&d, o->inputs[i].dtype);
    for (uint32_t i = 0; i < o->output_count; ++i) note(&d, o->outputs[i].dtype);
    return d;
}

ons_status *ons_widened_prepare(ons_prepare *p) {
    if (!dtypes_of(p->operands).any_half) return ons_node_error(p->operands, "nothing to widen");
    return half_prepare(p);
}

void ons_widened_run(const ons_launch *launch) { half_run(launch); }

ons_status *ons_stand_in_reference_prepare(ons_prepare *p) {
    dtypes d = dtypes_of(p->operands);
    if (!d.any_half && !d.any_other) return ons_node_error(p->operands, "the reference is no match for float32");
    return ons_reference_prepare(p);
}
