#include <stdlib.h>

#include "tests/rooms/planner/plan_evaluation_parts.h"

/* ------------------------------------------------------------------------------------------------------------ turns */

/* Where devices take turns: [the file's stage * micro-batches + the step's micro-batch]; 0: not yet. */
typedef struct turns {
    uint32_t *forward, *backward;
} turns;

static uint32_t first_of(const stage *s, uint32_t micro_batch) {
    return (micro_batch * s->replicas + s->replica) * s->size;
}

/* Whether a stage has computed in an earlier turn all that is in the micro-batch of another one. */
static bool is_done(const uint32_t *of_stage, const stage *s, uint32_t micro_batch, uint32_t turn) {
    for (uint32_t i = 0; i < s->size; ++i) {
        uint32_t done = of_stage[first_of(s, micro_batch) + i];
        if (done == 0 || done >= turn) return false;
    }
    return true;
}

/* Whether the action may come in this turn; then it has. */
static bool take_turn(const evaluator *j, const judged_action *a, uint32_t turn, turns *t) {
    const stage *s = stage_of(j, a);
    size_t at = (size_t)a->stage * j->micro_batches;
    bool forward = a->kind == 'F', backward = a->kind == 'B' || a->kind == 'I';
    if (forward && a->stage > 0 && !is_done(t->forward + at - j->micro_batches, s, a->micro_batch, turn)) return false;
    if (backward && a->stage + 1 < j->file_stages &&
        !is_done(t->backward + at + j->micro_batches, s, a->micro_batch, turn))
        return false;
    for (uint32_t i = 0; i < s->size && forward; ++i) t->forward[at + first_of(s, a->micro_batch) + i] = turn;
    for (uint32_t i = 0; i < s->size && backward; ++i) t->backward[at + first_of(s, a->micro_batch) + i] = turn;
    return true;
}

static turns take_turns(evaluator *j, const cJSON *lists) {
    const cJSON **next = allocate(j->device_count, sizeof *next), *list;
    size_t places = (size_t)j->file_stages * j->micro_batches;
    turns t = {allocate(places, sizeof *t.forward), allocate(places, sizeof *t.backward)};
    uint32_t count = 0;
    bool going = true;
    cJSON_ArrayForEach(list, lists) next[count++] = list->child;
    for (uint32_t turn = 1; going; ++turn) {
        going = false;
        for (uint32_t i = 0; i < j->device_count; ++i) {
            judged_action a;
            if (next[i] == NULL || !read_action(j, next[i], &a) || !take_turn(j, &a, turn, &t)) continue;
            next[i] = next[i]->next;
            going = true;
        }
    }
    free(next);
    return t;
}

/* Of the step's micro-batches up to each those that lie unread when it has been made, from the first that does. */
static uint32_t most_unread(const evaluator *j, const uint32_t *made, const uint32_t *read) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < j->micro_batches && made[i] > 0; ++i) {
        uint32_t first = 0;
        while (first < i && read[first] > 0 && read[first] <= made[i]) ++first;
        most = i + 1 - first > most ? i + 1 - first : most;
    }
    return most;
}

/* ------------------------------------------------------------------------------------------------------------ links */

static double travel_seconds(const evaluator *j, const stage *from, const stage *to, double bytes) {
    double bandwidth = number(j->costs, "link_bandwidth");
    if (bandwidth == 0 || from->device == to->device) return 0;
    return bytes / bandwidth + number(j->costs, "link_latency");
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

enum { ENDLESS = INT32_MAX };

/* One way over a link. */
typedef struct way {
    const stage *senders, *receivers; /* their first replicas */
    bool gradient;
    double bytes; /* of a micro-batch of the sender */
    uint32_t made_by, read_by;
    double early, early_weight;
    uint32_t room; /* micro-batches of the sender */
} way;

static const place *places_of(const way *w, const stage *s) { return w->gradient ? s->backward_at : s->forward_at; }

/* NO_EVENT where the lists lack the action. */
static uint32_t piece_event(const place *p, uint32_t piece) { return p->pieces != NULL ? p->pieces[piece] : NO_EVENT; }
static uint32_t first_event(const place *p) { return p->half != NO_EVENT ? p->half : piece_event(p, 0); }

/* So many seconds before the piece ends that makes the value. */
static void wait_until_made(evaluator *j, const way *w, const place *made, uint32_t value) {
    double early = w->early / (made->half != NO_EVENT ? 2 : 1) - (made->apart ? w->early_weight : 0);
    event_graph_wait_early(&j->graph, value, piece_event(made, w->made_by), early);
}

/* Who has one of the step's micro-batches, in which of its own. */
typedef struct owner {
    const stage *stage;
    uint32_t micro_batch, end; /* `end`: of the step's */
} owner;

static owner owner_of(const stage *first, uint32_t at) {
    uint32_t count = at / first->size;
    return (owner){&first[count % first->replicas], count / first->replicas, (count + 1) * first->size};
}

/* What a micro-batch of the sender and one of the receiver have in common goes in one message, or two halves of it.
 * Returns the end of it, of the step's micro-batches. */
static uint32_t add_message(evaluator *j, const way *w, uint32_t at, uint32_t *value) {
    owner sender = owner_of(w->senders, at), receiver = owner_of(w->receivers, at);
    uint32_t end = sender.end < receiver.end ? sender.end : receiver.end;
    const place *made = &places_of(w, sender.stage)[sender.micro_batch];
    const place *taken = places_of(w, receiver.stage), *own = &taken[receiver.micro_batch];
    double seconds = travel_seconds(j, sender.stage, receiver.stage, w->bytes * (end - at) / w->senders->size);
    *value = event_graph_add(&j->graph, seconds);
    bool halved = made->half != NO_EVENT && own->half != NO_EVENT;
    uint32_t first = halved ? event_graph_add(&j->graph, seconds) : *value;
    wait_until_made(j, w, made, *value);
    if (halved) wait_for(j, first, made->half);
    wait_for(j, own->half != NO_EVENT ? own->half : piece_event(own, w->read_by), first);
    if (halved) wait_for(j, *value, first);
    if (halved) wait_for(j, piece_event(own, w->read_by), *value);
    if (receiver.micro_batch >= 1 && w->room != ENDLESS) wait_for(j, first, taken[receiver.micro_batch - 1].before);
    return end;
}

/* Micro-batches pass in ascending order. */
static void add_values(evaluator *j, const way *w) {
    uint32_t *value = allocate(j->micro_batches, sizeof *value); /* [the first of a message] */
    for (uint32_t at = 0; at < j->micro_batches; ++at) value[at] = NO_EVENT;
    for (uint32_t at = 0; at < j->micro_batches;) at = add_message(j, w, at, &value[at]);
    for (uint32_t at = 0; at < j->micro_batches && w->room != ENDLESS; ++at) {
        owner sender = owner_of(w->senders, at); /* in whose way a message is until it has gone */
        uint32_t later = sender.micro_batch + w->room;
        if (later < j->micro_batches / (sender.stage->size * sender.stage->replicas))
            wait_for(j, first_event(&places_of(w, sender.stage)[later]), value[at]);
    }
    free(value);
}

static uint32_t all_at_once(const stage *s) { return s->size * s->replicas; }

/* How many of the step's micro-batches either stage may be ahead. */
static uint32_t find_ahead(const evaluator *j, const turns *t, const stage *from, const stage *to) {
    size_t a = (size_t)from->number * j->micro_batches, b = (size_t)to->number * j->micro_batches;
    uint32_t first = from->in_flight * all_at_once(from), second = to->in_flight * all_at_once(to);
    uint32_t unread =
        larger(most_unread(j, t->forward + a, t->forward + b), most_unread(j, t->backward + b, t->backward + a));
    uint32_t difference = first > second ? first - second : second - first;
    return larger(larger(difference, unread), larger(all_at_once(from), all_at_once(to)));
}

static uint32_t find_room(const stage *sender, const stage *from, const stage *to, uint32_t ahead) {
    uint32_t own = (ahead + all_at_once(sender) - 1) / all_at_once(sender);
    return from->device == to->device ? ENDLESS : 1 + larger(own, to->number - from->number);
}

void add_links(evaluator *j, const cJSON *lists) {
    const cJSON *link;
    turns t = take_turns(j, lists);
    cJSON_ArrayForEach(link, member(j->costs, "links")) {
        const stage *from = &j->stages[j->first[whole(link, "from")]], *to = &j->stages[j->first[whole(link, "to")]];
        uint32_t ahead = find_ahead(j, &t, from, to);
        uint32_t made_by = whole_or_none(link, "made_by"), back_by = whole_or_none(link, "gradient_made_by");
        const way forth = {.senders = from,
                           .receivers = to,
                           .bytes = number(link, "bytes"),
                           .made_by = made_by == NONE ? from->forward.count - 1 : made_by,
                           .read_by = whole(link, "read_by"),
                           .early = number(link, "made_early_seconds"),
                           .room = find_room(from, from, to, ahead)};
        add_values(j, &forth);
        if (member(link, "gradient_bytes") == NULL) continue;
        const way back = {.senders = to,
                          .receivers = from,
                          .gradient = true,
                          .bytes = number(link, "gradient_bytes"),
                          .made_by = back_by == NONE ? to->backward.count - 1 : back_by,
                          .read_by = whole(link, "gradient_read_by"),
                          .early = number(link, "gradient_made_early_seconds"),
                          .early_weight = number(link, "gradient_made_early_weight_seconds"),
                          .room = find_room(to, from, to, ahead)};
        add_values(j, &back);
    }
    free(t.forward);
    free(t.backward);
}

/* ------------------------------------------------------------------------------------------------------ once a step */

void add_ties(evaluator *j) {
    const cJSON *tie;
    cJSON_ArrayForEach(tie, member(j->costs, "ties")) {
        const stage *ends[] = {&j->stages[j->first[whole(tie, "first")]], &j->stages[j->first[whole(tie, "second")]]};
        for (int i = 0; i < 2; ++i) {
            uint32_t event = event_graph_add(&j->graph, travel_seconds(j, ends[0], ends[1], number(tie, "bytes")));
            wait_for(j, event, ends[0]->last_gradient);
            wait_for(j, event, ends[1]->last_gradient);
            wait_for(j, ends[i]->update, event);
        }
    }
}

void add_sums(evaluator *j) {
    for (uint32_t i = 0; i < j->stage_count; ++i) {
        const stage *s = &j->stages[i], *first = s - s->replica;
        for (uint32_t k = 0; k < s->replicas; ++k)
            if (k != s->replica) wait_for(j, s->sum, first[k].last_gradient);
    }
}
