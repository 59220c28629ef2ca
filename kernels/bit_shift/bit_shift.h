/* BitShift: what its files share. */
#ifndef ONSTAGE_KERNELS_BIT_SHIFT_BIT_SHIFT_H
#define ONSTAGE_KERNELS_BIT_SHIFT_BIT_SHIFT_H

#include <string.h>

#include "kernels/common/operator/kernel.h"

enum { DIRECTION };

static inline bool goes_left(const ons_operands *o) { return strcmp(ons_attribute_string(o, DIRECTION), "LEFT") == 0; }

#endif
