/* What CUDA needs of rms_norm.h. */
#include "kernels/normalization/rms_norm.h"

#include "kernels/normalization/cuda_norm.h"

ons_status *ons_rms_norm_cuda_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_cuda_norm *state;
    ONS_NEW_STATE(state, p);
    ONS_TRY(ons_cuda_norm_types(o, 0, 1, state));
    state->epsilon = (float)ons_attribute_float(o, ONS_RMS_EPSILON);
    p->implementation = "cuda:rows";
    return ons_rms_norm_find_norm(o, &state->norm);
}
