#include "tests/rooms/planner/schedule_lists.h"

#include <stdio.h>

/* Of one stage, while its device's list is read. */
typedef struct progress {
    uint32_t *forward; /* [micro-batch]: how often */
    uint32_t input, weight, updates;
    bool apart;
} progress;

static bool read_action(const ons_schedule *s, progress *p, const ons_action *a) {
    uint32_t mb = a->micro_batch, weight_before = p->weight;
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD: return ++p->forward[mb] == 1;
    case ONS_ACTION_BACKWARD: return p->forward[mb] == 1 && !p->apart && p->input++ == mb && p->weight++ == mb;
    case ONS_ACTION_INPUT_GRADIENT: return p->apart = true, p->forward[mb] == 1 && p->input++ == mb;
    case ONS_ACTION_WEIGHT_GRADIENT: return weight_before < p->input && p->weight++ == mb;
    case ONS_ACTION_UPDATE:
        ++p->updates;
        return weight_before == mb + 1 && (s->asynchronous || mb + 1 == s->micro_batches);
    default: return false;
    }
}

static bool stage_is_whole(const ons_schedule *s, const progress *p) {
    for (uint32_t i = 0; i < s->micro_batches; ++i)
        if (p->forward[i] != 1) return false;
    uint32_t updates = s->asynchronous ? s->micro_batches : 1;
    return p->input == s->micro_batches && p->weight == s->micro_batches && p->updates == updates;
}

static bool runs(const ons_schedule *s, ons_arena *arena) {
    stage_times *times = ons_arena_allocate(arena, s->stages, sizeof *times);
    for (uint32_t i = 0; i < s->stages; ++i) times[i] = (stage_times){1, 1, 1};
    return !longest_path_find(s, times, 0, arena).hangs;
}

bool schedule_lists_are_good(const ons_schedule *s, ons_arena *arena, char damage[static 128]) {
    progress *stages = ons_arena_allocate(arena, s->stages, sizeof *stages);
    for (uint32_t i = 0; i < s->stages; ++i)
        stages[i].forward = ons_arena_allocate(arena, s->micro_batches, sizeof *stages[i].forward);
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) {
            const ons_action *a = &s->lists[device].items[i];
            snprintf(damage, 128, "device %u, action %u, %s of stage %u, micro-batch %u", device, i,
                     ons_action_name(a->kind), a->stage, a->micro_batch);
            if (s->device_of[a->stage] != device || !read_action(s, &stages[a->stage], a)) return false;
        }
    for (uint32_t i = 0; i < s->stages; ++i) {
        snprintf(damage, 128, "stage %u lacks something", i);
        if (!stage_is_whole(s, &stages[i])) return false;
    }
    snprintf(damage, 128, "it hangs");
    return runs(s, arena);
}
