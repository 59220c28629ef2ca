/* MelWeightMatrix on the CPU. */
#include "kernels/common/operator/stand_in.h"

ONS_KERNELS(cpu, mel_weight_matrix, ONS_REFERENCE_KERNEL)
