#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH_MAX = ONS_NEAREST_LENGTH_MAX };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Edits between a[0, i) and b[0, j) for all j, from those of the two rows before (Damerau and Levenshtein). */
static void next_row(const char *a, size_t i, const char *b, size_t length, size_t rows[3][LENGTH_MAX + 1]) {
    size_t *row = rows[i % 3];
    const size_t *before = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= length; ++j) {
        size_t changed = before[j - 1] + (a[i - 1] != b[j - 1]);
        row[j] = least(changed, least(before[j], row[j - 1]) + 1);
        bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
        if (exchanged) row[j] = least(row[j], twice[j - 2] + 1);
    }
}

static size_t count_edits(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[3][LENGTH_MAX + 1];
    for (size_t j = 0; j <= b_length; ++j) rows[0][j] = j;
    for (size_t i = 1; i <= a_length; ++i) next_row(a, i, b, b_length, rows);
    return rows[a_length % 3][b_length];
}

ons_nearest ons_nearest_to(const char *wanted) {
    return (ons_nearest){.wanted = wanted, .edits = strlen(wanted) / 3 + 1};
}

void ons_nearest_try(ons_nearest *nearest, const char *candidate) {
    size_t wanted = strlen(nearest->wanted), length = strlen(candidate);
    if (wanted == 0 || wanted > LENGTH_MAX || length > LENGTH_MAX) return;
    size_t edits = count_edits(nearest->wanted, wanted, candidate, length);
    if (edits >= nearest->edits) return;
    nearest->edits = edits;
    nearest->best = candidate;
}

const char *ons_nearest_hint(ons_nearest *nearest) {
    nearest->hint[0] = '\0';
    if (nearest->best != NULL) snprintf(nearest->hint, sizeof nearest->hint, " (did you mean '%s'?)", nearest->best);
    return nearest->hint;
}
