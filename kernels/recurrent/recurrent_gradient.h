/* RecurrentGradient: what its files share. */
#ifndef ONSTAGE_KERNELS_RECURRENT_RECURRENT_GRADIENT_H
#define ONSTAGE_KERNELS_RECURRENT_RECURRENT_GRADIENT_H

#include "kernels/recurrent/recurrent.h"

static inline ons_cell cell_of(const ons_operands *o) { return (ons_cell)ons_attribute_int(o, ONS_RECURRENT_CELL); }

#endif
