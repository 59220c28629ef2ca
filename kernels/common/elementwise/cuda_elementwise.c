#include "kernels/common/elementwise/cuda_elementwise.h"

#include <string.h>

#include "kernels/common/elementwise/broadcast.h"

static ons_status *prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_alike(o));
    if (o->input_count > ONS_CUDA_OPERANDS)
        return ons_node_error(o, "%u operands, the CUDA kernel takes at most %d", o->input_count, ONS_CUDA_OPERANDS);
    ons_broadcast *walk;
    ons_cuda_elementwise *state;
    ONS_TRY(ons_broadcast_prepare(p, NULL, &walk));
    ONS_NEW_STATE(state, p);
    state->dtype = o->inputs[0].dtype;
    state->second_dtype = o->input_count > 1 ? o->inputs[1].dtype : ONS_NO_DTYPE;
    state->output_dtype = o->outputs[0].dtype;
    state->input_count = o->input_count;
    state->elements = walk->elements;
    state->rank = walk->rank;
    memcpy(state->dims, walk->dims, sizeof state->dims);
    for (uint32_t i = 0; i < o->input_count; ++i) memcpy(state->strides[i], walk->strides[i], sizeof state->strides[i]);
    ons_take_float_attributes(o, state->parameters, ONS_CUDA_PARAMETERS);
    p->implementation = "cuda:elementwise";
    return NULL;
}

ons_status *ons_cuda_flat_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_alike(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_elementwise *state;
    ONS_NEW_STATE(state, p);
    state->dtype = o->inputs[0].dtype;
    state->output_dtype = o->outputs[0].dtype;
    state->input_count = o->input_count;
    state->elements = ons_elements(&o->inputs[0]);
    state->rank = 1;
    state->dims[0] = state->elements;
    ons_take_float_attributes(o, state->parameters, ONS_CUDA_PARAMETERS);
    p->implementation = "cuda:flat";
    return NULL;
}

static bool is_number(ons_dtype dtype) { return dtype == ONS_INT64 || dtype == ONS_INT32; }

ons_status *ons_cuda_float_prepare(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    return prepare(p);
}

ons_status *ons_cuda_number_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    if (!is_number(dtype)) ONS_TRY(ons_cuda_require_float(p->operands, dtype));
    return prepare(p);
}

ons_status *ons_cuda_any_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    if (!is_number(dtype) && dtype != ONS_BOOL && dtype != ONS_UINT8)
        ONS_TRY(ons_cuda_require_float(p->operands, dtype));
    return prepare(p);
}

ons_status *ons_cuda_move_prepare(ons_prepare *p) { return prepare(p); }

ons_status *ons_cuda_bool_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    return dtype == ONS_BOOL ? prepare(p) : ons_cuda_refuse_dtype(p->operands, dtype);
}

ons_status *ons_cuda_leading_prepare(ons_prepare *p, uint32_t count) {
    ons_operands leading = *p->operands;
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    for (uint32_t i = 1; i < leading.input_count; ++i)
        if (ons_has_input(&leading, i) && leading.inputs[i].dtype != leading.inputs[0].dtype)
            return ons_node_error(p->operands, "the CUDA kernel wants operands of one type");
    leading.input_count = count;
    const ons_operands *all = p->operands;
    p->operands = &leading;
    ons_status *status = prepare(p);
    p->operands = all;
    if (status == NULL) ((ons_cuda_elementwise *)p->state)->input_count = all->input_count;
    return status;
}

/* The step that joins `left` and input `index`. */
static ons_status *prepare_step(ons_prepare *p, const ons_type *left, uint32_t index, ons_cuda_elementwise *step) {
    ons_operands pair = *p->operands;
    ons_type inputs[2] = {*left, pair.inputs[index < pair.input_count ? index : 0]};
    pair.inputs = inputs;
    pair.input_count = index < p->operands->input_count ? 2 : 1;
    ons_prepare own = *p;
    own.operands = &pair;
    ONS_TRY(prepare(&own));
    *step = *(const ons_cuda_elementwise *)own.state;
    step->parameters[0] = 1;
    return NULL;
}

ons_status *ons_cuda_variadic_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (!is_number(o->inputs[0].dtype)) ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_variadic *state;
    ons_cuda_elementwise *steps;
    ONS_NEW_STATE(state, p);
    state->steps = o->input_count > 1 ? o->input_count - 1 : 1;
    ONS_NEW(steps, p->arena, state->steps);
    ONS_TRY(prepare_step(p, &o->inputs[0], 1, &steps[0]));
    for (uint32_t i = 1; i < state->steps; ++i) ONS_TRY(prepare_step(p, &o->outputs[0], i + 1, &steps[i]));
    steps[state->steps - 1].parameters[0] = (float)o->input_count;
    /* What is joined so far cannot lie in the output, which may be the memory of an operand that is still to be read.
     */
    if (state->steps > 1) p->scratch_bytes = (ons_type_dense_bytes(&o->outputs[0]) + 63) / 64 * 64;
    if (p->scratch_bytes > p->scratch_limit)
        return ons_node_error(o, "the CUDA kernel needs %lld bytes of scratch", (long long)p->scratch_bytes);
    state->step = steps;
    p->implementation = "cuda:two at a time";
    return NULL;
}

ons_status *ons_cuda_cast_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const ons_dtype both[] = {o->inputs[0].dtype, o->outputs[0].dtype};
    for (int i = 0; i < 2; ++i)
        if (!is_number(both[i]) && both[i] != ONS_BOOL && both[i] != ONS_UINT8)
            ONS_TRY(ons_cuda_require_float(o, both[i]));
    ons_operands first = *o;
    first.input_count = 1;
    p->operands = &first;
    ons_status *status = prepare(p);
    p->operands = o;
    return status;
}
