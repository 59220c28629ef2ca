/* ReverseSequence on CUDA: what the host works out. */
#include "kernels/reverse_sequence/reverse_sequence_node.h"

ONS_CUDA_KERNEL(reverse_sequence, ons_reverse_sequence_prepare)
