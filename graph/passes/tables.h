/* Tables that a program computes and an exporter writes like weights: the zeros that a recurrence starts from, masks,
 * axes and grids of coordinates, series of frequencies. What a table holds does not suffice to tell it from a weight,
 * since weights may start from anything; so it must also be read as such a table is, and, where weights are known to
 * start so, have a name that only exporters give.
 *
 * | reason          | holds                                        | is read                            | name        |
 * |-----------------|----------------------------------------------|------------------------------------|-------------|
 * | ONS_FIRST_STATE | zeros                                        | as a first state                   | of a result |
 * | ONS_MASK        | 0 and one number of 100 or more, either sign | added, elementwise                 | any         |
 * |                 | a square triangle of ones and zeros          | elementwise, not added             | any         |
 * | ONS_COORDINATES | one grid, or one for each of 2 to 4 channels | added, elementwise, as coordinates | any         |
 * |                 | 0, 1, 2, 3, …                                | elementwise, not added             | any         |
 * |                 | even steps                                   | added, elementwise                 | of a result |
 * | ONS_FREQUENCIES | even ratios                                  | elementwise, not added             | of a result |
 *
 * Masks have two dimensions or more. Along a grid one axis counts and the others repeat it, in whole steps: of 1, or
 * from end to end, or from centre to centre, of a length of 1 or 2. Axes have four places or more. Nothing else may
 * read a table; its views and pieces count as it. */
#ifndef ONSTAGE_GRAPH_PASSES_TABLES_H
#define ONSTAGE_GRAPH_PASSES_TABLES_H

#include "graph/graph.h"

/* The reason why an initialiser of a graph as imported is such a table; ONS_WEIGHT where it is none. */
ons_role_reason ons_find_table(const ons_graph *graph, ons_value_id id);

/* Whether a tensor of floats holds a grid or an axis of coordinates, whatever reads it. */
bool ons_holds_coordinates(const ons_tensor *tensor);

#endif
