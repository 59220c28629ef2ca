#include "tests/planner/plan_judge.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/planner/event_graph.h"

typedef struct judged_action {
    char kind; /* F B I W U */
    uint32_t stage, micro_batch;
    bool halved; /* F */
} judged_action;

typedef struct pieces {
    double *seconds, *weight; /* `weight`: of them, weight gradients */
    uint32_t count;
} pieces;

typedef struct copy {
    double seconds;
    uint32_t out_after, used_by, in_before, needed_by;
    uint32_t gone_forward, gone_backward, gone_later; /* NONE: not there */
} copy;

/* Where a value is made or taken: events of one stage's action. */
typedef struct place {
    uint32_t *pieces; /* of an F in halves: those of the second half */
    uint32_t before;  /* the last of what stands in front of the action in its list */
    uint32_t half;    /* of an F in halves: the piece of the first half */
    bool apart;       /* an I */
} place;

typedef struct stage {
    uint32_t device;
    pieces forward, backward;
    copy *copies;
    uint32_t copy_count;
    double update_seconds;
    /* what the lists say */
    place *forward_at, *backward_at;     /* [micro-batch] */
    uint32_t *left;                      /* [micro-batch * copies + copy]: the event at which the tensor has left */
    uint32_t *order;                     /* [i]: the micro-batch of the i-th F */
    uint32_t forwards, ended, in_flight; /* F so far, B or W so far, and the most that the one was ahead of the other */
    uint32_t *forward_turn, *backward_turn; /* [micro-batch]: where devices take turns; 0: not yet */
    bool fresh;                             /* the last F has no B or I behind it yet */
    uint32_t last_gradient, update;         /* events */
} stage;

/* The last events so far of what goes one after another. */
typedef struct device {
    uint32_t compute, out, in;
} device;

typedef struct judge {
    const cJSON *costs;
    stage *stages;
    device *devices;
    uint32_t stage_count, device_count, micro_batches;
    event_graph graph;
    char *why;
} judge;

enum { NONE = 0xffffffffu };

/* --------------------------------------------------------------------------------------------------------- the file */

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (memory == NULL) abort();
    return memory;
}

static const cJSON *member(const cJSON *o, const char *name) { return cJSON_GetObjectItemCaseSensitive(o, name); }

static double number(const cJSON *o, const char *name) {
    const cJSON *item = member(o, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static uint32_t whole(const cJSON *o, const char *name) { return (uint32_t)number(o, name); }
static uint32_t whole_or_none(const cJSON *o, const char *name) { return member(o, name) ? whole(o, name) : NONE; }

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

static void read_stage(const judge *j, const cJSON *decided, const cJSON *costs, stage *s) {
    const cJSON *parts = member(costs, "parts");
    s->device = whole(decided, "device");
    s->update_seconds = number(costs, "update_seconds");
    s->forward = read_pieces(member(parts, "forward"));
    s->backward = read_pieces(member(parts, "backward"));
    read_copies(member(parts, "copies"), s);
    s->forward_at = allocate(j->micro_batches, sizeof *s->forward_at);
    s->backward_at = allocate(j->micro_batches, sizeof *s->backward_at);
    s->left = allocate((size_t)j->micro_batches * s->copy_count, sizeof *s->left);
    s->order = allocate(j->micro_batches, sizeof *s->order);
    s->forward_turn = allocate(j->micro_batches, sizeof *s->forward_turn);
    s->backward_turn = allocate(j->micro_batches, sizeof *s->backward_turn);
    for (uint32_t i = 0; i < j->micro_batches; ++i)
        s->forward_at[i] = s->backward_at[i] = (place){NULL, NO_EVENT, NO_EVENT, false};
    s->last_gradient = s->update = NO_EVENT;
}

static bool read_action(const judge *j, const cJSON *item, judged_action *a) {
    int end = 0;
    const char *text = cJSON_IsString(item) ? item->valuestring : "";
    bool read = sscanf(text, "%u%c%u%n", &a->stage, &a->kind, &a->micro_batch, &end) == 3;
    a->halved = read && a->kind == 'F' && strcmp(text + end, "/2") == 0;
    if (!read || (text[end] != '\0' && !a->halved) || strchr("FBIWU", a->kind) == NULL || a->stage >= j->stage_count ||
        a->micro_batch >= j->micro_batches) {
        snprintf(j->why, PLAN_JUDGE_TEXT, "'%s' is no action", text);
        return false;
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------------- computing */

static void wait_for(judge *j, uint32_t after, uint32_t before) { event_graph_wait(&j->graph, after, before); }

/* An event behind the last one of its kind. */
static uint32_t add_behind(judge *j, uint32_t *last, double seconds) {
    uint32_t event = event_graph_add(&j->graph, seconds);
    wait_for(j, event, *last);
    return *last = event;
}

/* The event waits until the copy's tensor of the stage's F with that number has left. */
static void wait_gone(judge *j, const stage *s, uint32_t number_of_copy, int64_t order, uint32_t event) {
    order -= s->copies[number_of_copy].gone_later;
    if (order >= 0) wait_for(j, event, s->left[(size_t)s->order[order] * s->copy_count + number_of_copy]);
}

static void begin_copies_out(judge *j, stage *s, uint32_t micro_batch, uint32_t piece, uint32_t event) {
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

static void add_half(judge *j, const stage *s, place *at) {
    double seconds = 0;
    for (uint32_t piece = 0; piece < s->forward.count; ++piece) seconds += s->forward.seconds[piece] / 2;
    at->half = add_behind(j, &j->devices[s->device].compute, seconds);
}

static void add_forward(judge *j, stage *s, uint32_t micro_batch, bool halved) {
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
static uint32_t begin_copies_back(judge *j, stage *s, uint32_t micro_batch, uint32_t piece, uint32_t *back) {
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
static void add_backward(judge *j, stage *s, uint32_t micro_batch, bool whole_backward) {
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

static void add_action(judge *j, stage *s, const judged_action *a) {
    uint32_t *compute = &j->devices[s->device].compute;
    double weight = 0;
    for (uint32_t i = 0; i < s->backward.count; ++i) weight += s->backward.weight[i];
    if (a->kind == 'F') add_forward(j, s, a->micro_batch, a->halved);
    if (a->kind == 'B' || a->kind == 'I') add_backward(j, s, a->micro_batch, a->kind == 'B');
    if (a->kind == 'W') add_behind(j, compute, weight);
    if (a->kind == 'U') s->update = add_behind(j, compute, s->update_seconds);
    if (a->kind == 'B' || a->kind == 'W') {
        s->last_gradient = *compute;
        ++s->ended;
    }
    if (s->forwards > s->ended + s->in_flight) s->in_flight = s->forwards - s->ended;
}

static bool add_lists(judge *j, const cJSON *lists) {
    uint32_t at = 0;
    const cJSON *list, *item;
    cJSON_ArrayForEach(list, lists) {
        cJSON_ArrayForEach(item, list) {
            judged_action a;
            if (!read_action(j, item, &a)) return false;
            stage *s = &j->stages[a.stage];
            if (s->device != at) {
                snprintf(j->why, PLAN_JUDGE_TEXT, "'%s' is in the list of device %u", item->valuestring, at);
                return false;
            }
            add_action(j, s, &a);
        }
        ++at;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ turns */

static bool is_done(uint32_t done, uint32_t turn) { return done > 0 && done < turn; }

/* Whether the action may come in this turn; then it has. */
static bool take_turn(judge *j, const judged_action *a, uint32_t turn) {
    stage *s = &j->stages[a->stage];
    if (a->kind == 'F') {
        if (a->stage > 0 && !is_done(s[-1].forward_turn[a->micro_batch], turn)) return false;
        s->forward_turn[a->micro_batch] = turn;
    }
    if (a->kind == 'B' || a->kind == 'I') {
        if (a->stage + 1 < j->stage_count && !is_done(s[1].backward_turn[a->micro_batch], turn)) return false;
        s->backward_turn[a->micro_batch] = turn;
    }
    return true;
}

static void take_turns(judge *j, const cJSON *lists) {
    const cJSON **next = allocate(j->device_count, sizeof *next), *list;
    uint32_t count = 0;
    bool going = true;
    cJSON_ArrayForEach(list, lists) next[count++] = list->child;
    for (uint32_t turn = 1; going; ++turn) {
        going = false;
        for (uint32_t i = 0; i < j->device_count; ++i) {
            judged_action a;
            if (next[i] == NULL || !read_action(j, next[i], &a) || !take_turn(j, &a, turn)) continue;
            next[i] = next[i]->next;
            going = true;
        }
    }
    free(next);
}

static uint32_t most_unread(const judge *j, const uint32_t *made, const uint32_t *read) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < j->micro_batches; ++i) {
        uint32_t unread = i + 1;
        for (uint32_t k = 0; k <= i; ++k) unread -= read[k] > 0 && read[k] <= made[i];
        most = unread > most ? unread : most;
    }
    return most;
}

/* ------------------------------------------------------------------------------------------------------------ links */

static double travel_seconds(const judge *j, const stage *from, const stage *to, double bytes) {
    double bandwidth = number(j->costs, "link_bandwidth");
    if (bandwidth == 0 || from->device == to->device) return 0;
    return bytes / bandwidth + number(j->costs, "link_latency");
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

enum { ENDLESS = INT32_MAX };

/* One way over a link. */
typedef struct way {
    double seconds;
    const place *made, *taken; /* [micro-batch] */
    uint32_t made_by, read_by;
    double early, early_weight;
    uint32_t room;
} way;

/* NO_EVENT where the lists lack the action. */
static uint32_t piece_event(const place *p, uint32_t piece) { return p->pieces != NULL ? p->pieces[piece] : NO_EVENT; }
static uint32_t first_event(const place *p) { return p->half != NO_EVENT ? p->half : piece_event(p, 0); }

/* So many seconds before the piece ends that makes the value. */
static void wait_until_made(judge *j, const way *w, uint32_t i, uint32_t value) {
    double early = w->early / (w->made[i].half != NO_EVENT ? 2 : 1) - (w->made[i].apart ? w->early_weight : 0);
    event_graph_wait_early(&j->graph, value, piece_event(&w->made[i], w->made_by), early);
}

/* Micro-batches pass in ascending order. */
static void add_values(judge *j, const way *w) {
    const place *made = w->made, *taken = w->taken;
    double seconds = w->seconds;
    uint32_t room = w->room, *value = allocate(j->micro_batches, sizeof *value);
    for (uint32_t i = 0; i < j->micro_batches; ++i) {
        value[i] = event_graph_add(&j->graph, seconds);
        bool halved = made[i].half != NO_EVENT && taken[i].half != NO_EVENT;
        uint32_t first = halved ? event_graph_add(&j->graph, seconds) : value[i];
        wait_until_made(j, w, i, value[i]);
        if (halved) wait_for(j, first, made[i].half);
        wait_for(j, taken[i].half != NO_EVENT ? taken[i].half : piece_event(&taken[i], w->read_by), first);
        if (halved) wait_for(j, value[i], first);
        if (halved) wait_for(j, piece_event(&taken[i], w->read_by), value[i]);
        if (i >= 1 && room != ENDLESS) wait_for(j, first, taken[i - 1].before);
        if (i >= room) wait_for(j, first_event(&made[i]), value[i - room]);
    }
    free(value);
}

static void add_links(judge *j) {
    const cJSON *link;
    cJSON_ArrayForEach(link, member(j->costs, "links")) {
        uint32_t number_from = whole(link, "from"), number_to = whole(link, "to");
        const stage *from = &j->stages[number_from], *to = &j->stages[number_to];
        uint32_t a = from->in_flight, b = to->in_flight, difference = a > b ? a - b : b - a;
        uint32_t forth = most_unread(j, from->forward_turn, to->forward_turn);
        uint32_t unread = larger(forth, most_unread(j, to->backward_turn, from->backward_turn));
        uint32_t between_devices = 1 + larger(larger(1, unread), larger(number_to - number_from, difference));
        uint32_t room = from->device == to->device ? ENDLESS : between_devices;
        uint32_t made_by = whole_or_none(link, "made_by"), back_by = whole_or_none(link, "gradient_made_by");
        way forward = {travel_seconds(j, from, to, number(link, "bytes")),
                       from->forward_at,
                       to->forward_at,
                       made_by == NONE ? from->forward.count - 1 : made_by,
                       whole(link, "read_by"),
                       number(link, "made_early_seconds"),
                       0,
                       room};
        add_values(j, &forward);
        if (member(link, "gradient_bytes") == NULL) continue;
        way back = {travel_seconds(j, to, from, number(link, "gradient_bytes")),
                    to->backward_at,
                    from->backward_at,
                    back_by == NONE ? to->backward.count - 1 : back_by,
                    whole(link, "gradient_read_by"),
                    number(link, "gradient_made_early_seconds"),
                    number(link, "gradient_made_early_weight_seconds"),
                    room};
        add_values(j, &back);
    }
}

static void add_ties(judge *j) {
    const cJSON *tie;
    cJSON_ArrayForEach(tie, member(j->costs, "ties")) {
        const stage *ends[] = {&j->stages[whole(tie, "first")], &j->stages[whole(tie, "second")]};
        for (int i = 0; i < 2; ++i) {
            uint32_t event = event_graph_add(&j->graph, travel_seconds(j, ends[0], ends[1], number(tie, "bytes")));
            wait_for(j, event, ends[0]->last_gradient);
            wait_for(j, event, ends[1]->last_gradient);
            wait_for(j, ends[i]->update, event);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------------ judge */

static bool is_judged(const judge *j, const cJSON *root, const cJSON *decisions) {
    const char *why = NULL;
    if (whole(root, "version") != 2) why = "another version";
    if (cJSON_IsTrue(member(decisions, "asynchronous"))) why = "an asynchronous plan";
    if (number(j->costs, "link_bandwidth") > 0) why = "links that take time: values there wait for each other";
    if (why != NULL) snprintf(j->why, PLAN_JUDGE_TEXT, "%s", why);
    return why == NULL;
}

static void read_stages(judge *j, const cJSON *root) {
    const cJSON *stages = member(member(root, "decisions"), "stages");
    j->micro_batches = whole(member(root, "for"), "micro_batches");
    j->stage_count = (uint32_t)cJSON_GetArraySize(stages);
    j->device_count = (uint32_t)cJSON_GetArraySize(member(member(root, "decisions"), "actions"));
    j->stages = allocate(j->stage_count, sizeof *j->stages);
    j->devices = allocate(j->device_count, sizeof *j->devices);
    for (uint32_t i = 0; i < j->device_count; ++i) j->devices[i] = (device){NO_EVENT, NO_EVENT, NO_EVENT};
    const cJSON *costs = member(j->costs, "stages")->child, *each;
    uint32_t i = 0;
    for (each = stages->child; each != NULL && costs != NULL; each = each->next, costs = costs->next)
        read_stage(j, each, costs, &j->stages[i++]);
}

static void free_judge(judge *j) {
    for (uint32_t i = 0; i < j->stage_count; ++i) {
        stage *s = &j->stages[i];
        void *const owned[] = {s->forward.seconds, s->forward.weight, s->backward.seconds, s->backward.weight,
                               s->copies,          s->forward_at,     s->backward_at,      s->left,
                               s->order,           s->forward_turn,   s->backward_turn};
        for (uint32_t k = 0; k < j->micro_batches; ++k) {
            free(s->forward_at[k].pieces);
            free(s->backward_at[k].pieces);
        }
        for (size_t k = 0; k < sizeof owned / sizeof *owned; ++k) free(owned[k]);
    }
    free(j->stages);
    free(j->devices);
    event_graph_free(&j->graph);
}

bool plan_judge(const char *json, double *step_seconds, double *predicted, char why[static PLAN_JUDGE_TEXT]) {
    cJSON *root = cJSON_Parse(json);
    const cJSON *decisions = member(root, "decisions");
    judge j = {.costs = member(root, "costs"), .why = why};
    snprintf(why, PLAN_JUDGE_TEXT, "no plan");
    *predicted = number(member(root, "predicted"), "step_seconds");
    bool judged = j.costs != NULL && is_judged(&j, root, decisions);
    if (judged) {
        read_stages(&j, root);
        judged = add_lists(&j, member(decisions, "actions"));
    }
    if (judged) {
        take_turns(&j, member(decisions, "actions"));
        add_links(&j);
        add_ties(&j);
        judged = event_graph_end(&j.graph, step_seconds);
        if (!judged) snprintf(why, PLAN_JUDGE_TEXT, "some actions wait for each other");
    }
    free_judge(&j);
    cJSON_Delete(root);
    return judged;
}
