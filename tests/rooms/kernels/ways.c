#include "tests/rooms/kernels/ways.h"

#include <string.h>

#include "base/arena.h"
#include "kernels/common/onednn/onednn_versions.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/prepared_node.h"

bool ons_questions_are_same(const ons_choice_question *a, const ons_choice_question *b) {
    return a->point == b->point && a->threads == b->threads && memcmp(a->sizes, b->sizes, sizeof a->sizes) == 0;
}

static void remember(void *context, const ons_choice_question *question, ons_way way) {
    ons_questions *all = context;
    for (uint32_t i = 0; i < all->count; ++i)
        if (ons_questions_are_same(&all->items[i], question)) return;
    if (all->count == ONS_QUESTIONS_MAX) return;
    all->items[all->count] = *question;
    all->ways[all->count++] = way;
}

ons_status *ons_questions_of(ons_fixture *fixture, int threads, ons_questions *questions) {
    questions->count = 0;
    ons_choice_table asked = *ons_choice_table_committed();
    asked.asked = remember;
    asked.context = questions;
    ons_choice_table_replace(&asked);
    ons_prepared_node node;
    ons_status *status = ons_prepared_node_init(&node, fixture, threads, true);
    ons_prepared_node_free(&node);
    ons_choice_table_replace(NULL);
    return status;
}

ons_status *ons_table_with_way(ons_arena *arena, const ons_choice_question *question, ons_way way,
                               ons_choice_table *table) {
    const ons_choice_table *committed = ons_choice_table_committed();
    ons_choice_entry *entries;
    char *onednn;
    ONS_NEW(entries, arena, committed->count + 1);
    ONS_NEW(onednn, arena, ONS_ONEDNN_VERSION_TEXT);
    ons_onednn_version(onednn);
    entries[0] = (ons_choice_entry){
        .variant = ons_cpu_variant(), .onednn = onednn, .threads = question->threads, .way = way, .share = 1};
    memcpy(entries[0].sizes, question->sizes, sizeof question->sizes);
    memcpy(entries + 1, committed->entries, committed->count * sizeof *entries);
    *table = (ons_choice_table){.entries = entries, .count = committed->count + 1};
    return NULL;
}
