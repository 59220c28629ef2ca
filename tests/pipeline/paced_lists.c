#include "tests/pipeline/paced_lists.h"

/* Units that have passed a stage. */
typedef struct progress {
    uint32_t forward, backward;
} progress;

typedef struct maker {
    ons_schedule s;
    uint32_t in_flight;    /* 0: any */
    progress *of, *before; /* [stage]: now, and in the tick before */
} maker;

static bool can_go_back(const maker *m, uint32_t stage) {
    uint32_t size = m->s.groupings[stage].size, end = m->of[stage].backward + size;
    if (end > m->of[stage].forward || (m->in_flight == 0 && m->of[stage].forward < m->s.micro_batches)) return false;
    return stage + 1 == m->s.stages || end <= m->before[stage + 1].backward;
}

static bool can_go_forth(const maker *m, uint32_t stage) {
    uint32_t size = m->s.groupings[stage].size, end = m->of[stage].forward + size;
    bool full = m->in_flight > 0 && end - m->of[stage].backward > m->in_flight * size;
    return end <= m->s.micro_batches && !full && (stage == 0 || end <= m->before[stage - 1].forward);
}

static void add(maker *m, uint32_t stage, ons_action_kind kind, uint32_t micro_batch) {
    ons_action_list *list = &m->s.lists[stage];
    list->items[list->count++] = (ons_action){.kind = kind, .stage = stage, .micro_batch = micro_batch};
}

static bool advance(maker *m, uint32_t stage) {
    uint32_t size = m->s.groupings[stage].size;
    progress *p = &m->of[stage];
    bool back = can_go_back(m, stage);
    if (!back && !can_go_forth(m, stage)) return false;
    uint32_t *units = back ? &p->backward : &p->forward;
    add(m, stage, back ? ONS_ACTION_BACKWARD : ONS_ACTION_FORWARD, *units / size);
    *units += size;
    if (back && *units == m->s.micro_batches) add(m, stage, ONS_ACTION_UPDATE, *units / size - 1);
    return true;
}

static ons_status *make(maker *m, ons_arena *arena) {
    ONS_NEW(m->s.lists, arena, m->s.stages);
    ONS_NEW(m->of, arena, m->s.stages);
    ONS_NEW(m->before, arena, m->s.stages);
    for (uint32_t i = 0; i < m->s.stages; ++i) ONS_NEW(m->s.lists[i].items, arena, 2 * m->s.micro_batches + 1);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < m->s.stages; ++i) m->before[i] = m->of[i];
        for (uint32_t i = 0; i < m->s.stages; ++i) moved = advance(m, i) || moved;
    }
    return NULL;
}

static bool is_done(const maker *m) {
    for (uint32_t i = 0; i < m->s.stages; ++i)
        if (m->of[i].backward < m->s.micro_batches) return false;
    return true;
}

ons_status *paced_lists_make(uint32_t stages, uint32_t units, const uint32_t *sizes, uint32_t in_flight,
                             ons_arena *arena, const ons_generator **generator) {
    ons_stage_grouping *groupings;
    ons_schedule *made;
    ONS_NEW(groupings, arena, stages);
    for (uint32_t i = 0; i < stages; ++i) groupings[i] = (ons_stage_grouping){sizes[i], 1};
    maker m = {.in_flight = in_flight};
    for (bool done = false; !done; ++m.in_flight) {
        m.s = (ons_schedule){.stages = stages, .devices = stages, .micro_batches = units, .groupings = groupings};
        ONS_TRY(make(&m, arena));
        done = is_done(&m);
        if (done) break;
        ONS_CHECK(m.in_flight > 0 && m.in_flight < units, ONS_DEFECT, "no lists for these sizes");
    }
    ONS_NEW(made, arena, 1);
    *made = m.s;
    ONS_TRY(ons_schedule_take(made, arena));
    return ons_generator_of_lists(made, "paced", arena, generator);
}
