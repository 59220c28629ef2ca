/* Declares every operator (ons_op_add, …), for files that build nodes of others. */
#ifndef ONSTAGE_KERNELS_OPERATORS_H
#define ONSTAGE_KERNELS_OPERATORS_H

#include "graph/operator.h"

#define ONS_OPERATOR(SYMBOL)            extern const ons_operator ons_op_##SYMBOL;
#define ONS_GRAPH_OPERATOR(SYMBOL, WHY) ONS_OPERATOR(SYMBOL)
#include "kernels/operators.inc"
#undef ONS_OPERATOR
#undef ONS_GRAPH_OPERATOR

#endif
