/* Figures 2, 3, 6 to 9 of DawnPiper for one model: for //bench:paper_tables. */
#ifndef ONSTAGE_BENCH_PAPER_FIGURES_H
#define ONSTAGE_BENCH_PAPER_FIGURES_H

#include <stdio.h>

#include "bench/paper_models.h"

enum { PAPER_POINTS = 6, PAPER_SPEEDS = 5, PAPER_STAGES_MAX = 8 };

/* Figures 6 and 7: simulated samples per second; 0 where it does not fit. */
typedef struct paper_speeds {
    uint32_t stages;
    int64_t rows[PAPER_POINTS]; /* of a micro-batch, for all methods */
    double samples[PAPER_POINTS][PAPER_SPEEDS];
} paper_speeds;

/* Figure 8: every stage. */
typedef struct paper_stages {
    int64_t rows;
    double seconds[PAPER_STAGES_MAX];
    int64_t bytes[PAPER_STAGES_MAX];
    bool fits;
} paper_stages;

/* Figures 2 and 3, and 9. */
typedef struct paper_balance {
    double waste_gpipe, waste_pipedream; /* 1 - sum of peaks / (stages · largest) at the largest batch that fits */
    int64_t rows; /* the most that is balanced in memory and fits as it is, PipeDream, 4 stages */
    double memory_balanced, compute_balanced; /* samples a second there, the latter with recomputing */
} paper_balance;

typedef struct paper_figures {
    paper_speeds speeds[2]; /* 4 stages, 8 stages */
    paper_stages ours, vpipe;
    paper_balance balance;
} paper_figures;

ons_status *paper_figures_measure(paper_model *model, paper_figures *figures);
void paper_figures_print(FILE *out, const paper_figures figures[static PAPER_MODELS]);

#endif
