/* Names of a model as a person reads them in tables and lists. */
#ifndef ONSTAGE_BASE_SHOWN_H
#define ONSTAGE_BASE_SHOWN_H

/* Bytes of a name that are shown, and of the text with its end. */
enum { ONS_SHOWN_MOST = 96, ONS_SHOWN_BYTES = ONS_SHOWN_MOST + 1 };

/* `name` itself, or where it is longer than ONS_SHOWN_MOST bytes its beginning and its end around "…", in `text`. Whole
 * characters of UTF-8 are kept. */
const char *ons_shown(const char *name, char text[ONS_SHOWN_BYTES]);

#endif
