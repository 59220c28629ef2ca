/* Figures 2 to 4 of DawnPiper for one model: where memory lies idle, and how much of it a node takes. */
#ifndef ONSTAGE_BENCH_PAPER_MEMORY_H
#define ONSTAGE_BENCH_PAPER_MEMORY_H

#include <stdio.h>

#include "bench/paper_models.h"

enum { PAPER_PERCENTS = 101, PAPER_LIMITS = 5 };

/* Every stage of a plan. */
typedef struct paper_stages {
    int64_t rows; /* of a micro-batch */
    double seconds[PAPER_STAGES_MAX];
    int64_t bytes[PAPER_STAGES_MAX];
    bool fits;
} paper_stages;

/* Bytes that nodes take, in ascending order. */
typedef struct paper_distribution {
    double at[PAPER_PERCENTS];  /* so many per cent of the nodes take no more */
    double below[PAPER_LIMITS]; /* share of the nodes that take no more than each of some numbers of MB */
} paper_distribution;

typedef struct paper_memory {
    paper_stages gpipe, pipedream; /* figures 2 and 3: 4 and 8 stages, nothing optimised, at the largest batch */
    int64_t node_rows;             /* figure 4: the micro-batch, and the nodes that compute something */
    uint32_t node_count;
    paper_distribution activation, consumed;
} paper_memory;

/* Samples per second, 0 where it does not fit; and every stage, where that is asked for. */
ons_status *paper_look(paper_model *model, const paper_method *method, uint32_t stages, int64_t rows, double *samples,
                       paper_stages *each);

ons_status *paper_memory_measure(paper_model *model, paper_memory *memory);
/* As tables; `figure` is the path of the drawing beside the text. */
void paper_memory_print(FILE *out, const paper_memory *const memory[static PAPER_MODELS], const char *figure);
/* Figure 4 as SVG. */
void paper_memory_draw(FILE *out, const paper_memory *const memory[static PAPER_MODELS]);

#endif
