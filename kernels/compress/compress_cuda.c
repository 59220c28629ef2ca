/* Compress on CUDA. */
#include "kernels/backend.h"

ONS_NO_KERNEL(cuda, compress, "it becomes a Gather when shapes are bound")
