/* The plans of three planners for one model, micro-batch and number of GPUs, reckoned alike. */
#ifndef ONSTAGE_BENCH_AUTOPIPE_PLANS_H
#define ONSTAGE_BENCH_AUTOPIPE_PLANS_H

#include "bench/autopipe_models.h"

enum { AUTOPIPE_BATCHES = 3, AUTOPIPE_MOST_STAGES = 16 };
typedef enum autopipe_planner { DAPPLE, PIPER, AUTOPIPE, AUTOPIPE_PLANNERS } autopipe_planner;

typedef struct autopipe_case {
    autopipe_model model;
    uint32_t gpus;
    int64_t batches[AUTOPIPE_BATCHES];                 /* samples of a step */
    double paper[AUTOPIPE_PLANNERS][AUTOPIPE_BATCHES]; /* seconds of a step, table IV; 0: out of memory */
    uint32_t paper_stages[AUTOPIPE_PLANNERS];          /* sections IV-D and E */
} autopipe_case;

/* One planner's. Where replicas share a micro-batch, a stage's time is that of the largest share. */
typedef struct autopipe_plan {
    uint32_t stages;                            /* 0: none fits */
    uint32_t first[AUTOPIPE_MOST_STAGES + 1];   /* blocks */
    uint32_t replicas[AUTOPIPE_MOST_STAGES];    /* of each stage */
    double stage_seconds[AUTOPIPE_MOST_STAGES]; /* for a micro-batch, by all its replicas */
    double deviation;                           /* of these, the standard one */
    int64_t bytes;                              /* of the fullest GPU */
    double seconds[AUTOPIPE_BATCHES];           /* of a step */
} autopipe_plan;

typedef struct autopipe_result {
    autopipe_plan plans[AUTOPIPE_PLANNERS];
    uint32_t piper_least, piper_most; /* numbers of stages with which Piper's time is the same */
    bool piper_stated;                /* the paper's number is one of them */
} autopipe_result;

ons_status *autopipe_plan_all(const autopipe_case *c, ons_arena *arena, autopipe_result *result);

/* Piper's and DAPPLE's own choices, in layers: what they depend on. */
struct ons_replicated_plan;
ons_status *autopipe_ask_dapple(const autopipe_model *model, uint32_t gpus, uint32_t micro_batches,
                                uint32_t least_stages, bool recomputes, ons_arena *arena,
                                struct ons_replicated_plan *plan);
ons_status *autopipe_ask_piper(const autopipe_model *model, uint32_t gpus, uint32_t micro_batches, uint32_t stages,
                               ons_arena *arena, struct ons_replicated_plan *plan);

/* DAPPLE plans for steps of so many micro-batches, without recomputation. */
enum { AUTOPIPE_DAPPLE_MICRO_BATCHES = 4 };

typedef struct autopipe_startup {
    uint32_t stages, micro_batches, slices; /* micro-batches that are sliced */
    double whole, sliced;                   /* seconds until the last stage begins */
    double whole_step, sliced_step;         /* seconds of a step */
    double forced_step;                     /* with one micro-batch sliced, whatever the Slicer says */
    double even_step;                  /* 1F1B with as many layers in each stage; 0: the stages do not divide them */
    int64_t whole_bytes, sliced_bytes; /* of the fullest GPU */
} autopipe_startup;

/* AutoPipe's plan with 1F1B, and with its first micro-batches sliced, both simulated. */
ons_status *autopipe_start(const autopipe_model *model, uint32_t stages, uint32_t micro_batches, ons_arena *arena,
                           autopipe_startup *startup);

#endif
