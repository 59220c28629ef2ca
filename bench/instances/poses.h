/* Writes graphs and problems of the set; what is known of them comes from search_main.c. */
#ifndef ONSTAGE_BENCH_INSTANCES_POSES_H
#define ONSTAGE_BENCH_INSTANCES_POSES_H

#include "bench/instances/problem.h"

/* `profiles`: the folder with profiles that others measured. Existing problems stay, so that what is known of them does
 * too. */
ons_status *poses_write(const char *folder, const char *profiles);

/* Writes a problem's file anew. */
ons_status *problem_write(const instance *in, const char *folder);

#endif
