#include "kernels/deform_conv/cuda_deformable.h"

ons_status *ons_cuda_deformable_prepare(ons_prepare *p, const ons_deformable *d, bool bias, int copies) {
    ONS_TRY(ons_require_float32(p->operands));
    ons_cuda_deformable *s;
    ONS_NEW_STATE(s, p);
    *s = (ons_cuda_deformable){*d, bias, d->channels * d->taps * d->positions};
    p->scratch_bytes = (copies * s->columns * (int64_t)sizeof(float) + 63) / 64 * 64;
    p->implementation = "cuda:columns";
    return ons_require_scratch(p, p->scratch_bytes);
}
