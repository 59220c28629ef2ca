#include "planner/simulate/pipeline_tasks.h"

/* Gives the tensor as the stage has it: a stage with micro-batches of its own size has a workload of that size. */
static const ons_work_tensor *tensor_in(const ons_split *split, uint32_t stage, uint32_t tensor) {
    const ons_planning_problem *p = split->problem;
    return &(p->stage_works != NULL ? p->stage_works[stage] : p->work)->tensors[tensor];
}

/* Adds a tensor that crosses the cut in front of stage `to` to the link from the stage that makes it, if `to` uses it.
 * A message leaves when the last of its values has been made, and is waited for when the first is read. Backward parts
 * run from the last node to the first, so that a gradient leaves behind that of the first reader. */
static void add_crossing(const ons_split *split, uint32_t to, uint32_t tensor, ons_stage_link *pairs) {
    const ons_work_tensor *t = tensor_in(split, to, tensor);
    uint32_t first, last, from = ons_split_stage_of(split, t->producer);
    uint32_t begin = split->first[to], end = split->first[to + 1];
    bool reads = ons_within(t->readers, t->reader_count, begin, end, &first, &last);
    if (!reads && !ons_within(t->savers, t->saver_count, begin, end, &first, &last)) return;
    ons_stage_link *link = &pairs[(size_t)from * split->stages + to];
    if (link->to == 0)
        *link = (ons_stage_link){.from = from, .to = to, .ends = {.read_by = end - 1}, .gradient_ends.made_by = end};
    const ons_work_tensor *sent = tensor_in(split, from, tensor);
    link->bytes += sent->bytes;
    link->taken_bytes += t->bytes;
    if (t->producer > link->ends.made_by) link->ends.made_by = t->producer;
    if (!reads) first = begin; /* by backward parts alone: it is waited for as early as anything */
    if (first < link->ends.read_by) link->ends.read_by = first;
    if (!reads || t->gradient_bytes == 0) return;
    link->gradient = true;
    link->gradient_bytes += t->gradient_bytes;
    link->taken_gradient_bytes += sent->gradient_bytes;
    if (first < link->gradient_ends.made_by) link->gradient_ends.made_by = first;
    if (t->producer > link->gradient_ends.read_by) link->gradient_ends.read_by = t->producer;
}

static uint32_t last_use(const ons_work_tensor *t) {
    uint32_t read = t->reader_count > 0 ? t->readers[t->reader_count - 1] : t->producer;
    uint32_t save = t->saver_count > 0 ? t->savers[t->saver_count - 1] : t->producer;
    return read > save ? read : save;
}

/* The farthest stage takes a value last, so the sender frees it then. */
static void add_freed(const ons_pipeline_tasks *x, uint32_t from, ons_stage_link *pairs) {
    const ons_stage_tasks *stage = &x->stages[from];
    for (uint32_t i = 0; i < stage->sent_count; ++i) {
        const ons_work_tensor *t = tensor_in(&x->split, from, stage->sent[i]);
        uint32_t to = ons_split_stage_of(&x->split, last_use(t));
        pairs[(size_t)from * x->split.stages + to].freed_bytes += t->bytes;
    }
}

ons_status *ons_pipeline_links_find(const ons_split *split, ons_arena *arena, ons_stage_link **pairs) {
    ONS_NEW(*pairs, arena, (size_t)split->stages * split->stages);
    for (uint32_t to = 1; to < split->stages; ++to) {
        ons_work_list crossing = ons_work_crossing(split->problem->work, split->first[to]);
        for (uint32_t i = 0; i < crossing.count; ++i) add_crossing(split, to, crossing.items[i], *pairs);
    }
    return NULL;
}

static void finish_links(ons_pipeline_tasks *x, ons_stage_link *pairs) {
    size_t pairs_count = (size_t)x->split.stages * x->split.stages;
    for (uint32_t from = 0; from < x->split.stages; ++from) add_freed(x, from, pairs);
    for (size_t i = 0; i < pairs_count; ++i)
        if (pairs[i].to > 0) pairs[x->link_count++] = pairs[i];
    x->links = pairs;
}

/* ------------------------------------------------------------------------------------------------------------- ties */

/* The stage of the next user from `*user` on, which is moved past all users of that stage. */
static uint32_t next_stage(const ons_split *split, const ons_work_weight *w, uint32_t *user) {
    uint32_t stage = ons_split_stage_of(split, w->users[*user]);
    while (*user < w->user_count && w->users[*user] < split->first[stage + 1]) ++*user;
    return stage;
}

/* Every pair of stages that use the weight exchanges all of its gradient: each then adds up the same sum itself. */
static void add_tied(const ons_split *split, const ons_work_weight *w, int64_t *pairs) {
    for (uint32_t i = 0; i < w->user_count;) {
        uint32_t a = next_stage(split, w, &i);
        for (uint32_t k = i; k < w->user_count;)
            pairs[(size_t)a * split->stages + next_stage(split, w, &k)] += w->gradient_bytes;
    }
}

static ons_status *make_ties(ons_pipeline_tasks *x, ons_arena *arena) {
    const ons_split *split = &x->split;
    const ons_workload *work = split->problem->work;
    int64_t *pairs;
    ONS_NEW(pairs, arena, (size_t)split->stages * split->stages);
    for (uint32_t i = 0; i < work->weight_count; ++i)
        if (work->weights[i].gradient_bytes > 0) add_tied(split, &work->weights[i], pairs);
    for (size_t i = 0; i < (size_t)split->stages * split->stages; ++i) x->tie_count += pairs[i] > 0;
    ONS_NEW(x->ties, arena, x->tie_count);
    ons_stage_tie *next = x->ties;
    for (uint32_t a = 0; a < split->stages; ++a)
        for (uint32_t b = a + 1; b < split->stages; ++b) {
            int64_t bytes = pairs[(size_t)a * split->stages + b];
            if (bytes > 0) *next++ = (ons_stage_tie){a, b, bytes};
        }
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- messages */

static uint32_t size_of(const ons_schedule *s, uint32_t stage) { return ons_schedule_grouping(s, stage).size; }

uint32_t ons_stage_link_units(const ons_schedule *s, const ons_stage_link *link, uint32_t unit) {
    uint32_t from = size_of(s, link->from), to = size_of(s, link->to);
    uint32_t a = from - unit % from, b = to - unit % to;
    return a < b ? a : b;
}

int64_t ons_stage_link_share(int64_t bytes, uint32_t size, uint32_t unit, uint32_t units) {
    uint32_t begin = unit % size;
    return bytes * (begin + units) / size - bytes * begin / size;
}

int64_t ons_stage_link_bytes(const ons_schedule *s, const ons_stage_link *link, bool gradient, uint32_t unit) {
    uint32_t sender = gradient ? link->to : link->from;
    return ons_stage_link_share(gradient ? link->gradient_bytes : link->bytes, size_of(s, sender), unit,
                                ons_stage_link_units(s, link, unit));
}

ons_status *ons_pipeline_links_make(ons_pipeline_tasks *x, ons_stage_link *pairs, ons_arena *arena) {
    finish_links(x, pairs);
    return x->schedule->asynchronous ? NULL : make_ties(x, arena);
}

ons_status *ons_stage_links_verify(const ons_stage_link *links, uint32_t count, const ons_schedule *schedule,
                                   ons_arena *arena) {
    ons_stage_edge *items;
    ONS_NEW(items, arena, (size_t)count + 1);
    for (uint32_t i = 0; i < count; ++i)
        items[i] = (ons_stage_edge){links[i].from, links[i].to, links[i].gradient, links[i].to != links[i].from + 1,
                                    ons_schedule_ahead(schedule, links[i].from, links[i].to)};
    const ons_stage_edges edges = {items, count};
    return ons_schedule_verify(schedule, &edges, arena);
}
