#include "kernels/common/choice/choices.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "kernels/common/onednn/onednn_versions.h"
#include "kernels/kernels.h"

const ons_choice_description ons_choice_points[ONS_CHOICE_COUNT] = {
#define ONS_CHOICE(POINT, SIZES) [ONS_CHOICE_##POINT] = {#POINT, SIZES},
#define ONS_WAY(POINT, WAY)
#include "kernels/common/choice/choices.inc"
#undef ONS_CHOICE
#undef ONS_WAY
};

const ons_way_description ons_ways[ONS_WAY_COUNT] = {
#define ONS_CHOICE(POINT, SIZES)
#define ONS_WAY(POINT, WAY) [ONS_##POINT##_##WAY] = {ONS_CHOICE_##POINT, #WAY},
#include "kernels/common/choice/choices.inc"
#undef ONS_CHOICE
#undef ONS_WAY
};

_Static_assert(ONS_WAY_COUNT <= 32, "a set of ways is 32 bits");

/* ------------------------------------------------------------------------------------------------------- the table */

/* The last line is for a table that has no other. */
static const ons_choice_entry committed_entries[] = {
#define ONS_CHOSEN(VARIANT, ONEDNN, THREADS, NEAR, POINT, WAY, SHARE, ...)                                             \
    {VARIANT, ONEDNN, THREADS, NEAR, ONS_##POINT##_##WAY, {__VA_ARGS__}, SHARE},
#include "kernels/common/choice/table.inc"
#undef ONS_CHOSEN
    {.variant = ""},
};

static const ons_choice_table committed = {
    .entries = committed_entries,
    .count = sizeof committed_entries / sizeof committed_entries[0] - 1,
};
static const ons_choice_table *used = &committed;

const ons_choice_table *ons_choice_table_committed(void) { return &committed; }
const ons_choice_table *ons_choice_table_used(void) { return used; }
void ons_choice_table_replace(const ons_choice_table *table) { used = table == NULL ? &committed : table; }

static bool holds_for(const ons_choice_entry *entry, const char *variant, const char *onednn) {
    return strcmp(entry->variant, variant) == 0 && strcmp(entry->onednn, onednn) == 0;
}

void ons_choice_table_digest(const ons_choice_table *table, const char *variant, const char *onednn,
                             char text[static ONS_CHOICE_DIGEST_TEXT]) {
    uint64_t hash = ONS_HASH_BASIS;
    bool any = false;
    for (size_t i = 0; i < table->count; ++i) {
        const ons_choice_entry *e = &table->entries[i];
        if (!holds_for(e, variant, onednn)) continue;
        char number[64];
        snprintf(number, sizeof number, " %d %d", e->threads, e->near);
        hash = ons_hash_text(hash, ons_choice_points[ons_ways[e->way].point].name);
        hash = ons_hash_text(hash, ons_ways[e->way].name);
        hash = ons_hash_text(hash, number);
        for (int s = 0; s < ONS_CHOICE_SIZES; ++s) {
            snprintf(number, sizeof number, " %" PRId64, e->sizes[s]);
            hash = ons_hash_text(hash, number);
        }
        any = true;
    }
    snprintf(text, ONS_CHOICE_DIGEST_TEXT, any ? "%08" PRIx32 : "none", (uint32_t)(hash ^ hash >> 32));
}

/* -------------------------------------------------------------------------------------------------- the question */

int ons_choice_bucket(int64_t number) {
    if (number < 1) return -1;
    int bucket = 63 - __builtin_clzll((unsigned long long)number);
    return (double)number > 1.41421356237309504880 * (double)(UINT64_C(1) << bucket) ? bucket + 1 : bucket;
}

bool ons_choice_near(const int64_t a[static ONS_CHOICE_SIZES], const int64_t b[static ONS_CHOICE_SIZES]) {
    bool near = true;
    for (int i = 0; i < ONS_CHOICE_SIZES; ++i) near &= ons_choice_bucket(a[i]) == ons_choice_bucket(b[i]);
    return near;
}

ons_way ons_choice_find(const ons_choice_table *table, const char *variant, const char *onednn,
                        const ons_choice_question *question) {
    const ons_choice_entry *near = NULL;
    for (size_t i = 0; i < table->count; ++i) {
        const ons_choice_entry *e = &table->entries[i];
        if (ons_ways[e->way].point != question->point || (question->possible & ONS_WAY_BIT(e->way)) == 0 ||
            ons_choice_bucket(e->threads) != ons_choice_bucket(question->threads) || !holds_for(e, variant, onednn))
            continue;
        if (memcmp(e->sizes, question->sizes, sizeof e->sizes) == 0) return e->way;
        if (near == NULL && e->near && ons_choice_near(e->sizes, question->sizes)) near = e;
    }
    return near == NULL ? question->rule : near->way;
}

ons_way ons_choose(const ons_choice_question *question) {
    if ((question->possible & (question->possible - 1)) == 0) return question->rule;
    char onednn[ONS_ONEDNN_VERSION_TEXT];
    ons_onednn_version(onednn);
    ons_way way = ons_choice_find(used, ons_cpu_variant(), onednn, question);
    if (used->asked != NULL) used->asked(used->context, question, way);
    return way;
}
