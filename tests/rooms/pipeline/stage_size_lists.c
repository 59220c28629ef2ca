#include "tests/rooms/pipeline/stage_size_lists.h"

/* A copy of a stage, and how many of its micro-batches have passed it. */
typedef struct lane {
    uint32_t stage, copy, forward, backward;
} lane;

/* Units that have passed all copies of a stage. */
typedef struct progress {
    uint32_t forward, backward;
} progress;

typedef struct maker {
    ons_schedule s;
    uint32_t in_flight; /* 0: any */
    lane *lanes;        /* [device] */
    progress *before;   /* [stage]: before the tick */
} maker;

static uint32_t total_of(const maker *m, const lane *l) { return ons_schedule_copy_micro_batches(&m->s, l->stage); }

static uint32_t first_unit(const maker *m, const lane *l, uint32_t micro_batch) {
    return ons_schedule_first_unit(&m->s, l->stage, l->copy, micro_batch);
}

static uint32_t end_unit(const maker *m, const lane *l, uint32_t micro_batch) {
    return first_unit(m, l, micro_batch) + m->s.groupings[l->stage].size;
}

static bool can_go_back(const maker *m, const lane *l) {
    if (l->backward == l->forward || (m->in_flight == 0 && l->forward < total_of(m, l))) return false;
    return l->stage + 1 == m->s.stages || end_unit(m, l, l->backward) <= m->before[l->stage + 1].backward;
}

static bool can_go_forth(const maker *m, const lane *l) {
    bool full = m->in_flight > 0 && l->forward - l->backward >= m->in_flight;
    if (full || l->forward == total_of(m, l)) return false;
    return l->stage == 0 || end_unit(m, l, l->forward) <= m->before[l->stage - 1].forward;
}

static void add(maker *m, uint32_t device, ons_action_kind kind, uint32_t micro_batch) {
    ons_action_list *list = &m->s.lists[device];
    const lane *l = &m->lanes[device];
    list->items[list->count++] =
        (ons_action){.kind = kind, .stage = l->stage, .copy = l->copy, .micro_batch = micro_batch};
}

static bool advance(maker *m, uint32_t device) {
    lane *l = &m->lanes[device];
    bool back = can_go_back(m, l);
    if (!back && !can_go_forth(m, l)) return false;
    uint32_t micro_batch = back ? l->backward++ : l->forward++;
    add(m, device, back ? ONS_ACTION_BACKWARD : ONS_ACTION_FORWARD, micro_batch);
    if (back && l->backward == total_of(m, l)) add(m, device, ONS_ACTION_UPDATE, micro_batch);
    return true;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void look(maker *m) {
    for (uint32_t i = 0; i < m->s.stages; ++i) m->before[i] = (progress){m->s.micro_batches, m->s.micro_batches};
    for (uint32_t i = 0; i < m->s.devices; ++i) {
        const lane *l = &m->lanes[i];
        progress *p = &m->before[l->stage];
        p->forward = smaller(p->forward, first_unit(m, l, l->forward));
        p->backward = smaller(p->backward, first_unit(m, l, l->backward));
    }
}

static ons_status *make(maker *m, ons_arena *arena) {
    uint32_t device = 0;
    ONS_NEW(m->s.lists, arena, m->s.devices);
    ONS_NEW(m->lanes, arena, m->s.devices);
    ONS_NEW(m->before, arena, m->s.stages);
    for (uint32_t i = 0; i < m->s.stages; ++i)
        for (uint32_t copy = 0; copy < m->s.groupings[i].copies; ++copy, ++device) {
            m->lanes[device] = (lane){.stage = i, .copy = copy};
            ONS_NEW(m->s.lists[device].items, arena, 2 * m->s.micro_batches + 1);
        }
    for (bool moved = true; moved;) {
        moved = false;
        look(m);
        for (uint32_t i = 0; i < m->s.devices; ++i) moved = advance(m, i) || moved;
    }
    return NULL;
}

static bool is_done(const maker *m) {
    for (uint32_t i = 0; i < m->s.devices; ++i)
        if (m->lanes[i].backward < total_of(m, &m->lanes[i])) return false;
    return true;
}

ons_status *stage_size_lists_make(const stage_size_lists *wanted, ons_arena *arena, ons_schedule *schedule) {
    ons_stage_grouping *groupings;
    uint32_t devices = 0;
    ONS_NEW(groupings, arena, wanted->stages);
    for (uint32_t i = 0; i < wanted->stages; ++i) {
        groupings[i] = (ons_stage_grouping){wanted->sizes[i], wanted->copies == NULL ? 1 : wanted->copies[i], 1};
        devices += groupings[i].copies;
    }
    maker m = {.in_flight = wanted->in_flight};
    for (bool done = false; !done; ++m.in_flight) {
        m.s = (ons_schedule){
            .stages = wanted->stages, .devices = devices, .micro_batches = wanted->units, .groupings = groupings};
        ONS_TRY(make(&m, arena));
        done = is_done(&m);
        ONS_CHECK(done || (m.in_flight > 0 && m.in_flight < wanted->units), ONS_DEFECT, "no lists for these sizes");
    }
    *schedule = m.s;
    return ons_schedule_take(schedule, arena);
}
