/* From a node of a graph to the operands that its operator sees. */
#ifndef ONSTAGE_GRAPH_OPERANDS_H
#define ONSTAGE_GRAPH_OPERANDS_H

#include "graph/operator.h"

/* Fills `operands` (arrays from `arena`) with the types, known contents and attributes of a node. The outputs' types
 * are those of its values, ONS_NO_DTYPE where left out; `output_count` is at least the node's. */
ons_status *ons_operands_of(const ons_graph *graph, ons_node_id node, ons_arena *arena, ons_operands *operands);

/* Fills `operands` for a node that does not exist yet; outputs start as ONS_NO_DTYPE, as many as the operator can have,
 * but at least `output_count`. */
ons_status *ons_operands_make(const ons_graph *graph, const ons_operator *op, const char *name,
                              const ons_attribute *attributes, const ons_value_id *inputs, uint32_t input_count,
                              uint32_t output_count, ons_arena *arena, ons_operands *operands);

/* Arity and element types first, then the operator's own rule; every output that results has passed ons_shape_check. */
ons_status *ons_operands_infer(ons_operands *operands);

#endif
