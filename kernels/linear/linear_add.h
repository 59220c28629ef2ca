/* LinearAdd: which of its inputs is which. */
#ifndef ONSTAGE_KERNELS_LINEAR_LINEAR_ADD_H
#define ONSTAGE_KERNELS_LINEAR_LINEAR_ADD_H

#include "kernels/linear/fully_connected.h"

/* The input that is added: the last. In front of it is the bias, as input 2, or there is none. */
static inline uint32_t ons_linear_added(const ons_operands *o) { return o->input_count - 1; }

#endif
