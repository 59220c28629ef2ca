#include "runtime/verify/verify_manifest.h"

#include <string.h>

/* ---------------------------------------------------------------------------------------------------------- writing */

/* Aligned for all that lies in it; what is not written is zero. */
static ons_status *append(ons_verify_bytes *bytes, size_t size, void *result) {
    size_t aligned = (size + 7) / 8 * 8;
    if (!ons_vector_reserve(bytes, aligned)) return ons_status_out_of_memory();
    *(void **)result = memset(bytes->items + bytes->count, 0, aligned);
    bytes->count += aligned;
    return NULL;
}

/* Sends and receives of the second program stand behind those of the first. */
static bool describe_event(const ons_verify_step *step, const ons_lineup *lineup, ons_manifest_event *event) {
    const ons_cut_stage *first = step->half == 0 ? NULL : lineup->programs[0]->cut;
    bool receives = step->kind == ONS_VERIFY_SYNC && step->sync != ONS_SYNC_SEND;
    uint32_t before = first == NULL ? 0 : receives ? first->receive_count : first->send_count;
    *event = (ons_manifest_event){
        .index = before + step->index, .micro_batch = step->micro_batch, .count = step->count, .copy = step->copy};
    if (step->kind == ONS_VERIFY_WAIT) {
        event->kind = ONS_MANIFEST_WAIT;
        return step->index < lineup->programs[step->half]->cut->send_count;
    }
    if (step->kind != ONS_VERIFY_SYNC) return false;
    event->kind = step->sync == ONS_SYNC_SEND    ? ONS_MANIFEST_SEND
                  : step->sync == ONS_SYNC_AWAIT ? ONS_MANIFEST_AWAIT
                                                 : ONS_MANIFEST_RELEASE;
    return step->sync == ONS_SYNC_SEND || step->sync == ONS_SYNC_AWAIT || step->sync == ONS_SYNC_RELEASE;
}

static const char *name_of(const ons_stage_program *s, const ons_cut_transfer *t) {
    return ons_graph_value(s->cut->graph, t->value)->name;
}

/* What is being written. */
typedef struct writer {
    const ons_verify_options *o;
    ons_lineup lineup;
    ons_verify_bytes *bytes;
} writer;

static ons_manifest_transfer describe_transfer(const writer *w, uint32_t half, const ons_cut_transfer *t, uint32_t ring,
                                               size_t *names) {
    const ons_stage_program *s = w->lineup.programs[half];
    ons_manifest_transfer transfer = {
        .peer = t->peer,
        .copies = ons_verify_group(w->o, t->peer).copies,
        .channel = t->channel,
        .kind = (uint32_t)t->kind,
        .number = t->number,
        .ring = ring,
        .half = half,
        .name = *names,
        .bytes = ons_stage_program_bytes(s, t->value),
        .type = ons_graph_value(s->cut->graph, t->value)->type,
    };
    *names += strlen(name_of(s, t)) + 1;
    return transfer;
}

/* How many there are of both programs. */
static void count_transfers(const ons_lineup *lineup, ons_manifest_header *head) {
    for (int half = 0; half < 2 && lineup->programs[half] != NULL; ++half) {
        head->send_count += lineup->programs[half]->cut->send_count;
        head->receive_count += lineup->programs[half]->cut->receive_count;
    }
}

static ons_status *write_transfers(const writer *w, const ons_manifest_header *head, size_t *names) {
    const ons_lineup *lineup = &w->lineup;
    ons_manifest_transfer *transfers;
    ONS_TRY(append(w->bytes, ((size_t)head->send_count + head->receive_count) * sizeof *transfers, &transfers));
    for (uint32_t half = 0; half < 2 && lineup->programs[half] != NULL; ++half) {
        const ons_cut_stage *cut = lineup->programs[half]->cut;
        for (uint32_t i = 0; i < cut->send_count; ++i)
            *transfers++ = describe_transfer(w, half, &cut->sends[i], 0, names);
    }
    for (uint32_t half = 0; half < 2 && lineup->programs[half] != NULL; ++half) {
        const ons_cut_stage *cut = lineup->programs[half]->cut;
        for (uint32_t i = 0; i < cut->receive_count; ++i)
            *transfers++ = describe_transfer(w, half, &cut->receives[i], lineup->programs[half]->rings[i], names);
    }
    return NULL;
}

static ons_status *write_events(const ons_verify_steps *steps, const ons_lineup *lineup, ons_verify_bytes *bytes,
                                uint32_t *count) {
    ons_manifest_event event, *events;
    *count = 0;
    for (size_t i = 0; i < steps->count; ++i) *count += describe_event(&steps->items[i], lineup, &event);
    ONS_TRY(append(bytes, *count * sizeof *events, &events));
    for (size_t i = 0; i < steps->count; ++i)
        if (describe_event(&steps->items[i], lineup, &event)) *events++ = event;
    return NULL;
}

/* In the order of the transfers. */
static ons_status *write_names(const ons_lineup *lineup, ons_verify_bytes *bytes, size_t size) {
    char *names;
    ONS_TRY(append(bytes, size, &names));
    for (int receives = 0; receives < 2; ++receives)
        for (int half = 0; half < 2 && lineup->programs[half] != NULL; ++half) {
            const ons_stage_program *s = lineup->programs[half];
            const ons_cut_transfer *list = receives ? s->cut->receives : s->cut->sends;
            uint32_t count = receives ? s->cut->receive_count : s->cut->send_count;
            for (uint32_t i = 0; i < count; ++i) names = stpcpy(names, name_of(s, &list[i])) + 1;
        }
    return NULL;
}

ons_status *ons_manifest_write(const ons_verify_options *o, uint32_t stage, const ons_verify_steps *steps,
                               ons_verify_bytes *bytes) {
    const ons_lineup lineup = ons_verify_lineup(o, stage);
    const ons_verify_share share = ons_verify_share_of(o, stage);
    const writer w = {o, lineup, bytes};
    uint32_t size = ons_units_size(o->sizes, stage);
    ons_manifest_header head = {
        .stage = stage,
        .stages = o->stages,
        .micro_batches = share.micro_batches * (o->rest ? 1 : size),
        .updates = ons_verify_updates(o, stage),
        .size = size,
        .rest = o->rest,
        .first_count = (lineup.programs[1] == NULL ? share.micro_batches : share.first_count) * (o->rest ? 1 : size),
        .asynchronous = o->asynchronous,
        .programs = lineup.programs[1] == NULL ? 1 : 2,
        .share = share,
    };
    size_t begin = bytes->count, names = 0;
    void *place;
    count_transfers(&lineup, &head);
    ONS_TRY(append(bytes, sizeof head, &place));
    ONS_TRY(write_transfers(&w, &head, &names));
    ONS_TRY(write_events(steps, &lineup, bytes, &head.event_count));
    ONS_TRY(write_names(&lineup, bytes, names));
    ONS_CHECK(names <= UINT32_MAX, ONS_UNSUPPORTED, "stage %u: the names of its messages are too long", stage);
    head.name_bytes = (uint32_t)names;
    head.bytes = bytes->count - begin;
    *(ons_manifest_header *)(void *)(bytes->items + begin) = head;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- reading */

/* What another program sends may be anything. */
static bool is_sound(const ons_manifest *manifest) {
    const ons_manifest_header *h = manifest->head;
    if (h->name_bytes > 0 && manifest->names[h->name_bytes - 1] != '\0') return false;
    if (h->share.copies == 0 || h->share.copies > h->stages || h->share.copy >= h->share.copies) return false;
    if (h->programs == 0 || h->programs > 2) return false;
    for (uint32_t i = 0; i < h->send_count + h->receive_count; ++i) {
        const ons_manifest_transfer *t = &manifest->sends[i];
        if (t->peer >= h->stages || t->peer == h->share.group || t->kind >= ONS_PART_KINDS ||
            t->name >= h->name_bytes || t->half > 1 || t->copies == 0 || t->copies > h->stages)
            return false;
    }
    for (uint32_t i = 0; i < h->event_count; ++i) {
        const ons_manifest_event *e = &manifest->events[i];
        bool sends = e->kind == ONS_MANIFEST_SEND || e->kind == ONS_MANIFEST_WAIT;
        if (e->kind > ONS_MANIFEST_RELEASE || e->index >= (sends ? h->send_count : h->receive_count)) return false;
        if (sends && e->copy >= manifest->sends[e->index].copies) return false;
        if (e->micro_batch > 0 && e->micro_batch >= h->share.micro_batches) return false;
    }
    return true;
}

static uint64_t aligned(uint64_t count, uint64_t size) { return (count * size + 7) / 8 * 8; }

ons_status *ons_manifest_read(const unsigned char *bytes, size_t size, size_t *at, uint32_t stage,
                              ons_manifest *manifest) {
    const ons_manifest_header *h = (const void *)(bytes + *at);
    bool sound = *at <= size && size - *at >= sizeof *h && h->bytes <= size - *at && h->stage == stage && h->size > 0;
    if (sound) {
        uint64_t transfers = aligned((uint64_t)h->send_count + h->receive_count, sizeof *manifest->sends);
        uint64_t events = aligned(h->event_count, sizeof *manifest->events);
        *manifest = (ons_manifest){.head = h, .sends = (const void *)(h + 1)};
        manifest->receives = manifest->sends + h->send_count;
        manifest->events = (const void *)(bytes + *at + sizeof *h + transfers);
        manifest->names = (const char *)manifest->events + events;
        sound = h->bytes == sizeof *h + transfers + events + aligned(h->name_bytes, 1) && is_sound(manifest);
    }
    ONS_CHECK(sound, ONS_DEFECT,
              "stage %u does not tell what it sends and receives: is it the same version of onstage?", stage);
    *at += h->bytes;
    return NULL;
}
