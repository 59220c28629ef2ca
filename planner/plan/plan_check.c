#include "planner/plan/plan_check.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "planner/schedule/action_text.h"

/* ---------------------------------------------------------------------------------------------------------- digests */

/* A text that is missing is not the empty one. */
static uint64_t hash_text(uint64_t hash, const char *text) {
    if (text == NULL) return (hash ^ 1) * ONS_HASH_PRIME;
    return ons_hash_text(hash, text) * ONS_HASH_PRIME;
}

static uint64_t hash_nodes(uint64_t hash, const ons_plan_stage *s) {
    hash = hash_text((hash ^ s->node_count) * ONS_HASH_PRIME, s->first_node);
    if (s->grouping.size > 1) hash = (hash ^ s->grouping.size) * ONS_HASH_PRIME;
    if (s->grouping.copies > 1) hash = (hash ^ (uint64_t)s->grouping.copies << 32) * ONS_HASH_PRIME;
    if (s->grouping.copies > 1 && ons_grouping_stride(s->grouping) != 1)
        hash = (hash ^ (uint32_t)s->grouping.stride) * ONS_HASH_PRIME;
    for (uint32_t i = 0; s->names != NULL && i < s->node_count; ++i) hash = hash_text(hash, s->names[i]);
    return hash;
}

/* Of `field` ("tensor", "out_after", …) of all swaps, then of all recomputations: the order of the file. */
static uint64_t hash_decisions(uint64_t hash, const ons_plan_stage *s, ons_plan_field field) {
    static const ons_decision order[] = {ONS_SWAP, ONS_RECOMPUTE};
    for (int k = 0; k < 2; ++k)
        for (uint32_t i = 0; i < s->decision_count; ++i) {
            const ons_plan_decision *d = &s->decisions[i];
            const char *texts[ONS_PLAN_FIELDS] = {NULL, d->tensor, d->out_after, d->in_before, d->gone_before};
            if (d->decision == order[k]) hash = hash_text((hash ^ (uint64_t)d->decision) * 3, texts[field]);
        }
    return hash;
}

static ons_status *digest(const ons_plan_stage *s, ons_plan_field field, ons_arena *arena, const char **text) {
    uint64_t hash = field == ONS_PLAN_NODES ? hash_nodes(ONS_HASH_BASIS, s) : hash_decisions(ONS_HASH_BASIS, s, field);
    *text = ons_arena_format(arena, "%016" PRIx64, hash);
    return *text == NULL ? ons_status_out_of_memory() : NULL;
}

const char *const ons_plan_field_names[ONS_PLAN_FIELDS] = {"nodes", "tensor", "out_after", "in_before", "gone_before"};

ons_status *ons_plan_note_made_for(ons_plan_stage *stage, ons_arena *arena) {
    for (ons_plan_field field = 0; field < ONS_PLAN_FIELDS; ++field)
        ONS_TRY(digest(stage, field, arena, &stage->made_for[field]));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- checks */

/* What has been seen of a stage's copy while its device's list is walked. */
typedef struct passed {
    uint32_t gradients, updates;
} passed;

/* Updates as the runtime takes them, which is stricter than what could run: an asynchronous schedule has one right
 * after every gradient of the weights, a synchronous one has one at its end. */
static ons_status *check_update(const ons_schedule *s, uint32_t device, uint32_t i, passed *stage) {
    const ons_action *a = &s->lists[device].items[i];
    bool each = s->asynchronous;
    uint32_t own = ons_schedule_copy_micro_batches(s, a->stage);
    uint32_t wanted = each ? own : 1, due = each ? stage->updates : own - 1;
    bool gradient = a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
    ONS_CHECK(!gradient || !each || stage->updates == stage->gradients, ONS_INVALID_DATA,
              "decisions.actions[%u][%u]: no update of micro-batch %u stands before %s of micro-batch %u; an "
              "asynchronous schedule has one after every backward part",
              device, i, stage->updates, ons_action_name(a->kind), a->micro_batch);
    stage->gradients += gradient;
    if (a->kind != ONS_ACTION_UPDATE) return NULL;
    ONS_CHECK(stage->updates < wanted && a->micro_batch == due && stage->gradients == due + 1, ONS_INVALID_DATA,
              "decisions.actions[%u][%u]: the update of micro-batch %u comes twice or out of order; the schedule has "
              "one after %s backward part",
              device, i, a->micro_batch, each ? "every" : "the last");
    ++stage->updates;
    return NULL;
}

static ons_status *check_last_update(const ons_schedule *s, uint32_t device, uint32_t stage, const passed *seen) {
    uint32_t own = ons_schedule_copy_micro_batches(s, stage);
    ONS_CHECK(seen->updates == (s->asynchronous ? own : 1), ONS_INVALID_DATA,
              "decisions.actions[%u]: the update of micro-batch %u is missing for stage %u; the schedule has one "
              "after %s backward part",
              device, s->asynchronous ? seen->updates : own - 1, stage, s->asynchronous ? "every" : "the last");
    return NULL;
}

static ons_status *check_updates(const ons_schedule *s, ons_arena *arena) {
    passed *stages;
    ONS_NEW(stages, arena, s->stages);
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action_list *list = &s->lists[device];
        for (uint32_t i = 0; i < list->count; ++i) stages[list->items[i].stage] = (passed){0}; /* of another copy */
        for (uint32_t i = 0; i < list->count; ++i) ONS_TRY(check_update(s, device, i, &stages[list->items[i].stage]));
        for (uint32_t i = 0; i < list->count; ++i)
            ONS_TRY(check_last_update(s, device, list->items[i].stage, &stages[list->items[i].stage]));
    }
    return NULL;
}

/* Where updates come between micro-batches, which versions of weights lie on a device follows from one stage's list. */
static ons_status *check_versions(const ons_schedule *s, ons_arena *arena) {
    bool *taken; /* [device] */
    uint32_t stage = 0;
    if (!s->asynchronous || s->devices == s->stages) return NULL;
    ONS_NEW(taken, arena, s->devices);
    while (!taken[s->device_of[stage]]) taken[s->device_of[stage++]] = true;
    return ons_status_new(ONS_INVALID_DATA,
                          "decisions.actions[%u]: stage %u is not the device's only one; an asynchronous schedule has "
                          "one stage on each device",
                          s->device_of[stage], stage);
}

static ons_status *blame_actions(ons_status *status) {
    if (status == NULL || ons_status_get_code(status) == ONS_OUT_OF_MEMORY) return status;
    ons_status *invalid = ons_status_new(ONS_INVALID_DATA, "decisions.actions: %s", ons_status_get_message(status));
    ons_status_free(status);
    return invalid;
}

ons_status *ons_plan_check_actions(const ons_plan *plan, ons_arena *arena) {
    const ons_stage_edges none = {.count = 0};
    ONS_TRY(check_versions(&plan->schedule, arena));
    ONS_TRY(check_updates(&plan->schedule, arena));
    return blame_actions(ons_schedule_verify(&plan->schedule, &none, arena));
}

ons_status *ons_plan_check_order(const ons_plan *plan, ons_arena *arena) {
    const ons_pipeline_parts *p = &plan->parts;
    return blame_actions(ons_stage_links_verify(p->links, p->link_count, &plan->schedule, arena));
}

/* The first action with which more than `places` micro-batches of the stage wait; the list's length: none. */
static uint32_t find_overrun(const ons_action_list *list, uint32_t stage, uint32_t places) {
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        const ons_action *a = &list->items[i];
        if (a->stage != stage) continue;
        if (a->kind == ONS_ACTION_FORWARD && ++waiting > places) return i;
        waiting -= a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
    }
    return list->count;
}

static ons_status *check_in_flight(const ons_plan *plan, uint32_t stage) {
    const ons_schedule *s = &plan->schedule;
    uint32_t device, index, copy = 0, places = plan->stages[stage].load.in_flight;
    if (s->loads[stage].in_flight <= places) return NULL;
    do {
        device = ons_schedule_device(s, stage, copy++);
        index = find_overrun(&s->lists[device], stage, places);
    } while (index == s->lists[device].count);
    char action[ONS_ACTION_TEXT];
    return ons_status_new(ONS_INVALID_DATA,
                          "decisions.actions[%u][%u] (\"%s\"): one micro-batch more waits for its backward part in "
                          "stage %u than the %u that layout.stages[%u].in_flight has places for; plan again",
                          device, index, ons_action_print(&s->lists[device].items[index], action), stage, places,
                          stage);
}

/* Places on the device and in the host's memory are as many as the layout was made for. */
ons_status *ons_plan_check_places(const ons_plan *plan) {
    for (uint32_t i = 0; i < plan->schedule.stages; ++i) {
        const ons_stage_load *now = &plan->schedule.loads[i], *then = &plan->stages[i].load;
        ONS_TRY(check_in_flight(plan, i));
        ONS_CHECK(now->versions <= then->versions, ONS_INVALID_DATA,
                  "decisions.actions[%u]: stage %u needs %u versions of its weights, and layout.stages[%u].versions "
                  "has places for %u; plan again",
                  plan->schedule.device_of[i], i, now->versions, i, then->versions);
    }
    return NULL;
}

void ons_plan_note_arena(ons_plan *plan, const ons_schedule *lanes, uint32_t lane, int64_t bytes) {
    uint32_t first = ons_schedule_first_stage(lanes, lane);
    if (lanes->device_of[first] < lane) { /* of a copy: the largest arena counts */
        if (bytes > plan->stages[first].memory_bytes) plan->stages[first].memory_bytes = bytes;
        return;
    }
    for (uint32_t i = 0; i < lanes->stages; ++i)
        if (lanes->device_of[i] == lane) plan->stages[i].memory_bytes = 0;
    plan->stages[first].memory_bytes = bytes;
}

/* Names in a stage each once: tensors, then nodes, which are in no other stage either. */
static ons_status *check_tensors(const ons_plan_stage *s, uint32_t stage, ons_map *seen) {
    for (uint32_t i = 0; i < s->decision_count; ++i) {
        ONS_CHECK(ons_map_get(seen, s->decisions[i].tensor) == ONS_MAP_ABSENT, ONS_INVALID_DATA,
                  "decisions.stages[%u]: tensor '%s' is decided twice; leave one entry of 'swap' and 'recompute'",
                  stage, s->decisions[i].tensor);
        ONS_TRY(ons_map_set(seen, s->decisions[i].tensor, i));
    }
    return NULL;
}

static ons_status *check_nodes(const ons_plan_stage *s, uint32_t stage, ons_map *seen) {
    for (uint32_t i = 0; s->names != NULL && i < s->node_count; ++i) {
        uint32_t before = ons_map_get(seen, s->names[i]);
        ONS_CHECK(before == ONS_MAP_ABSENT, ONS_INVALID_DATA,
                  "decisions.stages[%u].names[%u]: node '%s' is in stage %u already", stage, i, s->names[i], before);
        ONS_TRY(ons_map_set(seen, s->names[i], stage));
    }
    return NULL;
}

ons_status *ons_plan_check_stages(const ons_plan *plan) {
    ons_map nodes = {0};
    ons_status *status = NULL;
    for (uint32_t i = 0; status == NULL && i < plan->pipeline.stages; ++i) {
        ons_map tensors = {0};
        status = check_tensors(&plan->stages[i], i, &tensors);
        ons_map_free(&tensors);
        if (status == NULL && !plan->stages[i].names != !plan->stages[0].names)
            status = ons_status_new(ONS_INVALID_DATA, "decisions.stages[%u].names: all stages have it, or none", i);
        if (status == NULL) status = check_nodes(&plan->stages[i], i, &nodes);
    }
    ons_map_free(&nodes);
    return status;
}

static ons_status *check_made_for(const ons_plan *plan, uint32_t stage, ons_arena *arena) {
    const ons_plan_stage *s = &plan->stages[stage];
    for (ons_plan_field field = 0; field < ONS_PLAN_FIELDS; ++field) {
        const char *now;
        if (s->made_for[field] == NULL) continue;
        ONS_TRY(digest(s, field, arena, &now));
        ONS_CHECK(strcmp(s->made_for[field], now) == 0, ONS_INVALID_DATA,
                  "decisions.stages[%u]: '%s' is not what the costs and the layout below were made for; plan again, or "
                  "take 'made_for' out of costs.stages[%u]: its memory and times are then another plan's",
                  stage, ons_plan_field_names[field], stage);
    }
    return NULL;
}

/* `bytes`: of each device, of the stages before. */
static ons_status *check_capacity(const ons_plan *plan, uint32_t stage, uint32_t copy, int64_t *bytes) {
    uint32_t device = ons_schedule_device(&plan->schedule, stage, copy);
    int64_t own = plan->stages[stage].memory_bytes, capacity = ons_plan_capacity(plan, device);
    ONS_CHECK(!__builtin_add_overflow(bytes[device], own, &bytes[device]), ONS_INVALID_DATA,
              "layout.stages[%u].arena_bytes: too many", stage);
    ONS_CHECK(capacity == 0 || bytes[device] <= capacity, ONS_INVALID_DATA,
              "decisions.capacity_bytes: %" PRId64 " are less than the %" PRId64
              " of layout.stages[%u].arena_bytes%s; plan again with that --memory",
              capacity, bytes[device], stage, bytes[device] > own ? " and of the device's stages before it" : "");
    return NULL;
}

ons_status *ons_plan_check_costs(const ons_plan *plan, ons_arena *arena) {
    int64_t *bytes;
    ONS_NEW(bytes, arena, plan->schedule.devices);
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        ONS_TRY(check_made_for(plan, i, arena));
        for (uint32_t copy = 0; copy < ons_schedule_grouping(&plan->schedule, i).copies; ++copy)
            ONS_TRY(check_capacity(plan, i, copy, bytes));
    }
    return NULL;
}
