/* The idx format of the MNIST files: 0, 0, element type, rank, the dimensions as big-endian uint32, big-endian data. */
#ifndef ONSTAGE_RUNTIME_DATA_IDX_H
#define ONSTAGE_RUNTIME_DATA_IDX_H

#include "runtime/data/array.h"

bool ons_idx_recognise(const uint8_t *bytes, size_t size);

/* Parses an array: bytes stay where they are, larger elements are turned around in memory. Closed by the caller in any
 * case. */
ons_status *ons_idx_parse(const uint8_t *bytes, size_t size, ons_array *array);

bool ons_gzip_recognise(const uint8_t *bytes, size_t size);

/* Parses a gzipped array, which is unpacked into memory. */
ons_status *ons_idx_parse_gzip(const uint8_t *bytes, size_t size, ons_array *array);

#endif
