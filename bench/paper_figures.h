/* Figures 2 to 4, 6 to 9 of DawnPiper for one model: for //bench:paper_tables. */
#ifndef ONSTAGE_BENCH_PAPER_FIGURES_H
#define ONSTAGE_BENCH_PAPER_FIGURES_H

#include <stdio.h>

#include "bench/paper_balance.h"
#include "bench/paper_filling.h"
#include "bench/paper_memory.h"

enum { PAPER_POINTS = 6, PAPER_SPEEDS = 5 };

/* Figures 6 and 7: simulated samples per second; 0 where it does not fit. */
typedef struct paper_speeds {
    uint32_t stages;
    int64_t rows[PAPER_POINTS]; /* of a micro-batch, for all methods */
    double samples[PAPER_POINTS][PAPER_SPEEDS];
    double limit[PAPER_POINTS]; /* of any asynchronous plan */
} paper_speeds;

typedef struct paper_figures {
    paper_speeds speeds[2]; /* 4 stages, 8 stages */
    paper_memory memory;
    paper_filling filling;
    paper_balance balance;
} paper_figures;

ons_status *paper_figures_measure(paper_model *model, paper_figures *figures);
/* Figures 8 and 9 alone. */
ons_status *paper_stages_measure(paper_model *model, paper_figures *figures);
void paper_stages_print(FILE *out, const paper_figures figures[static PAPER_MODELS]);
/* `figure`: the path of the drawing beside the text, which paper_figures_draw makes. */
void paper_figures_print(FILE *out, const paper_figures figures[static PAPER_MODELS], const char *figure);
void paper_figures_draw(FILE *out, const paper_figures figures[static PAPER_MODELS]);

#endif
