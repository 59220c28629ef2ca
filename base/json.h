/* JSON through cJSON, with failures that say where. */
#ifndef ONSTAGE_BASE_JSON_H
#define ONSTAGE_BASE_JSON_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/status.h"

typedef cJSON ons_json;

/* Arrays and objects inside each other. */
enum { ONS_JSON_DEPTH_MAX = 100 };

/* The whole text must be one JSON value; it need not end with a zero. The failure (ONS_INVALID_DATA) names line and
 * column. */
ons_status *ons_json_parse(const void *bytes, size_t size, ons_json **json);
/* Bytes of a text between its quotes, in files whose texts are shown to the user. */
enum { ONS_JSON_NAME_MAX = 4096 };
/* As parse, of such a file: longer texts are refused, and control characters in them, spelled out or not. */
ons_status *ons_json_parse_names(const void *bytes, size_t size, ons_json **json);
void ons_json_free(ons_json *json); /* NULL is fine */

/* The member of that name (case matters), or NULL; also NULL where `object` is no object. */
const ons_json *ons_json_find(const ons_json *object, const char *name);

/* Typed members. The failure names the member: "'step' is missing", "'step' is not a whole number". */
ons_status *ons_json_get_text(const ons_json *object, const char *name, const char **value);
/* A member's text, as a copy in the arena. */
ons_status *ons_json_copy_text(const ons_json *object, const char *name, ons_arena *arena, const char **value);
ons_status *ons_json_get_double(const ons_json *object, const char *name, double *value);
ons_status *ons_json_get_bool(const ons_json *object, const char *name, bool *value);
ons_status *ons_json_get_object(const ons_json *object, const char *name, const ons_json **value);
ons_status *ons_json_get_array(const ons_json *object, const char *name, const ons_json **value);
/* Whole and within ±2^53, where a JSON number is exact. */
ons_status *ons_json_get_int(const ons_json *object, const char *name, int64_t *value);
/* All 64 bits: a number up to 2^53, or the decimal digits as a text, as ons_json_set_uint64 writes them. */
ons_status *ons_json_get_uint64(const ons_json *object, const char *name, uint64_t *value);

/* An array's element, or any other value, as a whole number within ±2^53; false where it is none. */
bool ons_json_as_int(const ons_json *json, int64_t *value);

/* Building, for printing: numbers are kept as text, so that they come back bit for bit; the getters above read them
 * only after they were printed and parsed. A number that is not finite becomes null. */
ons_status *ons_json_new_object(ons_json **object);
ons_status *ons_json_set_text(ons_json *object, const char *name, const char *value);
ons_status *ons_json_set_double(ons_json *object, const char *name, double value);
ons_status *ons_json_set_bool(ons_json *object, const char *name, bool value);
ons_status *ons_json_set_uint64(ons_json *object, const char *name, uint64_t value);
/* Takes over `value`, also on failure; NULL counts as out of memory. */
ons_status *ons_json_set(ons_json *object, const char *name, ons_json *value);

/* The text, indented, ending in a line break. The caller frees it. */
ons_status *ons_json_print(const ons_json *json, char **text);

#endif
