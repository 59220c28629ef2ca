#include "bench/choices_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

static bool is_possible(const ons_choice_result *r, ons_way way) {
    return (r->question.possible & ONS_WAY_BIT(way)) != 0;
}

ons_way ons_choice_winner(const ons_choice_result *r) {
    ons_way best = r->question.rule;
    double least = ONS_CHOICE_AHEAD;
    for (ons_way way = 0; way < ONS_WAY_COUNT; ++way) {
        bool worth = (1 - r->shares[way]) * r->seconds >= ONS_CHOICE_WORTH_SAVED;
        if (!is_possible(r, way) || !worth || r->shares[way] > least) continue;
        least = r->shares[way];
        best = way;
    }
    return best;
}

static bool are_near(const ons_choice_question *a, const ons_choice_question *b) {
    return a->point == b->point && ons_choice_bucket(a->threads) == ons_choice_bucket(b->threads) &&
           ons_choice_near(a->sizes, b->sizes);
}

/* Whether nothing that was measured near the question is slower by this way than by its rule. */
static bool suits_all(const ons_choice_results *results, const ons_choice_question *near, ons_way way) {
    bool suits = true;
    for (size_t i = 0; i < results->all.count; ++i) {
        const ons_choice_result *r = &results->all.items[i];
        suits &= !are_near(&r->question, near) || !is_possible(r, way) || r->shares[way] <= 1;
    }
    return suits;
}

/* The first result near number `index` whose winner suits all of them; results.count: there is none. */
static size_t find_shared(const ons_choice_results *results, size_t index) {
    const ons_choice_question *near = &results->all.items[index].question;
    for (size_t i = 0; i < results->all.count; ++i) {
        const ons_choice_result *r = &results->all.items[i];
        ons_way way = ons_choice_winner(r);
        if (are_near(&r->question, near) && way != r->question.rule && suits_all(results, near, way)) return i;
    }
    return results->all.count;
}

/* -------------------------------------------------------------------------------------------------- its entries */

/* The old table, and the machine that was measured. */
typedef struct merge {
    const ons_choice_table *old;
    const ons_choice_results *results;
    const char *variant, *onednn;
} merge;

static ons_status *keep_others(const merge *m, ons_choice_entries *to) {
    for (size_t i = 0; i < m->old->count; ++i) {
        const ons_choice_entry *e = &m->old->entries[i];
        ons_choice_question stands_for = {.point = ons_ways[e->way].point, .threads = e->threads};
        memcpy(stands_for.sizes, e->sizes, sizeof e->sizes);
        bool measured = false;
        for (size_t k = 0; k < m->results->all.count; ++k)
            measured |= are_near(&m->results->all.items[k].question, &stands_for);
        if (!measured || strcmp(e->variant, m->variant) != 0 || strcmp(e->onednn, m->onednn) != 0)
            ONS_PUSH(&to->all, *e);
    }
    return NULL;
}

static ons_status *add_measured(const merge *m, ons_choice_entries *to) {
    for (size_t i = 0; i < m->results->all.count; ++i) {
        const ons_choice_result *r = &m->results->all.items[i];
        size_t shared = find_shared(m->results, i);
        ons_way way = ons_choice_winner(r);
        if (shared != i && (shared < m->results->all.count || way == r->question.rule)) continue;
        ons_choice_entry e = {.variant = m->variant,
                              .onednn = m->onednn,
                              .threads = r->question.threads,
                              .near = shared == i,
                              .way = way,
                              .share = r->shares[way]};
        memcpy(e.sizes, r->question.sizes, sizeof e.sizes);
        ONS_PUSH(&to->all, e);
    }
    return NULL;
}

static int in_order(const void *left, const void *right) {
    const ons_choice_entry *a = left, *b = right;
    int order = strcmp(a->variant, b->variant);
    if (order == 0) order = strcmp(a->onednn, b->onednn);
    if (order == 0) order = (int)ons_ways[a->way].point - (int)ons_ways[b->way].point;
    if (order == 0) order = a->threads - b->threads;
    for (int i = 0; i < ONS_CHOICE_SIZES && order == 0; ++i)
        order = (a->sizes[i] > b->sizes[i]) - (a->sizes[i] < b->sizes[i]);
    return order;
}

ons_status *ons_choice_table_merge(const ons_choice_table *old, const ons_choice_results *results, const char *variant,
                                   const char *onednn, ons_choice_entries *merged) {
    const merge m = {old, results, variant, onednn};
    ONS_TRY(keep_others(&m, merged));
    ONS_TRY(add_measured(&m, merged));
    if (merged->all.count > 0) qsort(merged->all.items, merged->all.count, sizeof merged->all.items[0], in_order);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- its text */

static const char *print_entry(ons_arena *arena, const char *text, const ons_choice_entry *e) {
    const char *point = ons_choice_points[ons_ways[e->way].point].name;
    text = ons_arena_format(arena, "%sONS_CHOSEN(\"%s\", \"%s\", %d, %s, %s, %s, %.2f", text, e->variant, e->onednn,
                            e->threads, e->near ? "true" : "false", point, ons_ways[e->way].name, e->share);
    for (int i = 0; i < ONS_CHOICE_SIZES && text != NULL; ++i)
        text = ons_arena_format(arena, "%s, %" PRId64, text, e->sizes[i]);
    return text == NULL ? NULL : ons_arena_format(arena, "%s)\n", text);
}

static ons_status *write_entries(const char *path, const ons_choice_entries *entries, ons_arena *arena) {
    const char *text =
        "/* Written by ./bazelw run //bench:choices -- --write FILE; do not edit. One line an entry: variant of our "
        "kernels,\n"
        " * version of oneDNN, threads, whether sizes near these are meant, too, choice and way of choices.inc, the "
        "way's time\n"
        " * over that of the rule's where it was measured (the worst of several times), and the choice's sizes. */\n";
    for (size_t i = 0; i < entries->all.count && text != NULL; ++i)
        text = print_entry(arena, text, &entries->all.items[i]);
    return text == NULL ? ons_status_out_of_memory() : ons_file_write_text(path, text);
}

ons_status *ons_choice_table_write(const char *path, const ons_choice_entries *entries) {
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : write_entries(path, entries, arena);
    ons_arena_free(arena);
    return status;
}
