#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_writer.h"
#include "base/text.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

/* ---------------------------------------------------------------------------------------------------------- reading */

static ons_status *failure_at(const char *text, size_t offset, const char *what) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset; ++i) {
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return ons_status_new(ONS_INVALID_DATA, "line %zu, column %zu: %s", line, column, what);
}

/* cJSON recurses: brackets are counted before it does. Its own limit is a matter of how it was built. */
static ons_status *check_depth(const char *text, size_t size) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; ++i) {
        char c = text[i];
        if (in_string && c == '\\')
            ++i;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{') && ++depth > ONS_JSON_DEPTH_MAX)
            return failure_at(text, i, "nested too deeply");
        else if (!in_string && (c == ']' || c == '}'))
            --depth;
    }
    return NULL;
}

ons_status *ons_json_parse(const void *bytes, size_t size, ons_json **json) {
    *json = NULL;
    const char *text = bytes;
    ONS_CHECK(size > 0, ONS_INVALID_DATA, "empty, where JSON is expected");
    ONS_TRY(check_depth(text, size));
    const char *end = NULL;
    ons_json *parsed = cJSON_ParseWithLengthOpts(text, size, &end, false);
    size_t offset = end == NULL || end < text ? 0 : (size_t)(end - text);
    offset = offset < size ? offset : size;
    if (parsed == NULL) return failure_at(text, offset, "not valid JSON");
    while (offset < size && strchr(" \t\r\n", text[offset]) != NULL && text[offset] != '\0') ++offset;
    if (offset < size) {
        cJSON_Delete(parsed);
        return failure_at(text, offset, "more text after the end of the JSON value");
    }
    *json = parsed;
    return NULL;
}

/* As it stands in a text of JSON. */
static bool is_control(const char *text, size_t left) {
    static const char *const spelled[] = {"\\b",    "\\f",     "\\n",    "\\r",   "\\u000",
                                          "\\u001", "\\u007f", "\\u008", "\\u009"};
    if (ons_is_control(text, left)) return true;
    for (size_t i = 0; text[0] == '\\' && i < sizeof spelled / sizeof spelled[0]; ++i) {
        size_t length = strlen(spelled[i]);
        if (left >= length && strncasecmp(text, spelled[i], length) == 0) return true;
    }
    return false;
}

ons_status *ons_json_parse_names(const void *bytes, size_t size, ons_json **json) {
    const char *text = bytes;
    ONS_TRY(ons_json_parse(bytes, size, json));
    bool in_string = false;
    size_t begin = 0;
    for (size_t i = 0; i < size; ++i) {
        if (text[i] == '"') {
            in_string = !in_string;
            begin = i;
        }
        bool control = in_string && is_control(text + i, size - i),
             is_long = in_string && i - begin > ONS_JSON_NAME_MAX;
        if (control || is_long) {
            ons_json_free(*json);
            *json = NULL;
            return failure_at(text, control ? i : begin,
                              control ? "a control character, in what may be a name"
                                      : "too long for what may be a name");
        }
        if (text[i] == '\\') ++i;
    }
    return NULL;
}

void ons_json_free(ons_json *json) { cJSON_Delete(json); }

const ons_json *ons_json_find(const ons_json *object, const char *name) {
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

static ons_status *find_member(const ons_json *object, const char *name, const ons_json **member) {
    *member = ons_json_find(object, name);
    ONS_CHECK(*member != NULL, ONS_INVALID_DATA, "'%s' is missing", name);
    return NULL;
}

ons_status *ons_json_get_text(const ons_json *object, const char *name, const char **value) {
    const ons_json *member;
    ONS_TRY(find_member(object, name, &member));
    ONS_CHECK(cJSON_IsString(member), ONS_INVALID_DATA, "'%s' is not a text", name);
    *value = member->valuestring;
    return NULL;
}

ons_status *ons_json_copy_text(const ons_json *object, const char *name, ons_arena *arena, const char **value) {
    const char *text;
    ONS_TRY(ons_json_get_text(object, name, &text));
    *value = ons_arena_copy_text(arena, text);
    return *value != NULL ? NULL : ons_status_out_of_memory();
}

ons_status *ons_json_get_double(const ons_json *object, const char *name, double *value) {
    const ons_json *member;
    ONS_TRY(find_member(object, name, &member));
    ONS_CHECK(cJSON_IsNumber(member) && isfinite(member->valuedouble), ONS_INVALID_DATA, "'%s' is not a number", name);
    *value = member->valuedouble;
    return NULL;
}

ons_status *ons_json_get_bool(const ons_json *object, const char *name, bool *value) {
    const ons_json *member;
    ONS_TRY(find_member(object, name, &member));
    ONS_CHECK(cJSON_IsBool(member), ONS_INVALID_DATA, "'%s' is neither true nor false", name);
    *value = cJSON_IsTrue(member);
    return NULL;
}

ons_status *ons_json_get_object(const ons_json *object, const char *name, const ons_json **value) {
    ONS_TRY(find_member(object, name, value));
    ONS_CHECK(cJSON_IsObject(*value), ONS_INVALID_DATA, "'%s' is not an object", name);
    return NULL;
}

ons_status *ons_json_get_array(const ons_json *object, const char *name, const ons_json **value) {
    ONS_TRY(find_member(object, name, value));
    ONS_CHECK(cJSON_IsArray(*value), ONS_INVALID_DATA, "'%s' is not an array", name);
    return NULL;
}

bool ons_json_as_int(const ons_json *json, int64_t *value) {
    if (!cJSON_IsNumber(json) || !(fabs(json->valuedouble) <= EXACT_MAX) ||
        json->valuedouble != trunc(json->valuedouble))
        return false;
    *value = (int64_t)json->valuedouble;
    return true;
}

ons_status *ons_json_get_int(const ons_json *object, const char *name, int64_t *value) {
    const ons_json *member;
    ONS_TRY(find_member(object, name, &member));
    ONS_CHECK(ons_json_as_int(member, value), ONS_INVALID_DATA, "'%s' is not a whole number within 2^53", name);
    return NULL;
}

/* Decimal digits alone, within 64 bits. */
static bool parse_digits(const char *text, uint64_t *value) {
    size_t length = strlen(text);
    if (length == 0 || length > 20 || strspn(text, "0123456789") != length) return false;
    errno = 0;
    *value = strtoull(text, NULL, 10);
    return errno == 0;
}

ons_status *ons_json_get_uint64(const ons_json *object, const char *name, uint64_t *value) {
    const ons_json *member;
    ONS_TRY(find_member(object, name, &member));
    if (cJSON_IsString(member) && parse_digits(member->valuestring, value)) return NULL;
    int64_t number;
    ONS_CHECK(ons_json_as_int(member, &number) && number >= 0, ONS_INVALID_DATA, "'%s' is not a whole number from 0 on",
              name);
    *value = (uint64_t)number;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- writing */

ons_status *ons_json_new_object(ons_json **object) {
    *object = cJSON_CreateObject();
    return *object != NULL ? NULL : ons_status_out_of_memory();
}

ons_status *ons_json_set(ons_json *object, const char *name, ons_json *value) {
    if (value == NULL) return ons_status_out_of_memory();
    if (!cJSON_AddItemToObject(object, name, value)) {
        cJSON_Delete(value);
        return ons_status_out_of_memory();
    }
    return NULL;
}

ons_status *ons_json_set_text(ons_json *object, const char *name, const char *value) {
    return ons_json_set(object, name, cJSON_CreateString(value));
}

/* cJSON prints a number with 15 digits where that is nearly the same; numbers are printed here, so that none changes.
 */
ons_status *ons_json_set_double(ons_json *object, const char *name, double value) {
    char text[ONS_JSON_NUMBER_TEXT];
    return ons_json_set(object, name, cJSON_CreateRaw(ons_json_print_double(value, text)));
}

ons_status *ons_json_set_bool(ons_json *object, const char *name, bool value) {
    return ons_json_set(object, name, cJSON_CreateBool(value));
}

ons_status *ons_json_set_uint64(ons_json *object, const char *name, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    bool exact = value <= (uint64_t)EXACT_MAX;
    return ons_json_set(object, name, exact ? cJSON_CreateRaw(digits) : cJSON_CreateString(digits));
}

ons_status *ons_json_print(const ons_json *json, char **text) {
    char *printed = cJSON_Print(json);
    size_t length = printed == NULL ? 0 : strlen(printed);
    *text = printed == NULL ? NULL : realloc(printed, length + 2);
    if (*text == NULL) {
        free(printed);
        return ons_status_out_of_memory();
    }
    memcpy(*text + length, "\n", 2);
    return NULL;
}
