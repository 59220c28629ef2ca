/* A case of the sweep by processes: mpirun starts this program again, once for each device; each writes its record to a
 * file, and the one that has called puts them together. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_SWEEP_MPI_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_SWEEP_MPI_H

#include "tests/rooms/pipeline/pipeline_run.h"

/* *first: what all parts have alike, and the memory of all; freed by the caller, also after a failure. */
ons_status *sweep_by_processes(const pipeline_setting *setting, const pipeline_record *whole, pipeline_record *first);

/* Whether this process is one of those; then *code is its exit code. */
bool sweep_is_part(int argc, char **argv, int *code);

#endif
