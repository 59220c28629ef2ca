/* Runs something in a process of its own, so that a crash or an endless loop there is a result like any other. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_APART_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_APART_H

#include <stdbool.h>
#include <stddef.h>

enum { APART_SECONDS = 120 };

/* `work` fills in `result`, of `size` bytes (at most 4096), for `argument`. False where the process did not come to its
 * end: `death` says how it died. */
bool run_apart(void (*work)(const char *argument, void *result), const char *argument, void *result, size_t size,
               char *death, size_t death_size);

#endif
