#include "runtime/data/text_array.h"

#include <ctype.h>
#include <string.h>

/* As much of a file as is looked at. */
enum { LOOKED_AT = 4096 };

static bool is_text(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
        if (bytes[i] < ' ' && strchr("\t\r\n", bytes[i]) == NULL) return false;
    return memchr(bytes, '\0', size) == NULL;
}

static size_t line_length(const uint8_t *bytes, size_t size) {
    const uint8_t *end = memchr(bytes, '\n', size);
    return end == NULL ? size : (size_t)(end - bytes);
}

/* Numbers and what parts them, alone. */
static bool is_numeric(const uint8_t *line, size_t length) {
    bool digits = false;
    for (size_t i = 0; i < length; ++i) {
        digits = digits || isdigit(line[i]);
        if (!isdigit(line[i]) && strchr("+-.eE,; \t\r", line[i]) == NULL) return false;
    }
    return digits;
}

static const char *find_delimiter(const uint8_t *line, size_t length) {
    static const struct {
        char byte;
        const char *argument;
    } delimiters[] = {{',', ", delimiter=','"}, {';', ", delimiter=';'"}, {'\t', ", delimiter='\\t'"}};
    for (size_t i = 0; i < sizeof delimiters / sizeof delimiters[0]; ++i)
        if (memchr(line, delimiters[i].byte, length) != NULL) return delimiters[i].argument;
    return "";
}

bool ons_text_array_recognise(const uint8_t *bytes, size_t size) {
    size_t seen = size < LOOKED_AT ? size : LOOKED_AT, first = line_length(bytes, seen);
    if (seen == 0 || !is_text(bytes, seen)) return false;
    return is_numeric(bytes, first) || find_delimiter(bytes, first)[0] != '\0';
}

ons_status *ons_text_array_refuse(const uint8_t *bytes, size_t size, const char *path) {
    size_t seen = size < LOOKED_AT ? size : LOOKED_AT, first = line_length(bytes, seen);
    size_t second = first < seen ? line_length(bytes + first + 1, seen - first - 1) : 0;
    bool heading = !is_numeric(bytes, first) && first < seen && is_numeric(bytes + first + 1, second);
    bool fractions = false;
    for (size_t i = heading ? first : 0; i < seen; ++i) fractions = fractions || strchr(".eE", bytes[i]) != NULL;
    const char *delimiter = find_delimiter(bytes, first), *name = path == NULL ? "FILE" : path;
    return ons_status_new(ONS_INVALID_DATA,
                          "this looks like %s text; as an array: python3 -c \"import numpy as n; n.save('%s.npy', "
                          "n.loadtxt('%s'%s%s, dtype='%s'))\"",
                          delimiter[0] == '\0'   ? "plain"
                          : delimiter[13] == ',' ? "comma-separated"
                                                 : "separated",
                          name, name, delimiter, heading ? ", skiprows=1" : "", fractions ? "float32" : "int64");
}
