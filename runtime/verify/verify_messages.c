/* Both ends of every message agree, and with rendezvous no stage waits for ever. What stages send and receive does not
 * depend on time, so one order of the simulation shows what every order would. */
#include <stdlib.h>
#include <string.h>

#include "runtime/verify/verify_manifest.h"

/* How far a stage has come. */
typedef struct stage_state {
    const ons_manifest *manifest;
    uint32_t at;        /* event */
    uint32_t *sent;     /* of each send and copy that receives it: so many times */
    uint32_t *arrived;  /* [receive · micro-batches + micro-batch]: so many units of it */
    uint32_t *released; /* of each receive: so many times */
} stage_state;

/* One channel between two devices: a message after the other. */
typedef struct way {
    uint32_t from, to, channel;
    ons_part_kind kind;
    bool once;   /* each message comes once in a step, and not for every micro-batch */
    bool pieces; /* the ends' micro-batches are of different sizes, and a message goes as what they have in common */
    uint32_t *queue; /* sends that were put on their way: index, micro-batch in turn */
    size_t queued, done, room;
    uint32_t receive; /* the next that the other end takes … */
    uint64_t unit;    /* … from this unit of the step on, which both ends have; NONE_LEFT: no more come. The sender's
                         micro-batches come one by one, … */
    uint64_t first;   /* … and this is the first such unit of one of them */
} way;

#define NONE_LEFT UINT64_MAX

typedef struct simulation {
    uint32_t stages;
    uint32_t copies; /* of a group, at most */
    stage_state *stage_states;
    way *ways;
    uint32_t way_count;
} simulation;

static const char *name_of(const ons_manifest *manifest, const ons_manifest_transfer *t) {
    return manifest->names + t->name;
}

/* ---------------------------------------------------------------------------------------------------------- pairing */

/* The programs of several devices that compute the same variant of micro-batches have the same number. */
static uint32_t variant_of(const ons_manifest *manifest, uint32_t half) { return manifest->head->share.variant + half; }

/* Which messages of a stage are meant: those with this group over this channel, of one of its programs. */
typedef struct selection {
    uint32_t peer, channel, half;
} selection;

/* The next transfer from `at` on; `count`: none. */
static uint32_t next_of(const ons_manifest_transfer *list, uint32_t count, uint32_t at, const selection *s) {
    while (at < count && (list[at].peer != s->peer || list[at].channel != s->channel || list[at].half != s->half)) ++at;
    return at;
}

/* Copies that have nothing of the rest run the programs of their own micro-batches. */
static bool are_of_one_size(const ons_manifest *a, const ons_manifest *b) {
    return a->head->size == b->head->size || (a->head->rest != 0 && a->head->share.micro_batches > 0);
}

/* Between stages of different sizes: the same samples are as many bytes, and the numbers are those of either's graph.
 */
static bool is_alike(const ons_manifest *a, const ons_manifest_transfer *send, const ons_manifest *b,
                     const ons_manifest_transfer *receive) {
    if (are_of_one_size(a, b) || !ons_units_is_cut((ons_part_kind)send->kind))
        return ons_type_equal(&send->type, &receive->type) && send->bytes == receive->bytes;
    return send->type.dtype == receive->type.dtype && send->type.layout == receive->type.layout &&
           send->bytes % a->head->size == 0 && receive->bytes % b->head->size == 0 &&
           send->bytes / a->head->size == receive->bytes / b->head->size;
}

static ons_status *check_pair(const ons_manifest *a, const ons_manifest_transfer *send, const ons_manifest *b,
                              const ons_manifest_transfer *receive) {
    uint32_t from = a->head->stage, to = b->head->stage;
    ONS_CHECK((send->number == receive->number || !are_of_one_size(a, b)) &&
                  strcmp(name_of(a, send), name_of(b, receive)) == 0,
              ONS_DEFECT, "stage %u sends '%s' where stage %u receives '%s'", from, name_of(a, send), to,
              name_of(b, receive));
    ONS_CHECK(is_alike(a, send, b, receive), ONS_DEFECT,
              "'%s' is of another type in stage %u, which sends it, than in stage %u", name_of(a, send), from, to);
    return NULL;
}

/* Of two programs that compute the same micro-batches. */
static ons_status *check_programs(const ons_manifest *a, const ons_manifest *b, uint32_t channel, uint32_t half) {
    const selection sends = {b->head->share.group, channel, half};
    const selection receives = {a->head->share.group, channel, variant_of(a, half) - b->head->share.variant};
    uint32_t send = 0, receive = 0, from = a->head->stage, to = b->head->stage;
    for (;;) {
        send = next_of(a->sends, a->head->send_count, send, &sends);
        receive = next_of(b->receives, b->head->receive_count, receive, &receives);
        if (send == a->head->send_count && receive == b->head->receive_count) return NULL;
        ONS_CHECK(send < a->head->send_count, ONS_DEFECT, "stage %u waits for '%s', which stage %u does not send", to,
                  name_of(b, &b->receives[receive]), from);
        ONS_CHECK(receive < b->head->receive_count, ONS_DEFECT, "stage %u sends '%s', which stage %u does not receive",
                  from, name_of(a, &a->sends[send]), to);
        ONS_TRY(check_pair(a, &a->sends[send++], b, &b->receives[receive++]));
    }
}

/* What only one of the two computes is nothing to compare: that nobody waits for it is found when all are played. */
static ons_status *check_channel(const ons_manifest *a, const ons_manifest *b, uint32_t channel) {
    for (uint32_t half = 0; half < a->head->programs; ++half)
        if (variant_of(a, half) - b->head->share.variant < b->head->programs)
            ONS_TRY(check_programs(a, b, channel, half));
    return NULL;
}

static bool is_first_of_channel(const ons_manifest_transfer *list, uint32_t index) {
    for (uint32_t i = 0; i < index; ++i)
        if (list[i].peer == list[index].peer && list[i].channel == list[index].channel) return false;
    return true;
}

static ons_status *check_pairs(const ons_manifest *a, const ons_manifest *b) {
    uint32_t from = a->head->share.group, to = b->head->share.group;
    for (uint32_t i = 0; i < a->head->send_count; ++i)
        if (a->sends[i].peer == to && is_first_of_channel(a->sends, i))
            ONS_TRY(check_channel(a, b, a->sends[i].channel));
    for (uint32_t i = 0; i < b->head->receive_count; ++i)
        if (b->receives[i].peer == from && is_first_of_channel(b->receives, i))
            ONS_TRY(check_channel(a, b, b->receives[i].channel));
    return NULL;
}

ons_status *ons_manifests_check_pairs(const ons_manifest *manifests, uint32_t stages) {
    bool has_copies = false; /* which have different shares of the micro-batches */
    for (uint32_t i = 0; i < stages; ++i) has_copies = has_copies || manifests[i].head->share.copies > 1;
    for (uint32_t i = 0; i < stages; ++i)
        ONS_CHECK(manifests[i].head->stages == stages &&
                      (has_copies || (manifests[i].head->micro_batches == manifests[0].head->micro_batches &&
                                      manifests[i].head->first_count == manifests[0].head->first_count)),
                  ONS_DEFECT,
                  "stage %u is one of %u and takes %u micro-batches in one go, %u of them whole, stage 0 %u and %u", i,
                  manifests[i].head->stages, manifests[i].head->micro_batches, manifests[i].head->first_count,
                  manifests[0].head->micro_batches, manifests[0].head->first_count);
    for (uint32_t from = 0; from < stages; ++from)
        for (uint32_t to = 0; to < stages; ++to)
            if (manifests[to].head->share.group != manifests[from].head->share.group)
                ONS_TRY(check_pairs(&manifests[from], &manifests[to]));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- ways */

static way *find_way(const simulation *p, uint32_t from, uint32_t to, uint32_t channel) {
    for (uint32_t i = 0; i < p->way_count; ++i)
        if (p->ways[i].from == from && p->ways[i].to == to && p->ways[i].channel == channel) return &p->ways[i];
    return NULL;
}

/* Which program a part of a micro-batch runs: ons_lineup_find. */
static uint32_t half_of(const ons_manifest_header *head, ons_part_kind kind, uint32_t micro_batch) {
    if (head->programs == 1) return 0; /* also of no micro-batch */
    if (kind == ONS_PART_END && !head->asynchronous) micro_batch = head->share.micro_batches - 1;
    return micro_batch >= head->share.first_count;
}

static const ons_manifest_header *head_of(const simulation *p, uint32_t stage) {
    return p->stage_states[stage].manifest->head;
}

static bool is_once(const ons_manifest_header *head, ons_part_kind kind) {
    return kind == ONS_PART_BEGIN || (kind == ONS_PART_END && !head->asynchronous);
}

/* How often a transfer of this kind happens in the pass. */
static uint32_t times(const ons_manifest_header *head, ons_part_kind kind) {
    return kind == ONS_PART_END ? head->updates : kind == ONS_PART_BEGIN ? 1 : head->share.micro_batches;
}

/* Of how many units a message comes. */
static uint32_t units_in(const ons_manifest_header *head, ons_part_kind kind) {
    return is_once(head, kind) || head->rest != 0 ? 1 : head->size;
}

/* The stage's number of one of a device's micro-batches. */
static uint64_t number_of(const ons_manifest_header *head, uint32_t micro_batch) {
    return head->share.number + (uint64_t)micro_batch * head->share.copies;
}

/* The first unit of a device's pass. */
static uint64_t begin_of(const ons_manifest_header *head) { return (uint64_t)head->share.number * head->size; }

/* The first unit from `unit` on that both ends have, where each has its own. */
static uint64_t next_common(const simulation *p, const way *w, uint64_t unit) {
    const ons_manifest_header *from = head_of(p, w->from), *to = head_of(p, w->to);
    const ons_unit_share a = {from->size, from->share.copies, from->share.copy};
    const ons_unit_share b = {to->size, to->share.copies, to->share.copy};
    return w->once || to->rest != 0 ? NONE_LEFT : ons_units_next_common(&a, &b, unit);
}

/* The first unit of all that comes this way. What a step sends once comes to a copy from one of the sender's. */
static uint64_t find_first(const simulation *p, const way *w) {
    const ons_manifest_header *from = head_of(p, w->from), *to = head_of(p, w->to);
    const ons_unit_share sender = {from->size, from->share.copies, from->share.copy};
    if (w->once && w->kind == ONS_PART_END)
        return to->share.copy % from->share.copies == from->share.copy ? 0 : NONE_LEFT;
    if (w->once || to->rest != 0)
        return ons_unit_share_next(&sender, begin_of(to)) == begin_of(to) ? begin_of(to) : NONE_LEFT;
    return next_common(p, w, begin_of(to));
}

/* The receiver's micro-batch that is next. */
static uint32_t micro_batch_of(const simulation *p, const way *w) {
    const ons_manifest_header *to = head_of(p, w->to);
    return w->once ? 0 : (uint32_t)((w->unit / to->size - to->share.number) / to->share.copies);
}

/* Whether the other end has taken all that it takes in the pass. */
static bool is_through(const simulation *p, const way *w) {
    return w->unit == NONE_LEFT || micro_batch_of(p, w) >= times(head_of(p, w->to), w->kind);
}

/* The next message of the sender's micro-batch that the other end takes, or of those behind it. */
static void find_next_receive(const simulation *p, way *w, uint32_t at) {
    const ons_manifest *to = p->stage_states[w->to].manifest;
    uint32_t count = to->head->receive_count, size = head_of(p, w->from)->size;
    selection s = {head_of(p, w->from)->share.group, w->channel, 0};
    for (; !is_through(p, w); at = 0, w->first = w->unit = next_common(p, w, w->first / size * size + size)) {
        s.half = half_of(to->head, w->kind, micro_batch_of(p, w));
        w->receive = next_of(to->receives, count, at, &s);
        if (w->receive < count) return;
    }
}

/* The device that has a copy of a group; `stages`: none tells of it. */
static uint32_t find_copy(const simulation *p, uint32_t group, uint32_t copy) {
    uint32_t device = 0;
    for (; device < p->stages; ++device) {
        const ons_verify_share *share = &p->stage_states[device].manifest->head->share;
        if (share->group == group && share->copy == copy) break;
    }
    return device;
}

static way *find_way_of(const simulation *p, uint32_t from, const ons_manifest_event *e) {
    const ons_manifest_transfer *t = &p->stage_states[from].manifest->sends[e->index];
    return find_way(p, from, find_copy(p, t->peer, e->copy), t->channel);
}

static ons_status *add_ways_of(simulation *p, uint32_t from, const ons_manifest_transfer *t) {
    for (uint32_t copy = 0; copy < t->copies; ++copy) {
        uint32_t to = find_copy(p, t->peer, copy);
        ONS_CHECK(to < p->stages, ONS_DEFECT, "stage %u sends to copy %u of stage %u, which no device has", from, copy,
                  t->peer);
        if (find_way(p, from, to, t->channel) != NULL) continue;
        way *w = &p->ways[p->way_count++];
        *w = (way){.from = from, .to = to, .channel = t->channel, .kind = (ons_part_kind)t->kind};
        w->once = is_once(head_of(p, to), w->kind);
        w->pieces =
            ons_units_is_cut(w->kind) && !are_of_one_size(p->stage_states[from].manifest, p->stage_states[to].manifest);
        w->first = w->unit = find_first(p, w);
        find_next_receive(p, w, 0);
    }
    return NULL;
}

static ons_status *add_ways(simulation *p, uint32_t from) {
    const ons_manifest *manifest = p->stage_states[from].manifest;
    for (uint32_t i = 0; i < manifest->head->send_count; ++i) ONS_TRY(add_ways_of(p, from, &manifest->sends[i]));
    for (uint32_t i = 0; i < manifest->head->event_count; ++i)
        if (manifest->events[i].kind == ONS_MANIFEST_SEND) ++find_way_of(p, from, &manifest->events[i])->room;
    for (uint32_t i = 0; i < p->way_count; ++i) {
        way *w = &p->ways[i];
        if (w->from != from) continue;
        w->queue = calloc(w->room + 1, 2 * sizeof *w->queue);
        if (w->queue == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

/* Where a step's last micro-batches are of different variants, the update's messages have the same names; so have all
 * messages between sizes, whose numbers are those of either's own graph. */
static bool is_same_message(const way *w, const ons_manifest *a, const ons_manifest_transfer *s, const ons_manifest *b,
                            const ons_manifest_transfer *r) {
    if (w->pieces) return strcmp(name_of(a, s), name_of(b, r)) == 0;
    if (variant_of(a, s->half) == variant_of(b, r->half)) return s->number == r->number;
    return s->kind == ONS_PART_END && strcmp(name_of(a, s), name_of(b, r)) == 0 && ons_type_equal(&s->type, &r->type) &&
           s->bytes == r->bytes;
}

static uint32_t *arrived_of(const stage_state *q, uint32_t receive, uint32_t micro_batch) {
    return &q->arrived[(size_t)receive * (q->manifest->head->share.micro_batches + 1) + micro_batch];
}

/* A message, or a piece of one, goes where the sender has it ready and the receiver has a free place for it. */
static bool try_message(const simulation *p, way *w, ons_status **status) {
    stage_state *a = &p->stage_states[w->from], *b = &p->stage_states[w->to];
    const ons_manifest *to = b->manifest;
    if (w->done == w->queued || is_through(p, w)) return false;
    const ons_manifest_transfer *r = &to->receives[w->receive];
    uint32_t taken = micro_batch_of(p, w), size = a->manifest->head->size;
    uint32_t first = r->half == 1 && half_of(to->head, w->kind, 0) == 0 ? to->head->share.first_count : 0;
    if (taken - first >= r->ring + b->released[w->receive]) return false;
    uint32_t send = w->queue[2 * w->done], micro_batch = w->queue[2 * w->done + 1];
    const ons_manifest_transfer *s = &a->manifest->sends[send];
    bool turned = w->kind != ONS_PART_END && w->unit / size != number_of(a->manifest->head, micro_batch);
    if (!is_same_message(w, a->manifest, s, to, r) || turned) {
        *status = ons_status_new(ONS_DEFECT,
                                 "stage %u sends '%s' of micro-batch %u when stage %u receives '%s' of micro-batch %u",
                                 w->from, name_of(a->manifest, s), micro_batch, w->to, name_of(to, r), taken);
        return false;
    }
    uint64_t end = ons_units_piece_end(w->unit, size, to->head->size), next = next_common(p, w, end);
    bool all = units_in(to->head, w->kind) == 1;
    *arrived_of(b, w->receive, taken) += all ? 1 : (uint32_t)(end - w->unit);
    bool goes_on = next != NONE_LEFT && next / size == w->unit / size;
    w->unit = goes_on ? next : w->first;
    if (goes_on) return true;
    ++w->done;
    ++a->sent[(size_t)send * p->copies + to->head->share.copy];
    find_next_receive(p, w, w->receive + 1);
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- stages */

/* The message that an event waits for; NULL: none. */
static const ons_manifest_transfer *waits_for(const simulation *p, const stage_state *q, const ons_manifest_event *e) {
    if (e->kind == ONS_MANIFEST_WAIT)
        return q->sent[(size_t)e->index * p->copies + e->copy] < e->count ? &q->manifest->sends[e->index] : NULL;
    if (e->kind != ONS_MANIFEST_AWAIT) return NULL;
    const ons_manifest_header *head = q->manifest->head;
    const ons_manifest_transfer *t = &q->manifest->receives[e->index];
    ons_part_kind kind = (ons_part_kind)t->kind;
    return *arrived_of(q, e->index, is_once(head, kind) ? 0 : e->micro_batch) < units_in(head, kind) ? t : NULL;
}

static bool try_event(const simulation *p, uint32_t stage) {
    stage_state *q = &p->stage_states[stage];
    if (q->at == q->manifest->head->event_count) return false;
    const ons_manifest_event *e = &q->manifest->events[q->at];
    if (waits_for(p, q, e) != NULL) return false;
    if (e->kind == ONS_MANIFEST_SEND) {
        way *w = find_way_of(p, stage, e);
        w->queue[2 * w->queued] = e->index;
        w->queue[2 * w->queued++ + 1] = e->micro_batch;
    }
    if (e->kind == ONS_MANIFEST_RELEASE) ++q->released[e->index];
    ++q->at;
    return true;
}

static ons_status *describe_stuck(const simulation *p, uint32_t stage) {
    const stage_state *q = &p->stage_states[stage];
    const ons_manifest_event *e = &q->manifest->events[q->at];
    const ons_manifest_transfer *t = waits_for(p, q, e);
    bool receives = e->kind == ONS_MANIFEST_AWAIT;
    return ons_status_new(ONS_DEFECT, "deadlock: stage %u waits for ever %s '%s' of micro-batch %u %s stage %u", stage,
                          receives ? "for" : "until", name_of(q->manifest, t), e->micro_batch,
                          receives ? "from" : "has gone to", t->peer);
}

static ons_status *check_end(const simulation *p) {
    for (uint32_t i = 0; i < p->stages; ++i)
        if (p->stage_states[i].at < p->stage_states[i].manifest->head->event_count) return describe_stuck(p, i);
    for (uint32_t i = 0; i < p->way_count; ++i) {
        const way *w = &p->ways[i];
        const ons_manifest *a = p->stage_states[w->from].manifest, *b = p->stage_states[w->to].manifest;
        ONS_CHECK(w->done == w->queued, ONS_DEFECT, "deadlock: stage %u sends '%s', and stage %u never takes it",
                  w->from, name_of(a, &a->sends[w->queue[2 * w->done]]), w->to);
        ONS_CHECK(is_through(p, w), ONS_DEFECT,
                  "deadlock: stage %u is to receive '%s' of micro-batch %u, and stage %u never sends it", w->to,
                  name_of(b, &b->receives[w->receive]), micro_batch_of(p, w), w->from);
    }
    return NULL;
}

static ons_status *simulate_messages(simulation *p) {
    ons_status *status = NULL;
    for (bool going = true; going && status == NULL;) {
        going = false;
        for (uint32_t i = 0; i < p->stages; ++i)
            while (try_event(p, i)) going = true;
        for (uint32_t i = 0; i < p->way_count && status == NULL; ++i)
            while (status == NULL && try_message(p, &p->ways[i], &status)) going = true;
    }
    return status != NULL ? status : check_end(p);
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

static ons_status *set_up(simulation *p, const ons_manifest *manifests) {
    size_t sends = 0;
    p->stage_states = calloc(p->stages + 1, sizeof *p->stage_states);
    if (p->stage_states == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < p->stages; ++i) p->copies = larger(p->copies, manifests[i].head->share.copies);
    for (uint32_t i = 0; i < p->stages; ++i) {
        stage_state *q = &p->stage_states[i];
        const ons_manifest_header *head = manifests[i].head;
        q->manifest = &manifests[i];
        size_t sent = (size_t)head->send_count * p->copies, receives = head->receive_count;
        uint32_t *counts =
            calloc(sent + receives + receives * (head->share.micro_batches + (size_t)1) + 1, sizeof *counts);
        if (counts == NULL) return ons_status_out_of_memory();
        q->sent = counts;
        q->released = counts + sent;
        q->arrived = q->released + receives;
        sends += sent;
    }
    p->ways = calloc(sends + 1, sizeof *p->ways);
    if (p->ways == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < p->stages; ++i) ONS_TRY(add_ways(p, i));
    return NULL;
}

ons_status *ons_manifests_simulate(const ons_manifest *manifests, uint32_t stages) {
    simulation p = {.stages = stages};
    ons_status *status = set_up(&p, manifests);
    if (status == NULL) status = simulate_messages(&p);
    for (uint32_t i = 0; i < p.way_count; ++i) free(p.ways[i].queue);
    for (uint32_t i = 0; p.stage_states != NULL && i < stages; ++i) free(p.stage_states[i].sent);
    free(p.ways);
    free(p.stage_states);
    return status;
}
