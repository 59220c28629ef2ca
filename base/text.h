/* Texts that people read, and names from files in them. */
#ifndef ONSTAGE_BASE_TEXT_H
#define ONSTAGE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/* Whether a terminal would act on the character at `text` instead of showing it: control characters, also those that
 * UTF-8 writes as two bytes. `left`: bytes from there on, at least 1. */
bool ons_is_control(const char *text, size_t left);

/* Length of the character of UTF-8 at `text`, which ends with a 0; 0: there is none. */
size_t ons_utf8_length(const char *text);
/* Whether the byte goes on with a character of UTF-8. */
static inline bool ons_utf8_continues(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

/* Bytes of a name that are shown, and of the text with its end. */
enum { ONS_SHOWN_MOST = 96, ONS_SHOWN_BYTES = ONS_SHOWN_MOST + 1 };

/* `name` itself, or where it is longer than ONS_SHOWN_MOST bytes its beginning and its end around "…", in `text`. Whole
 * characters of UTF-8 are kept. */
const char *ons_shown(const char *name, char text[ONS_SHOWN_BYTES]);

/* Ends what open_memstream began. *text is the whole of it, the caller's to free; or NULL, and the failure says that
 * there was no memory for a part. `out` NULL: there was none to begin with. */
ons_status *ons_text_close(FILE *out, char **text);

#endif
