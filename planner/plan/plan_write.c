#include "planner/plan/plan_json.h"
#include "planner/schedule/action_text.h"

static ons_status *write_settings(ons_json *parent, const char *name, const ons_plan_setting *list, uint32_t count) {
    ons_json *object;
    ONS_TRY(ons_plan_add_object(parent, name, &object));
    for (uint32_t i = 0; i < count; ++i) ONS_TRY(ons_json_set_text(object, list[i].name, list[i].value));
    return NULL;
}

static ons_status *write_subject(ons_json *root, const ons_plan_subject *s) {
    ons_json *o;
    ONS_TRY(ons_plan_add_object(root, "for", &o));
    ONS_TRY(ons_plan_set_text(o, "model", s->model));
    ONS_TRY(ons_plan_set_text(o, "digest", s->digest));
    ONS_TRY(write_settings(o, "dims", s->dims, s->dim_count));
    ONS_TRY(ons_plan_set_int(o, "batch", s->batch));
    ONS_TRY(ons_plan_set_int(o, "micro_batches", s->micro_batches));
    if (s->replicas > 1) ONS_TRY(ons_plan_set_int(o, "replicas", s->replicas));
    if (s->shard_optimizer) ONS_TRY(ons_json_set_bool(o, "shard_optimizer", true));
    ONS_TRY(ons_plan_set_text(o, "loss", s->loss));
    ONS_TRY(ons_plan_set_text(o, "optimizer", s->optimizer));
    ONS_TRY(ons_plan_set_text(o, "precision", s->precision));
    ONS_TRY(ons_plan_set_text(o, "device_profile", s->device_profile));
    ONS_TRY(ons_plan_set_int(o, "threads", s->threads));
    ONS_TRY(ons_plan_set_int(o, "trainable_elements", s->trainable_elements));
    ONS_TRY(ons_plan_set_text(o, "trainable_digest", s->trainable_digest));
    return write_settings(o, "libraries", s->libraries, s->library_count);
}

static ons_status *write_tensors(ons_json *stage, const ons_plan_stage *s, ons_decision decision, const char *name) {
    ons_json *array, *o;
    ONS_TRY(ons_plan_add_array(stage, name, &array));
    for (uint32_t i = 0; i < s->decision_count; ++i) {
        const ons_plan_decision *d = &s->decisions[i];
        if (d->decision != decision) continue;
        ONS_TRY(ons_plan_append_object(array, &o));
        ONS_TRY(ons_plan_set_text(o, "tensor", d->tensor));
        ONS_TRY(ons_plan_set_text(o, "out_after", d->out_after));
        ONS_TRY(ons_plan_set_text(o, "in_before", d->in_before));
        ONS_TRY(ons_plan_set_text(o, "gone_before", d->gone_before));
    }
    return NULL;
}

static ons_status *write_actions(ons_json *decisions, const ons_plan *plan) {
    ons_json *devices;
    char text[ONS_ACTION_TEXT];
    ONS_TRY(ons_plan_add_array(decisions, "actions", &devices));
    for (uint32_t i = 0; i < plan->schedule.devices; ++i) {
        ons_json *list = cJSON_CreateArray();
        if (!cJSON_AddItemToArray(devices, list)) {
            ons_json_free(list);
            return ons_status_out_of_memory();
        }
        for (uint32_t k = 0; k < plan->schedule.lists[i].count; ++k) {
            ons_json *item = cJSON_CreateString(ons_action_print(&plan->schedule.lists[i].items[k], text));
            if (!cJSON_AddItemToArray(list, item)) {
                ons_json_free(item);
                return ons_status_out_of_memory();
            }
        }
    }
    return NULL;
}

const char ons_plan_by_step[] = "step", ons_plan_by_bottleneck[] = "bottleneck";

/* An interval of the file's order is said by its first node; others node by node. */
static ons_status *write_names(ons_json *stage, const ons_plan_stage *s) {
    ons_json *list;
    ONS_TRY(ons_plan_add_array(stage, "names", &list));
    for (uint32_t i = 0; i < s->node_count; ++i) {
        ons_json *item = cJSON_CreateString(s->names[i]);
        if (!cJSON_AddItemToArray(list, item)) {
            ons_json_free(item);
            return ons_status_out_of_memory();
        }
    }
    return NULL;
}

/* Of devices that differ. */
static ons_status *write_capacities(ons_json *o, const ons_plan *plan) {
    ons_json *list, *device;
    ONS_TRY(ons_plan_add_array(o, "devices", &list));
    for (uint32_t i = 0; i < plan->schedule.devices; ++i) {
        ONS_TRY(ons_plan_append_object(list, &device));
        ONS_TRY(ons_plan_set_int(device, "capacity_bytes", plan->capacities[i]));
    }
    return NULL;
}

/* Of stages that differ from a step's units. */
static ons_status *write_grouping(ons_json *stage, const ons_schedule *s, uint32_t i) {
    ons_stage_grouping g = ons_schedule_grouping(s, i);
    if (g.size > 1) ONS_TRY(ons_plan_set_int(stage, "micro_batch", g.size));
    if (g.copies == 1) return NULL;
    ONS_TRY(ons_plan_set_int(stage, "replicas", g.copies));
    return ons_grouping_stride(g) == 1 ? NULL : ons_plan_set_int(stage, "second_device", ons_schedule_device(s, i, 1));
}

static ons_status *write_stage_decisions(ons_json *stages, const ons_plan *plan, uint32_t i) {
    const ons_plan_stage *s = &plan->stages[i];
    ons_json *stage;
    ONS_TRY(ons_plan_append_object(stages, &stage));
    ONS_TRY(ons_plan_set_text(stage, "first_node", s->first_node));
    ONS_TRY(ons_plan_set_int(stage, "nodes", s->node_count));
    ONS_TRY(ons_plan_set_int(stage, "device", s->device));
    ONS_TRY(write_grouping(stage, &plan->schedule, i));
    if (s->names != NULL) ONS_TRY(write_names(stage, s));
    ONS_TRY(write_tensors(stage, s, ONS_SWAP, "swap"));
    return write_tensors(stage, s, ONS_RECOMPUTE, "recompute");
}

static ons_status *write_decisions(ons_json *root, const ons_plan *plan) {
    ons_json *o, *stages;
    ONS_TRY(ons_plan_add_object(root, "decisions", &o));
    ONS_TRY(ons_plan_set_text(o, "schedule", plan->pipeline.generator->name));
    ONS_TRY(ons_json_set_bool(o, "asynchronous", plan->schedule.asynchronous));
    ONS_TRY(ons_plan_set_text(o, "partition", plan->partition));
    ONS_TRY(ons_plan_set_text(o, "memory", plan->memory));
    ONS_TRY(ons_plan_set_text(o, "order", plan->order));
    if (plan->objective != NULL) ONS_TRY(ons_plan_set_text(o, "objective", plan->objective));
    ONS_TRY(ons_plan_set_int(o, "capacity_bytes", plan->capacity_bytes));
    if (plan->capacities != NULL) ONS_TRY(write_capacities(o, plan));
    ONS_TRY(ons_plan_add_array(o, "stages", &stages));
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) ONS_TRY(write_stage_decisions(stages, plan, i));
    return write_actions(o, plan);
}

static ons_status *write_layout(ons_json *root, const ons_plan *plan) {
    ons_json *o, *stages, *stage;
    ONS_TRY(ons_plan_add_object(root, "layout", &o));
    ONS_TRY(ons_plan_add_array(o, "stages", &stages));
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_plan_stage *s = &plan->stages[i];
        ONS_TRY(ons_plan_append_object(stages, &stage));
        ONS_TRY(ons_plan_set_int(stage, "arena_bytes", s->memory_bytes));
        ONS_TRY(ons_plan_set_int(stage, "fragmentation_bytes", s->fragmentation_bytes));
        ONS_TRY(ons_plan_set_int(stage, "in_flight", s->load.in_flight));
        ONS_TRY(ons_plan_set_int(stage, "versions", s->load.versions));
        ONS_TRY(ons_json_set_bool(stage, "accumulates", s->load.accumulates));
    }
    return NULL;
}

static ons_status *write_made_for(ons_json *stage, const ons_plan_stage *s) {
    ons_json *o = NULL;
    for (ons_plan_field field = 0; field < ONS_PLAN_FIELDS; ++field) {
        if (s->made_for[field] == NULL) continue;
        if (o == NULL) ONS_TRY(ons_plan_add_object(stage, "made_for", &o));
        ONS_TRY(ons_plan_set_text(o, ons_plan_field_names[field], s->made_for[field]));
    }
    return NULL;
}

static ons_status *write_costs(ons_json *root, const ons_plan *plan) {
    ons_json *o, *stages, *stage;
    ONS_TRY(ons_plan_add_object(root, "costs", &o));
    ONS_TRY(ons_plan_add_array(o, "stages", &stages));
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_plan_stage *s = &plan->stages[i];
        ONS_TRY(ons_plan_append_object(stages, &stage));
        ONS_TRY(write_made_for(stage, s));
        ONS_TRY(ons_json_set_double(stage, "forward_seconds", s->forward_seconds));
        ONS_TRY(ons_json_set_double(stage, "backward_seconds", s->backward_seconds));
        ONS_TRY(ons_json_set_double(stage, "recompute_seconds", s->recompute_seconds));
        ONS_TRY(ons_json_set_double(stage, "stall_seconds", s->stall_seconds));
        bool summed = plan->subject.replicas > 1 || ons_schedule_grouping(&plan->schedule, i).copies > 1;
        if (summed) ONS_TRY(ons_json_set_double(stage, "reduce_seconds", s->reduce_seconds));
        ONS_TRY(ons_json_set_double(stage, "update_seconds", s->update_seconds));
        ONS_TRY(ons_json_set_double(stage, "send_seconds", s->send_seconds));
        ONS_TRY(ons_plan_set_int(stage, "send_bytes", s->send_bytes));
        ONS_TRY(ons_plan_set_int(stage, "receive_bytes", s->receive_bytes));
        ONS_TRY(ons_plan_write_parts(stage, &plan->parts.stages[i]));
    }
    return ons_plan_write_links(o, plan);
}

static ons_status *write_memory(ons_json *stage, const ons_stage_memory *m) {
    ons_json *o;
    ONS_TRY(ons_plan_add_object(stage, "memory", &o));
    ONS_TRY(ons_plan_set_int(o, "weights", m->weights));
    ONS_TRY(ons_plan_set_int(o, "versions", m->versions));
    ONS_TRY(ons_plan_set_int(o, "gradients", m->gradients));
    ONS_TRY(ons_plan_set_int(o, "optimizer_states", m->states));
    ONS_TRY(ons_plan_set_int(o, "stashed", m->stash));
    ONS_TRY(ons_plan_set_int(o, "running", m->peak));
    return ons_plan_set_int(o, "transfers", m->transfers);
}

static ons_status *write_prediction(ons_json *root, const ons_plan *plan) {
    ons_json *o, *stages, *stage;
    ONS_TRY(ons_plan_add_object(root, "predicted", &o));
    ONS_TRY(ons_json_set_double(o, "step_seconds", plan->step_seconds));
    ONS_TRY(ons_json_set_double(o, "bottleneck_seconds", plan->bottleneck_seconds));
    if (!plan->reproducible) ONS_TRY(ons_json_set_double(o, "planning_seconds", plan->planning_seconds));
    ONS_TRY(ons_plan_add_array(o, "stages", &stages));
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) {
        const ons_plan_stage *s = &plan->stages[i];
        ONS_TRY(ons_plan_append_object(stages, &stage));
        ONS_TRY(ons_json_set_double(stage, "seconds", s->seconds));
        ONS_TRY(ons_plan_set_int(stage, "memory_bytes", s->memory_bytes));
        ONS_TRY(write_memory(stage, &s->memory));
    }
    return NULL;
}

static ons_status *write(ons_json *root, const ons_plan *plan) {
    ONS_TRY(ons_plan_set_int(root, "version", ONS_PLAN_VERSION));
    ONS_TRY(write_subject(root, &plan->subject));
    ONS_TRY(write_decisions(root, plan));
    ONS_TRY(write_layout(root, plan));
    ONS_TRY(write_costs(root, plan));
    return write_prediction(root, plan);
}

ons_status *ons_plan_print(const ons_plan *plan, char **text) {
    ons_json *root;
    ONS_TRY(ons_json_new_object(&root));
    ons_status *status = write(root, plan);
    if (status == NULL) status = ons_json_print(root, text);
    ons_json_free(root);
    return status;
}
