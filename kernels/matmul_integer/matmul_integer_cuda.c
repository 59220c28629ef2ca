/* MatMulInteger on CUDA. */
#include "kernels/backend.h"

ONS_NO_KERNEL(cuda, matmul_integer, "it computes in integers, for inference alone")
