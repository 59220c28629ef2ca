#include <stdlib.h>
#include <string.h>

#include "planner/plan/plan_check.h"
#include "planner/plan/plan_json.h"
#include "planner/schedule/action_text.h"

enum { STAGES_MOST = 65536 };

typedef struct reader {
    ons_arena *arena;
    ons_plan *plan;
} reader;

/* ----------------------------------------------------------------------------------------------------------- fields */

static ons_status *get_text(const reader *r, const ons_json *object, const char *name, const char **value) {
    return ons_json_copy_text(object, name, r->arena, value);
}

/* NULL where it is left out. */
static ons_status *get_optional_text(const reader *r, const ons_json *object, const char *name, const char **value) {
    *value = NULL;
    return ons_json_find(object, name) == NULL ? NULL : get_text(r, object, name, value);
}

/* The elements of a stage-by-stage list: as many as the plan has stages. */
static ons_status *get_stages(const reader *r, const ons_json *object, const ons_json **first) {
    const ons_json *array;
    ONS_TRY(ons_json_get_array(object, "stages", &array));
    ONS_CHECK((uint32_t)cJSON_GetArraySize(array) == r->plan->pipeline.stages, ONS_INVALID_DATA,
              "'stages' has %d entries, but decisions.stages has %u", cJSON_GetArraySize(array),
              r->plan->pipeline.stages);
    *first = array->child;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- subject */

static ons_status *read_settings(const reader *r, const ons_json *object, const char *name, ons_plan_setting **list,
                                 uint32_t *count) {
    const ons_json *settings;
    ONS_TRY(ons_json_get_object(object, name, &settings));
    ONS_NEW(*list, r->arena, (size_t)cJSON_GetArraySize(settings) + 1);
    for (const ons_json *each = settings->child; each != NULL; each = each->next) {
        ONS_CHECK(cJSON_IsString(each), ONS_INVALID_DATA, "'%s.%s' is no text", name, each->string);
        ons_plan_setting *setting = &(*list)[(*count)++];
        setting->name = ons_arena_copy_text(r->arena, each->string);
        setting->value = ons_arena_copy_text(r->arena, each->valuestring);
        if (setting->name == NULL || setting->value == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

static ons_status *read_subject(const reader *r, const ons_json *root) {
    const ons_json *o;
    ons_plan_subject *s = &r->plan->subject;
    ONS_TRY(ons_json_get_object(root, "for", &o));
    ONS_TRY(get_text(r, o, "model", &s->model));
    ONS_TRY(get_optional_text(r, o, "digest", &s->digest));
    ONS_TRY(read_settings(r, o, "dims", &s->dims, &s->dim_count));
    ONS_TRY(ons_plan_get_whole(o, "batch", 1, INT64_C(1) << 53, &s->batch));
    ONS_TRY(ons_plan_get_whole(o, "micro_batches", 1, UINT32_MAX - 1, &s->micro_batches));
    s->replicas = 1;
    if (ons_json_find(o, "replicas") != NULL) ONS_TRY(ons_plan_get_whole(o, "replicas", 1, 1024, &s->replicas));
    if (ons_json_find(o, "shard_optimizer") != NULL)
        ONS_TRY(ons_json_get_bool(o, "shard_optimizer", &s->shard_optimizer));
    ONS_TRY(get_optional_text(r, o, "loss", &s->loss));
    ONS_TRY(get_optional_text(r, o, "optimizer", &s->optimizer));
    ONS_TRY(get_optional_text(r, o, "precision", &s->precision));
    ONS_TRY(get_optional_text(r, o, "device_profile", &s->device_profile));
    ONS_TRY(ons_plan_get_whole(o, "threads", 0, 1024, &s->threads));
    ONS_TRY(ons_plan_get_bytes(o, "trainable_elements", &s->trainable_elements));
    ONS_TRY(get_optional_text(r, o, "trainable_digest", &s->trainable_digest));
    return read_settings(r, o, "libraries", &s->libraries, &s->library_count);
}

/* -------------------------------------------------------------------------------------------------------- decisions */

static ons_status *read_tensors(const reader *r, const ons_json *stage, const char *name, ons_decision decision,
                                ons_plan_stage *s) {
    const ons_json *array;
    ONS_TRY(ons_json_get_array(stage, name, &array));
    uint32_t index = 0;
    for (const ons_json *each = array->child; each != NULL; each = each->next, ++index) {
        ons_plan_decision *d = &s->decisions[s->decision_count++];
        d->decision = decision;
        ONS_TRY_AT(get_text(r, each, "tensor", &d->tensor), "%s[%u]", name, index);
        if (decision == ONS_SWAP) ONS_TRY_AT(get_text(r, each, "out_after", &d->out_after), "%s[%u]", name, index);
        ONS_TRY_AT(get_text(r, each, "in_before", &d->in_before), "%s[%u]", name, index);
        if (decision == ONS_SWAP)
            ONS_TRY_AT(get_optional_text(r, each, "gone_before", &d->gone_before), "%s[%u]", name, index);
    }
    return NULL;
}

static ons_status *read_names(const reader *r, const ons_json *stage, ons_plan_stage *s) {
    const ons_json *array;
    uint32_t count = 0;
    if (ons_json_find(stage, "names") == NULL) return NULL;
    ONS_TRY(ons_json_get_array(stage, "names", &array));
    ONS_CHECK((uint32_t)cJSON_GetArraySize(array) == s->node_count, ONS_INVALID_DATA,
              "'names' has %d entries, 'nodes' says %u", cJSON_GetArraySize(array), s->node_count);
    ONS_NEW(s->names, r->arena, (size_t)s->node_count + 1);
    for (const ons_json *each = array->child; each != NULL; each = each->next, ++count) {
        ONS_CHECK(cJSON_IsString(each), ONS_INVALID_DATA, "'names[%u]' is no text", count);
        s->names[count] = ons_arena_copy_text(r->arena, each->valuestring);
        if (s->names[count] == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

/* Of replicas that do not lie on devices in a row. */
static ons_status *get_stride(const ons_json *stage, int64_t device, int64_t copies, int64_t *stride) {
    int64_t second;
    ONS_CHECK(copies == 2, ONS_INVALID_DATA, "'second_device' is of a stage with two 'replicas', and this one has %lld",
              (long long)copies);
    ONS_TRY(ons_plan_get_whole(stage, "second_device", 0, STAGES_MOST - 1, &second));
    ONS_CHECK(second != device, ONS_INVALID_DATA,
              "'second_device' is %lld, as is 'device'; replicas of a stage lie on devices of their own",
              (long long)second);
    *stride = second - device;
    return NULL;
}

/* Stages that take a unit of the step at once, in one copy, do not say it. */
static ons_status *read_grouping(const reader *r, const ons_json *stage, int64_t device, ons_stage_grouping *grouping) {
    int64_t units = r->plan->schedule.micro_batches, size = 1, copies = 1, stride = 1;
    if (ons_json_find(stage, "micro_batch") != NULL) ONS_TRY(ons_plan_get_whole(stage, "micro_batch", 1, units, &size));
    if (ons_json_find(stage, "replicas") != NULL) ONS_TRY(ons_plan_get_whole(stage, "replicas", 1, units, &copies));
    if (ons_json_find(stage, "second_device") != NULL) ONS_TRY(get_stride(stage, device, copies, &stride));
    *grouping = (ons_stage_grouping){(uint32_t)size, (uint32_t)copies, (int32_t)stride};
    return NULL;
}

static ons_status *read_stage(const reader *r, const ons_json *stage, ons_plan_stage *s) {
    int64_t nodes, device;
    const ons_json *swap, *recompute;
    ONS_TRY(get_text(r, stage, "first_node", &s->first_node));
    ONS_TRY(ons_plan_get_whole(stage, "nodes", 1, UINT32_MAX - 1, &nodes));
    ONS_TRY(ons_plan_get_whole(stage, "device", 0, STAGES_MOST - 1, &device));
    ONS_TRY(read_grouping(r, stage, device, &s->grouping));
    ONS_TRY(ons_json_get_array(stage, "swap", &swap));
    ONS_TRY(ons_json_get_array(stage, "recompute", &recompute));
    s->node_count = (uint32_t)nodes;
    ONS_TRY(read_names(r, stage, s));
    s->device = (uint32_t)device;
    ONS_NEW(s->decisions, r->arena, (size_t)cJSON_GetArraySize(swap) + (size_t)cJSON_GetArraySize(recompute) + 1);
    ONS_TRY(read_tensors(r, stage, "swap", ONS_SWAP, s));
    return read_tensors(r, stage, "recompute", ONS_RECOMPUTE, s);
}

/* What an entry stands for: as many actions as it has micro-batches. */
static ons_status *read_entry(const reader *r, const ons_json *entry, uint32_t device, uint32_t index,
                              ons_action *action, uint32_t *count) {
    const ons_schedule *s = &r->plan->schedule;
    uint32_t last;
    ONS_CHECK(cJSON_IsString(entry) && ons_action_parse(entry->valuestring, action, &last), ONS_INVALID_DATA,
              "'actions[%u][%u]' is no action; they look like \"2F0\": stage, action, micro-batch; or \"2F0-3\" for "
              "several micro-batches",
              device, index);
    ONS_CHECK(action->stage < s->stages && last < s->micro_batches, ONS_INVALID_DATA,
              "'actions[%u][%u]' (\"%s\"): there is no such stage or micro-batch", device, index, entry->valuestring);
    *count = last - action->micro_batch + 1;
    return NULL;
}

enum { ACTIONS_MOST = 1 << 24 }; /* a short text may stand for many */

static ons_status *count_actions(const reader *r, const ons_json *list, uint32_t device, uint64_t *total) {
    uint32_t index = 0, count;
    ons_action action;
    *total = 0;
    for (const ons_json *each = list->child; each != NULL; each = each->next, ++index) {
        ONS_TRY(read_entry(r, each, device, index, &action, &count));
        *total += count;
    }
    ONS_CHECK(*total <= ACTIONS_MOST, ONS_INVALID_DATA, "'actions[%u]' stands for more than %d actions", device,
              ACTIONS_MOST);
    return NULL;
}

static ons_status *read_list(const reader *r, const ons_json *list, uint32_t device, ons_action_list *actions) {
    uint64_t total;
    uint32_t index = 0, count;
    ONS_CHECK(cJSON_IsArray(list), ONS_INVALID_DATA, "'actions[%u]' is no list", device);
    ONS_TRY(count_actions(r, list, device, &total));
    ONS_NEW(actions->items, r->arena, total + 1);
    for (const ons_json *each = list->child; each != NULL; each = each->next, ++index) {
        ons_action action;
        ONS_TRY(read_entry(r, each, device, index, &action, &count));
        for (; count > 0; --count, ++action.micro_batch) actions->items[actions->count++] = action;
    }
    return NULL;
}

static uint64_t count_copies(const ons_schedule *s) {
    uint64_t copies = 0;
    for (uint32_t i = 0; i < s->stages; ++i) copies += ons_schedule_grouping(s, i).copies;
    return copies;
}

/* Of the stages, where one has any. */
static ons_status *take_groupings(const reader *r) {
    ons_schedule *s = &r->plan->schedule;
    ons_stage_grouping *groupings;
    ONS_NEW(groupings, r->arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i) groupings[i] = r->plan->stages[i].grouping;
    s->groupings = groupings;
    if (!ons_schedule_is_grouped(s)) s->groupings = NULL;
    return NULL;
}

/* What every device computes; which stages lie on it, and what waits there, follows. */
static ons_status *read_schedule(const reader *r, const ons_json *decisions) {
    const ons_json *devices;
    const char *name;
    uint32_t device = 0;
    ons_plan *plan = r->plan;
    ons_schedule *s = &plan->schedule;
    ONS_TRY(get_text(r, decisions, "schedule", &name));
    ONS_TRY(ons_json_get_bool(decisions, "asynchronous", &s->asynchronous));
    ONS_TRY(ons_json_get_array(decisions, "actions", &devices));
    ONS_TRY(take_groupings(r));
    int count = cJSON_GetArraySize(devices);
    ONS_CHECK(count >= 1 && (uint64_t)count <= count_copies(s), ONS_INVALID_DATA,
              "'actions' has %d lists for %u stages", count, s->stages);
    s->devices = (uint32_t)count;
    ONS_NEW(s->lists, r->arena, s->devices);
    for (const ons_json *list = devices->child; list != NULL; list = list->next, ++device)
        ONS_TRY(read_list(r, list, device, &s->lists[device]));
    ONS_TRY_AT(ons_schedule_take(s, r->arena), "actions");
    plan->pipeline = (ons_pipeline){NULL, s->stages, s->micro_batches, s->devices, (uint32_t)plan->subject.replicas};
    return ons_generator_recognise(s, name, r->arena, &plan->pipeline.generator);
}

/* Of devices that differ; plans of devices that are alike do not say it. */
static ons_status *read_capacities(const reader *r, const ons_json *o) {
    const ons_json *list;
    ons_plan *plan = r->plan;
    uint32_t device = 0;
    if (ons_json_find(o, "devices") == NULL) return NULL;
    ONS_TRY(ons_json_get_array(o, "devices", &list));
    ONS_CHECK((uint32_t)cJSON_GetArraySize(list) == plan->schedule.devices, ONS_INVALID_DATA,
              "'devices' has %d entries, and 'actions' %u lists", cJSON_GetArraySize(list), plan->schedule.devices);
    ONS_NEW(plan->capacities, r->arena, plan->schedule.devices);
    for (const ons_json *each = list->child; each != NULL; each = each->next, ++device) {
        ONS_TRY_AT(ons_plan_get_bytes(each, "capacity_bytes", &plan->capacities[device]), "devices[%u]", device);
        ONS_CHECK(plan->capacities[device] > 0 && plan->capacities[device] <= plan->capacity_bytes, ONS_INVALID_DATA,
                  "'devices[%u].capacity_bytes' is not between 1 and 'capacity_bytes'", device);
    }
    return NULL;
}

static ons_status *read_decisions(const reader *r, const ons_json *root) {
    const ons_json *o, *stages;
    ons_plan *plan = r->plan;
    ONS_TRY(ons_json_get_object(root, "decisions", &o));
    ONS_TRY(get_text(r, o, "partition", &plan->partition));
    ONS_TRY(get_text(r, o, "memory", &plan->memory));
    ONS_TRY(get_text(r, o, "order", &plan->order));
    ONS_TRY(get_optional_text(r, o, "objective", &plan->objective)); /* earlier plans do not say it */
    ONS_TRY(ons_plan_get_bytes(o, "capacity_bytes", &plan->capacity_bytes));
    ONS_TRY(ons_json_get_array(o, "stages", &stages));
    int count = cJSON_GetArraySize(stages);
    ONS_CHECK(count >= 1 && count <= STAGES_MOST, ONS_INVALID_DATA, "'stages' has %d entries, not between 1 and %d",
              count, STAGES_MOST);
    plan->schedule.stages = (uint32_t)count;
    plan->schedule.micro_batches = (uint32_t)plan->subject.micro_batches;
    ONS_NEW(plan->stages, r->arena, (size_t)count);
    uint32_t index = 0;
    for (const ons_json *each = stages->child; each != NULL; each = each->next, ++index)
        ONS_TRY_AT(read_stage(r, each, &plan->stages[index]), "stages[%u]", index);
    ONS_TRY(read_schedule(r, o));
    ONS_TRY(read_capacities(r, o));
    for (index = 0; index < plan->schedule.stages; ++index)
        ONS_CHECK(plan->stages[index].device == plan->schedule.device_of[index], ONS_INVALID_DATA,
                  "'stages[%u].device' is %u, but 'actions' have the stage on device %u", index,
                  plan->stages[index].device, plan->schedule.device_of[index]);
    return NULL;
}

/* ---------------------------------------------------------------------------------------- layout, costs, prediction */

static ons_status *read_stage_layout(const ons_json *o, ons_plan_stage *s) {
    int64_t in_flight, versions;
    ONS_TRY(ons_plan_get_bytes(o, "arena_bytes", &s->memory_bytes));
    ONS_TRY(ons_plan_get_bytes(o, "fragmentation_bytes", &s->fragmentation_bytes));
    ONS_TRY(ons_plan_get_whole(o, "in_flight", 1, UINT32_MAX - 1, &in_flight));
    ONS_TRY(ons_plan_get_whole(o, "versions", 1, UINT32_MAX - 1, &versions));
    s->load.in_flight = (uint32_t)in_flight;
    s->load.versions = (uint32_t)versions;
    return ons_json_get_bool(o, "accumulates", &s->load.accumulates);
}

static ons_status *read_stage_costs(const ons_json *o, ons_plan_stage *s) {
    ONS_TRY(ons_plan_get_seconds(o, "forward_seconds", &s->forward_seconds));
    ONS_TRY(ons_plan_get_seconds(o, "backward_seconds", &s->backward_seconds));
    ONS_TRY(ons_plan_get_seconds(o, "recompute_seconds", &s->recompute_seconds));
    ONS_TRY(ons_plan_get_seconds(o, "stall_seconds", &s->stall_seconds));
    if (ons_json_find(o, "reduce_seconds") != NULL)
        ONS_TRY(ons_plan_get_seconds(o, "reduce_seconds", &s->reduce_seconds));
    ONS_TRY(ons_plan_get_seconds(o, "update_seconds", &s->update_seconds));
    ONS_TRY(ons_plan_get_seconds(o, "send_seconds", &s->send_seconds));
    ONS_TRY(ons_plan_get_bytes(o, "send_bytes", &s->send_bytes));
    return ons_plan_get_bytes(o, "receive_bytes", &s->receive_bytes);
}

static ons_status *read_stage_prediction(const ons_json *o, ons_plan_stage *s) {
    const ons_json *m;
    int64_t bytes;
    ONS_TRY(ons_plan_get_seconds(o, "seconds", &s->seconds));
    ONS_TRY(ons_plan_get_bytes(o, "memory_bytes", &bytes));
    ONS_CHECK(bytes == s->memory_bytes, ONS_INVALID_DATA, "'memory_bytes' is not the layout's arena_bytes");
    ONS_TRY(ons_json_get_object(o, "memory", &m));
    ONS_TRY(ons_plan_get_bytes(m, "weights", &s->memory.weights));
    ONS_TRY(ons_plan_get_bytes(m, "versions", &s->memory.versions));
    ONS_TRY(ons_plan_get_bytes(m, "gradients", &s->memory.gradients));
    ONS_TRY(ons_plan_get_bytes(m, "optimizer_states", &s->memory.states));
    ONS_TRY(ons_plan_get_bytes(m, "stashed", &s->memory.stash));
    ONS_TRY(ons_plan_get_bytes(m, "running", &s->memory.peak));
    ONS_TRY(ons_plan_get_bytes(m, "transfers", &s->memory.transfers));
    s->memory.total = bytes;
    return NULL;
}

/* Earlier plans do not say it. */
static ons_status *read_made_for(const reader *r, const ons_json *costs, ons_plan_stage *s) {
    const ons_json *o;
    if (ons_json_find(costs, "made_for") == NULL) return NULL;
    ONS_TRY(ons_json_get_object(costs, "made_for", &o));
    for (ons_plan_field field = 0; field < ONS_PLAN_FIELDS; ++field)
        ONS_TRY_AT(get_text(r, o, ons_plan_field_names[field], &s->made_for[field]), "made_for");
    return NULL;
}

/* What the simulator runs. */
static ons_status *read_parts(const reader *r, const ons_json *costs) {
    const ons_json *each;
    ons_plan *plan = r->plan;
    ONS_TRY(get_stages(r, costs, &each));
    ONS_NEW(plan->parts.stages, r->arena, plan->pipeline.stages);
    for (uint32_t i = 0; each != NULL; each = each->next, ++i) {
        ONS_TRY_AT(read_made_for(r, each, &plan->stages[i]), "stages[%u]", i);
        ONS_TRY_AT(ons_plan_read_parts(each, r->arena, &plan->parts.stages[i]), "stages[%u]", i);
        plan->parts.stages[i].reduce_seconds = plan->stages[i].reduce_seconds;
        plan->parts.stages[i].update_seconds = plan->stages[i].update_seconds;
    }
    return ons_plan_read_links(costs, r->arena, plan);
}

typedef ons_status *read_part(const ons_json *object, ons_plan_stage *stage);

static ons_status *read_by_stage(const reader *r, const ons_json *object, read_part *read) {
    const ons_json *each;
    ONS_TRY(get_stages(r, object, &each));
    for (uint32_t i = 0; each != NULL; each = each->next, ++i)
        ONS_TRY_AT(read(each, &r->plan->stages[i]), "stages[%u]", i);
    return NULL;
}

static ons_status *read_prediction(const reader *r, const ons_json *o) {
    ONS_TRY(ons_plan_get_seconds(o, "step_seconds", &r->plan->step_seconds));
    ONS_TRY(ons_plan_get_seconds(o, "bottleneck_seconds", &r->plan->bottleneck_seconds));
    r->plan->reproducible = ons_json_find(o, "planning_seconds") == NULL;
    if (!r->plan->reproducible) ONS_TRY(ons_plan_get_seconds(o, "planning_seconds", &r->plan->planning_seconds));
    ONS_TRY(read_by_stage(r, o, read_stage_prediction));
    for (uint32_t i = 0; i < r->plan->pipeline.stages; ++i) {
        const ons_stage_memory *m = &r->plan->stages[i].memory;
        r->plan->parts.stages[i].held_bytes = m->weights + m->versions + m->gradients + m->states;
    }
    return NULL;
}

static ons_status *read(const reader *r, const ons_json *root) {
    int64_t version;
    const ons_json *layout, *costs, *predicted;
    ONS_TRY(ons_json_get_int(root, "version", &version));
    ONS_CHECK(version == ONS_PLAN_VERSION, ONS_UNSUPPORTED,
              "'version' is %lld; this program reads plans of version %d: plan again", (long long)version,
              ONS_PLAN_VERSION);
    ONS_TRY_AT(read_subject(r, root), "for");
    ONS_TRY_AT(read_decisions(r, root), "decisions");
    ONS_TRY(ons_plan_check_stages(r->plan));
    ONS_TRY(ons_plan_check_actions(r->plan, r->arena));
    ONS_TRY(ons_json_get_object(root, "layout", &layout));
    ONS_TRY_AT(read_by_stage(r, layout, read_stage_layout), "layout");
    ONS_TRY(ons_plan_check_places(r->plan));
    ONS_TRY(ons_json_get_object(root, "costs", &costs));
    ONS_TRY_AT(read_by_stage(r, costs, read_stage_costs), "costs");
    ONS_TRY_AT(read_parts(r, costs), "costs");
    ONS_TRY(ons_plan_check_order(r->plan, r->arena));
    ONS_TRY(ons_json_get_object(root, "predicted", &predicted));
    ONS_TRY_AT(read_prediction(r, predicted), "predicted");
    return NULL;
}

ons_status *ons_plan_parse(const char *text, size_t size, ons_arena *arena, ons_plan *plan) {
    ons_json *root;
    *plan = (ons_plan){0};
    reader r = {.arena = arena, .plan = plan};
    ONS_TRY(ons_json_parse_names(text, size, &root));
    ons_status *status = read(&r, root);
    ons_json_free(root);
    return status;
}
