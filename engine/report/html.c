#include "engine/report/html.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Length of the UTF-8 character at `text`, or 0: none, or one that HTML does not allow. */
static size_t character(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    size_t length = ons_utf8_length(text);
    if (length == 0 || ons_is_control(text, length)) return 0;
    /* What turns the direction of the text around could make a name look like another. */
    if (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) return 0;
    if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9) return 0;
    return length;
}

static void write_text(FILE *out, const char *text, size_t length_most) {
    for (const char *c = text; *c != '\0' && (size_t)(c - text) < length_most;) {
        size_t length = character(c);
        switch (*c) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default:
            if (length == 0)
                fputs("\xef\xbf\xbd", out); /* the replacement character */
            else
                fwrite(c, 1, length, out);
        }
        c += length == 0 ? 1 : length;
    }
}

void ons_html_text(FILE *out, const char *text) { write_text(out, text, SIZE_MAX); }

enum { NAME_MOST = 96, NAME_START = 48, NAME_END = 40 };

/* Where the character begins that holds the byte. */
static size_t boundary(const char *text, size_t at) {
    while (at > 0 && ons_utf8_continues(text[at])) --at;
    return at;
}

void ons_html_name(FILE *out, const char *name) {
    size_t length = strlen(name);
    if (length <= NAME_MOST) {
        ons_html_text(out, name);
        return;
    }
    write_text(out, name, boundary(name, NAME_START));
    fputs("…", out);
    ons_html_text(out, name + boundary(name, length - NAME_END));
}
