/* Mod on CUDA: what the host works out. */
#include "kernels/mod/mod.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_mod;

static ons_status *mod_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_number_prepare(p));
    ((ons_cuda_elementwise *)p->state)->parameters[0] = ons_attribute_int(p->operands, FMOD) != 0 ? 1 : 0;
    return NULL;
}

ONS_KERNELS(cuda, mod, ONS_KERNEL(mod_prepare_cuda, ons_cuda_run_mod))
