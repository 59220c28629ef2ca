/* The page of //bench:stage_graphs: sections, each of which prints a table and says of each bar whether it is reached.
 */
#ifndef ONSTAGE_BENCH_STAGE_GRAPH_PAGE_H
#define ONSTAGE_BENCH_STAGE_GRAPH_PAGE_H

#include "bench/stage_graph_models.h"

/* Prints "reached" or by how much it is missed: `value` should be at least `bar`. */
void page_at_least(const char *what, double value, double bar);
/* `value` should be at most `bar`. */
void page_at_most(const char *what, double value, double bar);

ons_status *page_search_times(const model_machine *hardware);
ons_status *page_gains(const model_machine *hardware);
ons_status *page_branches(const model_machine *hardware);
ons_status *page_sequential(const model_machine *hardware);
/* Section 7.5; sets the machine's efficiency curve first. */
ons_status *page_case_study(model_machine *hardware);
/* Against exhaustive searches. */
ons_status *page_divisions(void);

#endif
