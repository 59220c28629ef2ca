#include "kernels/common/cuda/cuda_prepare.h"

ons_status *ons_cuda_require_plain(const ons_operands *o) {
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (ons_has_input(o, i) && o->inputs[i].layout != ONS_LAYOUT_ONNX)
            return ons_node_error(o, "input %u has a layout of the CPU's", i);
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i) && o->outputs[i].layout != ONS_LAYOUT_ONNX)
            return ons_node_error(o, "output %u has a layout of the CPU's", i);
    return NULL;
}

/* A single number lies the same in every layout. */
static bool lies_as(const ons_type *type, const ons_type *leading) {
    if (ons_elements(type) == 1) return true;
    if (ons_shape_equal(&type->shape, &leading->shape)) return type->layout == leading->layout;
    return type->layout == ONS_LAYOUT_ONNX && ons_layout_broadcasts(&leading->shape, leading->layout, &type->shape);
}

ons_status *ons_cuda_require_alike(const ons_operands *o) {
    const ons_type *leading = NULL;
    for (uint32_t i = o->output_count; i-- > 0;)
        if (ons_has_output(o, i)) leading = &o->outputs[i];
    for (uint32_t i = 0; leading != NULL && i < o->input_count; ++i)
        if (ons_has_input(o, i) && !lies_as(&o->inputs[i], leading))
            return ons_node_error(o, "input %u has another layout than the output", i);
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i) && !lies_as(&o->outputs[i], leading))
            return ons_node_error(o, "output %u has another layout than the first", i);
    return NULL;
}

ons_status *ons_cuda_refuse_dtype(const ons_operands *o, ons_dtype dtype) {
    return ons_node_error(o, "the CUDA kernel does not compute in %s", ons_dtype_name(dtype));
}

ons_status *ons_cuda_require_float(const ons_operands *o, ons_dtype dtype) {
    return dtype == ONS_FLOAT32 || dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16 ? NULL
                                                                                 : ons_cuda_refuse_dtype(o, dtype);
}

ons_status *ons_cuda_prepare_like_cpu(ons_prepare *p, ons_prepare_function *like) {
    ONS_TRY(ons_cuda_require_plain(p->operands));
    ONS_TRY(like(p));
    p->implementation = "cuda";
    return NULL;
}

/* A copy of the types with float32 in place of `dtype`. */
static ons_status *as_float32(const ons_prepare *p, ons_dtype dtype, const ons_type *types, uint32_t count,
                              ons_type **copy) {
    ONS_NEW(*copy, p->arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i) {
        (*copy)[i] = types[i];
        if (!ons_dtype_is_float(types[i].dtype)) continue;
        if (types[i].dtype != dtype) return ons_node_error(p->operands, "the CUDA kernel wants floats of one type");
        (*copy)[i].dtype = ONS_FLOAT32;
    }
    return NULL;
}

ons_status *ons_cuda_prepare_typed(ons_prepare *p, ons_prepare_function *like) {
    ONS_TRY(ons_cuda_require_plain(p->operands));
    return ons_cuda_prepare_typed_as_it_lies(p, like);
}

ons_status *ons_cuda_prepare_typed_as_it_lies(ons_prepare *p, ons_prepare_function *like) {
    const ons_operands *o = p->operands;
    ons_operands plain = *o;
    ons_type *inputs, *outputs;
    ons_cuda_typed *typed;
    ons_dtype dtype = ONS_FLOAT32;
    for (uint32_t i = o->output_count; i-- > 0;)
        if (ons_dtype_is_float(o->outputs[i].dtype)) dtype = o->outputs[i].dtype;
    for (uint32_t i = o->input_count; i-- > 0;)
        if (ons_dtype_is_float(o->inputs[i].dtype)) dtype = o->inputs[i].dtype;
    ONS_TRY(ons_cuda_require_float(o, dtype));
    ONS_TRY(as_float32(p, dtype, o->inputs, o->input_count, &inputs));
    ONS_TRY(as_float32(p, dtype, o->outputs, o->output_count, &outputs));
    ONS_NEW(typed, p->arena, 1);
    plain.inputs = inputs;
    plain.outputs = outputs;
    p->operands = &plain;
    ons_status *status = like(p);
    p->operands = o;
    ONS_TRY(status);
    p->implementation = "cuda";
    *typed = (ons_cuda_typed){dtype, p->state};
    p->state = typed;
    return NULL;
}
