/* RNN on the CPU. */
#include "kernels/recurrent/recurrent.h"

static ons_status *rnn_prepare(ons_prepare *p) { return ons_recurrent_prepare(p, ONS_CELL_RNN); }

ONS_KERNELS(cpu, rnn, ONS_KERNEL(rnn_prepare, ons_recurrent_run))
