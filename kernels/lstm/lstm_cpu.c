/* LSTM on the CPU. */
#include "kernels/recurrent/recurrent.h"

static ons_status *lstm_prepare(ons_prepare *p) { return ons_recurrent_prepare(p, ONS_CELL_LSTM); }

ONS_KERNELS(cpu, lstm, ONS_KERNEL(lstm_prepare, ons_recurrent_run))
