/* NumPy's .npz: a zip archive of .npy files. */
#ifndef ONSTAGE_RUNTIME_DATA_NPZ_H
#define ONSTAGE_RUNTIME_DATA_NPZ_H

#include "runtime/data/array.h"

bool ons_npz_recognise(const uint8_t *bytes, size_t size);

/* `member` with or without ".npy"; NULL where the archive has one alone. A stored member stays in `bytes`, a deflated
 * one is unpacked. The array is closed by the caller in any case. */
ons_status *ons_npz_parse(const uint8_t *bytes, size_t size, const char *member, ons_array *array);

#endif
