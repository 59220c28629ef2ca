/* docs/results/schedules.md. */
#ifndef ONSTAGE_BENCH_SCHEDULES_PAGE_H
#define ONSTAGE_BENCH_SCHEDULES_PAGE_H

#include <stdio.h>

#include "bench/schedules_fit.h"
#include "bench/schedules_five.h"
#include "bench/schedules_systems.h"

enum { SCHEDULES_CASES = 16, SCHEDULES_SEARCHES = 5, SCHEDULES_BEAMS = 2 };

/* A search of FlexPipe's own space. */
typedef struct schedules_search {
    uint32_t devices;
    uint64_t points, made, different, refused, simulated;
    double seconds, apart_seconds; /* with gradients apart */
    double paper_seconds;
} schedules_search;

/* A search of Pfeife's. */
typedef struct schedules_beam {
    const char *what;
    uint32_t nodes, cuts, schedules;
    uint64_t splits;
    double seconds;
    const char *paper;
} schedules_beam;

typedef struct schedules_page {
    five_result five[FIVE_CASES];
    uint32_t five_count;
    schedules_result results[SCHEDULES_CASES];
    uint32_t count;
    schedules_search searches[SCHEDULES_SEARCHES];
    schedules_beam beams[SCHEDULES_BEAMS];
    double uneven, prefetch, looped, looped_simulated; /* of 1F1B's step with even cuts, on the ViT */
    fit_result fit;
} schedules_page;

/* Fills in searches, beams and shares. */
ons_status *schedules_search_times(ons_arena *arena, schedules_page *page);

void schedules_page_print(FILE *out, const schedules_page *page);

#endif
