#include "runtime/data/idx.h"

#include <stdlib.h>

#include "runtime/data/inflate.h"

enum { HEADER_MAX = 4 + 4 * ONS_RANK_MAX };

static ons_dtype element_type(uint8_t code) {
    switch (code) {
    case 0x08: return ONS_UINT8;
    case 0x09: return ONS_INT8;
    case 0x0b: return ONS_INT16;
    case 0x0c: return ONS_INT32;
    case 0x0d: return ONS_FLOAT32;
    case 0x0e: return ONS_FLOAT64;
    default: return ONS_NO_DTYPE;
    }
}

bool ons_idx_recognise(const uint8_t *bytes, size_t size) {
    return size >= 4 && bytes[0] == 0 && bytes[1] == 0 && element_type(bytes[2]) != ONS_NO_DTYPE;
}

bool ons_gzip_recognise(const uint8_t *bytes, size_t size) { return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

/* *header: where the data begin. */
static ons_status *read_header(const uint8_t *bytes, size_t size, ons_type *type, size_t *header) {
    ONS_CHECK(ons_idx_recognise(bytes, size), ONS_INVALID_DATA, "not an idx file");
    uint32_t rank = bytes[3];
    ONS_CHECK(rank <= ONS_RANK_MAX, ONS_UNSUPPORTED, "the array has more than %d dimensions", ONS_RANK_MAX);
    *header = 4 + 4 * (size_t)rank;
    ONS_CHECK(size >= *header, ONS_INVALID_DATA, "the idx header is truncated");
    *type = ons_type_make(element_type(bytes[2]), (ons_shape){.rank = rank});
    for (uint32_t i = 0; i < rank; ++i) {
        const uint8_t *b = bytes + 4 + 4 * (size_t)i;
        type->shape.dims[i] = (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | (int64_t)b[3];
    }
    ons_status *status = ons_shape_check(&type->shape);
    ons_status_free(status);
    ONS_CHECK(status == NULL, ONS_INVALID_DATA, "the idx header's shape is impossibly large");
    return NULL;
}

ons_status *ons_idx_parse(const uint8_t *bytes, size_t size, ons_array *array) {
    ons_type type;
    size_t header;
    ONS_TRY(read_header(bytes, size, &type, &header));
    ONS_TRY(ons_array_place(array, &type, bytes, size, header));
    return ons_array_swap_bytes(array);
}

ons_status *ons_idx_parse_gzip(const uint8_t *bytes, size_t size, ons_array *array) {
    uint8_t start[HEADER_MAX] = {0};
    size_t made;
    ONS_TRY(ons_inflate(bytes, size, ONS_PACKING_GZIP, start, sizeof start, false, &made));
    ONS_CHECK(ons_idx_recognise(start, made), ONS_UNSUPPORTED,
              "what is gzipped is not an idx file; unpack it first (gunzip)");
    ons_type type = {0};
    size_t header = 0;
    ONS_TRY(read_header(start, made, &type, &header));
    uint64_t total = header + (uint64_t)ons_type_dense_bytes(&type);
    char text[ONS_TYPE_TEXT];
    ONS_CHECK(ons_inflate_plausible(size, total), ONS_INVALID_DATA,
              "the header announces %s, more than %zu compressed bytes can hold", ons_type_print(&type, text), size);
    array->memory = malloc(total);
    if (array->memory == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_inflate(bytes, size, ONS_PACKING_GZIP, array->memory, total, true, &made));
    ONS_TRY(ons_array_place(array, &type, array->memory, total, header));
    return ons_array_swap_bytes(array);
}
