#include "base/shown.h"

#include <stdbool.h>
#include <string.h>

static bool continues(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

const char *ons_shown(const char *name, char text[ONS_SHOWN_BYTES]) {
    static const char gap[] = "…";
    size_t length = strlen(name), space = ONS_SHOWN_MOST - strlen(gap);
    /* The end of a long name tells as much as its beginning. */
    size_t begin = space / 2, end = space - begin;
    if (length <= ONS_SHOWN_MOST) return name;
    const char *tail = name + length - end;
    while (begin > 0 && continues(name[begin])) --begin;
    while (continues(*tail)) ++tail;
    memcpy(text, name, begin);
    strcpy(stpcpy(text + begin, gap), tail);
    return text;
}
