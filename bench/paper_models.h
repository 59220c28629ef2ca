/* The four models of DawnPiper's evaluation (section 5.1), and what a strategy makes of one: for //bench:paper_tables.
 */
#ifndef ONSTAGE_BENCH_PAPER_MODELS_H
#define ONSTAGE_BENCH_PAPER_MODELS_H

#include "engine/plan/plan_input.h"
#include "planner/search/planner.h"

enum { PAPER_MODELS = 4, PAPER_KEPT = 48, PAPER_CEILING = -1, PAPER_PLAIN_CEILING = -2, PAPER_STAGES_MAX = 8 };

/* Beside the planner's partition strategies: stages whose k_x M_x are equal, the whole micro-batch's memory with
 * weights and optimiser states counted once for each micro-batch in flight, as in the paper's Algorithm 2 and
 * equation 2. */
#define PAPER_ALGORITHM_2 "algorithm 2"

/* What is fixed about a model. */
typedef struct paper_subject {
    const char *name, *path;
    const char *dims[2]; /* the free dimensions that the calibration sets, all to one size; NULL: no further one */
    const char *what;    /* that size, for people */
    const char *option, *value; /* one more setting */
    int64_t step, most;         /* sizes are multiples of `step` up to `most` */
    int64_t zero2_samples;      /* what fits one of four devices under ZeRO-2, by the paper's Table 1 */
} paper_subject;

extern const paper_subject paper_subjects[PAPER_MODELS];

typedef struct paper_kept {
    int64_t rows;
    ons_plan_input input;
} paper_kept;

/* A model with its size chosen; the workloads of the micro-batches that were last asked for are kept. */
typedef struct paper_model {
    const paper_subject *subject;
    int64_t size;
    ons_device_profile profile;
    ons_config *config;
    ons_model *model;
    paper_kept kept[PAPER_KEPT];
    uint32_t kept_count, next;
    ons_arena *arena;
} paper_model;

/* Opens it and chooses the largest size at which as many samples fit a device under ZeRO-2 on four of them as in the
 * paper, which does not say what sizes it took. */
ons_status *paper_model_open(const paper_subject *subject, const char *profile, paper_model *model);
/* Samples of another size. */
ons_status *paper_model_resize(paper_model *model, int64_t size);
void paper_model_close(paper_model *model);

enum {
    PAPER_BLIND = 1,   /* stages are balanced in time as if memory had no end, then must fit */
    PAPER_NO_SWAP = 2, /* memory is saved by recomputing alone */
};

/* A way to train it. */
typedef struct paper_method {
    const char *title;
    const char *partition, *memory; /* strategies by name */
    const ons_generator *kind;
    int zero; /* the level of ZeRO instead; 0: a pipeline; PAPER_CEILING: what no plan can exceed; PAPER_PLAIN_CEILING:
                 nor any that swaps and recomputes nothing */
    unsigned flags; /* of PAPER_BLIND and PAPER_NO_SWAP */
} paper_method;

int64_t paper_capacity(const paper_model *model);
/* The workload of a micro-batch of `rows` samples; the model keeps it. */
ons_status *paper_work(paper_model *model, int64_t rows, const ons_workload **work);
/* Everything in `arena`. */
ons_status *paper_plan(paper_model *model, const paper_method *method, uint32_t stages, int64_t rows, ons_arena *arena,
                       ons_planned *planned);
/* The most samples in a micro-batch (ZeRO: in a device's share) that fit; 0: not even one. Numbers from 128 on are
 * found to 1/64. In: a guess, 0 for none. */
ons_status *paper_largest(paper_model *model, const paper_method *method, uint32_t stages, int64_t *rows);

#endif
