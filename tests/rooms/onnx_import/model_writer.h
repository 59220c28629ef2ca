/* Writes small ONNX models, field by field, so that tests can also write what no library would. */
#ifndef ONSTAGE_TESTS_ROOMS_ONNX_IMPORT_MODEL_WRITER_H
#define ONSTAGE_TESTS_ROOMS_ONNX_IMPORT_MODEL_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* Protobuf bytes, growing. Zeroed: empty. */
typedef struct bytes {
    uint8_t *data;
    size_t count, capacity;
} bytes;

void bytes_free(bytes *b);
void put_raw(bytes *b, const void *data, size_t size);
void put_varint(bytes *b, uint64_t value);
void put_tag(bytes *b, uint32_t field, uint32_t wire_type);
void put_integer(bytes *b, uint32_t field, uint64_t value);
void put_float(bytes *b, uint32_t field, float value);
void put_block(bytes *b, uint32_t field, const void *data, size_t size);
void put_text(bytes *b, uint32_t field, const char *text);
void put_message(bytes *b, uint32_t field, bytes message); /* takes the message over */

/* Field numbers that tests use directly. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_DOC = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_METADATA = 14,
    MODEL_FUNCTION = 25,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_DOC = 10,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOC = 6,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REFERENCE = 21,
    ATTRIBUTE_SPARSE = 22,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_DOC = 12,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_ATTRIBUTE = 6,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_DEFAULT = 11,
    FUNCTION_OVERLOAD = 13,
};

/* A TensorProto without its contents. `dims` ends with -1. */
bytes tensor_header(const char *name, int dtype, const int64_t *dims);
#define DIMS(...)   ((const int64_t[]){__VA_ARGS__, -1})
#define SCALAR_DIMS ((const int64_t[]){-1})
/* With raw_data, or with float_data. */
bytes raw_tensor(const char *name, int dtype, const int64_t *dims, const void *data, size_t size);
bytes float_tensor(const char *name, const int64_t *dims, const float *data, size_t count);
/* With its contents in another file; NULL leaves an entry out. */
bytes external_tensor(const char *name, int dtype, const int64_t *dims, const char *location, const char *offset,
                      const char *length);

/* A NodeProto; inputs and outputs are separated by commas: "a,,b". */
bytes node(const char *op_type, const char *name, const char *inputs, const char *outputs);
void put_int_attribute(bytes *n, const char *name, int64_t value);
void put_ints_attribute(bytes *n, const char *name, const int64_t *values, size_t count);
void put_float_attribute(bytes *n, const char *name, float value);
void put_tensor_attribute(bytes *n, const char *name, bytes tensor);
void put_graph_attribute(bytes *n, const char *name, bytes graph);
void put_reference(bytes *n, const char *name, int type, const char *reference);

/* A ValueInfoProto of a tensor; a dimension is a number or a symbol: "4,N". */
bytes value_info(const char *name, int dtype, const char *dims);

/* A ModelProto around the graph, which it takes over; further fields may be added to it. */
bytes model(bytes graph, int64_t opset);

#endif
