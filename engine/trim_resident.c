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

/* What is resident there is in the file as well. A page that was changed (a breakpoint, an address that the loader has
 * put in) is anonymous, and would be lost. */
static void give_back(const mapping *m) {
    if (m->of_file && m->read_only && m->resident && !m->changed)
        /* An address from a text. NOLINTNEXTLINE(performance-no-int-to-ptr) */
        madvise((void *)m->start, m->end - m->start, MADV_DONTNEED);
}

static void read_line(const char *line, mapping *m) {
    mapping next = {0};
    char access[5];
    unsigned long inode, kib;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &next.start, &next.end, access, &inode) == 4) {
        give_back(m);
        *m = next;
        m->of_file = inode != 0;
        m->read_only = access[1] == '-' && access[3] == 'p';
        m->changed = true; /* until it is told that nothing is */
    } else if (sscanf(line, "Rss: %lu", &kib) == 1) {
        m->resident = kib > 0; /* emulators that count nothing say 0 everywhere */
    } else if (sscanf(line, "Anonymous: %lu", &kib) == 1) {
        m->changed = kib > 0;
    }
}

void ons_trim_resident(void) {
    FILE *mappings = fopen("/proc/self/smaps", "re");
    mapping m = {0};
    char *line = NULL;
    size_t size = 0;
    if (mappings == NULL) return;
    while (getline(&line, &size, mappings) > 0) read_line(line, &m);
    give_back(&m);
    free(line);
    fclose(mappings);
}
