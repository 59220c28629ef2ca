/* ReverseSequence on CUDA: what the host works out. */
#include "kernels/reverse_sequence/reverse_sequence_node.h"

extern ons_run_function ons_cuda_run_reverse_sequence;

ONS_KERNELS(cuda, reverse_sequence, ONS_KERNEL(ons_reverse_sequence_prepare, ons_cuda_run_reverse_sequence))
