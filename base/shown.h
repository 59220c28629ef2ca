/* Names and texts from files as a person reads them. */
#ifndef ONSTAGE_BASE_SHOWN_H
#define ONSTAGE_BASE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a terminal would act on the character at `text` instead of showing it: control characters, also those that
 * UTF-8 writes as two bytes. `left`: bytes from there on, at least 1. */
bool ons_is_control(const char *text, size_t left);

/* Bytes of a name that are shown, and of the text with its end. */
enum { ONS_SHOWN_MOST = 96, ONS_SHOWN_BYTES = ONS_SHOWN_MOST + 1 };

/* `name` itself, or where it is longer than ONS_SHOWN_MOST bytes its beginning and its end around "…", in `text`. Whole
 * characters of UTF-8 are kept. */
const char *ons_shown(const char *name, char text[ONS_SHOWN_BYTES]);

#endif
