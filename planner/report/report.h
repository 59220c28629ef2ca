/* What a capacity report says: gathered here, written by engine/report/report_*.c. */
#ifndef ONSTAGE_PLANNER_REPORT_REPORT_H
#define ONSTAGE_PLANNER_REPORT_REPORT_H

#include "planner/report/what_if.h"
#include "planner/simulate/pipeline_simulation.h"

/* What a layer keeps on its devices at the fullest time, so far as it can be told whose it is. */
typedef struct ons_report_layer {
    const char *name;
    uint32_t stage; /* the first that holds a node of it */
    int64_t held;   /* weights, versions, gradients, optimiser's states; a weight counts for its first user's layer */
    int64_t saved;  /* what its nodes made and a backward part reads: of all micro-batches in flight */
    int64_t moved;  /* bytes of tensors that are swapped or recomputed: not on the device */
    double seconds; /* forward and backward, of one micro-batch */
} ons_report_layer;

/* A question, and what came of it. */
typedef struct ons_report_row {
    const char *what; /* for people: "16 micro-batches instead of 4" */
    ons_question question;
    ons_answer answer;
    int rank; /* of changes: 0 costs nothing but time, 1 another training, 2 other hardware */
} ons_report_row;

typedef struct ons_report_rows {
    ons_report_row *items;
    uint32_t count;
} ons_report_rows;

enum { ONS_REPORT_WAYS = 3, ONS_REPORT_SQUEEZES = 5 }; /* of `squeezed`: columns and rows */
enum { ONS_REPORT_STAGES = 6, ONS_REPORT_BATCHES = 5, ONS_REPORT_MEMORIES = 3, ONS_REPORT_LAYERS = 10 };

/* grid[memory][stages][batch] */
typedef struct ons_report_grid {
    int64_t memories[ONS_REPORT_MEMORIES]; /* of the whole device */
    uint32_t stages[ONS_REPORT_STAGES];
    int64_t batches[ONS_REPORT_BATCHES];
    uint32_t memory_count, stage_count, batch_count;
    ons_report_row cells[ONS_REPORT_MEMORIES][ONS_REPORT_STAGES][ONS_REPORT_BATCHES];
} ons_report_grid;

typedef struct ons_report {
    ons_question asked;             /* what the plan is for */
    bool fits;                      /* it does; otherwise `shown` needs more than the cap */
    const ons_planned *shown;       /* the plan, or the one that needs the least memory; NULL: there is none */
    int64_t least_bytes;            /* where it does not fit: the smallest capacity that would do */
    int64_t fullest_bytes;          /* of the fullest device shown */
    ons_pipeline_forecast forecast; /* of what is shown */
    ons_report_layer *layers;       /* the largest first */
    uint32_t layer_count;
    int64_t largest_batch; /* 0: none, or not known */
    bool largest_is_bound; /* no larger one was tried */
    ons_answer largest;
    ons_report_rows strategies; /* what recompute and swap cost; the first one: no limit, nothing moved */
    ons_report_rows squeezed;   /* the ways of `strategies` that move something, in turn, with less and less memory */
    ons_report_rows devices;    /* each, the fewest that fit; not feasible: not so many as the most tried */
    ons_report_rows layouts;    /* stages and replicas on as many devices as asked for, twice and four times as many */
    ons_report_rows changes;    /* where it does not fit: what makes it, the cheapest first */
    ons_report_grid *grid;
} ons_report;

typedef struct ons_report_options {
    const ons_planned *planned; /* as the search left it, feasible or not */
    const ons_partition_strategy *partition;
    const ons_what_if_device *devices; /* the first: the one planned for */
    uint32_t device_count;
    int64_t batch, micro_batches; /* samples of all replicas; of each one */
    int64_t least_bytes;          /* the plan was found not to fit after all, but with so much; 0: as the search says */
} ons_report_options;

/* Makes a report, in `arena` but for the forecast's simulation: ons_report_free. The same plan gives the same report.
 */
ons_status *ons_report_make(const ons_report_options *options, ons_arena *arena, ons_report *report);
void ons_report_free(ons_report *report); /* a zeroed one is fine */

/* Parts of it. */
ons_status *ons_report_find_layers(const ons_planned *planned, ons_arena *arena, ons_report_layer **layers,
                                   uint32_t *count);
ons_status *ons_report_find_changes(const ons_report_options *options, const ons_question *asked, ons_arena *arena,
                                    ons_report_rows *rows);
/* The question's batch on so many devices in each of so many replicas. */
ons_question ons_report_layout(const ons_question *asked, uint32_t devices, uint32_t replicas);
/* The question's batch over every way to share so many devices between stages and replicas, by number of devices and
 * falling stages; what the batch or the schedule cannot be split into is left out, but for what is asked. */
ons_status *ons_report_find_layouts(const ons_question *asked, ons_arena *arena, ons_report_rows *rows);

/* Micro-batches of a batch on so many stages: as many as stages where it was so, else as they were. */
int64_t ons_report_micro_batches(const ons_question *asked, uint32_t stages);

#endif
