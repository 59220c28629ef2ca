#include "onnx_import/newer.h"

#include <string.h>

#include "onnx_import/wire.h"

const ProtobufCMessageUnknownField *ons_unknown_field(const ProtobufCMessage *message, uint32_t number,
                                                      const ProtobufCMessageUnknownField *after) {
    size_t first = after == NULL ? 0 : (size_t)(after - message->unknown_fields) + 1;
    for (size_t i = first; i < message->n_unknown_fields; ++i)
        if (message->unknown_fields[i].tag == number) return &message->unknown_fields[i];
    return NULL;
}

bool ons_unknown_bytes(const ProtobufCMessageUnknownField *field, const uint8_t **bytes, uint64_t *size) {
    if (field == NULL || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) return false;
    uint64_t at = 0;
    if (!ons_varint_read(field->data, &at, field->len, size) || *size != field->len - at) return false;
    *bytes = field->data + at;
    return true;
}

/* Where the member of a field that the schema knows lies. */
static const void *member(const ProtobufCMessage *message, unsigned offset) { return (const char *)message + offset; }

const char *ons_newer_text(const ProtobufCMessage *message, uint32_t number, size_t *size) {
    const char *text = "";
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(message->descriptor, number);
    if (known != NULL) {
        const char *given = *(const char *const *)member(message, known->offset);
        if (given != NULL) text = given;
        *size = strlen(text);
        return text;
    }
    const uint8_t *bytes = (const uint8_t *)text;
    uint64_t length = 0;
    ons_unknown_bytes(ons_unknown_field(message, number, NULL), &bytes, &length);
    *size = (size_t)length;
    return (const char *)bytes;
}

bool ons_newer_messages(const ProtobufCMessage *message, uint32_t number, ProtobufCMessage *const **items,
                        size_t *count) {
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(message->descriptor, number);
    if (known == NULL) return false;
    *count = *(const size_t *)member(message, known->quantifier_offset);
    *items = *(ProtobufCMessage *const *const *)member(message, known->offset);
    return true;
}
