/* Records that processes leave in files, put together, written and read by one machine; and how far two are apart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "runtime/program/device_context.h"
#include "tests/rooms/pipeline/pipeline_run.h"

typedef struct head {
    uint32_t steps, trained, values, swaps, clones;
    int64_t memory;
} head;

/* ------------------------------------------------------------------------------------------------------------ files */

static ons_status *write_value(ons_file_writer *file, const struct pipeline_value *v) {
    uint64_t sizes[] = {strlen(v->name) + 1, v->bytes};
    ONS_TRY(ons_file_write(file, sizes, sizeof sizes));
    ONS_TRY(ons_file_write(file, v->name, sizes[0]));
    return ons_file_write(file, v->data, v->bytes);
}

static ons_status *write_record(ons_file_writer *file, const pipeline_record *r) {
    const head h = {r->steps, r->trained, r->value_count, r->swaps, r->clones, r->memory};
    ONS_TRY(ons_file_write(file, &h, sizeof h));
    ONS_TRY(ons_file_write(file, r->losses, r->steps * sizeof *r->losses));
    ONS_TRY(ons_file_write(file, r->norms, r->steps * sizeof *r->norms));
    ONS_TRY(ons_file_write(file, r->squares, (size_t)r->steps * r->trained * sizeof *r->squares));
    for (uint32_t i = 0; i < r->value_count; ++i) ONS_TRY(write_value(file, &r->values[i]));
    return NULL;
}

ons_status *pipeline_record_write(const pipeline_record *r, const char *path) {
    ons_file_writer *file;
    ONS_TRY(ons_file_writer_open(path, &file));
    ons_status *status = write_record(file, r);
    if (status == NULL) return ons_file_commit(file);
    ons_file_discard(file);
    return status;
}

/* The next `bytes` of a file, aligned, in the record's arena. */
static ons_status *take(pipeline_record *r, const ons_mapping *file, size_t *at, size_t bytes, void *result) {
    ONS_CHECK(bytes <= file->size - *at, ONS_INVALID_DATA, "a record ends too soon");
    void *copy = ons_arena_allocate(r->arena, bytes + 1, sizeof(double));
    if (copy == NULL) return ons_status_out_of_memory();
    if (bytes > 0) memcpy(copy, file->bytes + *at, bytes);
    *at += bytes;
    *(void **)result = copy;
    return NULL;
}

static ons_status *take_value(pipeline_record *r, const ons_mapping *file, size_t *at, struct pipeline_value *v) {
    const uint64_t *sizes;
    ONS_TRY(take(r, file, at, 2 * sizeof *sizes, (void *)&sizes));
    ONS_TRY(take(r, file, at, sizes[0], (void *)&v->name));
    v->bytes = sizes[1];
    return take(r, file, at, v->bytes, (void *)&v->data);
}

static ons_status *read_record(pipeline_record *r, const ons_mapping *file) {
    const head *h;
    size_t at = 0;
    ONS_TRY(take(r, file, &at, sizeof *h, (void *)&h));
    r->steps = h->steps;
    r->trained = h->trained;
    r->swaps = h->swaps;
    r->clones = h->clones;
    r->memory = h->memory;
    ONS_TRY(take(r, file, &at, r->steps * sizeof *r->losses, (void *)&r->losses));
    ONS_TRY(take(r, file, &at, r->steps * sizeof *r->norms, (void *)&r->norms));
    ONS_TRY(take(r, file, &at, (size_t)r->steps * r->trained * sizeof *r->squares, (void *)&r->squares));
    ONS_NEW(r->values, r->arena, h->values + 1);
    for (; r->value_count < h->values; ++r->value_count) ONS_TRY(take_value(r, file, &at, &r->values[r->value_count]));
    return NULL;
}

ons_status *pipeline_record_read(const char *path, pipeline_record *r) {
    ons_mapping file;
    *r = (pipeline_record){.arena = ons_arena_new()};
    if (r->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_mapping_open(path, &file));
    ons_status *status = read_record(r, &file);
    ons_mapping_close(&file);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

/* Whether both have equal bits, or are no number. */
static bool same(double a, double b) { return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b)); }

static ons_status *compare_steps(const pipeline_record *whole, const pipeline_record *part, uint32_t rank) {
    ONS_CHECK(part->steps == whole->steps && part->trained == whole->trained, ONS_DEFECT, "rank %u trained otherwise",
              rank);
    for (uint32_t i = 0; i < whole->steps; ++i)
        ONS_CHECK(same(part->losses[i], whole->losses[i]) && same(part->norms[i], whole->norms[i]), ONS_DEFECT,
                  "rank %u, step %u: loss %.17g and gradient norm %.17g instead of %.17g and %.17g", rank, i + 1,
                  part->losses[i], part->norms[i], whole->losses[i], whole->norms[i]);
    return NULL;
}

/* Of each weight a rank knows its square sum, or does not: NaN. */
static ons_status *compare_squares(const pipeline_record *whole, const pipeline_record *parts, uint32_t count) {
    for (size_t k = 0; k < (size_t)whole->steps * whole->trained; ++k) {
        bool known = isnan(whole->squares[k]);
        for (uint32_t i = 0; i < count; ++i) {
            double here = parts[i].squares[k];
            known = known || !isnan(here);
            ONS_CHECK(isnan(here) || same(here, whole->squares[k]), ONS_DEFECT,
                      "rank %u: square sum %zu is %.17g instead of %.17g", i, k, here, whole->squares[k]);
        }
        ONS_CHECK(known, ONS_DEFECT, "no rank knows square sum %zu", k);
    }
    return NULL;
}

/* Values lie in the order of the whole graph: at[rank] is the first that was not looked at. */
static ons_status *compare_values(const pipeline_record *whole, const pipeline_record *parts, uint32_t count,
                                  uint32_t *at) {
    for (uint32_t k = 0; k < whole->value_count; ++k) {
        const struct pipeline_value *wanted = &whole->values[k];
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const struct pipeline_value *here = at[i] < parts[i].value_count ? &parts[i].values[at[i]] : NULL;
            if (here == NULL || strcmp(here->name, wanted->name) != 0) continue;
            ++at[i];
            ++found;
            ONS_CHECK(here->bytes == wanted->bytes && memcmp(here->data, wanted->data, here->bytes) == 0, ONS_DEFECT,
                      "'%s' of rank %u differs at the end", wanted->name, i);
        }
        ONS_CHECK(found > 0, ONS_DEFECT, "no rank has '%s'", wanted->name);
    }
    for (uint32_t i = 0; i < count; ++i)
        ONS_CHECK(at[i] == parts[i].value_count, ONS_DEFECT, "rank %u has '%s' besides", i,
                  parts[i].values[at[i]].name);
    return NULL;
}

ons_status *pipeline_compare_parts(const pipeline_record *whole, const pipeline_record *parts, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) ONS_TRY(compare_steps(whole, &parts[i], i));
    ONS_TRY(compare_squares(whole, parts, count));
    uint32_t *at = calloc(count + 1, sizeof *at);
    ons_status *status = at == NULL ? ons_status_out_of_memory() : compare_values(whole, parts, count, at);
    free(at);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- distance */

static const struct pipeline_value *find_value(const pipeline_record *record, const char *name) {
    for (uint32_t i = 0; i < record->value_count; ++i)
        if (strcmp(record->values[i].name, name) == 0) return &record->values[i];
    return NULL;
}

/* What is there only while a step runs is no result. */
static bool is_result(const struct pipeline_value *value) {
    return strstr(value->name, "accumulator") == NULL && strcmp(value->name, "loss/sum") != 0;
}

double pipeline_distance(const pipeline_record *a, const pipeline_record *b) {
    double largest = 0;
    for (uint32_t i = 0; i < a->value_count; ++i) {
        const struct pipeline_value *left = &a->values[i], *right = find_value(b, left->name);
        if (!is_result(left)) continue;
        if (right == NULL || right->bytes != left->bytes) return INFINITY;
        for (size_t k = 0; k < left->bytes / sizeof(float); ++k) {
            double apart = fabs((double)((const float *)left->data)[k] - (double)((const float *)right->data)[k]);
            if (!(apart <= largest)) largest = apart;
        }
    }
    for (uint32_t i = 0; i < a->steps; ++i) largest = fmax(largest, fabs(a->losses[i] - b->losses[i]));
    return largest;
}
