/* Figures 2 to 4, 6 to 9 of DawnPiper for one model: for //bench:paper_tables. */
#ifndef ONSTAGE_BENCH_PAPER_FIGURES_H
#define ONSTAGE_BENCH_PAPER_FIGURES_H

#include <stdio.h>

#include "bench/paper_memory.h"

enum { PAPER_POINTS = 6, PAPER_SPEEDS = 5 };

/* Figures 6 and 7: simulated samples per second; 0 where it does not fit. */
typedef struct paper_speeds {
    uint32_t stages;
    int64_t rows[PAPER_POINTS]; /* of a micro-batch, for all methods */
    double samples[PAPER_POINTS][PAPER_SPEEDS];
    double limit[PAPER_POINTS]; /* of any asynchronous plan */
} paper_speeds;

/* Figure 9. */
typedef struct paper_balance {
    int64_t rows; /* the most that is balanced in memory and fits as it is, PipeDream, 4 stages */
    double memory_balanced, compute_balanced; /* samples a second there, the latter with recomputing */
    paper_stages memory_stages, compute_stages;
} paper_balance;

typedef struct paper_figures {
    paper_speeds speeds[2];   /* 4 stages, 8 stages */
    paper_stages ours, vpipe; /* figure 8 */
    paper_memory memory;
    paper_balance balance;
} paper_figures;

ons_status *paper_figures_measure(paper_model *model, paper_figures *figures);
/* `figure`: the path of the drawing beside the text, which paper_figures_draw makes. */
void paper_figures_print(FILE *out, const paper_figures figures[static PAPER_MODELS], const char *figure);
void paper_figures_draw(FILE *out, const paper_figures figures[static PAPER_MODELS]);

#endif
