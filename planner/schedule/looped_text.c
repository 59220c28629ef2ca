#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/schedule/looped.h"

/* ---------------------------------------------------------------------------------------------------------- presets */

#define B_F(...)                                                                                                       \
    4, (const uint32_t[4]) { __VA_ARGS__ }

/* Two of the appendix contradict its own rules. PipeDream's has B_l = 8 where B = 7, which B_l must divide; it has one
 * loop, where B_l orders nothing, and is 7 here. That of breadth-first pipelines has B_l = 4, with which 20 of 32
 * forward parts come before the first backward part, not all as the figure shows; that takes 8. */
const ons_looped_preset ons_looped_presets[] = {
    {"gpipe", "GPipe, figure 2", {8, 1, 8, B_F(4, 5, 6, 7)}},
    {"pipedream", "PipeDream, figure 8, its updates once a step", {7, 1, 7, B_F(0, 1, 1, 0)}},
    {"dapple", "DAPPLE, figure 3", {6, 1, 6, B_F(0, 0, 0, 0)}},
    {"terapipe", "TeraPipe, figure 2", {8, 2, 4, B_F(0, 1, 2, 3)}},
    {"megatron", "Megatron-LM, figure 4", {8, 2, 4, B_F(3, 2, 1, 0)}},
    {"breadth-first", "Breadth-First Pipeline Parallelism, figure 4", {8, 4, 8, B_F(4, 5, 6, 7)}},
    {NULL, NULL, {0, 0, 0, 0, NULL}},
};

static const ons_looped_preset *find_preset(const char *name) {
    const ons_looped_preset *p = ons_looped_presets;
    while (p->name != NULL && strcmp(p->name, name) != 0) ++p;
    return p->name != NULL ? p : NULL;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

static bool take(const char **at, char wanted) {
    while (isspace((unsigned char)**at)) ++*at;
    if (**at != wanted) return false;
    ++*at;
    return true;
}

/* More than a million is no number of micro-batches or devices, and would not be added up safely. */
static bool take_number(const char **at, uint32_t *number) {
    while (isspace((unsigned char)**at)) ++*at;
    if (!isdigit((unsigned char)**at)) return false;
    char *end;
    unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *number = (uint32_t)value;
    return value <= 1000000;
}

/* "(3, 2, 1, 0)" */
static bool take_prefetch(const char **at, uint32_t *prefetch, uint32_t *devices) {
    if (!take(at, '(')) return false;
    do
        if (!take_number(at, &prefetch[(*devices)++])) return false;
    while (take(at, ','));
    return take(at, ')');
}

static bool take_vectors(const char *at, ons_looped_vectors *v, uint32_t *prefetch) {
    bool good = take(&at, '(') && take_number(&at, &v->micro_batches) && take(&at, ',') &&
                take_number(&at, &v->loops) && take(&at, ',') && take_number(&at, &v->loop_micro_batches) &&
                take(&at, ',') && take_prefetch(&at, prefetch, &v->devices) && take(&at, ')') && take(&at, '\0');
    return good && v->loops > 0 && v->loop_micro_batches > 0;
}

static ons_status *refuse(const char *text) {
    char names[256] = "";
    for (const ons_looped_preset *p = ons_looped_presets; p->name != NULL; ++p) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", p == ons_looped_presets ? "" : ", ", p->name);
    }
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "looped schedule '%s': take vectors (B, N_l, B_l, (B_f of each device)), as in (8, 2, 4, (3, "
                          "2, 1, 0)), or one of %s",
                          text, names);
}

ons_status *ons_looped_parse(const char *text, ons_arena *arena, ons_looped_vectors *vectors) {
    const ons_looped_preset *preset = find_preset(text);
    uint32_t *prefetch;
    if (preset != NULL) {
        *vectors = preset->vectors;
        return NULL;
    }
    ONS_NEW(prefetch, arena, strlen(text) + 1); /* each number takes a character at least */
    *vectors = (ons_looped_vectors){.prefetch = prefetch};
    return take_vectors(text, vectors, prefetch) ? NULL : refuse(text);
}
