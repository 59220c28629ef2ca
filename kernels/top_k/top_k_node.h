/* Numbers of TopK's inputs and attributes, its sizes, and how its kernels are prepared. For C: the .cu file includes
 * top_k.h. */
#ifndef ONSTAGE_KERNELS_TOP_K_TOP_K_NODE_H
#define ONSTAGE_KERNELS_TOP_K_TOP_K_NODE_H

#include "graph/operator.h"
#include "kernels/top_k/top_k.h"

enum { DATA, COUNT };

enum { AXIS, LARGEST, SORTED };

ons_status *ons_top_k_make_state(const ons_operands *o, ons_top_k *s);

ons_status *ons_top_k_prepare(ons_prepare *p);

#endif
