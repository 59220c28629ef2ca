/* Mod on CUDA: what the host works out. */
#include "kernels/mod/mod.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

static ons_status *mod_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_number_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_attribute_int(p->operands, FMOD) != 0 ? 1 : 0;
    return NULL;
}

ONS_CUDA_KERNEL(mod, mod_prepare_cuda)
