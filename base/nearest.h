/* "Did you mean": of several names the one that is most likely meant by a name that is none of them. */
#ifndef ONSTAGE_BASE_NEAREST_H
#define ONSTAGE_BASE_NEAREST_H

#include <stddef.h>

enum { ONS_NEAREST_LENGTH_MAX = 100 };

typedef struct ons_nearest {
    const char *wanted; /* what was typed */
    const char *best;   /* of those that were tried; NULL: none is near */
    size_t edits;       /* between the two */
    char hint[ONS_NEAREST_LENGTH_MAX + 24];
} ons_nearest;

/* `wanted` and what is tried must outlive the result. */
ons_nearest ons_nearest_to(const char *wanted);

/* Takes the candidate where fewer letters have to be changed, added, left out or exchanged with their neighbour than
 * for those before, and no more than a third of the name's. Names of more than ONS_NEAREST_LENGTH_MAX bytes are passed
 * over. */
void ons_nearest_try(ons_nearest *nearest, const char *candidate);

/* " (did you mean 'NAME'?)" for the end of a sentence, or "". Lives in *nearest. */
const char *ons_nearest_hint(ons_nearest *nearest);

#endif
