/* Removing large files: their names are gone at once. The space is given back by a thread of its own, since a disk may
 * take a quarter as long for that as for writing them. */
#ifndef ONSTAGE_RUNTIME_CHECKPOINT_REMOVAL_H
#define ONSTAGE_RUNTIME_CHECKPOINT_REMOVAL_H

#include "base/vector.h"

typedef struct ons_removal {
    ONS_VECTOR(int) held; /* what keeps the space of files that have no name any more */
} ons_removal;

/* Removes the name. A file that cannot be removed stays. */
void ons_removal_add(ons_removal *removal, const char *path);

/* Begins to give the space back, and frees the removal. Where no thread can be had it is given back on return. */
void ons_removal_end(ons_removal *removal);

/* Returns when the space of all removals that have ended is given back. */
void ons_removal_wait(void);

#endif
