#include "tests/rooms/planner/plan_evaluation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/planner/plan_evaluation_parts.h"

/* --------------------------------------------------------------------------------------------------------- the file */

void *allocate(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) abort();
    return memory;
}

static pieces read_pieces(const cJSON *array) {
    pieces p = {.count = (uint32_t)cJSON_GetArraySize(array)};
    p.seconds = allocate(p.count, sizeof *p.seconds);
    p.weight = allocate(p.count, sizeof *p.weight);
    const cJSON *each;
    uint32_t i = 0;
    cJSON_ArrayForEach(each, array) {
        p.seconds[i] = number(each, "seconds");
        p.weight[i++] = number(each, "weight_gradient_seconds");
    }
    return p;
}

static void read_copies(const cJSON *array, stage *s) {
    const cJSON *each;
    s->copies = allocate((size_t)cJSON_GetArraySize(array), sizeof *s->copies);
    cJSON_ArrayForEach(each, array) {
        s->copies[s->copy_count++] = (copy){
            .seconds = number(each, "seconds"),
            .out_after = whole(each, "out_after"),
            .used_by = whole(each, "used_by"),
            .in_before = whole(each, "in_before"),
            .needed_by = whole(each, "needed_by"),
            .gone_forward = whole_or_none(each, "gone_in_forward"),
            .gone_backward = whole_or_none(each, "gone_in_backward"),
            .gone_later = whole(each, "gone_later"),
        };
    }
}

static void read_stage(const evaluator *j, const cJSON *decided, const cJSON *costs, stage *s) {
    const cJSON *parts = member(costs, "parts");
    s->device = whole(decided, "device") + s->replica;
    s->reduce_seconds = number(costs, "reduce_seconds");
    s->update_seconds = number(costs, "update_seconds");
    s->forward = read_pieces(member(parts, "forward"));
    s->backward = read_pieces(member(parts, "backward"));
    read_copies(member(parts, "copies"), s);
    s->forward_at = allocate(j->micro_batches, sizeof *s->forward_at);
    s->backward_at = allocate(j->micro_batches, sizeof *s->backward_at);
    s->left = allocate((size_t)j->micro_batches * s->copy_count, sizeof *s->left);
    s->order = allocate(j->micro_batches, sizeof *s->order);
    for (uint32_t i = 0; i < j->micro_batches; ++i)
        s->forward_at[i] = s->backward_at[i] = (place){NULL, NO_EVENT, NO_EVENT, false};
    s->last_gradient = s->sum = s->update = NO_EVENT;
}

/* "2F0", "2.1F0" of a replica, "2F0/2" in halves. */
static bool scan_action(const char *text, judged_action *a) {
    int end = 0, more = 0;
    if (sscanf(text, "%u%n", &a->stage, &end) != 1) return false;
    text += end;
    if (sscanf(text, ".%u%n", &a->copy, &more) == 1) text += more;
    if (sscanf(text, "%c%u%n", &a->kind, &a->micro_batch, &end) != 2) return false;
    text += end;
    a->halved = a->kind == 'F' && strcmp(text, "/2") == 0;
    return (*text == '\0' || a->halved) && strchr("FBIWU", a->kind) != NULL;
}

bool read_action(const evaluator *j, const cJSON *item, judged_action *a) {
    const char *text = cJSON_IsString(item) ? item->valuestring : "";
    *a = (judged_action){0};
    bool read = scan_action(text, a) && a->stage < j->file_stages;
    const stage *s = read ? &j->stages[j->first[a->stage]] : NULL;
    if (!read || a->copy >= s->replicas || a->micro_batch >= j->micro_batches / (s->size * s->replicas)) {
        snprintf(j->why, PLAN_EVALUATE_TEXT, "'%s' is no action", text);
        return false;
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------------- computing */

/* An event behind the last one of its kind. */
static uint32_t add_behind(evaluator *j, uint32_t *last, double seconds) {
    uint32_t event = event_graph_add(&j->graph, seconds);
    wait_for(j, event, *last);
    return *last = event;
}

/* The event waits until the copy's tensor of the stage's F with that number has left. */
static void wait_gone(evaluator *j, const stage *s, uint32_t number_of_copy, int64_t order, uint32_t event) {
    order -= s->copies[number_of_copy].gone_later;
    if (order >= 0) wait_for(j, event, s->left[(size_t)s->order[order] * s->copy_count + number_of_copy]);
}

static void begin_copies_out(evaluator *j, stage *s, uint32_t micro_batch, uint32_t piece, uint32_t event) {
    for (uint32_t i = 0; i < s->copy_count; ++i) {
        const copy *c = &s->copies[i];
        uint32_t *left = &s->left[(size_t)micro_batch * s->copy_count + i];
        if (c->out_after == piece) {
            *left = add_behind(j, &j->devices[s->device].out, c->seconds);
            wait_for(j, *left, event);
        }
    }
    for (uint32_t i = 0; i < s->copy_count; ++i) { /* what is read longer than it is copied */
        uint32_t *left = &s->left[(size_t)micro_batch * s->copy_count + i];
        if (s->copies[i].used_by != piece || s->copies[i].out_after >= piece) continue;
        uint32_t both = event_graph_add(&j->graph, 0);
        wait_for(j, both, *left);
        wait_for(j, both, event);
        *left = both;
    }
}

static void add_half(evaluator *j, const stage *s, place *at) {
    double seconds = 0;
    for (uint32_t piece = 0; piece < s->forward.count; ++piece) seconds += s->forward.seconds[piece] / 2;
    at->half = add_behind(j, &j->devices[s->device].compute, seconds);
}

static void add_forward(evaluator *j, stage *s, uint32_t micro_batch, bool halved) {
    uint32_t i = s->forwards++, *compute = &j->devices[s->device].compute;
    place *at = &s->forward_at[micro_batch];
    s->order[i] = micro_batch;
    at->before = *compute;
    free(at->pieces);
    at->pieces = allocate(s->forward.count, sizeof *at->pieces);
    if (halved) add_half(j, s, at);
    for (uint32_t piece = 0; piece < s->forward.count; ++piece) {
        uint32_t event = add_behind(j, compute, s->forward.seconds[piece] / (halved ? 2 : 1));
        at->pieces[piece] = event;
        for (uint32_t c = 0; c < s->copy_count; ++c) {
            if (s->copies[c].gone_forward == piece) wait_gone(j, s, c, i, event);
            if (piece == 0 && s->fresh && s->copies[c].gone_backward != NONE)
                wait_gone(j, s, c, (int64_t)i - 1, halved ? at->half : event);
        }
        begin_copies_out(j, s, micro_batch, piece, event);
    }
    s->fresh = true;
}

/* The first of the copies back that begin in front of the piece, or NO_EVENT. */
static uint32_t begin_copies_back(evaluator *j, stage *s, uint32_t micro_batch, uint32_t piece, uint32_t *back) {
    uint32_t first = NO_EVENT;
    for (uint32_t i = 0; i < s->copy_count; ++i) {
        if (s->copies[i].in_before != piece) continue;
        back[i] = add_behind(j, &j->devices[s->device].in, s->copies[i].seconds);
        wait_for(j, back[i], j->devices[s->device].compute);
        wait_for(j, back[i], s->left[(size_t)micro_batch * s->copy_count + i]);
        if (first == NO_EVENT) first = back[i];
    }
    return first;
}

/* `B` where `whole_backward`, else `I`. */
static void add_backward(evaluator *j, stage *s, uint32_t micro_batch, bool whole_backward) {
    uint32_t *compute = &j->devices[s->device].compute, *back = allocate(s->copy_count, sizeof *back);
    place *at = &s->backward_at[micro_batch];
    at->before = *compute;
    at->apart = !whole_backward;
    free(at->pieces);
    at->pieces = allocate(s->backward.count, sizeof *at->pieces);
    for (uint32_t piece = 0; piece < s->backward.count; ++piece) {
        uint32_t first_back = begin_copies_back(j, s, micro_batch, piece, back);
        double seconds = s->backward.seconds[piece] - (whole_backward ? 0 : s->backward.weight[piece]);
        uint32_t event = at->pieces[piece] = add_behind(j, compute, seconds);
        for (uint32_t c = 0; c < s->copy_count; ++c) {
            if (s->copies[c].needed_by == piece) wait_for(j, event, back[c]);
            if (s->copies[c].gone_backward != piece || !s->fresh) continue;
            wait_gone(j, s, c, (int64_t)s->forwards - 1, event);
            wait_gone(j, s, c, (int64_t)s->forwards - 1, first_back);
        }
    }
    s->fresh = false;
    free(back);
}

static void add_action(evaluator *j, stage *s, const judged_action *a) {
    uint32_t *compute = &j->devices[s->device].compute;
    double weight = 0;
    for (uint32_t i = 0; i < s->backward.count; ++i) weight += s->backward.weight[i];
    if (a->kind == 'F') add_forward(j, s, a->micro_batch, a->halved);
    if (a->kind == 'B' || a->kind == 'I') add_backward(j, s, a->micro_batch, a->kind == 'B');
    if (a->kind == 'W') add_behind(j, compute, weight);
    if (a->kind == 'U') {
        if (s->reduce_seconds > 0) s->sum = add_behind(j, compute, s->reduce_seconds);
        s->update = add_behind(j, compute, s->update_seconds);
        if (s->sum == NO_EVENT) s->sum = s->update;
    }
    if (a->kind == 'B' || a->kind == 'W') {
        s->last_gradient = *compute;
        ++s->ended;
    }
    if (s->forwards > s->ended + s->in_flight) s->in_flight = s->forwards - s->ended;
}

static bool add_lists(evaluator *j, const cJSON *lists) {
    uint32_t at = 0;
    const cJSON *list, *item;
    cJSON_ArrayForEach(list, lists) {
        cJSON_ArrayForEach(item, list) {
            judged_action a;
            if (!read_action(j, item, &a)) return false;
            stage *s = stage_of(j, &a);
            if (s->device != at) {
                snprintf(j->why, PLAN_EVALUATE_TEXT, "'%s' is in the list of device %u", item->valuestring, at);
                return false;
            }
            add_action(j, s, &a);
        }
        ++at;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ judge */

static bool is_judged(const evaluator *j, const cJSON *root, const cJSON *decisions) {
    const char *why = NULL;
    if (whole(root, "version") != 2) why = "another version";
    if (cJSON_IsTrue(member(decisions, "asynchronous"))) why = "an asynchronous plan";
    if (number(j->costs, "link_bandwidth") > 0) why = "links that take time: values there wait for each other";
    if (why != NULL) snprintf(j->why, PLAN_EVALUATE_TEXT, "%s", why);
    return why == NULL;
}

static uint32_t whole_or_one(const cJSON *o, const char *name) { return member(o, name) ? whole(o, name) : 1; }

static void read_stages(evaluator *j, const cJSON *root) {
    const cJSON *stages = member(member(root, "decisions"), "stages"), *each;
    uint32_t at = 0;
    j->micro_batches = whole(member(root, "for"), "micro_batches");
    j->device_count = (uint32_t)cJSON_GetArraySize(member(member(root, "decisions"), "actions"));
    cJSON_ArrayForEach(each, stages) j->stage_count += whole_or_one(each, "replicas");
    j->stages = allocate(j->stage_count, sizeof *j->stages);
    j->first = allocate((size_t)cJSON_GetArraySize(stages), sizeof *j->first);
    j->devices = allocate(j->device_count, sizeof *j->devices);
    for (uint32_t i = 0; i < j->device_count; ++i) j->devices[i] = (device){NO_EVENT, NO_EVENT, NO_EVENT};
    const cJSON *costs = member(j->costs, "stages")->child;
    for (each = stages->child; each != NULL && costs != NULL; each = each->next, costs = costs->next) {
        uint32_t replicas = whole_or_one(each, "replicas"), number_of_stage = j->file_stages++;
        j->first[number_of_stage] = at;
        for (uint32_t replica = 0; replica < replicas; ++replica) {
            stage *s = &j->stages[at++];
            *s = (stage){.number = number_of_stage, .replica = replica, .replicas = replicas};
            s->size = whole_or_one(each, "micro_batch");
            read_stage(j, each, costs, s);
        }
    }
}

static void free_evaluator(evaluator *j) {
    for (uint32_t i = 0; i < j->stage_count; ++i) {
        stage *s = &j->stages[i];
        void *const owned[] = {s->forward.seconds, s->forward.weight, s->backward.seconds,
                               s->backward.weight, s->copies,         s->forward_at,
                               s->backward_at,     s->left,           s->order};
        for (uint32_t k = 0; k < j->micro_batches; ++k) {
            free(s->forward_at[k].pieces);
            free(s->backward_at[k].pieces);
        }
        for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k) free(owned[k]);
    }
    free(j->stages);
    free(j->first);
    free(j->devices);
    event_graph_free(&j->graph);
}

bool plan_evaluate(const char *json, double *step_seconds, double *predicted, char why[static PLAN_EVALUATE_TEXT]) {
    cJSON *root = cJSON_Parse(json);
    const cJSON *decisions = member(root, "decisions");
    evaluator j = {.costs = member(root, "costs"), .why = why};
    snprintf(why, PLAN_EVALUATE_TEXT, "no plan");
    *predicted = number(member(root, "predicted"), "step_seconds");
    bool judged = j.costs != NULL && is_judged(&j, root, decisions);
    if (judged) {
        read_stages(&j, root);
        judged = add_lists(&j, member(decisions, "actions"));
    }
    if (judged) {
        add_links(&j, member(decisions, "actions"));
        add_ties(&j);
        add_sums(&j);
        judged = event_graph_end(&j.graph, step_seconds);
        if (!judged) snprintf(why, PLAN_EVALUATE_TEXT, "some actions wait for each other");
    }
    free_evaluator(&j);
    cJSON_Delete(root);
    return judged;
}
