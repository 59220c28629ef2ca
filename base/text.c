#include "base/text.h"

#include <stdlib.h>
#include <string.h>

bool ons_is_control(const char *text, size_t left) {
    unsigned char c = (unsigned char)text[0], next = left > 1 ? (unsigned char)text[1] : 0;
    return c < ' ' || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0);
}

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

ons_status *ons_text_close(FILE *out, char **text) {
    bool failed = out == NULL || ferror(out) != 0;
    if (out != NULL) failed |= fclose(out) != 0;
    if (!failed && *text != NULL) return NULL;
    if (out != NULL) free(*text);
    *text = NULL;
    return ons_status_out_of_memory();
}
