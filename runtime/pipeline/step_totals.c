#include "runtime/pipeline/step_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "graph/evaluate.h"
#include "runtime/pipeline/stepper.h"

struct ons_step_totals {
    const ons_totals_graphs *graphs;
    ons_feed feed;      /* the inputs that the sums take */
    ons_value_id *fed;  /* of `sums`: of each of the feed's fields */
    ons_device *device; /* whose host memory the slots lie in; NULL: usual memory */
    uint8_t *slots[ONS_FEED_SLOTS];
    size_t bytes;    /* of a slot */
    size_t *offsets; /* of each total in a slot */
};

/* Totals begin where any type may. */
enum { ALIGNMENT = 64 };

void ons_totals_graphs_free(ons_totals_graphs *graphs) {
    ons_graph_free(graphs->sums);
    ons_graph_free(graphs->finish);
    ons_arena_free(graphs->arena);
    *graphs = (ons_totals_graphs){0};
}

/* --------------------------------------------------------------------------------------------------------- building */

static ons_type type_of(const ons_graph *graph, ons_value_id id) { return ons_graph_value(graph, id)->type; }

static ons_status *open_feed(ons_step_totals *t, ons_dataset *dataset) {
    const ons_totals_graphs *g = t->graphs;
    uint32_t count = 0;
    ons_feed_field *fields = calloc(g->input_count + 1, sizeof *fields);
    t->fed = calloc(g->input_count + 1, sizeof *t->fed);
    ons_status *status = fields == NULL || t->fed == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; status == NULL && i < g->input_count; ++i) {
        if (g->inputs[i] == ONS_NONE) continue;
        const ons_type type = type_of(g->sums, g->inputs[i]);
        t->fed[count] = g->inputs[i];
        fields[count++] = (ons_feed_field){
            .field = ons_dataset_find(dataset, g->names[i]),
            .sample = {.dtype = type.dtype, .shape = ons_shape_make(type.shape.rank - 1, type.shape.dims + 1)}};
    }
    if (status == NULL)
        status = ons_feed_init(&t->feed, NULL, dataset, fields, count, (size_t)g->rows, (size_t)g->rows);
    free(fields);
    return status;
}

static ons_status *allocate(ons_step_totals *t) {
    const ons_totals_graphs *g = t->graphs;
    t->offsets = calloc(g->count + 1, sizeof *t->offsets);
    if (t->offsets == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < g->count; ++i) {
        const ons_type type = type_of(g->finish, g->totals[i]);
        t->offsets[i] = t->bytes;
        t->bytes += ((size_t)ons_type_dense_bytes(&type) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) {
        void *memory = NULL;
        if (t->device != NULL)
            ONS_TRY(t->device->allocate_host(t->device, (int64_t)t->bytes + ALIGNMENT, &memory));
        else
            memory = aligned_alloc(ALIGNMENT, t->bytes + ALIGNMENT);
        t->slots[slot] = memory;
        if (memory == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

ons_status *ons_step_totals_new(const ons_totals_graphs *graphs, ons_dataset *dataset, ons_device *device,
                                ons_step_totals **result) {
    ons_step_totals *t = calloc(1, sizeof *t);
    if (t == NULL) return ons_status_out_of_memory();
    t->graphs = graphs;
    t->device = device;
    ons_status *status = open_feed(t, dataset);
    if (status == NULL) status = allocate(t);
    if (status != NULL) {
        ons_step_totals_free(t);
        return status;
    }
    *result = t;
    return NULL;
}

void ons_step_totals_free(ons_step_totals *t) {
    if (t == NULL) return;
    ons_feed_free(&t->feed);
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) {
        if (t->slots[slot] == NULL) continue;
        if (t->device == NULL)
            free(t->slots[slot]);
        else
            t->device->release_host(t->device, t->slots[slot], (int64_t)t->bytes + ALIGNMENT);
    }
    free(t->fed);
    free(t->offsets);
    free(t);
}

/* -------------------------------------------------------------------------------------------------------- computing */

typedef struct sums {
    void **of_part; /* words of each sum */
} sums;

static int64_t elements_of(const ons_graph *graph, ons_value_id id) {
    return ons_shape_elements(&ons_graph_value(graph, id)->type.shape);
}

static void free_words(void **words, size_t count) {
    for (size_t i = 0; words != NULL && i < count; ++i) free(words[i]);
    free(words);
}

static void add_words(bool floats, double weight, int64_t count, const void *from, void *to) {
    for (int64_t i = 0; i < count; ++i) {
        if (floats)
            ((double *)to)[i] += weight * ((const double *)from)[i];
        else
            ((int64_t *)to)[i] += ((const int64_t *)from)[i];
    }
}

static ons_status *load_samples(ons_step_totals *t, const uint64_t *rows, void **words) {
    const ons_totals_graphs *g = t->graphs;
    memcpy(t->feed.rows[0], rows, (size_t)g->rows * sizeof *rows);
    ONS_TRY(ons_feed_fill(&t->feed, 0, 0, (size_t)g->rows, 0));
    for (uint32_t i = 0; i < t->feed.field_count; ++i) {
        int64_t count = elements_of(g->sums, t->fed[i]);
        words[t->fed[i]] = calloc((size_t)count + 1, 8);
        if (words[t->fed[i]] == NULL) return ons_status_out_of_memory();
        ons_widen(type_of(g->sums, t->fed[i]).dtype, ons_feed_sample(&t->feed, 0, i, 0), count, words[t->fed[i]]);
    }
    return NULL;
}

/* The sums of `graphs->rows` samples are added to those so far; `share`: these samples' of all. */
static ons_status *add_samples(ons_step_totals *t, const uint64_t *rows, double share, const sums *s) {
    static const ons_step step = {.step = 1, .counted_targets = 1, .sample_share = 1};
    const ons_totals_graphs *g = t->graphs;
    void **words = calloc(g->sums->values.count + 1, sizeof *words);
    ons_status *status = words == NULL ? ons_status_out_of_memory() : load_samples(t, rows, words);
    if (status == NULL) status = ons_evaluate(g->sums, &step, words);
    for (uint32_t i = 0; status == NULL && i < g->part_count; ++i) {
        const ons_totals_sum *part = &g->parts[i];
        add_words(ons_dtype_is_float(type_of(g->sums, part->made).dtype), part->mean ? share : 1,
                  elements_of(g->sums, part->made), words[part->made], s->of_part[i]);
    }
    free_words(words, g->sums->values.count);
    return status;
}

/* A constant for `rows` samples becomes that for `count` of them. */
static ons_status *scale_factor(const ons_totals_graphs *g, const ons_loss_factor *factor, size_t count, void **words) {
    const ons_value *value = ons_graph_value(g->finish, factor->value);
    const ons_tensor *known = ons_graph_constant(g->finish, factor->value);
    int64_t elements = ons_shape_elements(&value->type.shape);
    double ratio = pow((double)count / (double)g->rows, factor->degree);
    words[factor->value] = calloc((size_t)elements + 1, 8);
    if (words[factor->value] == NULL) return ons_status_out_of_memory();
    ons_widen(value->type.dtype, known->data, elements, words[factor->value]);
    for (int64_t i = 0; i < elements; ++i) {
        if (ons_dtype_is_float(value->type.dtype))
            ((double *)words[factor->value])[i] *= ratio;
        else
            ((int64_t *)words[factor->value])[i] = llround((double)((int64_t *)words[factor->value])[i] * ratio);
    }
    return NULL;
}

static ons_status *finish(ons_step_totals *t, int slot, size_t count, sums *s) {
    static const ons_step step = {.step = 1, .counted_targets = 1, .sample_share = 1};
    const ons_totals_graphs *g = t->graphs;
    void **words = calloc(g->finish->values.count + 1, sizeof *words);
    ons_status *status = words == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; status == NULL && i < g->part_count; ++i) {
        words[g->parts[i].taken] = s->of_part[i];
        s->of_part[i] = NULL;
    }
    for (uint32_t i = 0; status == NULL && i < g->factor_count; ++i)
        status = scale_factor(g, &g->factors[i], count, words);
    if (status == NULL) status = ons_evaluate(g->finish, &step, words);
    for (uint32_t i = 0; status == NULL && i < g->count; ++i)
        ons_narrow(type_of(g->finish, g->totals[i]).dtype, words[g->totals[i]], elements_of(g->finish, g->totals[i]),
                   t->slots[slot] + t->offsets[i]);
    free_words(words, g->finish->values.count);
    return status;
}

ons_status *ons_step_totals_find(ons_step_totals *t, int slot, const uint64_t *rows, size_t count) {
    const ons_totals_graphs *g = t->graphs;
    ONS_CHECK(
        count % (size_t)g->rows == 0, ONS_UNSUPPORTED,
        "what the loss counts is counted in %lld samples at a time, and there are %zu; choose a --batch, and data, "
        "of a multiple of it",
        (long long)g->rows, count);
    sums s = {.of_part = calloc(g->part_count + 1, sizeof *s.of_part)};
    ons_status *status = s.of_part == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; status == NULL && i < g->part_count; ++i) {
        s.of_part[i] = calloc((size_t)elements_of(g->sums, g->parts[i].made) + 1, 8);
        if (s.of_part[i] == NULL) status = ons_status_out_of_memory();
    }
    for (size_t first = 0; status == NULL && first + (size_t)g->rows <= count; first += (size_t)g->rows)
        status = add_samples(t, rows + first, (double)g->rows / (double)count, &s);
    if (status == NULL) status = finish(t, slot, count, &s);
    free_words(s.of_part, g->part_count);
    return status;
}

uint32_t ons_step_totals_count(const ons_step_totals *t) { return t == NULL ? 0 : t->graphs->count; }

const void *ons_step_totals_get(const ons_step_totals *t, int slot, uint32_t index, size_t *bytes) {
    const ons_type type = type_of(t->graphs->finish, t->graphs->totals[index]);
    *bytes = (size_t)ons_type_dense_bytes(&type);
    return t->slots[slot] + t->offsets[index];
}

void ons_step_program_load_totals(const ons_step_program *step_program, ons_worker *worker,
                                  const ons_step_totals *totals, int slot, ons_part part,
                                  const ons_part_place *part_place) {
    for (uint32_t i = 0; step_program->totals != NULL && i < ons_step_totals_count(totals); ++i) {
        ons_value_id input = step_program->totals[i];
        if (input == ONS_NONE || !ons_stage_program_loads(step_program->stage, input, part)) continue;
        void *address = ons_program_address_to_write(step_program->program, input, part_place);
        size_t bytes;
        const void *total = ons_step_totals_get(totals, slot, i, &bytes);
        if (address != NULL) ons_worker_transfer(worker, address, total, bytes);
    }
}
