/* Training with replicas, or with copies of stages, in sequence: what they must come to, bit by bit. One program of the
 * whole graph runs the micro-batches of one replica after the other; what each replica's have added up is kept, added
 * in the order of the replicas, and put where the update reads it. It knows of no messages, buckets or slices. The host
 * adds, on whichever device the micro-batches run. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_GROUPED_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_GROUPED_H

#include "engine/stages/dataset_graphs.h"

typedef struct grouped grouped;

/* Model and configuration outlive it; `batching` says how many replicas there are. `backwards`: sums are taken from the
 * last replica to the first. */
ons_status *grouped_new(const ons_model *model, const ons_config *config, const ons_batching *batching, int threads,
                        bool backwards, grouped **result);
void grouped_free(grouped *g); /* NULL is fine */

/* Copies of stages in the place of replicas: micro-batch m of stage s, as the graph is cut, is that of copy m mod
 * copies[s]. Before the first step; `graph` is like grouped's own. */
ons_status *grouped_follow(grouped *g, const ons_model_graph *graph, const ons_cut *cut, const uint32_t *copies);

/* *norm: NaN where nobody asks. */
ons_status *grouped_step(grouped *g, uint64_t step, double rate, double *loss, double *norm);

/* Square sum of a trained weight's gradient. */
ons_status *grouped_square(const grouped *g, uint32_t index, double *square);

ons_device_context *grouped_device_context(const grouped *g);

#endif
