/* ConvInteger on CUDA. */
#include "kernels/backend.h"

ONS_NO_KERNEL(cuda, conv_integer, "it computes in integers, for inference alone")
