/* Whether a value is what a layer makes, without anything behind it that could normalise. */
#ifndef ONSTAGE_ENGINE_MODEL_RAW_NUMBERS_H
#define ONSTAGE_ENGINE_MODEL_RAW_NUMBERS_H

#include "graph/operator.h"

/* True where the value comes from products with weights by nodes that move, add, scale, pool or bend single elements:
 * such numbers are no logarithms of probabilities. False where that is not known. */
bool ons_makes_raw_numbers(const ons_graph *graph, ons_value_id value);

#endif
