/* safetensors: the length of a JSON header (8 bytes, little-endian), the header {"NAME": {"dtype", "shape",
 * "data_offsets"}, …}, the data. Read strictly: the tensors must cover the data without gap or overlap. */
#ifndef ONSTAGE_RUNTIME_DATA_SAFETENSORS_H
#define ONSTAGE_RUNTIME_DATA_SAFETENSORS_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "graph/type.h"

typedef struct ons_named_tensor {
    const char *name;
    ons_tensor tensor;
} ons_named_tensor;

/* Fills `buffer` with `bytes` bytes of a tensor, from byte `offset` on; asked in ascending order, once for each byte.
 */
typedef ons_status *ons_tensor_source(void *context, const char *name, int64_t offset, void *buffer, size_t bytes);

/* What is written. Types have ONNX's order; float32, float64, float16, bfloat16, integers and bool. */
typedef struct ons_safetensors_content {
    const ons_named_tensor *tensors; /* data NULL: asked from `source` */
    size_t count;
    ons_tensor_source *source;
    void *context;
} ons_safetensors_content;

/* Appends to an open writer; nothing is held twice. *crc (may be NULL) becomes zlib's crc32 of what was written. */
ons_status *ons_safetensors_write(ons_file_writer *writer, const ons_safetensors_content *content, uint32_t *crc);

typedef struct ons_safetensors {
    ons_arena *arena;
    ons_named_tensor *tensors; /* in the header's order; data at any alignment */
    size_t count;
    ons_map names;
} ons_safetensors;

/* `bytes` outlive the result. Freed by the caller in any case. */
ons_status *ons_safetensors_parse(const uint8_t *bytes, size_t size, ons_safetensors *file);
void ons_safetensors_free(ons_safetensors *file); /* a zeroed one is fine */

/* NULL where there is none. */
const ons_tensor *ons_safetensors_find(const ons_safetensors *file, const char *name);

#endif
