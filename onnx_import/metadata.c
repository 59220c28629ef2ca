#include "onnx_import/metadata.h"

#include <string.h>

#include "onnx.pb-c.h"
#include "onnx_import/newer.h"
#include "onnx_import/wire.h"

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

typedef struct entry {
    ons_text_view key, value;
} entry;

/* A StringStringEntryProto of a field that the schema does not know. */
static bool read_entry(const ProtobufCMessageUnknownField *field, entry *e) {
    const uint8_t *bytes;
    uint64_t size, at = 0;
    *e = (entry){{"", 0}, {"", 0}};
    if (!ons_unknown_bytes(field, &bytes, &size)) return false;
    while (at < size) {
        ons_wire_field part;
        ons_status *problem = ons_wire_next(bytes, &at, size, &part);
        if (problem != NULL) {
            ons_status_free(problem);
            return false;
        }
        ons_text_view text = {(const char *)bytes + part.begin, (size_t)(part.end - part.begin)};
        if (part.wire_type == ONS_WIRE_BYTES && part.number == ENTRY_KEY) e->key = text;
        if (part.wire_type == ONS_WIRE_BYTES && part.number == ENTRY_VALUE) e->value = text;
    }
    return true;
}

static ons_text_view piece_of(const char *text) {
    return text == NULL ? (ons_text_view){"", 0} : (ons_text_view){text, strlen(text)};
}

bool ons_text_view_equals(ons_text_view piece, const char *text) {
    return piece.size == strlen(text) && memcmp(piece.text, text, piece.size) == 0;
}

bool ons_metadata_find(const ProtobufCMessage *message, uint32_t number, const char *key, ons_text_view *value) {
    ProtobufCMessage *const *known;
    size_t count;
    if (ons_newer_messages(message, number, &known, &count)) {
        for (size_t i = 0; i < count; ++i) {
            const Onnx__StringStringEntryProto *each = (const Onnx__StringStringEntryProto *)known[i];
            *value = piece_of(each->value);
            if (ons_text_view_equals(piece_of(each->key), key)) return true;
        }
        return false;
    }
    const ProtobufCMessageUnknownField *field = NULL;
    while ((field = ons_unknown_field(message, number, field)) != NULL) {
        entry e;
        if (!read_entry(field, &e) || !ons_text_view_equals(e.key, key)) continue;
        *value = e.value;
        return true;
    }
    return false;
}

bool ons_quoted_next(ons_text_view list, size_t *at, ons_text_view *item) {
    while (*at < list.size && list.text[*at] != '\'' && list.text[*at] != '"') ++*at;
    if (*at >= list.size) return false;
    char quote = list.text[*at];
    const char *begin = list.text + *at + 1;
    const char *end = memchr(begin, quote, list.size - *at - 1);
    if (end == NULL) return false;
    *item = (ons_text_view){begin, (size_t)(end - begin)};
    *at = (size_t)(end + 1 - list.text);
    return true;
}
