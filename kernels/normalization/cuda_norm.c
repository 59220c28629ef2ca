#include "kernels/normalization/cuda_norm.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

/* Scale and bias may be float32 beside a half type. */
ons_status *ons_cuda_norm_types(const ons_operands *o, uint32_t x, uint32_t scale, ons_cuda_norm *norm) {
    norm->dtype = o->inputs[x].dtype;
    norm->affine = o->inputs[scale].dtype;
    ONS_TRY(ons_cuda_require_plain(o));
    return ons_cuda_require_float(o, norm->dtype);
}

void ons_cuda_norm_gradient(ons_prepare *p, uint32_t extra, ons_cuda_norm *norm) {
    norm->extra = extra;
    norm->adds = ons_has_input(p->operands, extra);
    norm->adds_before = ons_has_input(p->operands, extra + 1);
    int64_t parts = (norm->norm.rows + ONS_CUDA_PART_ROWS - 1) / ONS_CUDA_PART_ROWS;
    norm->parts = parts < 1 ? 1 : parts > ONS_CUDA_PARTS_MAX ? ONS_CUDA_PARTS_MAX : (int)parts;
    p->scratch_bytes = (2 * norm->parts * norm->norm.columns * (int64_t)sizeof(float) + 63) / 64 * 64;
}
