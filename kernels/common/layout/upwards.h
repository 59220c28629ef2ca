/* Reading a graph upwards, from a value to what it was made of: for operators that recognise a form. */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_UPWARDS_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_UPWARDS_H

#include "graph/graph.h"

/* The node that makes `value`, if it is an `op`. */
const ons_node *ons_made_by(const ons_graph *graph, ons_value_id value, const char *op);
bool ons_same_type(const ons_graph *graph, ons_value_id a, ons_value_id b);

/* The contents of a value, or NULL where they are not known. */
const ons_tensor *ons_known(const ons_graph *graph, ons_value_id value);
/* One element, read in place: masks over a large batch have hundreds of millions, and every attention of a model asks
 * about them, only as far as they can still tell anything. */
double ons_element_of(const ons_tensor *tensor, int64_t index);

/* Whether all elements are one known number. */
bool ons_is_number(const ons_graph *graph, ons_value_id value, double *number);
/* Steps over one multiplication or division by a number. */
bool ons_step_over_scale(const ons_graph *graph, ons_value_id *value, double *scale);

#endif
