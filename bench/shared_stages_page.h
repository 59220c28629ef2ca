/* The page of //bench:shared_stages: sections, each of which prints tables and says of each bar whether it is reached.
 */
#ifndef ONSTAGE_BENCH_SHARED_STAGES_PAGE_H
#define ONSTAGE_BENCH_SHARED_STAGES_PAGE_H

#include "bench/shared_stages_search.h"

ons_status *page_chimera(void);
ons_status *page_vocabularies(const shared_machine *machine);
ons_status *page_towers(const shared_machine *machine);

/* Prints "reached", or by how much it is missed: `value` should be at least `bar`. */
void page_bar(const char *what, double value, double bar);
/* A processor's seconds. */
double page_now(void);
/* How a run orders its parts, in words. In `arena`. */
const char *page_order(const shared_run *run, ons_arena *arena);

#endif
