/* Rotation on CUDA: what the host works out. */
#include "kernels/rotation/rotation_node.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

extern ons_run_function ons_cuda_run_rotation;

static ons_status *rotation_prepare_cuda(ons_prepare *p) { return ons_cuda_prepare_typed(p, ons_rotation_prepare); }

ONS_KERNELS(cuda, rotation, ONS_KERNEL(rotation_prepare_cuda, ons_cuda_run_rotation))
