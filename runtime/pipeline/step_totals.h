/* Totals: numbers of a whole step, or of a whole dataset, that follow from the model's inputs alone and that its loss
 * divides or multiplies by (graph/passes/loss_parts.h): how many labels count, the sum of a mask.
 *
 * Two graphs compute them on the host, by the operators' references. `sums` takes `rows` samples at a time and makes
 * sums over those, which are added up over all samples; `finish` makes the totals of these sums. */
#ifndef ONSTAGE_RUNTIME_PIPELINE_STEP_TOTALS_H
#define ONSTAGE_RUNTIME_PIPELINE_STEP_TOTALS_H

#include "device/device.h"
#include "graph/passes/loss_parts.h"
#include "runtime/data/feed.h"

/* A sum in both graphs. */
typedef struct ons_totals_sum {
    ons_value_id made;  /* in `sums` */
    ons_value_id taken; /* in `finish` */
    bool mean;          /* over samples */
} ons_totals_sum;

typedef struct ons_totals_graphs {
    ons_graph *sums, *finish; /* owned */
    ons_arena *arena;         /* owned: the arrays */
    int64_t rows;
    ons_value_id *inputs; /* of `sums`, in the order of the model's inputs; ONS_NONE: it does not read that one */
    const char **names;   /* of these inputs in the dataset */
    uint32_t input_count;
    ons_totals_sum *parts;
    uint32_t part_count;
    ons_loss_factor *factors; /* constants of `finish` that grow with the number of samples */
    uint32_t factor_count;
    ons_value_id *totals; /* in `finish` */
    uint32_t count;
} ons_totals_graphs;

void ons_totals_graphs_free(ons_totals_graphs *graphs); /* a zeroed one is fine */

typedef struct ons_step_totals ons_step_totals;

/* `graphs` and `dataset` outlive it; so does `device`, whose host memory the totals lie in for copies to it (NULL:
 * any). */
ons_status *ons_step_totals_new(const ons_totals_graphs *graphs, ons_dataset *dataset, ons_device *device,
                                ons_step_totals **totals);
void ons_step_totals_free(ons_step_totals *totals); /* NULL is fine */

/* Computes the totals of these samples of the dataset into a slot of ONS_FEED_SLOTS. */
ons_status *ons_step_totals_find(ons_step_totals *totals, int slot, const uint64_t *rows, size_t count);

uint32_t ons_step_totals_count(const ons_step_totals *totals); /* 0 of NULL */

/* Finds where a total of a slot lies, in the bytes of its type. */
const void *ons_step_totals_get(const ons_step_totals *totals, int slot, uint32_t index, size_t *bytes);

#endif
