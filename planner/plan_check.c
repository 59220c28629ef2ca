#include "planner/plan_check.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"

/* ------------------------------------------------------------------------------------------------------------ digests
 */

/* FNV-1a, 64 bits. A text that is missing is not the empty one. */
static uint64_t hash_text(uint64_t hash, const char *text) {
    const uint64_t prime = 1099511628211u;
    for (; text != NULL && *text != '\0'; ++text) hash = (hash ^ (unsigned char)*text) * prime;
    return (hash ^ (text == NULL ? 1 : 0)) * prime;
}

static uint64_t hash_nodes(uint64_t hash, const ons_plan_stage *s) {
    hash = hash_text((hash ^ s->node_count) * 1099511628211u, s->first_node);
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
    const uint64_t first = 14695981039346656037u;
    uint64_t hash = field == ONS_PLAN_NODES ? hash_nodes(first, s) : hash_decisions(first, s, field);
    *text = ons_arena_format(arena, "%016" PRIx64, hash);
    return *text == NULL ? ons_status_out_of_memory() : NULL;
}

const char *const ons_plan_field_names[ONS_PLAN_FIELDS] = {"nodes", "tensor", "out_after", "in_before", "gone_before"};

ons_status *ons_plan_note_made_for(ons_plan_stage *stage, ons_arena *arena) {
    for (ons_plan_field field = 0; field < ONS_PLAN_FIELDS; ++field)
        ONS_TRY(digest(stage, field, arena, &stage->made_for[field]));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- checks
 */

/* Updates as the runtime takes them, which is stricter than what could run: an asynchronous schedule has one right
 * after every gradient of the weights, a synchronous one has one at its end. */
static ons_status *check_updates(const ons_plan *plan, uint32_t stage) {
    const ons_action_list *list = &plan->actions[stage];
    bool each = ons_pipeline_is_asynchronous(&plan->pipeline);
    const char *schedule = ons_pipeline_name(plan->pipeline.kind);
    uint32_t wanted = each ? plan->pipeline.micro_batches : 1, gradients = 0, updates = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        const ons_action *a = &list->items[i];
        ONS_CHECK(a->stage == stage, ONS_INVALID_DATA,
                  "decisions.actions[%u][%u]: %s of stage %u in the list of stage %u", stage, i,
                  ons_action_name(a->kind), a->stage, stage);
        bool gradient = a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
        ONS_CHECK(!gradient || !each || updates == gradients, ONS_INVALID_DATA,
                  "decisions.actions[%u][%u]: no update of micro-batch %u stands before %s of micro-batch %u; schedule "
                  "'%s' has one after every backward part",
                  stage, i, updates, ons_action_name(a->kind), a->micro_batch, schedule);
        gradients += gradient;
        if (a->kind != ONS_ACTION_UPDATE) continue;
        uint32_t due = each ? updates : plan->pipeline.micro_batches - 1;
        ONS_CHECK(updates < wanted && a->micro_batch == due && gradients == due + 1, ONS_INVALID_DATA,
                  "decisions.actions[%u][%u]: the update of micro-batch %u comes twice or out of order; schedule '%s' "
                  "has one after %s backward part",
                  stage, i, a->micro_batch, schedule, each ? "every" : "the last");
        ++updates;
    }
    ONS_CHECK(updates == wanted, ONS_INVALID_DATA,
              "decisions.actions[%u]: the update of micro-batch %u is missing; schedule '%s' has one after %s backward "
              "part",
              stage, each ? updates : plan->pipeline.micro_batches - 1, schedule, each ? "every" : "the last");
    return NULL;
}

/* Places on the device and in the host's memory are as many as the schedule's name asks for. */
static ons_status *check_in_flight(const ons_plan *plan, uint32_t stage) {
    uint32_t places = ons_pipeline_load(&plan->pipeline, stage).in_flight, waiting = 0;
    for (uint32_t i = 0; i < plan->actions[stage].count; ++i) {
        ons_action_kind kind = plan->actions[stage].items[i].kind;
        waiting += kind == ONS_ACTION_FORWARD;
        waiting -= kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_INPUT_GRADIENT;
        ONS_CHECK(waiting <= places, ONS_INVALID_DATA,
                  "decisions.actions[%u][%u]: %u micro-batches wait for their backward part in stage %u, and schedule "
                  "'%s' has places for %u",
                  stage, i, waiting, stage, ons_pipeline_name(plan->pipeline.kind), places);
    }
    return NULL;
}

ons_status *ons_plan_check_actions(const ons_plan *plan, ons_arena *arena) {
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) ONS_TRY(check_updates(plan, i));
    ons_status *status = ons_actions_verify(&plan->pipeline, plan->actions, arena);
    if (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY) {
        ons_status *invalid = ons_status_new(ONS_INVALID_DATA, "decisions.actions: %s", ons_status_get_message(status));
        ons_status_free(status);
        return invalid;
    }
    for (uint32_t i = 0; status == NULL && i < plan->pipeline.stages; ++i) status = check_in_flight(plan, i);
    return status;
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

ons_status *ons_plan_check_costs(const ons_plan *plan, ons_arena *arena) {
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        ONS_TRY(check_made_for(plan, i, arena));
        ONS_CHECK(plan->capacity_bytes == 0 || plan->stages[i].memory_bytes <= plan->capacity_bytes, ONS_INVALID_DATA,
                  "decisions.capacity_bytes: %" PRId64 " are less than the %" PRId64
                  " of layout.stages[%u].arena_bytes; plan again with that --memory",
                  plan->capacity_bytes, plan->stages[i].memory_bytes, i);
    }
    return NULL;
}
