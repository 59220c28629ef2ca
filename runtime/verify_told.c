#include "runtime/verify_told.h"

#include <string.h>

/* ------------------------------------------------------------------------------------------------------------- writing
 */

/* Aligned for all that lies in it; what is not written is zero. */
static ons_status *append(ons_verify_bytes *bytes, size_t size, void *result) {
    size_t aligned = (size + 7) / 8 * 8;
    if (!ons_vector_reserve(bytes, aligned)) return ons_status_out_of_memory();
    *(void **)result = memset(bytes->items + bytes->count, 0, aligned);
    bytes->count += aligned;
    return NULL;
}

static bool tells(const ons_verify_step *step, uint32_t sends, ons_told_event *event) {
    *event = (ons_told_event){.index = step->index, .micro_batch = step->micro_batch, .count = step->count};
    if (step->kind == ONS_VERIFY_WAIT) {
        event->kind = ONS_TOLD_WAIT;
        return step->index < sends;
    }
    if (step->kind != ONS_VERIFY_MARK) return false;
    event->kind = step->mark == ONS_MARK_SEND    ? ONS_TOLD_SEND
                  : step->mark == ONS_MARK_AWAIT ? ONS_TOLD_AWAIT
                                                 : ONS_TOLD_RELEASE;
    return step->mark == ONS_MARK_SEND || step->mark == ONS_MARK_AWAIT || step->mark == ONS_MARK_RELEASE;
}

static const char *name_of(const ons_stage_program *s, const ons_cut_transfer *t) {
    return ons_graph_value(s->cut->graph, t->value)->name;
}

static ons_told_transfer describe(const ons_stage_program *s, const ons_cut_transfer *t, uint32_t ring, size_t *names) {
    ons_told_transfer told = {
        .peer = t->peer,
        .part = (uint32_t)t->part,
        .number = t->number,
        .ring = ring,
        .name = *names,
        .bytes = ons_stage_program_bytes(s, t->value),
        .type = ons_graph_value(s->cut->graph, t->value)->type,
    };
    *names += strlen(name_of(s, t)) + 1;
    return told;
}

static ons_status *write_transfers(const ons_stage_program *s, ons_verify_bytes *bytes, size_t *names) {
    const ons_cut_stage *cut = s->cut;
    ons_told_transfer *transfers;
    ONS_TRY(append(bytes, (cut->send_count + cut->receive_count) * sizeof *transfers, &transfers));
    for (uint32_t i = 0; i < cut->send_count; ++i) *transfers++ = describe(s, &cut->sends[i], 0, names);
    for (uint32_t i = 0; i < cut->receive_count; ++i) *transfers++ = describe(s, &cut->receives[i], s->rings[i], names);
    return NULL;
}

static ons_status *write_events(const ons_verify_steps *steps, uint32_t sends, ons_verify_bytes *bytes,
                                uint32_t *count) {
    ons_told_event event, *events;
    *count = 0;
    for (size_t i = 0; i < steps->count; ++i) *count += tells(&steps->items[i], sends, &event);
    ONS_TRY(append(bytes, *count * sizeof *events, &events));
    for (size_t i = 0; i < steps->count; ++i)
        if (tells(&steps->items[i], sends, &event)) *events++ = event;
    return NULL;
}

static ons_status *write_names(const ons_stage_program *s, ons_verify_bytes *bytes, size_t size) {
    char *names;
    ONS_TRY(append(bytes, size, &names));
    for (uint32_t i = 0; i < s->cut->send_count; ++i) names = stpcpy(names, name_of(s, &s->cut->sends[i])) + 1;
    for (uint32_t i = 0; i < s->cut->receive_count; ++i) names = stpcpy(names, name_of(s, &s->cut->receives[i])) + 1;
    return NULL;
}

ons_status *ons_told_write(const ons_verify_options *o, uint32_t stage, const ons_verify_steps *steps,
                           ons_verify_bytes *bytes) {
    const ons_stage_program *s = o->programs[stage];
    size_t begin = bytes->count, names = 0;
    uint32_t events;
    void *head;
    ONS_TRY(append(bytes, sizeof(ons_told_head), &head));
    ONS_TRY(write_transfers(s, bytes, &names));
    ONS_TRY(write_events(steps, s->cut->send_count, bytes, &events));
    ONS_TRY(write_names(s, bytes, names));
    ONS_CHECK(names <= UINT32_MAX, ONS_UNSUPPORTED, "stage %u: the names of its messages are too long", stage);
    *(ons_told_head *)(void *)(bytes->items + begin) = (ons_told_head){
        .bytes = bytes->count - begin,
        .stage = stage,
        .stages = o->stages,
        .micro_batches = o->micro_batches,
        .updates = ons_verify_updates(o, stage),
        .send_count = s->cut->send_count,
        .receive_count = s->cut->receive_count,
        .event_count = events,
        .name_bytes = (uint32_t)names,
    };
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- reading
 */

/* What another program tells may be anything. */
static bool is_sound(const ons_told *told, uint32_t stage) {
    const ons_told_head *h = told->head;
    if (h->name_bytes > 0 && told->names[h->name_bytes - 1] != '\0') return false;
    for (uint32_t i = 0; i < h->send_count + h->receive_count; ++i) {
        const ons_told_transfer *t = &told->sends[i];
        if (t->peer >= h->stages || t->peer == stage || t->part >= ONS_PART_COUNT || t->name >= h->name_bytes)
            return false;
    }
    for (uint32_t i = 0; i < h->event_count; ++i) {
        const ons_told_event *e = &told->events[i];
        bool sends = e->kind == ONS_TOLD_SEND || e->kind == ONS_TOLD_WAIT;
        if (e->kind > ONS_TOLD_RELEASE || e->index >= (sends ? h->send_count : h->receive_count)) return false;
    }
    return true;
}

static uint64_t aligned(uint64_t count, uint64_t size) { return (count * size + 7) / 8 * 8; }

ons_status *ons_told_read(const unsigned char *bytes, size_t size, size_t *at, uint32_t stage, ons_told *told) {
    const ons_told_head *h = (const void *)(bytes + *at);
    bool sound = *at <= size && size - *at >= sizeof *h && h->bytes <= size - *at && h->stage == stage;
    if (sound) {
        uint64_t transfers = aligned((uint64_t)h->send_count + h->receive_count, sizeof *told->sends);
        uint64_t events = aligned(h->event_count, sizeof *told->events);
        *told = (ons_told){.head = h, .sends = (const void *)(h + 1)};
        told->receives = told->sends + h->send_count;
        told->events = (const void *)(bytes + *at + sizeof *h + transfers);
        told->names = (const char *)told->events + events;
        sound = h->bytes == sizeof *h + transfers + events + aligned(h->name_bytes, 1) && is_sound(told, stage);
    }
    ONS_CHECK(sound, ONS_DEFECT,
              "stage %u does not tell what it sends and receives: is it the same version of onstage?", stage);
    *at += h->bytes;
    return NULL;
}
