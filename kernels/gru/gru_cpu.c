/* GRU on the CPU. */
#include "kernels/recurrent/recurrent.h"

static ons_status *gru_prepare(ons_prepare *p) { return ons_recurrent_prepare(p, ONS_CELL_GRU); }

ONS_KERNELS(cpu, gru, ONS_KERNEL(gru_prepare, ons_recurrent_run))
