/* Pairs of texts that exporters leave at nodes, values and graphs (metadata_props). */
#ifndef ONSTAGE_ONNX_IMPORT_METADATA_H
#define ONSTAGE_ONNX_IMPORT_METADATA_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

/* A text of the file, not terminated; it lives as long as the file. */
typedef struct ons_text_view {
    const char *text;
    size_t size;
} ons_text_view;

/* Where metadata_props stands in the messages that have it. */
enum { ONS_VALUE_METADATA = 4, ONS_GRAPH_METADATA = 16 };

/* The value of `key` in field `number` of the message; false where there is none. */
bool ons_metadata_find(const ProtobufCMessage *message, uint32_t number, const char *key, ons_text_view *value);

/* The next text in quotes of a list as Python prints it, "['a', 'b']", at or behind *at, which moves behind it; false
 * at the end. */
bool ons_quoted_next(ons_text_view list, size_t *at, ons_text_view *item);

bool ons_text_view_equals(ons_text_view piece, const char *text);

#endif
