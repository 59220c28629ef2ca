#include "base/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void ons_json_writer_init(ons_json_writer *writer, ons_byte_sink *sink, void *context) {
    writer->sink = sink;
    writer->context = context;
    writer->status = NULL;
    writer->comma = false;
    writer->used = 0;
}

static void hand_over(ons_json_writer *writer) {
    if (writer->status == NULL && writer->used > 0)
        writer->status = writer->sink(writer->context, writer->buffer, writer->used);
    writer->used = 0;
}

ons_status *ons_json_writer_flush(ons_json_writer *writer) {
    hand_over(writer);
    ons_status *status = writer->status;
    writer->status = NULL;
    return status;
}

/* At most a few hundred bytes at a time. */
static void put(ons_json_writer *writer, const char *text, size_t size) {
    if (size > sizeof writer->buffer - writer->used) hand_over(writer);
    memcpy(writer->buffer + writer->used, text, size);
    writer->used += size;
}

static void put_quoted(ons_json_writer *writer, const char *text) {
    put(writer, "\"", 1);
    for (const char *at = text; *at != '\0';) {
        size_t length = ons_utf8_length(at);
        char escape[8];
        if (length == 0)
            put(writer, "?", 1);
        else if (*at == '"' || *at == '\\')
            put(writer, (const char[]){'\\', *at}, 2);
        else if ((unsigned char)*at < 0x20)
            put(writer, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*at));
        else
            put(writer, at, length);
        at += length == 0 ? 1 : length;
    }
    put(writer, "\"", 1);
}

/* What stands in front of a piece. */
static void put_name(ons_json_writer *writer, const char *name) {
    if (writer->comma) put(writer, ",", 1);
    if (name != NULL) {
        put_quoted(writer, name);
        put(writer, ":", 1);
    }
    writer->comma = true;
}

static void begin(ons_json_writer *writer, const char *name, char bracket) {
    put_name(writer, name);
    put(writer, &bracket, 1);
    writer->comma = false;
}

static void end(ons_json_writer *writer, char bracket) {
    put(writer, &bracket, 1);
    writer->comma = true;
}

void ons_json_begin_object(ons_json_writer *writer, const char *name) { begin(writer, name, '{'); }

void ons_json_end_object(ons_json_writer *writer) { end(writer, '}'); }

void ons_json_begin_array(ons_json_writer *writer, const char *name) { begin(writer, name, '['); }

void ons_json_end_array(ons_json_writer *writer) { end(writer, ']'); }

void ons_json_put_text(ons_json_writer *writer, const char *name, const char *value) {
    put_name(writer, name);
    put_quoted(writer, value);
}

const char *ons_json_print_double(double value, char text[static ONS_JSON_NUMBER_TEXT]) {
    if (!isfinite(value)) return strcpy(text, "null");
    snprintf(text, ONS_JSON_NUMBER_TEXT, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, ONS_JSON_NUMBER_TEXT, "%.17g", value);
    return text;
}

void ons_json_put_double(ons_json_writer *writer, const char *name, double value) {
    put_name(writer, name);
    char text[ONS_JSON_NUMBER_TEXT];
    ons_json_print_double(value, text);
    put(writer, text, strlen(text));
}

void ons_json_put_int(ons_json_writer *writer, const char *name, int64_t value) {
    put_name(writer, name);
    char text[24];
    put(writer, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

void ons_json_put_uint64(ons_json_writer *writer, const char *name, uint64_t value) {
    put_name(writer, name);
    char text[24];
    put(writer, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)value));
}

void ons_json_put_bool(ons_json_writer *writer, const char *name, bool value) {
    put_name(writer, name);
    put(writer, value ? "true" : "false", value ? 4 : 5);
}

void ons_json_put_line_break(ons_json_writer *writer) {
    put(writer, "\n", 1);
    writer->comma = false;
}
