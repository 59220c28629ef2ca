/* DropoutTraining on CUDA: what the host works out. */
#include "kernels/dropout_training/dropout_training.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

static ons_status *dropout_training_prepare_cuda(ons_prepare *p) {
    ONS_TRY(ons_cuda_require_float(p->operands, p->operands->inputs[0].dtype));
    return ons_cuda_prepare_like_cpu(p, ons_dropout_training_make_state);
}

ONS_CUDA_KERNEL(dropout_training, dropout_training_prepare_cuda)
