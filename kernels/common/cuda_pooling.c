#include "kernels/common/cuda_pooling.h"

#include "kernels/common/cuda_elementwise.h"

ons_status *ons_cuda_pooling_prepare(ons_prepare *p, const ons_pooling *pooling, ons_cuda_pooling **state) {
    const ons_operands *o = p->operands;
    ons_cuda_pooling *s;
    ons_dtype dtype = pooling->x.dtype;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_cuda_require_float(o, dtype));
    ONS_NEW(s, p->arena, 1);
    *s = (ons_cuda_pooling){.dtype = dtype,
                            .window = pooling->window,
                            .planes = pooling->x.shape.dims[0] * pooling->x.shape.dims[1],
                            .inputs = ons_window_inputs(&pooling->window),
                            .outputs = ons_window_outputs(&pooling->window),
                            .include_pad = pooling->include_pad,
                            .wide_position = pooling->position == ONS_INT32};
    p->state = *state = s;
    p->implementation = "cuda:windows";
    return NULL;
}
