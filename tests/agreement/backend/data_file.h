/* The tensors of a case's data sets. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_DATA_FILE_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_DATA_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "graph/type.h"

typedef struct data_tensor {
    const char *name; /* in the file, "" where it has none */
    ons_tensor tensor;
} data_tensor;

typedef struct data_set {
    data_tensor *inputs, *outputs;
    uint32_t input_count, output_count;
} data_set;

/* numpy has no bfloat16: the official data holds its bits as uint16. Calls them what the model says they are. */
void data_tensor_restate(data_tensor *each, ons_dtype stated);

/* Reads FOLDER/test_data_set_INDEX into the arena; *found false where there is no such folder. */
ons_status *data_set_read(const char *folder, uint32_t index, ons_arena *arena, data_set *set, bool *found);

#endif
