#include "bench/instances/check.h"

#include <stdlib.h>

#include "bench/instances/stage.h"

/* What a stage makes for another one. */
typedef struct value_link {
    uint32_t from, to; /* stages */
    int64_t bytes, gradient_bytes;
} value_link;

/* Memory that comes or goes on a device. At the same time things happen in the order of the device's list. */
typedef struct change {
    double at;
    uint32_t device, action, phase; /* phase: 0 where the action begins, 1 where it ends, 2 after that */
    int64_t bytes;
} change;

typedef struct run {
    const instance *in;
    solution s;
    stage_costs *costs; /* [stage] */
    value_link *links;
    uint32_t link_count;
    ons_arena *arena;
    /* of each list */
    uint32_t *next;
    double *free_at;
    double *pair_free;                        /* [from * devices + to]: when the last message has arrived */
    uint32_t *forward_place, *backward_place; /* [stage * micro-batches + micro-batch]: in the list */
    double *value_there, *gradient_there;     /* [link * micro-batches + micro-batch]; negative: not sent yet */
    double *gradients_done;                   /* [stage]: of all micro-batches; negative: not yet */
    uint32_t *left;                           /* [stage]: micro-batches without weight gradients */
    change *changes;
    size_t change_count, change_room;
} run;

/* ------------------------------------------------------------------------------------------------------------ links */

static ons_status *find_links(run *r) {
    uint32_t n = r->s.stage_count;
    int64_t *bytes, *back;
    ONS_NEW(bytes, r->arena, (size_t)n * n);
    ONS_NEW(back, r->arena, (size_t)n * n);
    for (uint32_t i = 0; i < r->in->tensor_count; ++i) {
        const graph_tensor *t = &r->in->tensors[i];
        uint32_t from = t->producer != NOBODY ? r->s.stage_of[t->producer] : 0;
        for (uint32_t to = 0; to < n && t->producer != NOBODY; ++to) {
            bool reads = stage_has_any(&r->s, to, &t->readers);
            if (to == from || (!reads && !stage_has_any(&r->s, to, &t->savers))) continue;
            bytes[(size_t)from * n + to] += t->bytes;
            if (reads) back[(size_t)from * n + to] += t->gradient_bytes;
        }
    }
    ONS_NEW(r->links, r->arena, (size_t)n * n);
    for (uint32_t from = 0; from < n; ++from)
        for (uint32_t to = 0; to < n; ++to) {
            size_t at = (size_t)from * n + to;
            if (bytes[at] + back[at] > 0) r->links[r->link_count++] = (value_link){from, to, bytes[at], back[at]};
        }
    return NULL;
}

static double travel(const run *r, uint32_t from, uint32_t to, int64_t bytes) {
    if (r->in->link_bandwidth == 0 || from == to || bytes == 0) return 0;
    return (double)bytes / r->in->link_bandwidth + r->in->link_latency;
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static ons_status *note(run *r, double at, uint32_t device, uint32_t action, uint32_t phase, int64_t bytes) {
    if (bytes == 0) return NULL;
    ONS_CHECK(r->change_count < r->change_room, ONS_DEFECT, "more changes of memory than there is room for");
    r->changes[r->change_count++] = (change){at, device, action, phase, bytes};
    return NULL;
}

static int compare_changes(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->action != y->action) return x->action < y->action ? -1 : 1;
    return x->phase < y->phase ? -1 : x->phase > y->phase;
}

static int64_t held_bytes(const run *r, uint32_t device) {
    int64_t held = 0;
    for (uint32_t i = 0; i < r->in->weight_count; ++i) {
        bool used = false;
        for (uint32_t s = 0; s < r->s.stage_count && !used; ++s)
            used = r->s.stages[s].device == device && stage_has_any(&r->s, s, &r->in->weights[i].users);
        if (used) held += r->in->weights[i].bytes;
    }
    return held;
}

static ons_status *check_memory(run *r, verdict *v) {
    int64_t cap = r->in->memory_bytes;
    qsort(r->changes, r->change_count, sizeof *r->changes, compare_changes);
    v->memory_bytes = 0;
    for (uint32_t d = 0, i = 0; d < r->in->devices; ++d) {
        int64_t live = held_bytes(r, d), most = live;
        for (; i < r->change_count && r->changes[i].device == d; ++i) {
            live += r->changes[i].bytes;
            if (live > most) most = live;
        }
        if (most > v->memory_bytes) v->memory_bytes = most;
        ONS_CHECK(cap == 0 || most <= cap, ONS_INVALID_DATA, "device %u takes %ld bytes, of %ld that it has", d,
                  (long)most, (long)cap);
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- events */

static size_t at_link(const run *r, uint32_t link, uint32_t micro_batch) {
    return (size_t)link * r->in->micro_batches + micro_batch;
}

/* Sends behind what goes the same way; gives when it is there. */
static ons_status *send(run *r, double made, uint32_t action, const value_link *l, bool gradient, uint32_t micro_batch,
                        double *there) {
    uint32_t sender = r->s.stages[gradient ? l->to : l->from].device;
    uint32_t reader = r->s.stages[gradient ? l->from : l->to].device;
    uint32_t reading = gradient ? l->from : l->to;
    int64_t bytes = gradient ? l->gradient_bytes : l->bytes;
    double *free = &r->pair_free[(size_t)sender * r->in->devices + reader];
    double begins = made > *free || sender == reader ? made : *free;
    size_t place = (size_t)reading * r->in->micro_batches + micro_batch;
    *there = begins + travel(r, sender, reader, bytes);
    if (sender != reader) *free = *there;
    /* The sender has a gradient until it has arrived; the reader has a place from when it begins to go. */
    if (gradient) {
        ONS_TRY(note(r, made, sender, action, 1, bytes));
        ONS_TRY(note(r, *there, sender, action, 2, -bytes));
    }
    return note(r, begins, reader, gradient ? r->backward_place[place] : r->forward_place[place], 0, bytes);
}

/* Tensors that the stage does not keep itself stay until the last of their readers has them. */
static ons_status *let_go(run *r, const solution_action *a, double end, uint32_t action) {
    const solution *s = &r->s;
    for (uint32_t i = 0; i < r->in->tensor_count; ++i) {
        const graph_tensor *t = &r->in->tensors[i];
        bool kept = stage_has_any(s, a->stage, &t->savers) && !s->recomputed[i];
        double there = -1;
        if (!stage_has(s, a->stage, t->producer) || kept) continue;
        for (uint32_t l = 0; l < r->link_count; ++l)
            if (r->links[l].from == a->stage &&
                (stage_has_any(s, r->links[l].to, &t->readers) || stage_has_any(s, r->links[l].to, &t->savers))) {
                double arrived = r->value_there[at_link(r, l, a->micro_batch)];
                if (arrived > there) there = arrived;
            }
        if (there < 0) continue;
        ONS_TRY(note(r, end, s->stages[a->stage].device, action, 1, t->bytes));
        ONS_TRY(note(r, there, s->stages[a->stage].device, action, 2, -t->bytes));
    }
    return NULL;
}

/* When the action may begin; false: what it waits for has not been sent. */
static bool is_ready(const run *r, const solution_action *a, double *from) {
    bool backward = a->kind == 'B' || a->kind == 'I';
    for (uint32_t l = 0; l < r->link_count; ++l) {
        double there = -1;
        if (a->kind == 'F' && r->links[l].to == a->stage)
            there = r->value_there[at_link(r, l, a->micro_batch)];
        else if (backward && r->links[l].from == a->stage && r->links[l].gradient_bytes > 0)
            there = r->gradient_there[at_link(r, l, a->micro_batch)];
        else
            continue;
        if (there < 0) return false;
        if (there > *from) *from = there;
    }
    for (uint32_t i = 0; i < r->in->weight_count && a->kind == 'U'; ++i) {
        const graph_weight *w = &r->in->weights[i];
        if (w->gradient_bytes == 0 || !stage_has_any(&r->s, a->stage, &w->users)) continue;
        for (uint32_t s = 0; s < r->s.stage_count; ++s) {
            if (s == a->stage || !stage_has_any(&r->s, s, &w->users)) continue;
            double there = r->gradients_done[s];
            if (there < 0) return false;
            there += travel(r, r->s.stages[s].device, r->s.stages[a->stage].device, w->gradient_bytes);
            if (there > *from) *from = there;
        }
    }
    return true;
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

/* Bytes that arrived for the action. */
static int64_t arrived_bytes(const run *r, const solution_action *a) {
    int64_t bytes = 0;
    for (uint32_t l = 0; l < r->link_count; ++l) {
        if (a->kind == 'F' && r->links[l].to == a->stage) bytes += r->links[l].bytes;
        if (a->kind != 'F' && r->links[l].from == a->stage) bytes += r->links[l].gradient_bytes;
    }
    return bytes;
}

static ons_status *hold(run *r, const solution_action *a, uint32_t action, double begin, double end) {
    const stage_costs *c = &r->costs[a->stage];
    uint32_t device = r->s.stages[a->stage].device;
    int64_t peak = 0, after = 0;
    switch (a->kind) {
    case 'F': peak = c->forward_peak, after = c->kept - arrived_bytes(r, a); break;
    case 'B': peak = c->backward_peak, after = -c->kept - arrived_bytes(r, a); break;
    case 'I': peak = c->input_peak, after = c->apart - arrived_bytes(r, a); break;
    case 'W': peak = c->weight_peak, after = -c->kept - c->apart; break;
    default: break;
    }
    ONS_TRY(note(r, begin, device, action, 0, peak));
    return note(r, end, device, action, 1, after - peak);
}

static ons_status *send_all(run *r, const solution_action *a, uint32_t action, double end) {
    bool backward = a->kind == 'B' || a->kind == 'I';
    for (uint32_t l = 0; l < r->link_count; ++l) {
        const value_link *link = &r->links[l];
        size_t at = at_link(r, l, a->micro_batch);
        if (a->kind == 'F' && link->from == a->stage)
            ONS_TRY(send(r, end, action, link, false, a->micro_batch, &r->value_there[at]));
        if (backward && link->to == a->stage && link->gradient_bytes > 0)
            ONS_TRY(send(r, end, action, link, true, a->micro_batch, &r->gradient_there[at]));
    }
    if (a->kind == 'F') return let_go(r, a, end, action);
    return NULL;
}

static ons_status *do_action(run *r, const solution_action *a, uint32_t device, double from) {
    uint32_t action = r->next[device]++;
    double begin = from > r->free_at[device] ? from : r->free_at[device];
    double end = begin + seconds_of(&r->costs[a->stage], a->kind);
    r->free_at[device] = end;
    ONS_TRY(hold(r, a, action, begin, end));
    if ((a->kind == 'B' || a->kind == 'W') && --r->left[a->stage] == 0) r->gradients_done[a->stage] = end;
    return send_all(r, a, action, end);
}

/* -------------------------------------------------------------------------------------------------------------- run */

static ons_status *prepare(run *r) {
    size_t m = r->in->micro_batches, stages = r->s.stage_count, devices = r->in->devices;
    ONS_NEW(r->costs, r->arena, stages);
    for (uint32_t i = 0; i < stages; ++i)
        ONS_TRY_AT(stage_measure(r->in, &r->s, i, r->arena, &r->costs[i]), "stages[%u]", i);
    ONS_TRY(find_links(r));
    ONS_NEW(r->next, r->arena, devices);
    ONS_NEW(r->free_at, r->arena, devices);
    ONS_NEW(r->pair_free, r->arena, devices * devices);
    ONS_NEW(r->forward_place, r->arena, stages * m);
    ONS_NEW(r->backward_place, r->arena, stages * m);
    ONS_NEW(r->value_there, r->arena, r->link_count * m);
    ONS_NEW(r->gradient_there, r->arena, r->link_count * m);
    ONS_NEW(r->gradients_done, r->arena, stages);
    ONS_NEW(r->left, r->arena, stages);
    for (size_t i = 0; i < r->link_count * m; ++i) r->value_there[i] = r->gradient_there[i] = -1;
    for (size_t i = 0; i < stages; ++i) r->gradients_done[i] = -1, r->left[i] = (uint32_t)m;
    r->change_room = m * (8 * stages + 8 * (size_t)r->link_count + 2 * (size_t)r->in->tensor_count);
    ONS_NEW(r->changes, r->arena, r->change_room);
    for (uint32_t d = 0; d < devices; ++d)
        for (uint32_t i = 0; i < r->s.lists[d].count; ++i) {
            const solution_action *a = &r->s.lists[d].items[i];
            if (a->kind == 'F') r->forward_place[a->stage * m + a->micro_batch] = i;
            if (a->kind == 'B' || a->kind == 'I') r->backward_place[a->stage * m + a->micro_batch] = i;
        }
    return NULL;
}

static ons_status *run_lists(run *r, double *end) {
    bool going = true;
    while (going) {
        going = false;
        for (uint32_t d = 0; d < r->in->devices; ++d)
            while (r->next[d] < r->s.lists[d].count) {
                const solution_action *a = &r->s.lists[d].items[r->next[d]];
                double from = 0;
                if (!is_ready(r, a, &from)) break;
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
    for (uint32_t i = 0; i < r->s.stage_count; ++i)
        busy[r->s.stages[i].device] += r->costs[i].forward + r->costs[i].backward;
    for (uint32_t l = 0; l < r->link_count; ++l) {
        const value_link *v = &r->links[l];
        size_t from = r->s.stages[v->from].device, to = r->s.stages[v->to].device;
        link[from * n + to] += travel(r, (uint32_t)from, (uint32_t)to, v->bytes);
        link[to * n + from] += travel(r, (uint32_t)from, (uint32_t)to, v->gradient_bytes);
    }
    for (size_t i = 0; i < n; ++i) *slowest = busy[i] > *slowest ? busy[i] : *slowest;
    for (size_t i = 0; i < n * n; ++i) *slowest = link[i] > *slowest ? link[i] : *slowest;
    return NULL;
}

ons_status *instance_check(const instance *in, const void *json, size_t size, ons_arena *arena, verdict *v) {
    run r = {.in = in, .arena = arena};
    *v = (verdict){0};
    ONS_TRY(solution_parse(in, json, size, arena, &r.s));
    ONS_TRY(prepare(&r));
    ONS_TRY(run_lists(&r, &v->step_seconds));
    ONS_TRY(check_memory(&r, v));
    ONS_TRY(find_bottleneck(&r, &v->bottleneck_seconds));
    v->value = in->objective == STEP_SECONDS ? v->step_seconds : v->bottleneck_seconds;
    return NULL;
}
