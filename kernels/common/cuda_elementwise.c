#include "kernels/common/cuda_elementwise.h"

#include <string.h>

#include "kernels/common/broadcast.h"

ons_status *ons_cuda_require_plain(const ons_operands *o) {
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && o->inputs[i].layout != ONS_LAYOUT_ONNX)
            return ons_node_error(o, "input %u has a layout of the CPU's", i);
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i) && o->outputs[i].layout != ONS_LAYOUT_ONNX)
            return ons_node_error(o, "output %u has a layout of the CPU's", i);
    return NULL;
}

static ons_status *refuse(const ons_operands *o, ons_dtype dtype) {
    return ons_node_error(o, "the CUDA kernel does not compute in %s", ons_dtype_name(dtype));
}

ons_status *ons_cuda_require_float(const ons_operands *o, ons_dtype dtype) {
    return dtype == ONS_FLOAT32 || dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16 ? NULL : refuse(o, dtype);
}

static ons_status *prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    if (o->input_count > ONS_CUDA_OPERANDS)
        return ons_node_error(o, "%u operands, the CUDA kernel takes at most %d", o->input_count, ONS_CUDA_OPERANDS);
    ons_broadcast *walk;
    ons_cuda_elementwise *state;
    ONS_TRY(ons_broadcast_prepare(p, NULL, &walk));
    ONS_NEW(state, p->arena, 1);
    state->dtype = o->inputs[0].dtype;
    state->output_dtype = o->outputs[0].dtype;
    state->input_count = o->input_count;
    state->elements = walk->elements;
    state->rank = walk->rank;
    memcpy(state->dims, walk->dims, sizeof state->dims);
    for (uint32_t i = 0; i < o->input_count; ++i) memcpy(state->strides[i], walk->strides[i], sizeof state->strides[i]);
    ons_take_float_attributes(o, state->parameters, ONS_CUDA_PARAMETERS);
    p->state = state;
    p->implementation = "cuda:elementwise";
    return NULL;
}

ons_status *ons_cuda_flat_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, o->inputs[0].dtype));
    ons_cuda_elementwise *state;
    ONS_NEW(state, p->arena, 1);
    state->dtype = o->inputs[0].dtype;
    state->output_dtype = o->outputs[0].dtype;
    state->input_count = o->input_count;
    state->elements = ons_elements(&o->inputs[0]);
    state->rank = 1;
    state->dims[0] = state->elements;
    ons_take_float_attributes(o, state->parameters, ONS_CUDA_PARAMETERS);
    p->state = state;
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

ons_status *ons_cuda_bool_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->inputs[0].dtype;
    return dtype == ONS_BOOL ? prepare(p) : refuse(p->operands, dtype);
}

ons_status *ons_cuda_prepare_like_cpu(ons_prepare *p, ons_prepare_function *like) {
    ONS_TRY(ons_cuda_require_plain(p->operands));
    ONS_TRY(like(p));
    p->implementation = "cuda";
    return NULL;
}
