#include "runtime/pipeline/samples_ahead.h"

#include <stdlib.h>

struct ons_samples_ahead {
    const ons_feed *feed;
    ons_device *device;
    ons_stream *compute; /* the context's */
    ons_stream *copies;
    char *places[ONS_FEED_SLOTS];
    ons_event *copied[ONS_FEED_SLOTS];
};

int64_t ons_samples_ahead_most(void) { return (int64_t)256 << 20; }

static ons_status *open_streams(ons_samples_ahead *a) {
    ONS_TRY(a->device->stream_new(a->device, "samples", 1, &a->copies));
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) ONS_TRY(a->device->event_new(a->device, &a->copied[slot]));
    return NULL;
}

ons_status *ons_samples_ahead_new(ons_device_context *context, const ons_feed *feed, ons_samples_ahead **ahead) {
    int64_t bytes;
    char *samples = ons_device_context_samples(context, &bytes);
    *ahead = NULL;
    bytes /= ONS_FEED_SLOTS;
    if (feed->bytes == 0 || (int64_t)feed->bytes > bytes) return NULL;
    ons_samples_ahead *a = calloc(1, sizeof *a);
    if (a == NULL) return ons_status_out_of_memory();
    a->feed = feed;
    a->device = ons_device_context_device(context);
    a->compute = ons_device_context_compute(context);
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) a->places[slot] = samples + slot * bytes;
    ons_status *status = open_streams(a);
    if (status != NULL)
        ons_samples_ahead_free(a);
    else
        *ahead = a;
    return status;
}

void ons_samples_ahead_free(ons_samples_ahead *a) {
    if (a == NULL) return;
    if (a->copies != NULL) a->device->stream_free(a->copies);
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot)
        if (a->copied[slot] != NULL) a->device->event_free(a->copied[slot]);
    free(a);
}

void ons_samples_ahead_copy(const ons_samples_ahead *a, int slot, size_t rows) {
    for (uint32_t i = 0; i < a->feed->field_count && rows > 0; ++i) {
        const void *from = ons_feed_sample(a->feed, slot, i, 0);
        void *to = (void *)(uintptr_t)ons_samples_ahead_sample(a, slot, i, 0);
        a->device->copy(a->copies, to, from, rows * a->feed->fields[i].bytes);
    }
    a->device->event_record(a->copies, a->copied[slot]);
}

void ons_samples_ahead_await(const ons_samples_ahead *a, int slot) {
    a->device->stream_wait(a->compute, a->copied[slot]);
}

const void *ons_samples_ahead_sample(const ons_samples_ahead *a, int slot, uint32_t field, size_t row) {
    return a->places[slot] + ((const uint8_t *)ons_feed_sample(a->feed, slot, field, row) - a->feed->slots[slot]);
}
