/* NumPy's .npy: magic "\x93NUMPY", version, length of the header, the header (a Python dictionary), the data. */
#ifndef ONSTAGE_RUNTIME_DATA_NPY_H
#define ONSTAGE_RUNTIME_DATA_NPY_H

#include "runtime/data/array.h"

bool ons_npy_recognise(const uint8_t *bytes, size_t size);

/* Versions 1 to 3; bool, integers and floats. array->data points into `bytes`, or to array->memory for big-endian
 * files and those in Fortran's order. The array is closed by the caller in any case. */
ons_status *ons_npy_parse(const uint8_t *bytes, size_t size, ons_array *array);

/* Writes row by row; the file appears when it is committed. */
typedef struct ons_npy_writer ons_npy_writer;

/* `rows` rows of type `row`; the file's shape is [rows, row's shape...], or has `rows` as axis `axis`: then all rows
 * are kept in memory until they are committed. */
ons_status *ons_npy_writer_open(const char *path, const ons_type *row, uint64_t rows, uint32_t axis,
                                ons_npy_writer **writer);
ons_status *ons_npy_write_rows(ons_npy_writer *writer, const void *data, uint64_t rows);
/* Fails unless all rows were written. Frees the writer in any case. */
ons_status *ons_npy_writer_commit(ons_npy_writer *writer);
void ons_npy_writer_discard(ons_npy_writer *writer); /* NULL is fine */

/* Saves a whole tensor in ONNX's order, of any rank. */
ons_status *ons_npy_save(const char *path, const ons_type *type, const void *data);

#endif
