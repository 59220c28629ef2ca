/* The number of Trilu's attribute, and how its kernels are prepared. For C: the .cu file includes trilu.h. */
#ifndef ONSTAGE_KERNELS_TRILU_TRILU_NODE_H
#define ONSTAGE_KERNELS_TRILU_TRILU_NODE_H

#include "graph/operator.h"
#include "kernels/trilu/trilu.h"

enum { UPPER };

ons_status *ons_trilu_prepare(ons_prepare *p);

#endif
