/* Protobuf's wire format, read without unpacking: what must be known before bytes from outside are trusted.
 *
 *   field   = tag (varint: number << 3 | wire type) value
 *   value   = varint | 8 bytes | 4 bytes | length (varint) bytes
 *   message = field*                                   a sub-message is a value with a length
 *
 * protobuf-c recurses and allocates as the file tells it to. The scan walks the messages of the schema once, without
 * recursion, and refuses what is truncated, nested too deeply or made of too many messages, and names that are too long
 * or hold control characters. What it finds, the place of every message, serves to copy the file with changes
 * (splice.h).
 */
#ifndef ONSTAGE_ONNX_IMPORT_WIRE_H
#define ONSTAGE_ONNX_IMPORT_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "base/status.h"
#include "base/vector.h"

enum {
    ONS_WIRE_DEPTH_MAX = 100,        /* protobuf's own limit */
    ONS_WIRE_MESSAGES_MAX = 1 << 24, /* bounds the memory of unpacking; the largest real models have a hundredth */
    ONS_WIRE_NAME_MAX = 4096,        /* bytes; the longest of real models, paths of nested modules, have some hundred */
    ONS_VARINT_MAX = 10,             /* bytes */
};

typedef enum ons_wire_type {
    ONS_WIRE_VARINT = 0,
    ONS_WIRE_64_BIT = 1,
    ONS_WIRE_BYTES = 2, /* length and bytes */
    ONS_WIRE_32_BIT = 5,
} ons_wire_type;

/* One field of a message, by offsets into the file. */
typedef struct ons_wire_field {
    uint32_t number;
    ons_wire_type wire_type;
    uint64_t tag_at;    /* the field begins here … */
    uint64_t length_at; /* of ONS_WIRE_BYTES */
    uint64_t begin;     /* the value, without its length */
    uint64_t end;       /* … and ends here */
    uint64_t varint;    /* the value of an ONS_WIRE_VARINT */
} ons_wire_field;

/* The field at *at, which lies before `end`; *at moves behind it. */
ons_status *ons_wire_next(const uint8_t *bytes, uint64_t *at, uint64_t end, ons_wire_field *field);

/* A varint at *at; false where there is none before `end`. */
bool ons_varint_read(const uint8_t *bytes, uint64_t *at, uint64_t end, uint64_t *value);

/* Writes the shortest form; returns its length. */
size_t ons_varint_write(uint64_t value, uint8_t bytes[static ONS_VARINT_MAX]);
size_t ons_varint_size(uint64_t value);

enum { ONS_NO_FRAME = 0xffffffffu };

/* A message of the file. */
typedef struct ons_frame {
    const ProtobufCMessageDescriptor *type;
    uint32_t parent;                        /* index; ONS_NO_FRAME for the outermost message */
    uint32_t number;                        /* of the field in the parent */
    uint64_t tag_at, length_at, begin, end; /* as in ons_wire_field */
} ons_frame;

/* Parents before children, otherwise in the order of the file. */
typedef ONS_VECTOR(ons_frame) ons_frames;

/* Finds the messages of `bytes`, which are to be a message of type `type`. Also refuses a message given twice where the
 * schema has one (protobuf would merge the two). The caller frees the vector, also on failure. */
ons_status *ons_wire_scan(const uint8_t *bytes, uint64_t size, const ProtobufCMessageDescriptor *type,
                          ons_frames *frames);

#endif
