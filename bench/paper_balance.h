/* Figure 9 of DawnPiper (appendix A) for one model: stages of equal memory, or of equal time that recompute. */
#ifndef ONSTAGE_BENCH_PAPER_BALANCE_H
#define ONSTAGE_BENCH_PAPER_BALANCE_H

#include <stdio.h>

#include "bench/paper_memory.h"

enum { PAPER_BALANCE_POINTS = 5, PAPER_BALANCE_METHODS = 7 };

typedef struct paper_balance_point {
    int64_t size, rows;                    /* of a sample, and of a micro-batch; 0: not measured */
    double samples[PAPER_BALANCE_METHODS]; /* per second, simulated; 0: it does not fit */
    paper_stages each[PAPER_BALANCE_METHODS];
    double limit; /* samples per second when all devices compute all the time and nothing twice */
} paper_balance_point;

typedef struct paper_balance {
    paper_balance_point points[PAPER_BALANCE_POINTS];
} paper_balance;

ons_status *paper_balance_measure(paper_model *model, paper_balance *balance);
void paper_balance_print(FILE *out, const paper_balance *const balance[static PAPER_MODELS]);

#endif
