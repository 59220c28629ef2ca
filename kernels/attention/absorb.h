/* What moves elements around a node of attention becomes the node's own: replace functions of patterns. */
#ifndef ONSTAGE_KERNELS_ATTENTION_ABSORB_H
#define ONSTAGE_KERNELS_ATTENTION_ABSORB_H

#include "graph/operator.h"

/* "result" is attention: transposes, scales of queries and keys, heads that one layer makes of all three operands. */
ons_value_id ons_attention_absorb_operands(ons_match *match);

/* "result" is made of "a", attention with heads first, by moving its elements to another of the orders. */
ons_value_id ons_attention_absorb_result(ons_match *match);

#endif
