/* A fresh folder for the files of one test, and short ways to say what is expected. */
#ifndef ONSTAGE_TESTS_ROOMS_RUNTIME_SCRATCH_H
#define ONSTAGE_TESTS_ROOMS_RUNTIME_SCRATCH_H

#include <stddef.h>

#include "base/status.h"

/* Makes the folder; removed by scratch_remove, with everything in it. Use as .init and .fini of a suite. */
void scratch_make(void);
void scratch_remove(void);

/* A path in the folder. Lives until the tenth call after it. */
const char *scratch_path(const char *name);

void scratch_write(const char *path, const void *bytes, size_t size);
/* The whole file, with a zero behind it; NULL where there is none. The caller frees it. */
char *scratch_read(const char *path, size_t *size);
/* Names in a folder that end in `end`. */
int scratch_count(const char *path, const char *end);

/* Fails the test unless there is no failure; frees it. */
void expect_success(ons_status *status);
/* Fails the test unless there is a failure whose message holds `part`; frees it. */
void expect_failure(ons_status *status, ons_status_code code, const char *part);

#endif
