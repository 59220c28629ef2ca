/* The state of Bernoulli's kernels, from a node. For C: the .cu file includes bernoulli.h. */
#ifndef ONSTAGE_KERNELS_BERNOULLI_BERNOULLI_NODE_H
#define ONSTAGE_KERNELS_BERNOULLI_BERNOULLI_NODE_H

#include "graph/operator.h"
#include "kernels/bernoulli/bernoulli.h"

ons_status *ons_bernoulli_make_state(ons_prepare *p);

#endif
