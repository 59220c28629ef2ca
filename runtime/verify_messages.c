/* Both ends of every message agree, and with rendezvous no stage waits for ever. What stages send and receive does not
 * depend on time, so one order of playing shows what every order would. */
#include <stdlib.h>
#include <string.h>

#include "runtime/verify_steps.h"

/* One stage that runs. */
typedef struct player {
    const ons_stage_program *s;
    const ons_verify_steps *steps;
    size_t at;                    /* step */
    uint32_t *sent, *arrived;     /* of each send and receive: so many times */
    uint32_t *awaited, *released; /* of each receive, likewise */
    uint32_t updates;             /* end parts that are carried out */
} player;

/* One way between two stages in one part: a message after the other. */
typedef struct way {
    uint32_t from, to;
    ons_part part;
    uint32_t *queue; /* sends that were put on their way: index, micro-batch in turn */
    size_t queued, done;
    uint32_t receive, micro_batch; /* the next that the other end takes */
} way;

typedef struct play {
    const ons_verify_options *o;
    player *players;
    way *ways;
    uint32_t way_count;
} play;

static const char *name_of(const ons_stage_program *s, const ons_cut_transfer *t) {
    return ons_graph_value(s->cut->graph, t->value)->name;
}

/* ------------------------------------------------------------------------------------------------------------- pairing
 */

/* The next transfer from `at` on with this peer and part; `count`: none. */
static uint32_t next_with(const ons_cut_transfer *list, uint32_t count, uint32_t at, uint32_t peer, ons_part part) {
    while (at < count && (list[at].peer != peer || list[at].part != part)) ++at;
    return at;
}

static ons_status *check_pair(const ons_verify_options *o, uint32_t from, const ons_cut_transfer *send, uint32_t to,
                              const ons_cut_transfer *receive) {
    const ons_stage_program *a = o->programs[from], *b = o->programs[to];
    const ons_type *left = &ons_graph_value(a->cut->graph, send->value)->type;
    const ons_type *right = &ons_graph_value(b->cut->graph, receive->value)->type;
    ONS_CHECK(send->number == receive->number && strcmp(name_of(a, send), name_of(b, receive)) == 0, ONS_DEFECT,
              "stage %u sends '%s' where stage %u receives '%s'", from, name_of(a, send), to, name_of(b, receive));
    ONS_CHECK(ons_type_equal(left, right) &&
                  ons_stage_program_bytes(a, send->value) == ons_stage_program_bytes(b, receive->value),
              ONS_DEFECT, "'%s' is of another type in stage %u, which sends it, than in stage %u", name_of(a, send),
              from, to);
    return NULL;
}

static ons_status *check_pairs(const ons_verify_options *o, uint32_t from, uint32_t to, ons_part part) {
    const ons_cut_stage *a = o->programs[from]->cut, *b = o->programs[to]->cut;
    uint32_t send = 0, receive = 0;
    for (;;) {
        send = next_with(a->sends, a->send_count, send, to, part);
        receive = next_with(b->receives, b->receive_count, receive, from, part);
        if (send == a->send_count && receive == b->receive_count) return NULL;
        ONS_CHECK(send < a->send_count, ONS_DEFECT, "stage %u waits for '%s', which stage %u does not send", to,
                  name_of(o->programs[to], &b->receives[receive]), from);
        ONS_CHECK(receive < b->receive_count, ONS_DEFECT, "stage %u sends '%s', which stage %u does not receive", from,
                  name_of(o->programs[from], &a->sends[send]), to);
        ONS_TRY(check_pair(o, from, &a->sends[send++], to, &b->receives[receive++]));
    }
}

static ons_status *check_peers(const ons_verify_options *o, uint32_t stage) {
    const ons_cut_stage *cut = o->programs[stage]->cut;
    for (uint32_t i = 0; i < cut->send_count; ++i)
        ONS_CHECK(cut->sends[i].peer < o->stages && cut->sends[i].peer != stage, ONS_DEFECT,
                  "stage %u sends '%s' to stage %u", stage, name_of(o->programs[stage], &cut->sends[i]),
                  cut->sends[i].peer);
    for (uint32_t i = 0; i < cut->receive_count; ++i)
        ONS_CHECK(o->programs[stage]->rings[i] > 0, ONS_DEFECT, "stage %u has no place for '%s', which it receives",
                  stage, name_of(o->programs[stage], &cut->receives[i]));
    return NULL;
}

ons_status *ons_verify_pairs(const ons_verify_options *o) {
    for (uint32_t from = 0; from < o->stages; ++from) ONS_TRY(check_peers(o, from));
    for (uint32_t from = 0; from < o->stages; ++from)
        for (uint32_t to = 0; to < o->stages; ++to)
            for (ons_part part = ONS_PART_BEGIN; to != from && part < ONS_PART_COUNT; ++part)
                ONS_TRY(check_pairs(o, from, to, part));
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------------- ways
 */

static way *find_way(const play *p, uint32_t from, uint32_t to, ons_part part) {
    for (uint32_t i = 0; i < p->way_count; ++i)
        if (p->ways[i].from == from && p->ways[i].to == to && p->ways[i].part == part) return &p->ways[i];
    return NULL;
}

/* How often a transfer of this part happens in the flight. */
static uint32_t times(const play *p, uint32_t stage, ons_part part) {
    return part == ONS_PART_END ? p->players[stage].updates : part == ONS_PART_BEGIN ? 1 : p->o->micro_batches;
}

static ons_status *add_ways(play *p, uint32_t from) {
    const ons_cut_stage *cut = p->o->programs[from]->cut;
    for (uint32_t i = 0; i < cut->send_count; ++i) {
        const ons_cut_transfer *t = &cut->sends[i];
        if (find_way(p, from, t->peer, t->part) != NULL) continue;
        way *w = &p->ways[p->way_count++];
        const ons_cut_stage *other = p->o->programs[t->peer]->cut;
        *w = (way){.from = from, .to = t->peer, .part = t->part};
        w->receive = next_with(other->receives, other->receive_count, 0, from, t->part);
        w->queue = calloc((size_t)cut->send_count * (times(p, from, t->part) + 1) * 2, sizeof *w->queue);
        if (w->queue == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

/* A message goes where the sender has it ready and the receiver has a free place for it. */
static bool try_message(const play *p, way *w, ons_status **status) {
    player *a = &p->players[w->from], *b = &p->players[w->to];
    const ons_cut_stage *cut = b->s->cut;
    if (w->done == w->queued || w->micro_batch >= times(p, w->to, w->part)) return false;
    if (w->micro_batch >= b->s->rings[w->receive] + b->released[w->receive]) return false;
    uint32_t send = w->queue[2 * w->done], micro_batch = w->queue[2 * w->done + 1];
    const ons_cut_transfer *s = &a->s->cut->sends[send], *r = &cut->receives[w->receive];
    bool turned = w->part != ONS_PART_END && micro_batch != w->micro_batch;
    if (s->number != r->number || turned) {
        *status = ons_status_new(ONS_DEFECT,
                                 "stage %u sends '%s' of micro-batch %u when stage %u receives '%s' of micro-batch %u",
                                 w->from, name_of(a->s, s), micro_batch, w->to, name_of(b->s, r), w->micro_batch);
        return false;
    }
    ++w->done;
    ++a->sent[send];
    ++b->arrived[w->receive];
    w->receive = next_with(cut->receives, cut->receive_count, w->receive + 1, w->from, w->part);
    if (w->receive == cut->receive_count) {
        w->receive = next_with(cut->receives, cut->receive_count, 0, w->from, w->part);
        ++w->micro_batch;
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- stages
 */

/* The message that a step waits for; NULL: none. */
static const ons_cut_transfer *waits_for(const player *q, const ons_verify_step *step) {
    if (step->kind == ONS_VERIFY_WAIT && step->index < q->s->cut->send_count)
        return q->sent[step->index] < step->count ? &q->s->cut->sends[step->index] : NULL;
    if (step->kind != ONS_VERIFY_MARK || step->mark != ONS_MARK_AWAIT) return NULL;
    return q->arrived[step->index] <= q->awaited[step->index] ? &q->s->cut->receives[step->index] : NULL;
}

static bool try_step(const play *p, uint32_t stage) {
    player *q = &p->players[stage];
    if (q->at == q->steps->count) return false;
    const ons_verify_step *step = &q->steps->items[q->at];
    if (waits_for(q, step) != NULL) return false;
    if (step->kind == ONS_VERIFY_MARK && step->mark == ONS_MARK_SEND) {
        const ons_cut_transfer *t = &q->s->cut->sends[step->index];
        way *w = find_way(p, stage, t->peer, t->part);
        w->queue[2 * w->queued] = step->index;
        w->queue[2 * w->queued++ + 1] = step->micro_batch;
    }
    if (step->kind == ONS_VERIFY_MARK && step->mark == ONS_MARK_AWAIT) ++q->awaited[step->index];
    if (step->kind == ONS_VERIFY_MARK && step->mark == ONS_MARK_RELEASE) ++q->released[step->index];
    ++q->at;
    return true;
}

static ons_status *describe_stuck(const play *p, uint32_t stage) {
    const player *q = &p->players[stage];
    const ons_verify_step *step = &q->steps->items[q->at];
    const ons_cut_transfer *t = waits_for(q, step);
    bool receives = step->kind == ONS_VERIFY_MARK;
    return ons_status_new(ONS_DEFECT, "deadlock: stage %u waits for ever %s '%s' of micro-batch %u %s stage %u", stage,
                          receives ? "for" : "until", name_of(q->s, t), step->micro_batch,
                          receives ? "from" : "has gone to", t->peer);
}

static ons_status *check_end(const play *p) {
    for (uint32_t i = 0; i < p->o->stages; ++i)
        if (p->players[i].at < p->players[i].steps->count) return describe_stuck(p, i);
    for (uint32_t i = 0; i < p->way_count; ++i) {
        const way *w = &p->ways[i];
        const player *a = &p->players[w->from], *b = &p->players[w->to];
        ONS_CHECK(w->done == w->queued, ONS_DEFECT, "deadlock: stage %u sends '%s', and stage %u never takes it",
                  w->from, name_of(a->s, &a->s->cut->sends[w->queue[2 * w->done]]), w->to);
        ONS_CHECK(w->micro_batch == times(p, w->to, w->part), ONS_DEFECT,
                  "deadlock: stage %u is to receive '%s' of micro-batch %u, and stage %u never sends it", w->to,
                  name_of(b->s, &b->s->cut->receives[w->receive]), w->micro_batch, w->from);
    }
    return NULL;
}

static ons_status *run(play *p) {
    ons_status *status = NULL;
    for (bool going = true; going && status == NULL;) {
        going = false;
        for (uint32_t i = 0; i < p->o->stages; ++i)
            while (try_step(p, i)) going = true;
        for (uint32_t i = 0; i < p->way_count && status == NULL; ++i)
            while (status == NULL && try_message(p, &p->ways[i], &status)) going = true;
    }
    return status != NULL ? status : check_end(p);
}

static ons_status *set_up(play *p, const ons_verify_steps *steps) {
    uint32_t sends = 0;
    p->players = calloc(p->o->stages + 1, sizeof *p->players);
    if (p->players == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < p->o->stages; ++i) {
        player *q = &p->players[i];
        q->s = p->o->programs[i];
        q->steps = &steps[i];
        uint32_t *counts = calloc(q->s->cut->send_count + 3 * (size_t)q->s->cut->receive_count + 1, sizeof *counts);
        if (counts == NULL) return ons_status_out_of_memory();
        q->sent = counts;
        q->arrived = counts + q->s->cut->send_count;
        q->awaited = q->arrived + q->s->cut->receive_count;
        q->released = q->awaited + q->s->cut->receive_count;
        sends += q->s->cut->send_count;
        for (uint32_t k = 0; k < p->o->lists[i].count; ++k)
            q->updates += p->o->updates && p->o->lists[i].items[k].kind == ONS_ACTION_UPDATE;
    }
    p->ways = calloc(sends + 1, sizeof *p->ways);
    if (p->ways == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < p->o->stages; ++i) ONS_TRY(add_ways(p, i));
    return NULL;
}

ons_status *ons_verify_messages(const ons_verify_options *o, const ons_verify_steps *steps) {
    play p = {.o = o};
    ons_status *status = set_up(&p, steps);
    if (status == NULL) status = run(&p);
    for (uint32_t i = 0; i < p.way_count; ++i) free(p.ways[i].queue);
    for (uint32_t i = 0; p.players != NULL && i < o->stages; ++i) free(p.players[i].sent);
    free(p.ways);
    free(p.players);
    return status;
}
