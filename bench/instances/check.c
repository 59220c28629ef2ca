#include "bench/instances/run.h"

/* ------------------------------------------------------------------------------------------------------- one action */

/* Seconds in which copies of the stage add up the gradients of its weights: each sends every other one's share round.
 */
static double ring_seconds(const run *r, uint32_t stage) {
    double copies = r->s.stages[stage].copies;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < r->in->weight_count; ++i)
        if (stage_has_any(&r->s, stage, &r->in->weights[i].users)) bytes += r->in->weights[i].gradient_bytes;
    if (copies == 1 || r->in->link_bandwidth == 0 || bytes == 0) return 0;
    return 2 * (copies - 1) * ((double)bytes / copies / r->in->link_bandwidth + r->in->link_latency);
}

/* When gradients are there that the update of the action's stage needs; negative: some are not. */
static double find_gradients(const run *r, const solution_action *a) {
    if (r->left[a->stage] > 0) return -1;
    double last = r->gradients_done[a->stage] + ring_seconds(r, a->stage);
    for (uint32_t i = 0; i < r->in->weight_count; ++i) {
        const graph_weight *w = &r->in->weights[i];
        if (w->gradient_bytes == 0 || !stage_has_any(&r->s, a->stage, &w->users)) continue;
        for (uint32_t s = 0; s < r->s.stage_count; ++s) {
            if (s == a->stage || !stage_has_any(&r->s, s, &w->users)) continue;
            if (r->left[s] > 0) return -1;
            double there = r->gradients_done[s];
            there += run_travel(r, r->s.stages[s].device, r->s.stages[a->stage].device, w->gradient_bytes);
            if (there > last) last = there;
        }
    }
    return last;
}

static double seconds_of(const stage_costs *c, char kind) {
    switch (kind) {
    case 'F': return c->forward;
    case 'B': return c->backward;
    case 'I': return c->input;
    case 'W': return c->weight;
    default: return c->update;
    }
}

static ons_status *hold(run *r, const running *a) {
    const stage_costs *c = &r->costs[a->action->stage];
    int64_t peak = 0, after = 0, arrived = run_arrived_bytes(r, a->action);
    switch (a->action->kind) {
    case 'F': peak = c->forward_peak, after = c->kept - arrived; break;
    case 'B': peak = c->backward_peak, after = -c->kept - arrived; break;
    case 'I': peak = c->input_peak, after = c->apart - arrived; break;
    case 'W': peak = c->weight_peak, after = -c->kept - c->apart; break;
    default: break;
    }
    ONS_TRY(run_note(r, a->begin, a->device, a->place, 0, peak));
    return run_note(r, a->end, a->device, a->place, 1, after - peak);
}

static ons_status *do_action(run *r, const solution_action *action, uint32_t device, double from) {
    running a = {.action = action, .device = device, .place = r->next[device]++};
    uint32_t stage = action->stage;
    a.number = solution_number(&r->s, action);
    a.begin = from > r->free_at[device] ? from : r->free_at[device];
    a.end = a.begin + seconds_of(&r->costs[stage], action->kind);
    if (r->s.stages[stage].swap_count > 0 && action->kind != 'U') ONS_TRY(run_with_copies(r, &a));
    r->free_at[device] = a.end;
    ONS_TRY(hold(r, &a));
    if (action->kind == 'B' || action->kind == 'W') {
        --r->left[stage];
        if (a.end > r->gradients_done[stage]) r->gradients_done[stage] = a.end;
    }
    return run_send(r, &a);
}

/* -------------------------------------------------------------------------------------------------------------- run */

static ons_status *measure_stages(run *r) {
    uint32_t stages = r->s.stage_count;
    ONS_NEW(r->costs, r->arena, stages);
    ONS_NEW(r->scaled, r->arena, stages);
    for (uint32_t i = 0; i < stages; ++i) {
        instance *scaled;
        ONS_NEW(scaled, r->arena, 1);
        ONS_TRY(instance_scale(r->in, r->s.stages[i].at_once, r->arena, scaled));
        r->scaled[i] = scaled;
        ONS_TRY_AT(stage_measure(scaled, &r->s, i, r->arena, &r->costs[i]), "stages[%u]", i);
    }
    return NULL;
}

/* As many changes of memory as there can be. */
static size_t count_changes(const run *r) {
    size_t swaps = 0;
    for (uint32_t i = 0; i < r->s.stage_count; ++i) swaps += r->s.stages[i].swap_count;
    return r->in->micro_batches *
           (8 * (size_t)r->s.stage_count + 8 * (size_t)r->link_count + 2 * (size_t)r->in->tensor_count + 6 * swaps);
}

/* Where every part stands in its device's list. */
static ons_status *find_places(run *r) {
    size_t m = r->in->micro_batches, stages = r->s.stage_count;
    ONS_NEW(r->forward_place, r->arena, stages * m);
    ONS_NEW(r->backward_place, r->arena, stages * m);
    for (uint32_t d = 0; d < r->in->devices; ++d)
        for (uint32_t i = 0; i < r->s.lists[d].count; ++i) {
            const solution_action *a = &r->s.lists[d].items[i];
            size_t at = a->stage * m + solution_number(&r->s, a);
            if (a->kind == 'F') r->forward_place[at] = i;
            if (a->kind == 'B' || a->kind == 'I') r->backward_place[at] = i;
        }
    return NULL;
}

/* Nothing has been sent or computed yet. */
static ons_status *prepare_stages(run *r) {
    size_t m = r->in->micro_batches, stages = r->s.stage_count;
    ONS_NEW(r->value_there, r->arena, r->link_count * m);
    ONS_NEW(r->gradient_there, r->arena, r->link_count * m);
    ONS_NEW(r->gradients_done, r->arena, stages);
    ONS_NEW(r->left, r->arena, stages);
    ONS_NEW(r->gone, r->arena, stages);
    for (size_t i = 0; i < r->link_count * m; ++i) r->value_there[i] = r->gradient_there[i] = -1;
    for (size_t i = 0; i < stages; ++i) {
        r->left[i] = solution_micro_batches(r->in, &r->s.stages[i]);
        ONS_NEW(r->gone[i], r->arena, m * r->s.stages[i].swap_count + 1);
    }
    return NULL;
}

static ons_status *prepare(run *r) {
    size_t devices = r->in->devices;
    ONS_TRY(measure_stages(r));
    ONS_TRY(run_find_links(r));
    ONS_TRY(find_places(r));
    ONS_TRY(prepare_stages(r));
    ONS_NEW(r->next, r->arena, devices);
    ONS_NEW(r->free_at, r->arena, devices);
    ONS_NEW(r->out_free, r->arena, devices);
    ONS_NEW(r->back_free, r->arena, devices);
    ONS_NEW(r->pair_free, r->arena, devices * devices);
    r->change_room = count_changes(r);
    ONS_NEW(r->changes, r->arena, r->change_room);
    return NULL;
}

static ons_status *run_lists(run *r, double *end) {
    bool going = true;
    while (going) {
        going = false;
        for (uint32_t d = 0; d < r->in->devices; ++d)
            while (r->next[d] < r->s.lists[d].count) {
                const solution_action *a = &r->s.lists[d].items[r->next[d]];
                double from = a->kind == 'U' ? find_gradients(r, a) : run_arrival(r, a);
                if (from < 0) break;
                ONS_TRY(do_action(r, a, d, from));
                going = true;
            }
    }
    *end = 0;
    for (uint32_t d = 0; d < r->in->devices; ++d) {
        const solution_actions *list = &r->s.lists[d];
        const solution_action *a = &list->items[r->next[d]];
        ONS_CHECK(r->next[d] == list->count, ONS_INVALID_DATA, "action %u%c%u of device %u waits for ever", a->stage,
                  a->kind, a->micro_batch, d);
        if (r->free_at[d] > *end) *end = r->free_at[d];
    }
    return NULL;
}

static ons_status *find_bottleneck(const run *r, double *slowest) {
    size_t n = r->in->devices;
    double *busy, *link;
    ONS_NEW(busy, r->arena, n);
    ONS_NEW(link, r->arena, n * n);
    *slowest = 0;
    for (uint32_t i = 0; i < r->s.stage_count; ++i) {
        const solution_stage *s = &r->s.stages[i];
        double share = (r->costs[i].forward + r->costs[i].backward) / (s->at_once * s->copies);
        for (uint32_t c = 0; c < s->copies; ++c) busy[s->device + c] += share;
    }
    run_add_messages(r, link);
    for (size_t i = 0; i < n; ++i) *slowest = busy[i] > *slowest ? busy[i] : *slowest;
    for (size_t i = 0; i < n * n; ++i) {
        double each = link[i] / r->in->micro_batches;
        *slowest = each > *slowest ? each : *slowest;
    }
    return NULL;
}

ons_status *instance_check(const instance *in, const void *json, size_t size, ons_arena *arena, check_result *v) {
    run r = {.in = in, .arena = arena};
    *v = (check_result){0};
    ONS_TRY(solution_parse(in, json, size, arena, &r.s));
    ONS_TRY(prepare(&r));
    ONS_TRY(run_lists(&r, &v->step_seconds));
    ONS_TRY(run_check_memory(&r, &v->memory_bytes));
    ONS_TRY(find_bottleneck(&r, &v->bottleneck_seconds));
    v->value = in->objective == STEP_SECONDS ? v->step_seconds : v->bottleneck_seconds;
    return NULL;
}
