#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "include/onstage.h"

/* A mapping as /proc/self/smaps tells it: a line of its own, then a line for each figure. */
typedef struct mapping {
    uintptr_t start, end;
    bool of_file, read_only, resident, changed;
} mapping;

enum { MAPPINGS_MAX = 1024 }; /* more stay as they are */
typedef struct mappings {
    mapping of[MAPPINGS_MAX];
    size_t count;
} mappings;

/* Pages that were changed (a breakpoint, an address that the loader has put in) are not in the file any more: they are
 * anonymous, or in swap space, and would be lost. */
static void read_line(const char *line, mappings *all) {
    mapping next = {.changed = true}; /* until it is told that nothing is */
    mapping *last = all->count > 0 ? &all->of[all->count - 1] : &next;
    char access[5];
    unsigned long inode, kib;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &next.start, &next.end, access, &inode) == 4) {
        next.of_file = inode != 0;
        next.read_only = access[1] == '-' && access[3] == 'p';
        if (all->count < MAPPINGS_MAX) all->of[all->count++] = next;
    } else if (sscanf(line, "Rss: %lu", &kib) == 1) {
        last->resident = kib > 0; /* emulators that count nothing say 0 everywhere */
    } else if (sscanf(line, "Anonymous: %lu", &kib) == 1) {
        last->changed = kib > 0;
    } else if (sscanf(line, "Swap: %lu", &kib) == 1) {
        last->changed = last->changed || kib > 0;
    }
}

static void give_back(const mapping *m) {
    if (m->of_file && m->read_only && m->resident && !m->changed)
        /* An address from a text. NOLINTNEXTLINE(performance-no-int-to-ptr) */
        madvise((void *)m->start, m->end - m->start, MADV_DONTNEED);
}

void ons_trim_resident(void) {
    FILE *file = fopen("/proc/self/smaps", "re");
    mappings *all = calloc(1, sizeof *all);
    char *line = NULL;
    size_t size = 0;
    while (file != NULL && all != NULL && getline(&line, &size, file) > 0) read_line(line, all);
    for (size_t i = 0; all != NULL && i < all->count; ++i) give_back(&all->of[i]);
    free(line);
    free(all);
    if (file != NULL) fclose(file);
}
