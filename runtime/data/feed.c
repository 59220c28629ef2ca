#include "runtime/data/feed.h"

#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"

static ons_status *allocate_slot(ons_feed *feed, int slot) {
    void *memory = NULL;
    if (feed->device != NULL)
        ONS_TRY(feed->device->allocate_host(feed->device, (int64_t)feed->bytes + 64, &memory));
    else
        memory = aligned_alloc(64, feed->bytes + 64);
    feed->slots[slot] = memory;
    return memory == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_feed_init(ons_feed *feed, ons_device *device, ons_dataset *dataset, const ons_feed_field *fields,
                          uint32_t field_count, size_t rows_max, size_t step_rows) {
    *feed = (ons_feed){.dataset = dataset,
                       .field_count = field_count,
                       .rows_max = rows_max,
                       .bounded = ONS_NO_FIELD,
                       .device = device};
    feed->fields = calloc(field_count + 1, sizeof *feed->fields);
    if (feed->fields == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < field_count; ++i) {
        feed->fields[i] = fields[i];
        feed->fields[i].bytes = (size_t)ons_type_dense_bytes(&fields[i].sample);
        ONS_TRY(ons_dataset_check(dataset, fields[i].field, &fields[i].sample));
        size_t bytes;
        ONS_CHECK(!__builtin_mul_overflow(feed->fields[i].bytes, rows_max, &bytes) &&
                      !__builtin_add_overflow(feed->bytes, (bytes + 63) / 64 * 64, &feed->bytes),
                  ONS_INVALID_ARGUMENT, "a batch of %zu samples is too large", rows_max);
    }
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) {
        feed->rows[slot] = calloc(step_rows + 1, sizeof *feed->rows[slot]);
        if (feed->rows[slot] == NULL) return ons_status_out_of_memory();
        ONS_TRY(allocate_slot(feed, slot));
    }
    return NULL;
}

void ons_feed_free(ons_feed *feed) {
    free(feed->fields);
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) {
        free(feed->rows[slot]);
        if (feed->device == NULL)
            free(feed->slots[slot]);
        else if (feed->slots[slot] != NULL)
            feed->device->release_host(feed->device, feed->slots[slot], (int64_t)feed->bytes + 64);
    }
    *feed = (ons_feed){0};
}

static size_t field_offset(const ons_feed *feed, uint32_t field) {
    size_t offset = 0;
    for (uint32_t i = 0; i < field; ++i) offset += (feed->fields[i].bytes * feed->rows_max + 63) / 64 * 64;
    return offset;
}

static bool find_outside_float(const float *data, size_t count, float low, float high, size_t *index) {
    size_t i = 0;
    while (i < count && !(data[i] < low || data[i] > high)) ++i;
    *index = i;
    return i < count;
}

bool ons_find_outside(ons_dtype dtype, const void *data, size_t count, double low, double high, size_t *index,
                      double *value) {
    if (dtype == ONS_FLOAT32) {
        bool found = find_outside_float(data, count, (float)low, (float)high, index);
        if (found) *value = ((const float *)data)[*index];
        return found;
    }
    for (*index = 0; *index < count; ++*index) {
        uint64_t word;
        ons_widen(dtype, (const char *)data + *index * ons_dtype_size(dtype), 1, &word);
        memcpy(value, &word, sizeof word);
        if (*value < low || *value > high) return true;
    }
    return false;
}

/* `data`: so many samples of the bounded field, of the rows from `first` on. */
static ons_status *check_bounds(const ons_feed *feed, int slot, size_t first, size_t count, const void *data) {
    const ons_feed_field *field = &feed->fields[feed->bounded];
    size_t elements = (size_t)ons_shape_elements(&field->sample.shape), index;
    double value;
    if (!ons_find_outside(field->sample.dtype, data, count * elements, -ONS_BOUNDS_ROUNDING, 1 + ONS_BOUNDS_ROUNDING,
                          &index, &value))
        return NULL;
    uint64_t row = feed->rows[slot][first + index / elements];
    return ons_status_new(
        ONS_INVALID_DATA,
        "sample %llu has the target %.9g, and targets of binary cross entropy lie between 0 and 1, as "
        "those of the first batch do; correct it, or leave it out by --rows",
        (unsigned long long)ons_dataset_place(feed->dataset, row), value);
}

ons_status *ons_feed_fill(ons_feed *feed, int slot, size_t first, size_t count, size_t to) {
    for (uint32_t i = 0; i < feed->field_count; ++i) {
        const ons_feed_field *field = &feed->fields[i];
        uint8_t *place = feed->slots[slot] + field_offset(feed, i) + to * field->bytes;
        ONS_TRY(
            ons_dataset_gather(feed->dataset, field->field, feed->rows[slot] + first, count, &field->sample, place));
        if (i == feed->bounded) ONS_TRY(check_bounds(feed, slot, first, count, place));
    }
    return NULL;
}

const void *ons_feed_sample(const ons_feed *feed, int slot, uint32_t field, size_t row) {
    return feed->slots[slot] + field_offset(feed, field) + row * feed->fields[field].bytes;
}
