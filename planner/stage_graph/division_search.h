/* Whether a graph can be divided into stages such that none takes longer than a limit for a sample of the step, and
 * how: the dynamic program of GraphPipe (section 5, Algorithm 1) over the parts that a graph is made of.
 *
 * Stages are intervals of the decomposition's order. Of a part with so many devices, and of what stands behind it, the
 * search finds the division with the fewest samples in flight at its beginning, and of these one whose fullest device
 * holds least. A part can be divided in four ways:
 * - it is one stage, on 2^r devices;
 * - a row is a stage of its first children and the rest, or its first child divided and the rest;
 * - branches are divided each for itself, or neighbours among them are one stage;
 * - a stage has the common end of branches with what one of them, or its own end, has in front of it; or their common
 *   beginning with what one of them, or its own beginning, has behind it.
 *
 * Where sizes of micro-batches differ, stages that stand first in what follows a stage have the same.
 */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_DIVISION_SEARCH_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_DIVISION_SEARCH_H

#include "planner/stage_graph/interval_costs.h"
#include "planner/stage_graph/series_parallel.h"

enum { ONS_PACES_MOST = 64 };

typedef struct ons_division_search ons_division_search;

/* `costs` are of the decomposition's order; both outlive the search. Devices: fewer than 1024. */
ons_status *ons_division_search_new(const ons_series_parallel *graph, ons_interval_costs *costs,
                                    ons_division_search **search);
void ons_division_search_free(ons_division_search *search); /* NULL is fine */

/* Sets the paces that stages may have (samples of a micro-batch: powers of two that divide the batch), at most
 * ONS_PACES_MOST, which stay where they are; what was found for others is forgotten. */
void ons_division_search_set_paces(ons_division_search *search, const ons_stage_pace *paces, uint32_t count);

/* Gives seconds for a sample that no division can be faster than. */
double ons_division_search_least_seconds(const ons_division_search *search);

/* Searches for a division within `limit`. `least_memory`: ties are broken; otherwise the first of equals is taken,
 * which is quicker. Not found: stage_count 0. In `arena`: predicted, all of it. */
ons_status *ons_division_search_run(ons_division_search *search, double limit, bool least_memory, ons_arena *arena,
                                    ons_stage_graph *graph);

#endif
