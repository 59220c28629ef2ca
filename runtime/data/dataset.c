#include "runtime/data/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vector.h"
#include "runtime/data/convert.h"

typedef struct field {
    char *name;
    char *origin;
    const uint8_t *base;    /* sample i lies at base + i × stride; NULL: in the file, ... */
    ons_file_reader reader; /* ... which is not owned, ... */
    uint64_t offset;        /* ... at offset + i × stride */
    uint64_t stride;
    uint64_t count;    /* samples */
    uint64_t elements; /* of a sample */
    ons_dtype stored;  /* element type there */
    ons_type sample;   /* as shown to the outside */
    float *mean;       /* ... followed by as many deviations; NULL: not normalised */
    uint32_t channels;
} field;

struct ons_dataset {
    ONS_VECTOR(field *) fields;
    ONS_VECTOR(ons_array) owned;
    uint64_t total;        /* samples of each field */
    uint64_t first, count; /* the selection: so many samples from the first one on, ... */
    uint64_t gap_at, gap;  /* ... but for `gap` samples behind as many as `gap_at` */
    bool leaves_out;       /* of the samples that were selected */
};

/* ------------------------------------------------------------------------------------------------------- setting up */

ons_status *ons_dataset_new(ons_dataset **dataset) {
    *dataset = calloc(1, sizeof **dataset);
    return *dataset != NULL ? NULL : ons_status_out_of_memory();
}

static void free_field(field *f) {
    if (f == NULL) return;
    free(f->name);
    free(f->origin);
    free(f->mean);
    free(f);
}

void ons_dataset_free(ons_dataset *dataset) {
    if (dataset == NULL) return;
    for (size_t i = 0; i < dataset->fields.count; ++i) free_field(dataset->fields.items[i]);
    for (size_t i = 0; i < dataset->owned.count; ++i) ons_array_close(&dataset->owned.items[i]);
    ons_vector_free(&dataset->fields);
    ons_vector_free(&dataset->owned);
    free(dataset);
}

/* Takes over nothing; `template` gives everything but the names. */
static ons_status *add_field(ons_dataset *dataset, const char *name, const char *origin, const field *template) {
    ONS_CHECK(ons_dataset_find(dataset, name) == ONS_NO_FIELD, ONS_INVALID_ARGUMENT, "data for '%s' are given twice",
              name);
    ONS_CHECK(template->count > 0, ONS_INVALID_DATA, "'%s' has no samples", origin);
    ONS_CHECK(
        dataset->fields.count == 0 || template->count == dataset->total, ONS_INVALID_DATA,
        "'%s' has %llu samples, '%s' has %llu; inputs and targets need as many: --batch-axis NAME=N says which axis "
        "counts them, where it is not the first, and --input NAME=FILE,once feeds what counts none",
        origin, (unsigned long long)template->count, dataset->fields.items[0]->origin,
        (unsigned long long)dataset->total);
    field *f = malloc(sizeof *f);
    if (f == NULL) return ons_status_out_of_memory();
    memcpy(f, template, sizeof *f);
    f->name = strdup(name);
    f->origin = strdup(origin);
    if (f->name == NULL || f->origin == NULL || !ons_vector_push(&dataset->fields, f)) {
        free_field(f);
        return ons_status_out_of_memory();
    }
    if (dataset->fields.count == 1) dataset->total = dataset->count = f->count;
    return NULL;
}

static ons_status *add_samples(ons_dataset *dataset, const char *name, const char *origin, const ons_type *type,
                               const field *place) {
    ONS_CHECK(type->shape.rank >= 1, ONS_INVALID_DATA,
              "'%s' holds a single number; its first dimension has to count the samples", origin);
    ONS_CHECK(ons_dtype_size(type->dtype) > 0, ONS_UNSUPPORTED, "'%s' holds elements of type %s", origin,
              ons_dtype_name(type->dtype));
    ONS_TRY_AT(ons_shape_check(&type->shape), "'%s'", origin);
    field template = *place;
    template.count = (uint64_t)type->shape.dims[0];
    template.stored = type->dtype;
    template.sample = ons_type_make(type->dtype, ons_shape_make(type->shape.rank - 1, type->shape.dims + 1));
    template.elements = (uint64_t)ons_shape_elements(&template.sample.shape);
    template.stride = template.elements *ons_dtype_size(type->dtype);
    return add_field(dataset, name, origin, &template);
}

/* From now on the dataset closes the array, of whose field it gives the place. What is in a file is read piece by
 * piece: others may cut it short, and the process stays small, however large it is. */
static ons_status *own(ons_dataset *dataset, ons_array *array, field *place) {
    *place = (field){.base = array->data};
    if (array->reader.open) {
        *place = (field){.reader = array->reader, .offset = (uint64_t)(place->base - array->mapping.bytes)};
        ons_mapping_close(&array->mapping);
        array->data = NULL;
    }
    if (!ons_vector_push(&dataset->owned, *array)) {
        ons_array_close(array);
        return ons_status_out_of_memory();
    }
    *array = (ons_array){0};
    return NULL;
}

ons_status *ons_dataset_add_array(ons_dataset *dataset, const char *name, const char *origin, ons_array *array) {
    ons_type type = array->type;
    field place;
    ONS_TRY(own(dataset, array, &place));
    return add_samples(dataset, name, origin, &type, &place);
}

ons_status *ons_dataset_add_memory(ons_dataset *dataset, const char *name, const ons_type *type, const void *data) {
    return add_samples(dataset, name, name, type, &(field){.base = data});
}

ons_status *ons_dataset_add_tokens(ons_dataset *dataset, const char *input, const char *target, const char *origin,
                                   ons_tokens *tokens) {
    ons_dtype stored = tokens->stream.type.dtype;
    size_t width = ons_dtype_size(stored);
    field template;
    ONS_TRY(own(dataset, &tokens->stream, &template));
    template.stride = width * tokens->length;
    template.count = tokens->windows;
    template.elements = tokens->length;
    template.stored = stored;
    template.sample = ons_type_make(ONS_INT64, (ons_shape){.rank = 1, .dims = {(int64_t)tokens->length}});
    *tokens = (ons_tokens){0};
    ONS_TRY(add_field(dataset, input, origin, &template));
    /* The target of a token is the one after it. */
    if (template.base != NULL)
        template.base += width;
    else
        template.offset += width;
    return target == NULL ? NULL : add_field(dataset, target, origin, &template);
}

/* One end of a slice; *text moves behind it. False where there is something else than a number. */
static bool parse_end(const char **text, uint64_t count, uint64_t absent, uint64_t *end) {
    *end = absent;
    if (**text == ':' || **text == '\0') return true;
    if (strchr("-0123456789", **text) == NULL) return false;
    char *after;
    errno = 0;
    long long value = strtoll(*text, &after, 10);
    if (after == *text || errno != 0) return false;
    *text = after;
    if (value < 0)
        *end = (uint64_t) - (value + 1) + 1 > count ? 0 : count - ((uint64_t) - (value + 1) + 1);
    else
        *end = (uint64_t)value > count ? count : (uint64_t)value;
    return true;
}

/* Begin and end of the slice, counted within the selection. */
static ons_status *parse_rows(const ons_dataset *dataset, const char *option, const char *rows, uint64_t *begin,
                              uint64_t *end) {
    const char *at = rows;
    bool valid = parse_end(&at, dataset->count, 0, begin) && *at++ == ':' &&
                 parse_end(&at, dataset->count, dataset->count, end) && *at == '\0';
    ONS_CHECK(valid, ONS_INVALID_ARGUMENT, "--%s '%s': expected A:B, for instance 0:9000, 9000: or :-1000", option,
              rows);
    ONS_CHECK(*begin < *end, ONS_INVALID_DATA, "--%s '%s' leaves none of %llu samples", option, rows,
              (unsigned long long)dataset->count);
    return NULL;
}

static void select_range(ons_dataset *dataset, uint64_t begin, uint64_t end) {
    dataset->first += begin;
    dataset->count = end - begin;
}

ons_status *ons_dataset_select(ons_dataset *dataset, const char *option, const char *rows) {
    uint64_t begin, end;
    ONS_TRY(parse_rows(dataset, option, rows, &begin, &end));
    select_range(dataset, begin, end);
    return NULL;
}

ons_status *ons_dataset_leave_out(ons_dataset *dataset, const char *option, const char *rows) {
    uint64_t begin, end;
    ONS_TRY(parse_rows(dataset, option, rows, &begin, &end));
    ONS_CHECK(end - begin < dataset->count, ONS_INVALID_DATA,
              "--%s '%s' takes all %llu samples, and none is left to train on; take fewer, or give --rows :, which "
              "trains on them as well",
              option, rows, (unsigned long long)dataset->count);
    dataset->leaves_out = true;
    if (begin == 0) {
        select_range(dataset, end, dataset->count);
        return NULL;
    }
    dataset->gap_at = begin;
    dataset->gap = end - begin;
    dataset->count -= dataset->gap;
    return NULL;
}

ons_status *ons_dataset_split(ons_dataset *dataset, const char *option, double share, bool last) {
    double exact = share * (double)dataset->count;
    uint64_t split_off = (uint64_t)ceil(exact - 1e-9 * exact); /* 0.1 of 10 is 1, though 0.1 is a little more */
    ONS_CHECK(split_off > 0 && split_off < dataset->count, ONS_INVALID_DATA,
              "--%s %g takes %llu of %llu samples, and none is left to train on; take a smaller share, or more samples",
              option, share, (unsigned long long)split_off, (unsigned long long)dataset->count);
    dataset->leaves_out = true;
    uint64_t border = dataset->count - split_off;
    select_range(dataset, last ? border : 0, last ? dataset->count : border);
    return NULL;
}

/* Numbers between commas; *count of them. False where one is none. */
static bool parse_numbers(const char *text, float *numbers, uint32_t *count) {
    for (*count = 0;; ++text) {
        char *after;
        float number = strtof(text, &after);
        if (after == text || !isfinite(number)) return false;
        numbers[(*count)++] = number;
        text = after;
        if (*text != ',') return *text == '\0';
    }
}

ons_status *ons_dataset_normalize(ons_dataset *dataset, const char *name, const char *text) {
    uint32_t index = ons_dataset_find(dataset, name);
    ONS_CHECK(index != ONS_NO_FIELD, ONS_INVALID_ARGUMENT, "--normalize '%s': no data are given for that name", name);
    float *numbers = malloc((strlen(text) + 1) * sizeof *numbers); /* more than there can be */
    if (numbers == NULL) return ons_status_out_of_memory();
    uint32_t count = 0;
    bool valid = parse_numbers(text, numbers, &count) && count % 2 == 0;
    for (uint32_t i = count / 2; valid && i < count; ++i) valid = numbers[i] != 0;
    if (!valid) {
        free(numbers);
        return ons_status_new(
            ONS_INVALID_ARGUMENT,
            "--normalize '%s=%s': expected MEAN,STD, or as many means and then deviations as there are "
            "channels; a deviation is not 0",
            name, text);
    }
    field *f = dataset->fields.items[index];
    free(f->mean);
    f->mean = numbers;
    f->channels = count / 2;
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- asking */

uint64_t ons_dataset_count(const ons_dataset *dataset) { return dataset->count; }

uint64_t ons_dataset_place(const ons_dataset *dataset, uint64_t row) {
    return dataset->first + row + (row >= dataset->gap_at ? dataset->gap : 0);
}

/* The two runs of samples that a selection consists of, in the arrays; the second may be empty. */
typedef struct run_of_samples {
    uint64_t begin, end;
} run_of_samples;

static run_of_samples run_at(const ons_dataset *d, int index) {
    uint64_t border = d->gap > 0 ? d->first + d->gap_at : d->first + d->count;
    return index == 0 ? (run_of_samples){d->first, border}
                      : (run_of_samples){border + d->gap, d->first + d->count + d->gap};
}

uint64_t ons_dataset_overlap(const ons_dataset *a, const ons_dataset *b, uint64_t *first) {
    uint64_t count = 0;
    *first = UINT64_MAX;
    for (int i = 0; i < 4; ++i) {
        run_of_samples left = run_at(a, i / 2), right = run_at(b, i % 2);
        uint64_t begin = left.begin > right.begin ? left.begin : right.begin;
        uint64_t end = left.end < right.end ? left.end : right.end;
        if (begin >= end) continue;
        count += end - begin;
        if (begin < *first) *first = begin;
    }
    return count;
}

uint64_t ons_dataset_hash_left_out(const ons_dataset *dataset, uint64_t hash) {
    if (!dataset->leaves_out) return hash;
    const uint64_t selection[] = {dataset->first, dataset->count, dataset->gap_at, dataset->gap};
    return ons_hash_bytes(hash, selection, sizeof selection);
}

uint32_t ons_dataset_find(const ons_dataset *dataset, const char *name) {
    for (size_t i = 0; i < dataset->fields.count; ++i)
        if (strcmp(dataset->fields.items[i]->name, name) == 0) return (uint32_t)i;
    return ONS_NO_FIELD;
}

ons_type ons_dataset_sample_type(const ons_dataset *dataset, uint32_t index) {
    return dataset->fields.items[index]->sample;
}

/* -------------------------------------------------------------------------------------------------------- gathering */

/* Whether the channels of a normalised sample are its first dimension; false: its last. */
static bool channels_first(const field *f, const ons_shape *shape) {
    return f->channels == 1 || (shape->rank > 0 && shape->dims[0] == (int64_t)f->channels);
}

static bool channels_last(const field *f, const ons_shape *shape) {
    return shape->rank > 0 && shape->dims[shape->rank - 1] == (int64_t)f->channels;
}

/* Fields that are no input of a model have a name that starts with a line feed, which no message should print. */
static const char *shown_name(const field *f) { return f->name + (f->name[0] == '\n'); }

/* The least number of innermost elements, above `above`, that whole axes of the shape make up. */
static int64_t next_block(const ons_shape *shape, int64_t above) {
    int64_t block = 1;
    for (uint32_t i = shape->rank; block <= above && i-- > 0;) block *= shape->dims[i];
    return block;
}

/* Whether one of two shapes with as many elements comes from the other by joining neighbouring axes, so that elements
 * keep their places and their meaning: [28,28] and [1,28,28] or [784]; but not [8,8,3] and [3,8,8]. */
static bool is_same_order(const ons_shape *a, const ons_shape *b) {
    int64_t elements = ons_shape_elements(a), left = 1, right = 1;
    bool splits_left = false, splits_right = false;
    while (elements > 0 && (left < elements || right < elements)) {
        int64_t next_left = next_block(a, left), next_right = next_block(b, right);
        splits_left |= next_left < next_right;
        splits_right |= next_right < next_left;
        int64_t next = next_left < next_right ? next_left : next_right;
        left = right = next;
    }
    return !(splits_left && splits_right);
}

ons_status *ons_dataset_check(const ons_dataset *dataset, uint32_t index, const ons_type *wanted) {
    const field *f = dataset->fields.items[index];
    char has[ONS_TYPE_TEXT], wants[ONS_TYPE_TEXT];
    ons_type_print(&f->sample, has);
    ons_type_print(wanted, wants);
    int64_t elements = ons_shape_elements(&wanted->shape);
    ONS_CHECK((uint64_t)elements == f->elements, ONS_INVALID_DATA,
              "'%s': a sample for '%s' is %s with %llu elements, wanted is %s with %lld", f->origin, shown_name(f), has,
              (unsigned long long)f->elements, wants, (long long)elements);
    ONS_CHECK(
        is_same_order(&f->sample.shape, &wanted->shape), ONS_INVALID_DATA,
        "'%s': a sample for '%s' is %s, wanted is %s: the axes have another order; transpose or reshape the array",
        f->origin, shown_name(f), has, wants);
    bool possible = ons_convert_possible(f->stored, wanted->dtype);
    ONS_CHECK(possible || !ons_dtype_is_float(f->stored), ONS_INVALID_DATA,
              "'%s': a sample for '%s' is %s, the model wants %s; save the array with integers (astype('int64'))",
              f->origin, shown_name(f), has, wants);
    ONS_CHECK(possible, ONS_INVALID_DATA, "'%s': a sample for '%s' is %s, which cannot become %s", f->origin,
              shown_name(f), has, wants);
    if (f->mean == NULL) return NULL;
    ONS_CHECK(wanted->dtype == ONS_FLOAT32, ONS_INVALID_ARGUMENT,
              "--normalize '%s': the model wants %s there; only float32 can be normalised", shown_name(f), wants);
    ONS_CHECK(channels_first(f, &wanted->shape) || channels_last(f, &wanted->shape), ONS_INVALID_ARGUMENT,
              "--normalize '%s': numbers for %u channels, but %s has neither first nor last dimension %u",
              shown_name(f), f->channels, wants, f->channels);
    return NULL;
}

static void normalize_run(float *x, uint64_t count, float mean, float deviation) {
#pragma omp simd
    for (uint64_t i = 0; i < count; ++i) x[i] = (x[i] - mean) / deviation;
}

static void normalize(const field *f, const ons_shape *shape, float *x) {
    const float *mean = f->mean, *deviation = f->mean + f->channels;
    uint64_t others = f->elements / f->channels;
    if (channels_first(f, shape)) {
        for (uint32_t c = 0; c < f->channels; ++c) normalize_run(x + c * others, others, mean[c], deviation[c]);
        return;
    }
    for (uint64_t i = 0; i < others; ++i)
        for (uint32_t c = 0; c < f->channels; ++c)
            x[i * f->channels + c] = (x[i * f->channels + c] - mean[c]) / deviation[c];
}

/* What is read of a file at a time to be converted, and how many targets are widened at a time. */
enum { READ_BYTES = 16 << 10, PIECE = 512 };

/* `count` elements of the sample at `row` of the selection, from element `first` on: where they lie, or copied from the
 * file to `buffer`, which has room for as many. */
static ons_status *look_at(const ons_dataset *dataset, const field *f, uint64_t row, uint64_t first, size_t count,
                           void *buffer, const uint8_t **elements) {
    ONS_CHECK(row < dataset->count, ONS_DEFECT, "sample %llu of %llu", (unsigned long long)row,
              (unsigned long long)dataset->count);
    size_t width = ons_dtype_size(f->stored);
    uint64_t place = ons_dataset_place(dataset, row) * f->stride + first * width;
    *elements = f->base != NULL ? f->base + place : buffer;
    if (f->base != NULL) return NULL;
    return ons_status_at(ons_file_read(&f->reader, f->offset + place, buffer, count * width), "'%s'", f->origin);
}

/* A sample as the model takes it. What need not be converted is read to where it belongs, at once. */
static ons_status *gather_sample(const ons_dataset *dataset, const field *f, uint64_t row, ons_dtype wanted,
                                 char *out) {
    bool as_it_is = f->base == NULL && f->stored == wanted && wanted != ONS_BOOL;
    uint64_t step = as_it_is || f->base != NULL ? f->elements : READ_BYTES / ons_dtype_size(f->stored);
    int64_t buffer[READ_BYTES / sizeof(int64_t)];
    for (uint64_t done = 0; done < f->elements; done += step) {
        size_t count = f->elements - done < step ? f->elements - done : step;
        char *to = out + done * ons_dtype_size(wanted);
        const uint8_t *from;
        ONS_TRY(look_at(dataset, f, row, done, count, as_it_is ? (void *)to : buffer, &from));
        ONS_CHECK(as_it_is || ons_convert(f->stored, from, wanted, to, count), ONS_INVALID_DATA,
                  "'%s': sample %llu holds a number that does not fit into the model's %s", f->origin,
                  (unsigned long long)ons_dataset_place(dataset, row), ons_dtype_name(wanted));
    }
    return NULL;
}

ons_status *ons_dataset_gather(ons_dataset *dataset, uint32_t index, const uint64_t *rows, size_t count,
                               const ons_type *wanted, void *destination) {
    ONS_TRY(ons_dataset_check(dataset, index, wanted));
    field *f = dataset->fields.items[index];
    size_t bytes = (size_t)ons_type_dense_bytes(wanted);
    char *out = destination;
    for (size_t i = 0; i < count; ++i, out += bytes) {
        ONS_TRY(gather_sample(dataset, f, rows[i], wanted->dtype, out));
        if (f->mean != NULL) normalize(f, &wanted->shape, (float *)(void *)out);
    }
    return NULL;
}

/* Samples of a field that are hashed, at most, the first and the last among them; and of each sample so much. */
enum { HASHED_SAMPLES = 64, HASHED_ELEMENTS = 4096 };

ons_status *ons_dataset_hash_samples(ons_dataset *dataset, uint64_t *hash) {
    int64_t buffer[HASHED_ELEMENTS];
    uint64_t count = dataset->count, looked_at = count < HASHED_SAMPLES ? count : HASHED_SAMPLES;
    for (size_t i = 0; i < dataset->fields.count; ++i) {
        const field *f = dataset->fields.items[i];
        size_t elements = f->elements < HASHED_ELEMENTS ? f->elements : HASHED_ELEMENTS;
        for (uint64_t k = 0; k < looked_at; ++k) {
            uint64_t row = looked_at == 1 ? 0 : k * (count - 1) / (looked_at - 1);
            const uint8_t *from;
            ONS_TRY(look_at(dataset, f, row, 0, elements, buffer, &from));
            *hash = ons_hash_bytes(*hash, from, elements * ons_dtype_size(f->stored));
        }
    }
    return NULL;
}

/* What the targets of a sample are counted or weighed by: each is `ignored`, or counts by its class. */
typedef struct tally {
    int64_t ignored;
    const ons_target_weights *weights; /* NULL: 1 each */
    uint64_t counted;
    double sum;
} tally;

static void tally_targets(tally *t, const int64_t *targets, size_t count) {
    for (size_t i = 0; i < count; ++i) t->counted += targets[i] != t->ignored;
    for (size_t i = 0; t->weights != NULL && i < count; ++i)
        if (targets[i] != t->ignored)
            t->sum += targets[i] >= 0 && targets[i] < t->weights->count ? t->weights->of_class[targets[i]] : 1;
}

static ons_status *tally_sample(const ons_dataset *dataset, const field *f, uint64_t row, tally *t) {
    int64_t buffer[PIECE], wide[PIECE];
    for (uint64_t done = 0; done < f->elements; done += PIECE) {
        size_t count = f->elements - done < PIECE ? f->elements - done : PIECE;
        const uint8_t *from;
        ONS_TRY(look_at(dataset, f, row, done, count, buffer, &from));
        (void)ons_convert(f->stored, from, ONS_INT64, wide, count);
        tally_targets(t, wide, count);
    }
    return NULL;
}

ons_status *ons_dataset_count_targets(ons_dataset *dataset, uint32_t index, const uint64_t *rows, size_t count,
                                      int64_t ignore_index, uint64_t *counted) {
    const field *f = dataset->fields.items[index];
    bool is_unsigned = f->stored == ONS_UINT8 || f->stored == ONS_UINT16 || f->stored == ONS_UINT32;
    bool all = ons_dtype_is_float(f->stored) || (is_unsigned && ignore_index < 0);
    tally t = {.ignored = ignore_index, .counted = all ? count * f->elements : 0};
    for (size_t i = 0; !all && i < count; ++i) ONS_TRY(tally_sample(dataset, f, rows[i], &t));
    *counted = t.counted;
    return NULL;
}

ons_status *ons_dataset_weigh_targets(ons_dataset *dataset, uint32_t index, const uint64_t *rows, size_t count,
                                      int64_t ignore_index, const ons_target_weights *weights, double *sum) {
    *sum = 0;
    for (size_t i = 0; i < count; ++i) {
        tally t = {.ignored = ignore_index, .weights = weights};
        ONS_TRY(tally_sample(dataset, dataset->fields.items[index], rows[i], &t));
        *sum += t.sum;
    }
    return NULL;
}
