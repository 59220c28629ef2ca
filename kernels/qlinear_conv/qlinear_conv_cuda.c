/* QLinearConv on CUDA. */
#include "kernels/backend.h"

ONS_NO_KERNEL(cuda, qlinear_conv, "it computes in integers, for inference alone")
