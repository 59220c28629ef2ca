#include "planner/plan_check.h"

#include <inttypes.h>
#include <string.h>

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
    ons_status *status = ons_actions_verify(&plan->pipeline, plan->actions, arena);
    if (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY) {
        ons_status *invalid = ons_status_new(ONS_INVALID_DATA, "decisions.actions: %s", ons_status_get_message(status));
        ons_status_free(status);
        return invalid;
    }
    for (uint32_t i = 0; status == NULL && i < plan->pipeline.stages; ++i) status = check_in_flight(plan, i);
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
