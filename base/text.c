#include "base/text.h"

#include <stdlib.h>
#include <string.h>

bool ons_is_control(const char *text, size_t left) {
    unsigned char c = (unsigned char)text[0], next = left > 1 ? (unsigned char)text[1] : 0;
    return c < ' ' || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0);
}

size_t ons_utf8_length(const char *text) {
    unsigned char first = (unsigned char)text[0];
    size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
    if (length == 4 && (first < 0xf0 || first > 0xf4)) return 0;
    for (size_t i = 1; i < length; ++i)
        if (!ons_utf8_continues(text[i])) return 0; /* also the end of the text */
    unsigned char second = length > 1 ? (unsigned char)text[1] : 0;
    bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
    return overlong || outside ? 0 : length;
}

const char *ons_shown(const char *name, char text[ONS_SHOWN_BYTES]) {
    static const char gap[] = "…";
    size_t length = strlen(name), space = ONS_SHOWN_MOST - strlen(gap);
    /* The end of a long name tells as much as its beginning. */
    size_t begin = space / 2, end = space - begin;
    if (length <= ONS_SHOWN_MOST) return name;
    const char *tail = name + length - end;
    while (begin > 0 && ons_utf8_continues(name[begin])) --begin;
    while (ons_utf8_continues(*tail)) ++tail;
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
