#include "onnx_import/wire.h"

#include <string.h>

#include "base/text.h"
#include "onnx.pb-c.h"

enum { EXTERNAL_DATA = 13 }; /* of a tensor */

bool ons_varint_read(const uint8_t *bytes, uint64_t *at, uint64_t end, uint64_t *value) {
    uint64_t result = 0;
    for (int i = 0; i < ONS_VARINT_MAX && *at < end; ++i) {
        uint8_t byte = bytes[(*at)++];
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value = result;
            return true;
        }
    }
    return false;
}

size_t ons_varint_write(uint64_t value, uint8_t bytes[static ONS_VARINT_MAX]) {
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    return count;
}

size_t ons_varint_size(uint64_t value) {
    uint8_t unused[ONS_VARINT_MAX];
    return ons_varint_write(value, unused);
}

static ons_status *truncated(uint64_t at) {
    return ons_status_new(ONS_INVALID_MODEL, "the file is truncated or damaged at byte %llu, or is not an ONNX model",
                          (unsigned long long)at);
}

ons_status *ons_wire_next(const uint8_t *bytes, uint64_t *at, uint64_t end, ons_wire_field *field) {
    *field = (ons_wire_field){.tag_at = *at};
    uint64_t tag;
    if (!ons_varint_read(bytes, at, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return truncated(field->tag_at);
    field->number = (uint32_t)(tag >> 3);
    field->wire_type = (ons_wire_type)(tag & 7);
    field->begin = *at;
    uint64_t size;
    switch (tag & 7) {
    case ONS_WIRE_VARINT:
        if (!ons_varint_read(bytes, at, end, &field->varint)) return truncated(field->tag_at);
        size = 0; /* read already */
        break;
    case ONS_WIRE_64_BIT: size = 8; break;
    case ONS_WIRE_32_BIT: size = 4; break;
    case ONS_WIRE_BYTES:
        field->length_at = *at;
        if (!ons_varint_read(bytes, at, end, &size)) return truncated(field->tag_at);
        field->begin = *at;
        break;
    default: /* groups, which ONNX never had */ return truncated(field->tag_at);
    }
    if (size > end - *at) return truncated(field->tag_at);
    *at += size;
    field->end = *at;
    return NULL;
}

/* A message that is being read. */
typedef struct level {
    uint32_t frame;
    uint64_t at;
    uint32_t seen; /* bit n: the single sub-message of field n was there */
} level;

typedef struct scan {
    const uint8_t *bytes;
    ons_frames *frames;
    level levels[ONS_WIRE_DEPTH_MAX];
    uint32_t depth;
} scan;

static ons_status *enter(scan *s, const ons_wire_field *field, const ProtobufCMessageDescriptor *type,
                         uint32_t parent) {
    ONS_CHECK(s->depth < ONS_WIRE_DEPTH_MAX, ONS_INVALID_MODEL,
              "byte %llu: messages are nested more than %d deep; no ONNX model needs that",
              (unsigned long long)field->tag_at, ONS_WIRE_DEPTH_MAX);
    ONS_CHECK(s->frames->count < ONS_WIRE_MESSAGES_MAX, ONS_INVALID_MODEL,
              "the file has more than %d parts; it is damaged, or no ONNX model", ONS_WIRE_MESSAGES_MAX);
    ons_frame frame = {.type = type,
                       .parent = parent,
                       .number = field->number,
                       .tag_at = field->tag_at,
                       .length_at = field->length_at,
                       .begin = field->begin,
                       .end = field->end};
    s->levels[s->depth++] = (level){.frame = (uint32_t)s->frames->count, .at = field->begin};
    ONS_PUSH(s->frames, frame);
    return NULL;
}

/* Notes that a message was there that may be there once. */
static ons_status *check_single(level *in, const ons_wire_field *field, const ProtobufCFieldDescriptor *known) {
    if (known->label == PROTOBUF_C_LABEL_REPEATED || field->number >= 32) return NULL;
    uint32_t bit = 1u << field->number;
    ONS_CHECK(!(in->seen & bit), ONS_INVALID_MODEL, "byte %llu: '%s' is there twice; the file is damaged",
              (unsigned long long)field->tag_at, known->name);
    in->seen |= bit;
    return NULL;
}

/* Entries of metadata hold whole texts; those of external data are names of files. */
static bool is_free_text(const ons_frame *in, const ProtobufCFieldDescriptor *known) {
    bool entry = in->type == &onnx__string_string_entry_proto__descriptor && in->number != EXTERNAL_DATA;
    return strcmp(known->name, "doc_string") == 0 || (entry && strcmp(known->name, "value") == 0);
}

/* Names are printed, compared, and written to other files: one that a terminal acts on, that ends early, or that fills
 * pages, is refused where it enters. */
static ons_status *check_name(const scan *s, const ons_frame *in, const ons_wire_field *field,
                              const ProtobufCFieldDescriptor *known) {
    if (field->wire_type != ONS_WIRE_BYTES || is_free_text(in, known)) return NULL;
    unsigned long long at = field->begin;
    ONS_CHECK(field->end - field->begin <= ONS_WIRE_NAME_MAX, ONS_INVALID_MODEL,
              "byte %llu: '%s' has %llu bytes; names have at most %d", at, known->name,
              (unsigned long long)(field->end - field->begin), ONS_WIRE_NAME_MAX);
    for (uint64_t i = field->begin; i < field->end; ++i) {
        ONS_CHECK(
            !ons_is_control((const char *)s->bytes + i, field->end - i), ONS_INVALID_MODEL,
            "byte %llu: '%s' holds a control character (0x%02x); the file is damaged, or its names must be mended",
            (unsigned long long)i, known->name, s->bytes[i + (s->bytes[i] == 0xc2)]);
    }
    return NULL;
}

ons_status *ons_wire_scan(const uint8_t *bytes, uint64_t size, const ProtobufCMessageDescriptor *type,
                          ons_frames *frames) {
    scan s = {.bytes = bytes, .frames = frames};
    ONS_TRY(enter(&s, &(ons_wire_field){.end = size}, type, ONS_NO_FRAME));
    while (s.depth > 0) {
        level *in = &s.levels[s.depth - 1];
        ons_frame frame = frames->items[in->frame];
        if (in->at == frame.end) {
            --s.depth;
            continue;
        }
        ons_wire_field field;
        ONS_TRY(ons_wire_next(bytes, &in->at, frame.end, &field));
        const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(frame.type, field.number);
        if (known != NULL && known->type == PROTOBUF_C_TYPE_STRING) ONS_TRY(check_name(&s, &frame, &field, known));
        if (known == NULL || known->type != PROTOBUF_C_TYPE_MESSAGE) continue;
        if (field.wire_type != ONS_WIRE_BYTES) return truncated(field.tag_at);
        ONS_TRY(check_single(in, &field, known));
        ONS_TRY(enter(&s, &field, known->descriptor, in->frame));
    }
    return NULL;
}
