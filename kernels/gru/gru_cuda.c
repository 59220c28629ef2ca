/* GRU on CUDA: what the host works out. */
#include "kernels/recurrent/cuda_recurrent.h"
#include "kernels/recurrent/recurrent.h"

static ons_status *gru_prepare_cuda(ons_prepare *p) { return ons_cuda_recurrent_prepare(p, ONS_CELL_GRU); }

ONS_KERNELS(cuda, gru, ONS_KERNEL(gru_prepare_cuda, ons_cuda_recurrent_run))
