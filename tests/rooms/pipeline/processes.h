/* The cases of a program that trains by processes, each a device of a pipeline: they come to the bits of training in
 * sequence. */
#ifndef ONSTAGE_TESTS_ROOMS_PIPELINE_PROCESSES_H
#define ONSTAGE_TESTS_ROOMS_PIPELINE_PROCESSES_H

#include "tests/rooms/pipeline/pipeline_run.h"

typedef struct process_case {
    const char *name;         /* NULL: the list's end */
    pipeline_setting setting; /* kind NULL: 1f1b */
} process_case;

/* Each program has a list of its own. */
extern const process_case process_cases[];

#endif
