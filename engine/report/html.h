/* Text in pages and pictures. */
#ifndef ONSTAGE_ENGINE_REPORT_HTML_H
#define ONSTAGE_ENGINE_REPORT_HTML_H

#include <stdio.h>

/* Text between tags or in quotes: what means something to HTML is escaped, what is no UTF-8 or not printable replaced.
 */
void ons_html_text(FILE *out, const char *text);
/* A name between tags or in quotes, escaped as ons_html_text does; a long one without its middle. */
void ons_html_name(FILE *out, const char *name);

#endif
