#include "onnx_import/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "graph/small_types.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ONNX files are little-endian");

/* Tensors up to this size are copied out of the mapping where they are not aligned there. */
enum { COPY_MAX = 1 << 20 };

bool ons_tensor_is_external(const Onnx__TensorProto *tensor) {
    return tensor->has_data_location && tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* ------------------------------------------------------------------------------------------------------------- type */

/* Element types that onstage does not compute with, for messages. */
static const char *foreign_type(int32_t number) {
    static const char *const names[] = {
        [8] = "string",
        [14] = "complex64",
        [15] = "complex128",
    };
    if (number < 0 || (size_t)number >= sizeof names / sizeof names[0] || names[number] == NULL) return "unknown";
    return names[number];
}

ons_status *ons_tensor_type(const Onnx__TensorProto *tensor, ons_type *type) {
    int32_t number = tensor->data_type;
    *type = (ons_type){.dtype = ONS_NO_DTYPE};
    ONS_CHECK(number != ONS_NO_DTYPE, ONS_INVALID_MODEL, "it has no element type");
    bool known = number > 0 && ons_dtype_size((ons_dtype)number) > 0;
    ONS_CHECK(known, ONS_UNSUPPORTED, "its elements are of type %s (%d), which onstage does not compute with",
              foreign_type(number), number);
    ONS_CHECK(tensor->n_dims <= ONS_RANK_MAX, ONS_UNSUPPORTED, "it has %zu dimensions; onstage knows up to %d",
              tensor->n_dims, ONS_RANK_MAX);
    type->dtype = (ons_dtype)number;
    type->shape = ons_shape_make((uint32_t)tensor->n_dims, tensor->dims);
    return ons_shape_check(&type->shape);
}

/* --------------------------------------------------------------------------------------------------------- external */

static ons_status *read_number(const char *key, const char *text, uint64_t *value) {
    *value = 0;
    bool valid = text[0] != '\0';
    for (const char *each = text; valid && *each != '\0'; ++each) {
        valid = *each >= '0' && *each <= '9' && !__builtin_mul_overflow(*value, 10u, value) &&
                !__builtin_add_overflow(*value, (uint64_t)(*each - '0'), value);
    }
    ONS_CHECK(valid, ONS_INVALID_MODEL, "its external data has the %s '%s', which is no number", key, text);
    return NULL;
}

typedef struct external {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external;

static ons_status *read_external(const Onnx__TensorProto *tensor, external *result) {
    *result = (external){0};
    for (size_t i = 0; i < tensor->n_external_data; ++i) {
        const char *key = ons_text(tensor->external_data[i]->key);
        const char *value = ons_text(tensor->external_data[i]->value);
        if (strcmp(key, "location") == 0) {
            result->location = value;
        } else if (strcmp(key, "offset") == 0) {
            ONS_TRY(read_number(key, value, &result->offset));
        } else if (strcmp(key, "length") == 0) {
            ONS_TRY(read_number(key, value, &result->length));
            result->has_length = true;
        }
    }
    ONS_CHECK(result->location != NULL, ONS_INVALID_MODEL, "its external data has no location");
    return NULL;
}

static ons_status *find_external(ons_model_file *file, const Onnx__TensorProto *tensor, uint64_t expected,
                                 const void **bytes, bool *missing) {
    external place;
    ONS_TRY(read_external(tensor, &place));
    ONS_CHECK(!place.has_length || place.length == expected, ONS_INVALID_MODEL,
              "its external data has %llu bytes, its shape needs %llu", (unsigned long long)place.length,
              (unsigned long long)expected);
    ons_mapping mapping;
    ONS_TRY(ons_external_open(file, place.location, &mapping, missing));
    if (missing != NULL && *missing) return NULL;
    ONS_CHECK(place.offset <= mapping.size && expected <= mapping.size - place.offset, ONS_INVALID_MODEL,
              "its external data ends behind the end of '%s', which has %zu bytes", place.location, mapping.size);
    *bytes = mapping.bytes + place.offset;
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- encodings */

/* Bytes of the elements as files have them. */
static uint64_t file_bytes(const ons_type *type) {
    if (ons_dtype_size(type->dtype) > 1) return (uint64_t)ons_type_dense_bytes(type);
    return ((uint64_t)ons_shape_elements(&type->shape) * ons_small_bits(type->dtype) + 7) / 8;
}

static bool is_packed(const ons_type *type) { return ons_small_bits(type->dtype) < 8; }

/* The typed field that the standard prescribes for an element type. */
static uint32_t typed_field(ons_dtype dtype) {
    switch (dtype) {
    case ONS_FLOAT32: return ONS_TENSOR_FLOAT_DATA;
    case ONS_FLOAT64: return ONS_TENSOR_DOUBLE_DATA;
    case ONS_INT64: return ONS_TENSOR_INT64_DATA;
    case ONS_UINT32:
    case ONS_UINT64: return ONS_TENSOR_UINT64_DATA;
    default: return ONS_TENSOR_INT32_DATA;
    }
}

/* Elements as integers, one after the other: from protobuf-c's array, or from the varints of a payload left out. */
typedef struct integers {
    const int32_t *narrow; /* one of these two, or bytes */
    const uint64_t *wide;
    const uint8_t *bytes;
    uint64_t at, end;
    uint64_t count; /* of an array */
} integers;

static bool next_integer(integers *in, uint64_t *value) {
    if (in->bytes != NULL) return ons_varint_read(in->bytes, &in->at, in->end, value);
    if (in->at == in->count) return false;
    *value = in->narrow != NULL ? (uint64_t)(int64_t)in->narrow[in->at] : in->wide[in->at];
    ++in->at;
    return true;
}

static bool at_end(const integers *in) { return in->at == (in->bytes != NULL ? in->end : in->count); }

/* The payload as it is found: dense bytes or integers. */
typedef struct payload {
    const void *bytes;
    uint64_t size;
    bool is_integers;
    integers integers;
} payload;

static payload find_typed(const Onnx__TensorProto *tensor, uint32_t field) {
    payload found = {0};
    switch (field) {
    case ONS_TENSOR_FLOAT_DATA:
        found.bytes = tensor->float_data;
        found.size = tensor->n_float_data * sizeof(float);
        break;
    case ONS_TENSOR_DOUBLE_DATA:
        found.bytes = tensor->double_data;
        found.size = tensor->n_double_data * sizeof(double);
        break;
    case ONS_TENSOR_INT64_DATA:
        found.bytes = tensor->int64_data;
        found.size = tensor->n_int64_data * sizeof(int64_t);
        break;
    case ONS_TENSOR_UINT64_DATA:
        found.is_integers = true;
        found.integers = (integers){.wide = tensor->uint64_data, .count = tensor->n_uint64_data};
        break;
    default:
        found.is_integers = true;
        found.integers = (integers){.narrow = tensor->int32_data, .count = tensor->n_int32_data};
    }
    return found;
}

static payload find_payload(const ons_model_file *file, const Onnx__TensorProto *tensor, ons_dtype dtype) {
    const ons_tensor_place *place = ons_model_file_place(file, tensor);
    uint32_t field = typed_field(dtype);
    uint32_t elided = place == NULL ? 0 : place->elided;
    bool dense = elided == ONS_TENSOR_RAW_DATA || elided == ONS_TENSOR_FLOAT_DATA || elided == ONS_TENSOR_DOUBLE_DATA;
    if (elided == ONS_TENSOR_RAW_DATA || (elided == field && dense))
        return (payload){.bytes = file->bytes + place->begin, .size = place->end - place->begin};
    if (elided == field)
        return (payload){.is_integers = true,
                         .integers = {.bytes = file->bytes, .at = place->begin, .end = place->end}};
    if (tensor->has_raw_data && tensor->raw_data.len > 0)
        return (payload){.bytes = tensor->raw_data.data, .size = tensor->raw_data.len};
    return find_typed(tensor, field);
}

ons_status *ons_tensor_find(ons_model_file *file, const Onnx__TensorProto *tensor, const ons_type *type,
                            const void **bytes, bool *missing) {
    *bytes = NULL;
    if (missing != NULL) *missing = false;
    ONS_CHECK(tensor->segment == NULL, ONS_UNSUPPORTED, "it is given in segments, which no known exporter writes");
    uint64_t expected = file_bytes(type);
    if (ons_tensor_is_external(tensor)) {
        ONS_CHECK(!is_packed(type), ONS_UNSUPPORTED, "it is external, and its elements are packed into bytes");
        return find_external(file, tensor, expected, bytes, missing);
    }
    payload found = find_payload(file, tensor, type->dtype);
    if (found.is_integers) return NULL;
    ONS_CHECK(found.size == expected, ONS_INVALID_MODEL, "it has %llu bytes, its shape needs %llu",
              (unsigned long long)found.size, (unsigned long long)expected);
    if (!is_packed(type)) *bytes = expected == 0 ? (const void *)"" : found.bytes;
    return NULL;
}

/* Elements of 4 or 2 bits, several in a byte or in an integer of the typed field. */
static ons_status *unpack(payload *found, const ons_type *type, uint8_t *to) {
    uint32_t bits = ons_small_bits(type->dtype);
    uint64_t elements = (uint64_t)ons_shape_elements(&type->shape), packed = 0;
    for (uint64_t i = 0; i < elements; ++i) {
        uint32_t place = (uint32_t)(i * bits % 8);
        if (place == 0 && found->is_integers)
            ONS_CHECK(next_integer(&found->integers, &packed), ONS_INVALID_MODEL,
                      "it has fewer elements than its shape needs (%llu)", (unsigned long long)elements);
        if (!found->is_integers) packed = ((const uint8_t *)found->bytes)[i * bits / 8];
        uint8_t code = (uint8_t)(packed >> place & ((1u << bits) - 1));
        to[i] = ons_is_small_integer(type->dtype) ? (uint8_t)ons_small_integer_wrap(type->dtype, code) : code;
    }
    return NULL;
}

ons_status *ons_tensor_decode(ons_model_file *file, const Onnx__TensorProto *tensor, const ons_type *type, void *data) {
    const void *bytes;
    ONS_TRY(ons_tensor_find(file, tensor, type, &bytes, NULL));
    if (bytes != NULL) {
        memcpy(data, bytes, (size_t)ons_type_dense_bytes(type));
        return NULL;
    }
    payload found = find_payload(file, tensor, type->dtype);
    if (is_packed(type)) return unpack(&found, type, data);
    uint64_t elements = (uint64_t)ons_shape_elements(&type->shape);
    size_t size = ons_dtype_size(type->dtype);
    uint64_t value = 0;
    uint64_t count = 0;
    for (uint8_t *to = data; count < elements && next_integer(&found.integers, &value); ++count, to += size)
        memcpy(to, &value, size); /* the low bytes */
    ONS_CHECK(count == elements && at_end(&found.integers), ONS_INVALID_MODEL, "it has %s than its shape needs (%llu)",
              count == elements ? "more elements" : "fewer elements", (unsigned long long)elements);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- loading */

/* Whether protobuf-c's memory or a mapping holds the bytes; only the latter is referred to. */
static bool is_mapped(const ons_model_file *file, const Onnx__TensorProto *tensor) {
    const ons_tensor_place *place = ons_model_file_place(file, tensor);
    return ons_tensor_is_external(tensor) || (place != NULL && place->elided != 0);
}

/* Before memory is taken for the elements: there cannot be more of them than bytes in the file. */
static ons_status *check_size(const ons_model_file *file, const Onnx__TensorProto *tensor, const ons_type *type) {
    payload found = find_payload(file, tensor, type->dtype);
    if (!found.is_integers) return NULL; /* was compared already */
    uint64_t most = found.integers.bytes != NULL ? found.integers.end - found.integers.at : found.integers.count;
    ONS_CHECK(file_bytes(type) / ons_dtype_size(type->dtype) <= most, ONS_INVALID_MODEL,
              "it has fewer elements than the %lld of its shape", (long long)ons_shape_elements(&type->shape));
    return NULL;
}

ons_status *ons_tensor_load(ons_model_file *file, const Onnx__TensorProto *tensor, bool allow_missing, ons_store *store,
                            ons_type *type, ons_data_id *data) {
    ONS_TRY(ons_tensor_type(tensor, type));
    const void *bytes;
    bool missing = false;
    ONS_TRY(ons_tensor_find(file, tensor, type, &bytes, allow_missing ? &missing : NULL));
    if (missing) return ons_store_refer(store, type, NULL, data);
    uint64_t size = (uint64_t)ons_type_dense_bytes(type);
    bool aligned = (uintptr_t)bytes % ons_dtype_size(type->dtype) == 0;
    if (bytes != NULL && is_mapped(file, tensor) && size > ONS_SKELETON_PAYLOAD_MAX && (aligned || size > COPY_MAX))
        return ons_store_refer(store, type, bytes, data);
    if (bytes == NULL) ONS_TRY(check_size(file, tensor, type));
    void *copy;
    ONS_TRY(ons_store_add(store, type, &copy, data));
    return ons_tensor_decode(file, tensor, type, copy);
}
