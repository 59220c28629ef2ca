/* What a plan's evaluator is made of: plan_evaluation.c reads the file and lets devices compute,
 * plan_evaluation_links.c lets values go between them. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_PLAN_EVALUATION_PARTS_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_PLAN_EVALUATION_PARTS_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "tests/rooms/planner/event_graph.h"

typedef struct judged_action {
    char kind; /* F B I W U */
    uint32_t stage, copy, micro_batch;
    bool halved; /* F */
} judged_action;

typedef struct pieces {
    double *seconds, *weight; /* `weight`: of them, weight gradients */
    uint32_t count;
} pieces;

typedef struct copy {
    double seconds;
    uint32_t out_after, used_by, in_before, needed_by;
    uint32_t gone_forward, gone_backward, gone_later; /* NONE: not there */
} copy;

/* Where a value is made or taken: events of one stage's action. */
typedef struct place {
    uint32_t *pieces; /* of an F in halves: those of the second half */
    uint32_t before;  /* the last of what stands in front of the action in its list */
    uint32_t half;    /* of an F in halves: the piece of the first half */
    bool apart;       /* an I */
} place;

/* A stage, or one of its replicas, whose micro-batches are its own. */
typedef struct stage {
    uint32_t device;
    uint32_t number, replica; /* of the file's stage; among its replicas */
    uint32_t size, replicas;  /* how many of the step's micro-batches are one of its own; how many take them in turn */
    pieces forward, backward;
    copy *copies;
    uint32_t copy_count;
    double reduce_seconds, update_seconds;
    /* what the lists say */
    place *forward_at, *backward_at;     /* [micro-batch] */
    uint32_t *left;                      /* [micro-batch * copies + copy]: the event at which the tensor has left */
    uint32_t *order;                     /* [i]: the micro-batch of the i-th F */
    uint32_t forwards, ended, in_flight; /* F so far, B or W so far, and the most that the one was ahead of the other */
    bool fresh;                          /* the last F has no B or I behind it yet */
    uint32_t last_gradient, sum, update; /* events; sum: the first that needs all replicas' gradients */
} stage;

/* The last events so far of what goes one after another. */
typedef struct device {
    uint32_t compute, out, in;
} device;

typedef struct evaluator {
    const cJSON *costs;
    stage *stages; /* replica behind replica */
    device *devices;
    uint32_t stage_count; /* with replicas */
    uint32_t *first;      /* [the file's stage]: its first replica */
    uint32_t file_stages, device_count, micro_batches;
    event_graph graph;
    char *why;
} evaluator;

enum { NONE = 0xffffffffu };

static inline const cJSON *member(const cJSON *o, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

static inline double number(const cJSON *o, const char *name) {
    const cJSON *item = member(o, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static inline uint32_t whole(const cJSON *o, const char *name) { return (uint32_t)number(o, name); }
static inline uint32_t whole_or_none(const cJSON *o, const char *name) {
    return member(o, name) ? whole(o, name) : NONE;
}

static inline void wait_for(evaluator *j, uint32_t after, uint32_t before) {
    event_graph_wait(&j->graph, after, before);
}

static inline stage *stage_of(const evaluator *j, const judged_action *a) {
    return &j->stages[j->first[a->stage] + a->copy];
}

/* Memory of zeros, or the end. */
void *allocate(size_t count, size_t size);
/* False: it is none, and `why` says so. */
bool read_action(const evaluator *j, const cJSON *item, judged_action *action);

/* What goes between stages, when all lists have been gone through. */
void add_links(evaluator *j, const cJSON *lists);
void add_ties(evaluator *j);
/* Replicas of a stage wait for each other's gradients. */
void add_sums(evaluator *j);

#endif
