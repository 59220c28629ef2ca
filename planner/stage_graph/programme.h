/* Whether a graph can be divided into stages such that none takes longer than a limit for a sample of the step, and
 * how: the dynamic programme of GraphPipe (section 5, Algorithm 1) over the parts that a graph is made of.
 *
 * Stages are intervals of the decomposition's order. Of a part with so many devices, and of what stands behind it, the
 * programme finds the division with the fewest samples in flight at its beginning, and of these one whose fullest
 * device holds least. A part can be
 *
 *   one stage       a row: a stage of its first children, and the rest         branches: each for itself, or
 *   on 2^r devices       its first child divided, and the rest                          neighbours in one stage
 *                        a stage of branches' common end with what one of them, or its end, has in front of it,
 *                        and likewise with their common beginning
 *
 * Where sizes of micro-batches differ, stages that stand first in what follows a stage have the same.
 */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_PROGRAMME_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_PROGRAMME_H

#include "planner/stage_graph/interval_costs.h"
#include "planner/stage_graph/series_parallel.h"

enum { ONS_PACES_MOST = 64 };

typedef struct ons_programme ons_programme;

/* `costs` are of the decomposition's order; both outlive the programme. Devices: fewer than 1024. */
ons_status *ons_programme_new(const ons_series_parallel *graph, ons_interval_costs *costs, ons_programme **programme);
void ons_programme_free(ons_programme *programme); /* NULL is fine */

/* Sets the paces that stages may have (samples of a micro-batch: powers of two that divide the batch), at most
 * ONS_PACES_MOST, which stay where they are; what was found for others is forgotten. */
void ons_programme_set_paces(ons_programme *programme, const ons_stage_pace *paces, uint32_t count);

/* Gives seconds for a sample that no division can be faster than. */
double ons_programme_least_seconds(const ons_programme *programme);

/* Searches for a division within `limit`. `least_memory`: ties are broken; otherwise the first of equals is taken,
 * which is quicker. Not found: stage_count 0. In `arena`: predicted, all of it. */
ons_status *ons_programme_search(ons_programme *programme, double limit, bool least_memory, ons_arena *arena,
                                 ons_stage_graph *graph);

#endif
