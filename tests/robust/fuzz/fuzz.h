/* What the fuzzers of array formats share. */
#ifndef ONSTAGE_TESTS_ROBUST_FUZZ_FUZZ_H
#define ONSTAGE_TESTS_ROBUST_FUZZ_FUZZ_H

#include <stdlib.h>

#include "runtime/data/array.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Reads the data from end to end where there is no failure; frees everything. */
static inline void fuzz_read_array(ons_status *status, ons_array *array) {
    if (status == NULL) {
        const volatile uint8_t *data = array->data;
        for (int64_t i = 0; i < ons_type_dense_bytes(&array->type); ++i) (void)data[i];
    } else if (ons_status_get_message(status)[0] == '\0') {
        abort(); /* a failure says something */
    }
    ons_status_free(status);
    ons_array_close(array);
}

#endif
