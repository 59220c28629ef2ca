/* LSTM on CUDA: what the host works out. */
#include "kernels/recurrent/cuda_recurrent.h"
#include "kernels/recurrent/recurrent.h"

static ons_status *lstm_prepare_cuda(ons_prepare *p) { return ons_cuda_recurrent_prepare(p, ONS_CELL_LSTM); }

ONS_KERNELS(cuda, lstm, ONS_KERNEL(lstm_prepare_cuda, ons_cuda_recurrent_run))
