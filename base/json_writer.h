/* JSON written piece by piece into a fixed buffer: nothing is allocated, so a training step may log and trace.
 *
 *   ons_json_begin_object(w, NULL);  ons_json_put_double(w, "loss", 0.5);  ons_json_end_object(w);      {"loss":0.5}
 *
 * Inside of an object every piece has a name; inside of an array, and at the top, the name is NULL. Failures of the
 * sink are kept: later pieces do nothing, and ons_json_writer_flush returns the first one.
 */
#ifndef ONSTAGE_BASE_JSON_WRITER_H
#define ONSTAGE_BASE_JSON_WRITER_H

#include "base/status.h"

typedef ons_status *ons_byte_sink(void *context, const void *bytes, size_t size);

enum { ONS_JSON_WRITER_BYTES = 8192 };

typedef struct ons_json_writer {
    ons_byte_sink *sink;
    void *context;
    ons_status *status;
    bool comma; /* a piece stands before, in the same object or array */
    size_t used;
    char buffer[ONS_JSON_WRITER_BYTES];
} ons_json_writer;

void ons_json_writer_init(ons_json_writer *writer, ons_byte_sink *sink, void *context);

void ons_json_begin_object(ons_json_writer *writer, const char *name);
void ons_json_end_object(ons_json_writer *writer);
void ons_json_begin_array(ons_json_writer *writer, const char *name);
void ons_json_end_array(ons_json_writer *writer);

void ons_json_put_text(ons_json_writer *writer, const char *name,
                       const char *value);                                         /* bytes that are not UTF-8: '?' */
void ons_json_put_double(ons_json_writer *writer, const char *name, double value); /* not finite: null */
void ons_json_put_int(ons_json_writer *writer, const char *name, int64_t value);
void ons_json_put_uint64(ons_json_writer *writer, const char *name, uint64_t value); /* all digits */
void ons_json_put_bool(ons_json_writer *writer, const char *name, bool value);

/* The shortest of 15 or 17 digits that gives the same number back; "null" where it is not finite. Returns `text`. */
enum { ONS_JSON_NUMBER_TEXT = 40 };
const char *ons_json_print_double(double value, char text[static ONS_JSON_NUMBER_TEXT]);

/* A line break between values at the top. */
void ons_json_put_line_break(ons_json_writer *writer);

/* Hands everything to the sink. Returns the first failure, which the writer then forgets. */
ons_status *ons_json_writer_flush(ons_json_writer *writer);

#endif
