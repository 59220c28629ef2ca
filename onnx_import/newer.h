/* Fields of ONNX files that the schema of onnx 1.12 (Debian 12) does not know and that of 1.17 (Debian 13) does:
 * unpacked they are among the unknown fields, or in a member of their own that code for both cannot name. */
#ifndef ONSTAGE_ONNX_IMPORT_NEWER_H
#define ONSTAGE_ONNX_IMPORT_NEWER_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ONS_NODE_OVERLOAD = 8, ONS_NODE_METADATA = 9, ONS_FUNCTION_DEFAULTS = 11, ONS_FUNCTION_OVERLOAD = 13 };

/* An unknown field as it stands behind the tag; NULL where there is none. The next one after `after`, or the first. */
const ProtobufCMessageUnknownField *ons_unknown_field(const ProtobufCMessage *message, uint32_t number,
                                                      const ProtobufCMessageUnknownField *after);

/* The bytes of an unknown field of wire type 2, without their length; false where it is of another type. */
bool ons_unknown_bytes(const ProtobufCMessageUnknownField *field, const uint8_t **bytes, uint64_t *size);

/* The text of field `number`, not terminated; "" where there is none. */
const char *ons_newer_text(const ProtobufCMessage *message, uint32_t number, size_t *size);

/* The messages of a repeated field, which belong to `message`; false: the schema does not know it, see the unknown
 * fields. */
bool ons_newer_messages(const ProtobufCMessage *message, uint32_t number, ProtobufCMessage *const **items,
                        size_t *count);

#endif
