/* The timeline of a run. Of several processes each records its own streams; at the end they print what they have, by
 * the clock of rank 0, which writes it into one file.
 *
 * Clocks: a process asks rank 0 for the time some times; the quickest answer tells best what rank 0's clock shows more,
 * to half the time that it took. Where that may as well be nothing (one host, one clock), it is. */
#include <stdlib.h>
#include <string.h>

#include "engine/train/trainer.h"

/* Channels, beside those of trainer_exchange.c. */
enum { TO_LEADER = 1000002, FROM_LEADER = 1000003 };
enum { TRACE_EVENTS = 200000, QUESTIONS = 16, PIECE = 1 << 20 };

static ons_status *open_ways(ons_trainer *t) {
    ons_transport *w = ons_trainer_world(t);
    ONS_NEW(t->trace_in, t->arena, w->ranks);
    ONS_NEW(t->trace_out, t->arena, w->ranks);
    if (w->rank != 0) {
        ONS_TRY(w->open(w, w->rank, 0, TO_LEADER, &t->trace_out[0]));
        return w->open(w, 0, w->rank, FROM_LEADER, &t->trace_in[0]);
    }
    for (uint32_t i = 1; i < w->ranks; ++i) {
        ONS_TRY(w->open(w, i, 0, TO_LEADER, &t->trace_in[i]));
        ONS_TRY(w->open(w, 0, i, FROM_LEADER, &t->trace_out[i]));
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- clocks */

static ons_status *tell_time(ons_trainer *t) {
    ons_transport *w = ons_trainer_world(t);
    for (uint32_t i = 1; i < w->ranks; ++i)
        for (int k = 0; k < QUESTIONS; ++k) {
            char question;
            if (!w->receive(t->trace_in[i], &question, 1)) return ons_trainer_failure(t);
            int64_t now = ons_trace_now();
            if (!w->send(t->trace_out[i], &now, sizeof now)) return ons_trainer_failure(t);
        }
    return NULL;
}

static ons_status *ask_time(ons_trainer *t, int measurement) {
    ons_transport *w = ons_trainer_world(t);
    int64_t quickest = INT64_MAX;
    for (int k = 0; k < QUESTIONS; ++k) {
        const char question = 0;
        int64_t theirs, asked = ons_trace_now();
        if (!w->send(t->trace_out[0], &question, 1)) return ons_trainer_failure(t);
        if (!w->receive(t->trace_in[0], &theirs, sizeof theirs)) return ons_trainer_failure(t);
        int64_t took = ons_trace_now() - asked, ahead = theirs - (asked + took / 2);
        if (took >= quickest) continue;
        quickest = took;
        t->clock.measured[measurement] = asked;
        t->clock.ahead[measurement] = llabs(ahead) <= took / 2 ? 0 : ahead;
    }
    return NULL;
}

static ons_status *measure_clocks(ons_trainer *t, int measurement) {
    return ons_trainer_leads(t) ? tell_time(t) : ask_time(t, measurement);
}

/* Where one records and another does not, one would wait for the other for ever. */
static ons_status *agree(ons_trainer *t) {
    bool own = t->config->trace != NULL, *all;
    if (!t->remote) return NULL;
    ONS_NEW(all, t->arena, ons_trainer_world(t)->ranks);
    ONS_TRY(ons_trainer_meet(t, NULL, &own, all, sizeof own));
    for (uint32_t i = 1; i < ons_trainer_world(t)->ranks; ++i)
        ONS_CHECK(all[i] == all[0], ONS_INVALID_ARGUMENT, "rank 0 was started %s --trace, rank %u %s it",
                  all[0] ? "with" : "without", i, all[i] ? "with" : "without");
    return NULL;
}

ons_status *ons_trainer_open_trace(ons_trainer *t) {
    ONS_TRY(agree(t));
    if (t->config->trace == NULL) return NULL;
    ONS_TRY(ons_trace_new(TRACE_EVENTS, &t->trace));
    if (!t->remote) return NULL;
    ONS_TRY(open_ways(t));
    return measure_clocks(t, 0);
}

/* --------------------------------------------------------------------------------------------------------- one file */

/* Text on its way to rank 0: its size, then so many bytes, as often as needed; at last 0, and how many events were
 * lost. */
typedef struct parcel {
    ons_trainer *t;
    char *text;
    uint64_t size;
} parcel;

static ons_status *send_parcel(parcel *p) {
    ons_transport *w = ons_trainer_world(p->t);
    ons_channel *out = p->t->trace_out[0];
    bool sent = w->send(out, &p->size, sizeof p->size) && (p->size == 0 || w->send(out, p->text, p->size));
    p->size = 0;
    return sent ? NULL : ons_trainer_failure(p->t);
}

static ons_status *pack(void *context, const void *bytes, size_t size) {
    parcel *p = context;
    for (const char *rest = bytes; size > 0;) {
        size_t part = size < PIECE - p->size ? size : PIECE - p->size;
        memcpy(p->text + p->size, rest, part);
        p->size += part;
        rest += part;
        size -= part;
        if (p->size == PIECE) ONS_TRY(send_parcel(p));
    }
    return NULL;
}

static ons_status *hand_over(parcel *p) {
    uint64_t lost = 0;
    ONS_TRY(ons_trace_print(p->t->trace, &p->t->clock, pack, p, &lost));
    if (p->size > 0) ONS_TRY(send_parcel(p));
    ONS_TRY(send_parcel(p));
    return ons_trainer_world(p->t)->send(p->t->trace_out[0], &lost, sizeof lost) ? NULL : ons_trainer_failure(p->t);
}

static ons_status *unpack(const parcel *p, ons_channel *in, ons_byte_sink *sink, void *file, uint64_t *lost) {
    ons_transport *w = ons_trainer_world(p->t);
    for (;;) {
        uint64_t size, more;
        if (!w->receive(in, &size, sizeof size)) return ons_trainer_failure(p->t);
        ONS_CHECK(size <= PIECE, ONS_DEFECT, "a trace comes in pieces of %llu bytes", (unsigned long long)size);
        if (size > 0) {
            if (!w->receive(in, p->text, size)) return ons_trainer_failure(p->t);
            ONS_TRY(sink(file, p->text, size));
            continue;
        }
        if (!w->receive(in, &more, sizeof more)) return ons_trainer_failure(p->t);
        *lost += more;
        return NULL;
    }
}

static ons_status *take_all(void *context, ons_byte_sink *sink, void *file, uint64_t *lost) {
    const parcel *p = context;
    for (uint32_t i = 1; i < ons_trainer_world(p->t)->ranks; ++i)
        ONS_TRY(unpack(p, p->t->trace_in[i], sink, file, lost));
    return NULL;
}

static ons_status *write_together(ons_trainer *t) {
    ons_transport *w = ons_trainer_world(t);
    int64_t own = ons_trace_origin(t->trace), *origins;
    ONS_NEW(origins, t->arena, w->ranks);
    ONS_TRY(measure_clocks(t, 1));
    if (!w->gather(w, &own, origins, sizeof own)) return ons_trainer_failure(t);
    t->clock.origin = origins[0];
    parcel p = {.t = t, .text = malloc(PIECE)};
    if (p.text == NULL) return ons_status_out_of_memory();
    ons_status *status =
        ons_trainer_leads(t) ? ons_trace_write_all(t->trace, t->config->trace, take_all, &p) : hand_over(&p);
    free(p.text);
    return status;
}

ons_status *ons_trainer_write_trace(ons_trainer *t) {
    return t->remote ? ons_trainer_share_failure(t, write_together(t)) : ons_trace_write(t->trace, t->config->trace);
}
