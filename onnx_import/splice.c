#include "onnx_import/splice.h"

#include <stdlib.h>
#include <string.h>

/* Order of the file; at one place in the order in which they were given. */
typedef struct ordered {
    ons_splice splice;
    size_t number;
} ordered;

static int compare(const void *left, const void *right) {
    const ordered *a = left, *b = right;
    if (a->splice.at != b->splice.at) return a->splice.at < b->splice.at ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* qsort is not stable, hence the numbers. */
static ons_status *sort(ons_splices *splices) {
    ordered *all = malloc((splices->count + 1) * sizeof *all);
    if (all == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < splices->count; ++i) all[i] = (ordered){splices->items[i], i};
    qsort(all, splices->count, sizeof all[0], compare);
    for (size_t i = 0; i < splices->count; ++i) splices->items[i] = all[i].splice;
    free(all);
    return NULL;
}

/* By how many bytes each message's content grows. Children come after their parents, so one walk from the back will do.
 */
static int64_t *find_growth(const ons_frames *frames, const ons_splices *splices) {
    int64_t *growth = calloc(frames->count + 1, sizeof *growth);
    if (growth == NULL) return NULL;
    for (size_t i = 0; i < splices->count; ++i)
        growth[splices->items[i].frame] += (int64_t)(splices->items[i].added - splices->items[i].removed);
    for (size_t i = frames->count; i-- > 1;) {
        const ons_frame *frame = &frames->items[i];
        if (growth[i] == 0) continue;
        uint64_t length = (uint64_t)((int64_t)(frame->end - frame->begin) + growth[i]);
        int64_t header = (int64_t)ons_varint_size(length) - (int64_t)(frame->begin - frame->length_at);
        growth[frame->parent] += growth[i] + header;
    }
    return growth;
}

/* A new length is a splice like any other; only frames that grow need one. */
typedef struct writer {
    const uint8_t *bytes;
    const ons_splice_sink *sink;
    uint64_t at; /* in the original: all before is written */
} writer;

static ons_status *copy_until(writer *w, uint64_t at) {
    if (at > w->at) ONS_TRY(w->sink->write(w->sink->context, w->bytes + w->at, (size_t)(at - w->at)));
    w->at = at;
    return NULL;
}

static ons_status *write_length(writer *w, const ons_frame *frame, int64_t growth) {
    uint8_t length[ONS_VARINT_MAX];
    size_t count = ons_varint_write((uint64_t)((int64_t)(frame->end - frame->begin) + growth), length);
    ONS_TRY(copy_until(w, frame->length_at));
    w->at = frame->begin;
    return w->sink->write(w->sink->context, length, count);
}

static ons_status *write_splice(writer *w, const ons_splice *splice) {
    ONS_TRY(copy_until(w, splice->at));
    w->at = splice->at + splice->removed;
    if (splice->added == 0) return NULL;
    if (splice->bytes != NULL) return w->sink->write(w->sink->context, splice->bytes, (size_t)splice->added);
    return w->sink->fill(w->sink->context, splice->fill, splice->added);
}

static ons_status *write_all(writer *w, const ons_frames *frames, const ons_splices *splices, const int64_t *growth) {
    size_t next = 0;
    /* Frame 0 is the file itself and has no length. Frames stand in the order of their lengths' places. */
    for (size_t i = 1; i < frames->count; ++i) {
        const ons_frame *frame = &frames->items[i];
        if (growth[i] == 0) continue;
        while (next < splices->count && splices->items[next].at <= frame->length_at)
            ONS_TRY(write_splice(w, &splices->items[next++]));
        ONS_TRY(write_length(w, frame, growth[i]));
    }
    while (next < splices->count) ONS_TRY(write_splice(w, &splices->items[next++]));
    return copy_until(w, frames->items[0].end);
}

ons_status *ons_splice_copy(const uint8_t *bytes, const ons_frames *frames, ons_splices *splices,
                            const ons_splice_sink *sink, uint64_t *size) {
    ONS_TRY(sort(splices));
    int64_t *growth = find_growth(frames, splices);
    if (growth == NULL) return ons_status_out_of_memory();
    *size = (uint64_t)((int64_t)frames->items[0].end + growth[0]);
    ons_status *status = NULL;
    if (sink != NULL) status = write_all(&(writer){.bytes = bytes, .sink = sink}, frames, splices, growth);
    free(growth);
    return status;
}

static ons_status *write_to_memory(void *context, const void *bytes, size_t size) {
    uint8_t **next = context;
    memcpy(*next, bytes, size);
    *next += size;
    return NULL;
}

ons_status *ons_splice_to_memory(const uint8_t *bytes, const ons_frames *frames, ons_splices *splices, uint8_t **copy,
                                 uint64_t *size) {
    ONS_TRY(ons_splice_copy(bytes, frames, splices, NULL, size));
    uint8_t *next = *copy = malloc((size_t)*size + 1);
    if (next == NULL) return ons_status_out_of_memory();
    ons_splice_sink sink = {.context = &next, .write = write_to_memory};
    ons_status *status = ons_splice_copy(bytes, frames, splices, &sink, size);
    if (status != NULL) free(*copy);
    return status;
}
