#include "tests/rooms/onnx_import/model_writer.h"

#include <stdlib.h>
#include <string.h>

void bytes_free(bytes *b) {
    free(b->data);
    *b = (bytes){NULL, 0, 0};
}

void put_raw(bytes *b, const void *data, size_t size) {
    if (b->count + size > b->capacity) {
        b->capacity = (b->count + size) * 2;
        b->data = realloc(b->data, b->capacity);
    }
    if (size > 0) memcpy(b->data + b->count, data, size);
    b->count += size;
}

void put_varint(bytes *b, uint64_t value) {
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value >= 0x80 ? 0x80 : 0));
        put_raw(b, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

void put_tag(bytes *b, uint32_t field, uint32_t wire_type) { put_varint(b, (uint64_t)field << 3 | wire_type); }

void put_integer(bytes *b, uint32_t field, uint64_t value) {
    put_tag(b, field, 0);
    put_varint(b, value);
}

void put_float(bytes *b, uint32_t field, float value) {
    put_tag(b, field, 5);
    put_raw(b, &value, 4);
}

void put_block(bytes *b, uint32_t field, const void *data, size_t size) {
    put_tag(b, field, 2);
    put_varint(b, size);
    put_raw(b, data, size);
}

void put_text(bytes *b, uint32_t field, const char *text) { put_block(b, field, text, strlen(text)); }

void put_message(bytes *b, uint32_t field, bytes message) {
    put_block(b, field, message.data, message.count);
    bytes_free(&message);
}

bytes tensor_header(const char *name, int dtype, const int64_t *dims) {
    bytes b = {0};
    for (; *dims != -1; ++dims) put_integer(&b, TENSOR_DIMS, (uint64_t)*dims);
    put_integer(&b, TENSOR_TYPE, (uint64_t)dtype);
    put_text(&b, TENSOR_NAME, name);
    return b;
}

bytes raw_tensor(const char *name, int dtype, const int64_t *dims, const void *data, size_t size) {
    bytes b = tensor_header(name, dtype, dims);
    put_block(&b, TENSOR_RAW, data, size);
    return b;
}

bytes float_tensor(const char *name, const int64_t *dims, const float *data, size_t count) {
    bytes b = tensor_header(name, 1, dims);
    put_block(&b, TENSOR_FLOATS, data, count * sizeof data[0]);
    return b;
}

static void put_entry(bytes *b, const char *key, const char *value) {
    bytes entry = {0};
    if (value == NULL) return;
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(b, TENSOR_EXTERNAL, entry);
}

bytes external_tensor(const char *name, int dtype, const int64_t *dims, const char *location, const char *offset,
                      const char *length) {
    bytes b = tensor_header(name, dtype, dims);
    put_entry(&b, "location", location);
    put_entry(&b, "offset", offset);
    put_entry(&b, "length", length);
    put_integer(&b, TENSOR_LOCATION, 1);
    return b;
}

/* The parts between commas, one field each. */
static void put_list(bytes *b, uint32_t field, const char *list) {
    while (list[0] != '\0') {
        size_t size = strcspn(list, ",");
        put_block(b, field, list, size);
        list += size + (list[size] == ',');
    }
}

bytes node(const char *op_type, const char *name, const char *inputs, const char *outputs) {
    bytes b = {0};
    put_list(&b, NODE_INPUT, inputs);
    put_list(&b, NODE_OUTPUT, outputs);
    put_text(&b, NODE_NAME, name);
    put_text(&b, NODE_OP_TYPE, op_type);
    return b;
}

static bytes attribute(const char *name, int type) {
    bytes b = {0};
    put_text(&b, ATTRIBUTE_NAME, name);
    put_integer(&b, ATTRIBUTE_TYPE, (uint64_t)type);
    return b;
}

void put_int_attribute(bytes *n, const char *name, int64_t value) {
    bytes b = attribute(name, 2);
    put_integer(&b, ATTRIBUTE_I, (uint64_t)value);
    put_message(n, NODE_ATTRIBUTE, b);
}

void put_ints_attribute(bytes *n, const char *name, const int64_t *values, size_t count) {
    bytes b = attribute(name, 7);
    for (size_t i = 0; i < count; ++i) put_integer(&b, ATTRIBUTE_INTS, (uint64_t)values[i]);
    put_message(n, NODE_ATTRIBUTE, b);
}

void put_float_attribute(bytes *n, const char *name, float value) {
    bytes b = attribute(name, 1);
    put_float(&b, ATTRIBUTE_F, value);
    put_message(n, NODE_ATTRIBUTE, b);
}

void put_tensor_attribute(bytes *n, const char *name, bytes tensor) {
    bytes b = attribute(name, 4);
    put_message(&b, ATTRIBUTE_T, tensor);
    put_message(n, NODE_ATTRIBUTE, b);
}

void put_graph_attribute(bytes *n, const char *name, bytes graph) {
    bytes b = attribute(name, 5);
    put_message(&b, ATTRIBUTE_G, graph);
    put_message(n, NODE_ATTRIBUTE, b);
}

void put_reference(bytes *n, const char *name, int type, const char *reference) {
    bytes b = attribute(name, type);
    put_text(&b, ATTRIBUTE_REFERENCE, reference);
    put_message(n, NODE_ATTRIBUTE, b);
}

bytes value_info(const char *name, int dtype, const char *dims) {
    bytes shape = {0}, tensor = {0}, type = {0}, info = {0};
    while (dims[0] != '\0') {
        size_t size = strcspn(dims, ",");
        bytes dim = {0};
        if (dims[0] >= '0' && dims[0] <= '9')
            put_integer(&dim, 1, strtoull(dims, NULL, 10));
        else if (size > 0)
            put_block(&dim, 2, dims, size);
        put_message(&shape, 1, dim);
        dims += size + (dims[size] == ',');
    }
    put_integer(&tensor, 1, (uint64_t)dtype);
    put_message(&tensor, 2, shape);
    put_message(&type, 1, tensor);
    put_text(&info, 1, name);
    put_message(&info, 2, type);
    return info;
}

bytes model(bytes graph, int64_t opset) {
    bytes b = {0}, imported = {0};
    put_integer(&b, MODEL_IR_VERSION, 8);
    put_text(&b, MODEL_PRODUCER, "test");
    put_integer(&imported, 2, (uint64_t)opset);
    put_message(&b, MODEL_OPSET, imported);
    put_message(&b, MODEL_GRAPH, graph);
    return b;
}
