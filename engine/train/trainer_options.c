/* Every rank has its own command line: before anything is planned or built, they compare their options. */
#include <string.h>

#include "base/hash.h"
#include "engine/train/trainer.h"

enum { OPTIONS_MAX = sizeof((ons_config *)0)->given / sizeof *((ons_config *)0)->given };

/* What may differ between ranks: names of files, which hosts may have in other places (what is in them is compared
 * elsewhere), what rank 0 alone writes, and the threads of a stage. */
static bool may_differ(const char *option) {
    static const char *const own[] = {
        "input",         "target",   "tokens",      "val-input",      "val-target", "val-tokens",
        "class-weights", "plan",     "profile",     "device-profile", "schedule",   "out",
        "checkpoint",    "log-json", "tensorboard", "trace",          "threads",
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
        if (strcmp(option, own[i]) == 0) return true;
    return false;
}

/* The options that rank `index` has otherwise than rank 0, as "--lr, --seed"; "" where there is none. */
static ons_status *list_differing(ons_arena *arena, const uint64_t *first, const uint64_t *other, const char **list) {
    const ons_option *options = ons_options();
    *list = "";
    for (size_t i = 0; options[i].name != NULL; ++i) {
        if (first[i] == other[i]) continue;
        *list = ons_arena_format(arena, "%s%s--%s", *list, **list == '\0' ? "" : ", ", options[i].name);
        if (*list == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

ons_status *ons_trainer_compare_options(ons_trainer *t) {
    const ons_option *options = ons_options();
    uint64_t own[OPTIONS_MAX] = {0}, (*all)[OPTIONS_MAX];
    if (!t->remote) return NULL;
    for (size_t i = 0; options[i].name != NULL; ++i)
        own[i] = may_differ(options[i].name) ? 0 : ons_hash_text(ONS_HASH_BASIS, ons_config_text(t->config, i));
    ONS_NEW(all, t->arena, ons_trainer_world(t)->ranks);
    ONS_TRY(ons_trainer_meet(t, NULL, own, all, sizeof own));
    for (uint32_t rank = 1; rank < ons_trainer_world(t)->ranks; ++rank) {
        const char *list;
        ONS_TRY(list_differing(t->arena, all[0], all[rank], &list));
        ONS_CHECK(list[0] == '\0', ONS_INVALID_ARGUMENT,
                  "rank %u was started with other options than rank 0: %s; give all ranks the same options", rank,
                  list);
    }
    return NULL;
}
