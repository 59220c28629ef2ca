/* Figure 8 of DawnPiper (section 5.4) for one model: time and memory of eight stages, asynchronous, where vPipe needs
 * memory optimisation; and how full devices can be at all without being slower. */
#ifndef ONSTAGE_BENCH_PAPER_FILLING_H
#define ONSTAGE_BENCH_PAPER_FILLING_H

#include <stdio.h>

#include "bench/paper_memory.h"

enum { PAPER_FILLING_POINTS = 4, PAPER_FILLING_METHODS = 3 };

/* A micro-batch. */
typedef struct paper_filling_point {
    int64_t rows; /* 0: not measured */
    paper_stages each[PAPER_FILLING_METHODS];
    double fullest; /* mean bytes of a device, in the fullest plan no slower than vPipe's; 0: not found out */
} paper_filling_point;

typedef struct paper_filling {
    paper_filling_point points[PAPER_FILLING_POINTS];
} paper_filling;

ons_status *paper_filling_measure(paper_model *model, paper_filling *filling);
void paper_filling_print(FILE *out, const paper_filling *const filling[static PAPER_MODELS]);

#endif
