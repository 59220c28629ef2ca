/* A solution that is carried out: what has happened so far, on devices and between them (README.md, "Times"). */
#ifndef ONSTAGE_BENCH_INSTANCES_RUN_H
#define ONSTAGE_BENCH_INSTANCES_RUN_H

#include "bench/instances/check.h"
#include "bench/instances/stage.h"

/* What a stage makes for another one. */
typedef struct value_link {
    uint32_t from, to;      /* stages */
    int64_t bytes;          /* of a micro-batch of `from`'s own */
    int64_t gradient_bytes; /* of one of `to`'s */
} value_link;

/* Memory that comes or goes on a device. At the same time things happen in the order of the device's list, and what
 * goes goes first. */
typedef struct change {
    double at;
    uint32_t device, action, phase; /* phase: 0 where the action begins, 1 where it ends, 2 after that */
    int64_t bytes;
} change;

/* An action that runs. */
typedef struct running {
    const solution_action *action;
    uint32_t device, place; /* in the device's list */
    uint32_t number;        /* of its micro-batch, among the stage's */
    double begin, end;
} running;

typedef struct run {
    const instance *in;
    solution s;
    const instance **scaled; /* [stage]: costs of as many micro-batches as it takes at once */
    stage_costs *costs;      /* [stage]: of a micro-batch of its own */
    value_link *links;
    uint32_t link_count;
    ons_arena *arena;
    /* of each device */
    uint32_t *next;                           /* in its list */
    double *free_at, *out_free, *back_free;   /* when it has ended what it does, and copies to the host and back */
    double *pair_free;                        /* [from * devices + to]: when the last message has arrived */
    uint32_t *forward_place, *backward_place; /* [stage * micro-batches + number]: in the list */
    double *value_there, *gradient_there;     /* [link * micro-batches + the step's micro-batch]; negative: not sent */
    double *gradients_done;                   /* [stage]: of all micro-batches and copies */
    uint32_t *left;                           /* [stage]: micro-batches without weight gradients */
    double **gone;                            /* [stage][number * swaps + swap]: when it has left for the host */
    change *changes;
    size_t change_count, change_room;
} run;

/* ----------------------------------------------------------------------------------------------------------- memory */

ons_status *run_note(run *r, double at, uint32_t device, uint32_t action, uint32_t phase, int64_t bytes);
/* Finds the most that a device holds; more than it has is ONS_INVALID_DATA. */
ons_status *run_check_memory(run *r, int64_t *most);

/* --------------------------------------------------------------------------------------------------------- messages */

ons_status *run_find_links(run *r);
/* Seconds of a message between two devices. */
double run_travel(const run *r, uint32_t from, uint32_t to, int64_t bytes);
/* Sends what the action has made, to every copy that has some of its micro-batch's share. */
ons_status *run_send(run *r, const running *a);
/* When all has come that the action reads from others; negative: it has not been sent. */
double run_arrival(const run *r, const solution_action *a);
/* Bytes that arrived for the action. */
int64_t run_arrived_bytes(const run *r, const solution_action *a);
/* When all readers have what the stage has sent of the micro-batch, of one tensor; negative: there is none. */
double run_last_reader(const run *r, uint32_t stage, uint32_t number, uint32_t tensor);
/* Adds up a step's messages between devices: seconds[from * devices + to]. */
void run_add_messages(const run *r, double *seconds);

/* ------------------------------------------------------------------------------------------------------------- host */

/* Runs a forward part, or input gradients (with weight gradients or without), node by node with the copies that it
 * starts and waits for; sets a->end. */
ons_status *run_with_copies(run *r, running *a);
/* What has been sent is there until it has arrived, whether it was copied or not; `a` has been sent. */
ons_status *run_let_go_swapped(run *r, const running *a);

#endif
