#include <stdio.h>
#include <string.h>

#include "planner/schedule/lockstep.h"

/* ---------------------------------------------------------------------------------------------------------- placing */

enum { PLACE_WORDS = 32 };

static const char *place_words(int64_t stride, char words[PLACE_WORDS]) {
    if (stride == 1) return "in a row";
    snprintf(words, PLACE_WORDS, "%lld apart", (long long)stride);
    return words;
}

/* The first action of a stage that is met says where its first copy lies; the others lie a stride apart. All other
 * actions must agree with that. */
static ons_status *place_action(ons_schedule *s, uint32_t device, uint32_t i) {
    const ons_action *a = &s->lists[device].items[i];
    ONS_CHECK(a->stage < s->stages && a->micro_batch < ons_schedule_copy_micro_batches(s, a->stage), ONS_INVALID_DATA,
              "device %u, action %u: there is no stage %u or no micro-batch %u", device, i, a->stage, a->micro_batch);
    char words[PLACE_WORDS];
    uint32_t copies = ons_schedule_grouping(s, a->stage).copies, known = s->device_of[a->stage];
    ONS_CHECK(copies > 1 || a->copy == 0, ONS_INVALID_DATA,
              "device %u, action %u: stage %u has one copy, number 0, and no number %u", device, i, a->stage, a->copy);
    ONS_CHECK(a->copy < copies, ONS_INVALID_DATA,
              "device %u, action %u: stage %u has %u copies, from number 0 on, and no number %u", device, i, a->stage,
              copies, a->copy);
    int64_t stride = ons_grouping_stride(ons_schedule_grouping(s, a->stage)), first = device - a->copy * stride,
            last = first + (copies - 1) * stride;
    ONS_CHECK(first >= 0 && first < s->devices && last >= 0 && last < s->devices, ONS_INVALID_DATA,
              "device %u, action %u: copy %u of stage %u; its %u copies lie on devices %s, and there are %u", device, i,
              a->copy, a->stage, copies, place_words(stride, words), s->devices);
    ONS_CHECK(known == UINT32_MAX || copies > 1 || known == device, ONS_INVALID_DATA,
              "device %u, action %u: stage %u is on device %u, too", device, i, a->stage, known);
    ONS_CHECK(known == UINT32_MAX || known == first, ONS_INVALID_DATA,
              "device %u, action %u: copy %u of stage %u belongs on device %lld, as the stage's copies lie on devices "
              "%s",
              device, i, a->copy, a->stage, (long long)(known + a->copy * stride), place_words(stride, words));
    s->device_of[a->stage] = (uint32_t)first;
    return NULL;
}

static ons_status *place(ons_schedule *s) {
    for (uint32_t i = 0; i < s->stages; ++i) s->device_of[i] = UINT32_MAX;
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) ONS_TRY(place_action(s, device, i));
    for (uint32_t i = 0; i < s->stages; ++i)
        ONS_CHECK(s->device_of[i] != UINT32_MAX, ONS_INVALID_DATA, "no device computes stage %u", i);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- dividing */

/* Stages that have input gradients apart in some micro-batch. */
static void find_divided(const ons_schedule *s, bool *divided) {
    for (uint32_t device = 0; device < s->devices; ++device)
        for (uint32_t i = 0; i < s->lists[device].count; ++i) {
            const ons_action *a = &s->lists[device].items[i];
            if (a->kind == ONS_ACTION_INPUT_GRADIENT) divided[a->stage] = true;
        }
}

static bool is_whole(const ons_action *a, const bool *divided) {
    return a->kind == ONS_ACTION_BACKWARD && divided[a->stage];
}

/* What a stage keeps for its weight gradients is the same in all micro-batches: where one has them apart, a whole
 * backward part is the two of them in a row. */
static ons_status *divide_alike(ons_schedule *s, const bool *divided, ons_arena *arena) {
    for (uint32_t device = 0; device < s->devices; ++device) {
        ons_action_list *list = &s->lists[device];
        ons_action *items;
        uint32_t count = 0, whole = 0;
        for (uint32_t i = 0; i < list->count; ++i) whole += is_whole(&list->items[i], divided);
        if (whole == 0) continue;
        ONS_NEW(items, arena, (size_t)list->count + whole);
        for (uint32_t i = 0; i < list->count; ++i) {
            ons_action a = list->items[i];
            if (is_whole(&a, divided)) {
                a.kind = ONS_ACTION_INPUT_GRADIENT;
                items[count++] = a;
                a.kind = ONS_ACTION_WEIGHT_GRADIENT;
            }
            items[count++] = a;
        }
        *list = (ons_action_list){items, count};
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- walking */

/* A stage while its device's list is walked. Counts of micro-batches are those that have passed an action. */
typedef struct walk {
    uint32_t forward, input, weight; /* gradients: a whole backward part is both */
    uint32_t updates;
} walk;

static void raise(uint32_t *most, uint32_t count) {
    if (count > *most) *most = count;
}

/* What is saved for the backward part has a place until weight gradients, the last that need any of it, are made. */
static void count_action(walk *w, ons_stage_load *load, const ons_action *a, bool asynchronous) {
    bool input = a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_INPUT_GRADIENT;
    bool weight = a->kind == ONS_ACTION_BACKWARD || a->kind == ONS_ACTION_WEIGHT_GRADIENT;
    if (a->kind == ONS_ACTION_FORWARD) {
        ++w->forward;
        /* Its weights lack the updates of micro-batches on their way, and lie beside the one that these end with. */
        if (asynchronous && w->forward > w->updates) raise(&load->versions, w->forward - w->updates);
    }
    if (w->forward > w->input) raise(&load->before_input, w->forward - w->input);
    if (w->forward > w->weight) raise(&load->in_flight, w->forward - w->weight);
    if (a->kind == ONS_ACTION_INPUT_GRADIENT) load->apart = true;
    w->input += input;
    w->weight += weight;
    if (w->input > w->weight) raise(&load->between, w->input - w->weight);
    w->updates += a->kind == ONS_ACTION_UPDATE;
}

static ons_status *walk_stages(ons_schedule *s, ons_arena *arena) {
    walk *walks;
    ONS_NEW(walks, arena, s->stages);
    for (uint32_t i = 0; i < s->stages; ++i)
        s->loads[i] = (ons_stage_load){.versions = 1, .accumulates = s->asynchronous || s->micro_batches > 1};
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action_list *list = &s->lists[device];
        for (uint32_t i = 0; i < list->count; ++i) walks[list->items[i].stage] = (walk){0}; /* of another copy */
        for (uint32_t i = 0; i < list->count; ++i) {
            const ons_action *a = &list->items[i];
            count_action(&walks[a->stage], &s->loads[a->stage], a, s->asynchronous);
        }
    }
    return NULL;
}

/* Nowhere does a forward part come behind a backward part. */
static bool forward_parts_come_first(const ons_schedule *s) {
    if (s->micro_batches < 2) return false;
    for (uint32_t device = 0; device < s->devices; ++device) {
        const ons_action_list *list = &s->lists[device];
        bool backward = false;
        for (uint32_t i = 0; i < list->count; ++i) {
            if (list->items[i].kind != ONS_ACTION_FORWARD)
                backward = true;
            else if (backward)
                return false;
        }
    }
    return true;
}

ons_status *ons_schedule_take(ons_schedule *s, ons_arena *arena) {
    ONS_CHECK(s->stages > 0 && s->micro_batches > 0 && (uint64_t)s->stages * s->micro_batches < UINT32_MAX / 16,
              ONS_INVALID_DATA, "a schedule of %u stages and %u micro-batches: none, or more than can be numbered",
              s->stages, s->micro_batches);
    bool *divided;
    ONS_NEW(s->device_of, arena, s->stages);
    ONS_NEW(s->loads, arena, s->stages);
    ONS_TRY(ons_schedule_check_groupings(s));
    ONS_TRY(place(s));
    ONS_NEW(divided, arena, s->stages);
    find_divided(s, divided);
    ONS_TRY(divide_alike(s, divided, arena));
    ONS_TRY(ons_schedule_run_lockstep(s, arena));
    ons_arena *scratch = ons_arena_new();
    if (scratch == NULL) return ons_status_out_of_memory();
    ons_status *status = walk_stages(s, scratch);
    ons_arena_free(scratch);
    bool first = forward_parts_come_first(s);
    for (uint32_t i = 0; i < s->stages; ++i) s->loads[i].forward_first = first;
    return status;
}

uint32_t ons_schedule_most_local_stages(const ons_schedule *s) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->devices; ++i) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < s->stages; ++k) count += ons_schedule_holds(s, k, i);
        if (count > most) most = count;
    }
    return most;
}

uint32_t ons_schedule_versions(const ons_schedule *s, uint32_t device) {
    uint32_t most = 1;
    for (uint32_t i = 0; i < s->stages; ++i)
        if (ons_schedule_holds(s, i, device) && s->loads[i].versions > most) most = s->loads[i].versions;
    return most;
}

/* ----------------------------------------------------------------------------------------------------------- making */

/* Walks each list twice, for all but updates and for updates; both keep their order. */
ons_status *ons_schedule_put_updates_last(ons_schedule *s, ons_arena *arena) {
    for (uint32_t device = 0; device < s->devices; ++device) {
        ons_action_list *list = &s->lists[device];
        ons_action *items;
        uint32_t count = 0;
        ONS_NEW(items, arena, (size_t)list->count + 1);
        for (int last = 0; last < 2; ++last)
            for (uint32_t i = 0; i < list->count; ++i)
                if ((list->items[i].kind == ONS_ACTION_UPDATE) == last) items[count++] = list->items[i];
        list->items = items;
    }
    return NULL;
}

static ons_status *check_copies(const ons_pipeline *p, const ons_stage_grouping *g) {
    for (uint32_t i = 0; g != NULL && i < p->stages; ++i)
        ONS_CHECK(g[i].copies == 1 || p->replicas <= 1, ONS_UNSUPPORTED,
                  "stage %u has %u copies of its own, which do not go together with %u replicas of the whole pipeline",
                  i, g[i].copies, p->replicas);
    return NULL;
}

static ons_status *generate(const ons_pipeline *p, ons_arena *arena, ons_schedule *s) {
    *s = (ons_schedule){.stages = p->stages,
                        .devices = p->devices,
                        .micro_batches = p->micro_batches,
                        .asynchronous = p->generator->asynchronous,
                        .groupings = p->generator->groupings};
    ONS_NEW(s->lists, arena, p->devices);
    ONS_TRY(p->generator->generate(p, arena, s->lists));
    if (p->generator->group != NULL) ONS_TRY(p->generator->group(p, arena, &s->groupings));
    ONS_TRY(check_copies(p, s->groupings));
    if (!s->asynchronous) ONS_TRY(ons_schedule_put_updates_last(s, arena));
    return ons_schedule_take(s, arena);
}

/* A pipeline without end holds as much as it ever does after so many micro-batches; its step may be shorter. */
static ons_status *take_steady_loads(const ons_pipeline *p, ons_arena *arena, ons_schedule *s) {
    ons_pipeline longer = *p;
    ons_schedule steady;
    longer.micro_batches = 2 * p->stages;
    bool written = p->generator->given != NULL; /* of these lists nobody knows how they go on */
    if (!p->generator->asynchronous || written || p->micro_batches >= longer.micro_batches) return NULL;
    ONS_TRY(generate(&longer, arena, &steady));
    s->loads = steady.loads;
    return NULL;
}

ons_status *ons_schedule_make(const ons_pipeline *pipeline, ons_arena *arena, ons_schedule *s) {
    ons_pipeline p = *pipeline;
    ONS_CHECK(p.stages > 0 && p.micro_batches > 0, ONS_INVALID_ARGUMENT,
              "a pipeline of %u stages and %u micro-batches: both must be at least 1", p.stages, p.micro_batches);
    ONS_CHECK((uint64_t)p.stages * p.micro_batches < UINT32_MAX / 16, ONS_INVALID_ARGUMENT,
              "more micro-batches than can be numbered");
    p.devices = ons_pipeline_devices(pipeline);
    ONS_CHECK(p.devices <= p.stages || p.generator->groupings != NULL, ONS_INVALID_ARGUMENT,
              "%u devices for %u stages: a device without a stage would have nothing to do; take fewer --devices",
              p.devices, p.stages);
    ONS_TRY(generate(&p, arena, s));
    for (uint32_t i = 0; i < p.stages; ++i) s->loads[i].accumulates = s->loads[i].accumulates || p.replicas > 1;
    return take_steady_loads(&p, arena, s);
}

/* --------------------------------------------------------------------------------------------------------- changing */

/* `left`: micro-batches of the copy. */
static bool is_left(const ons_schedule *s, const ons_action *a, uint32_t left) {
    if (a->kind == ONS_ACTION_UPDATE && !s->asynchronous) return true;
    return a->micro_batch < left;
}

/* Leaves the actions of the micro-batches that are left; the update of a synchronous step stays, and names the last of
 * them. */
static void shorten_list(const ons_schedule *s, const ons_schedule *shorter, const ons_action_list *from,
                         ons_action_list *to) {
    for (uint32_t i = 0; i < from->count; ++i) {
        ons_action a = from->items[i];
        uint32_t left = ons_schedule_copy_micro_batches(shorter, a.stage);
        if (!is_left(s, &a, left)) continue;
        if (a.micro_batch >= left) a.micro_batch = left - 1; /* the update of all */
        to->items[to->count++] = a;
    }
}

ons_status *ons_schedule_shorten(const ons_schedule *s, uint32_t micro_batches, ons_arena *arena,
                                 ons_schedule *shorter) {
    *shorter = *s;
    shorter->micro_batches = micro_batches;
    for (uint32_t i = 0; i < s->stages; ++i) {
        ons_stage_grouping g = ons_schedule_grouping(s, i);
        ONS_CHECK(
            micro_batches % (g.size * g.copies) == 0, ONS_INVALID_ARGUMENT,
            "a step of %u micro-batches cannot be shortened to %u: stage %u takes %u at once, in each of %u copies",
            s->micro_batches, micro_batches, i, g.size, g.copies);
    }
    ONS_NEW(shorter->lists, arena, s->devices);
    for (uint32_t device = 0; device < s->devices; ++device) {
        ONS_NEW(shorter->lists[device].items, arena, s->lists[device].count);
        shorten_list(s, shorter, &s->lists[device], &shorter->lists[device]);
    }
    return ons_schedule_take(shorter, arena);
}

static bool is_same_action(const ons_action *a, const ons_action *b) {
    return a->kind == b->kind && a->stage == b->stage && a->copy == b->copy && a->micro_batch == b->micro_batch &&
           a->halved == b->halved;
}

bool ons_schedule_equal(const ons_schedule *a, const ons_schedule *b) {
    if (a->stages != b->stages || a->devices != b->devices || a->micro_batches != b->micro_batches ||
        a->asynchronous != b->asynchronous)
        return false;
    for (uint32_t i = 0; i < a->stages; ++i) {
        ons_stage_grouping x = ons_schedule_grouping(a, i), y = ons_schedule_grouping(b, i);
        if (x.size != y.size || x.copies != y.copies) return false;
        if (x.copies > 1 && ons_grouping_stride(x) != ons_grouping_stride(y)) return false;
    }
    for (uint32_t device = 0; device < a->devices; ++device) {
        const ons_action_list *x = &a->lists[device], *y = &b->lists[device];
        if (x->count != y->count) return false;
        for (uint32_t i = 0; i < x->count; ++i)
            if (!is_same_action(&x->items[i], &y->items[i])) return false;
    }
    return true;
}
