/* Arrays in files: the samples that a model is trained on.
 *
 * Recognised by content: .npy, .npz, MNIST's idx (also gzipped), and ONNX TensorProto files through a reader that the
 * caller hands in (runtime/ does not know onnx_import/). What lies in the file as it is needed stays there, mapped, so
 * that an array may be larger than memory; compressed or big-endian contents are converted into memory.
 */
#ifndef ONSTAGE_RUNTIME_DATA_ARRAY_H
#define ONSTAGE_RUNTIME_DATA_ARRAY_H

#include "base/file.h"
#include "graph/type.h"

typedef struct ons_array {
    ons_type type;          /* dims[0] counts the samples */
    const void *data;       /* row-major, dense, this machine's byte order, at any alignment */
    ons_mapping mapping;    /* the file that `data` lies in, or empty */
    ons_file_reader reader; /* reads the file that `data` lies in, or is empty */
    void *memory;           /* the heap block that `data` lies in, or NULL */
} ons_array;

/* Reads a serialised TensorProto into a fresh heap block that the caller frees. */
typedef ons_status *ons_tensor_reader(const uint8_t *bytes, size_t size, ons_type *type, void **memory);

/* `path` may be "FILE.npz:MEMBER", and must be where the file has several. `reader` NULL: TensorProto files are
 * refused. A failure names the path (ONS_IO_ERROR: cannot be read; ONS_INVALID_DATA: malformed; ONS_UNSUPPORTED). */
ons_status *ons_array_open(const char *path, ons_tensor_reader *reader, ons_array *array);

/* Opens an array in memory that outlives it. `member` as for a file, or NULL. */
ons_status *ons_array_open_memory(const uint8_t *bytes, size_t size, const char *member, ons_tensor_reader *reader,
                                  ons_array *array);

/* Closes an array; a zeroed one is fine. */
void ons_array_close(ons_array *array);

/* Places an array, for parsers: its bytes lie at `offset` of the file. Fails unless type's bytes fit between there and
 * `size`.
 */
ons_status *ons_array_place(ons_array *array, const ons_type *type, const uint8_t *bytes, size_t size, size_t offset);

/* Puts another axis in front, a heap copy taking the place of `data`: [T, N, F] with axis 1 becomes [N, T, F]. */
ons_status *ons_array_move_to_front(ons_array *array, uint32_t axis);

/* Replaces `data`, for parsers, by a heap copy whose axis i is the one that was axes[i]. */
ons_status *ons_array_permute(ons_array *array, const uint32_t *axes);

/* Replaces `data`, for parsers, by a heap copy with the bytes of each element reversed. */
ons_status *ons_array_swap_bytes(ons_array *array);

#endif
