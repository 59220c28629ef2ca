#include "runtime/evaluator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct evaluation {
    const ons_evaluator_options *o;
    const ons_unit *unit;
    ons_step step;
    int slot;
    ons_program_fault fault;
    double loss_sum, counted, right;
} evaluation;

static void run_batch(void *argument, uintptr_t native) {
    (void)native;
    evaluation *e = argument;
    const ons_feed *feed = e->o->feed;
    for (uint32_t i = 0; i < feed->field_count; ++i) {
        void *address = ons_program_address(e->unit->program, e->unit->inputs[i], NULL);
        if (address != NULL)
            memcpy(address, ons_feed_sample(feed, e->slot, i, 0), e->unit->rows * feed->fields[i].bytes);
    }
    const ons_run run = {.step = &e->step, .fault = &e->fault};
    for (int part = 0; part < ONS_PART_COUNT && e->fault.fault.problem == NULL; ++part)
        ons_program_run(e->unit->program, (ons_part)part, &run);
}

/* The class with the largest output, the first of equals. */
static int64_t best_class(const float *scores, int64_t classes, int64_t stride) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
        if (scores[c * stride] > scores[best * stride]) best = c;
    return best;
}

static void count_right(evaluation *e, ons_value_id prediction) {
    const ons_evaluator_options *o = e->o;
    const ons_type *type = &ons_graph_value(ons_program_graph(e->unit->program), prediction)->type;
    const float *scores = ons_program_address(e->unit->program, prediction, NULL);
    const void *targets = ons_feed_sample(o->feed, e->slot, o->target_field, 0);
    bool wide = o->feed->fields[o->target_field].sample.dtype == ONS_INT64;
    int64_t classes = type->shape.dims[o->class_axis];
    int64_t inner = ons_shape_span(&type->shape, o->class_axis + 1, type->shape.rank);
    int64_t outer = ons_shape_span(&type->shape, 0, o->class_axis);
    for (int64_t i = 0; i < outer * inner; ++i) {
        int64_t target = wide ? ((const int64_t *)targets)[i] : ((const int32_t *)targets)[i];
        const float *row = scores + i / inner * classes * inner + i % inner;
        if (target != o->ignore_index) e->right += best_class(row, classes, inner) == target;
    }
}

static ons_status *count_batch(evaluation *e, size_t samples) {
    const ons_evaluator_options *o = e->o;
    e->step.counted_targets = (double)samples;
    if (o->target_field == ONS_NO_FIELD) return NULL;
    const ons_feed_field *target = &o->feed->fields[o->target_field];
    uint64_t counted;
    if (!o->counts_classes) {
        e->step.counted_targets *= (double)ons_shape_elements(&target->sample.shape);
        return NULL;
    }
    ONS_TRY(ons_dataset_count_targets(o->feed->dataset, target->field, o->feed->rows[e->slot], samples, o->ignore_index,
                                      &counted));
    e->step.counted_targets = (double)counted;
    return NULL;
}

static size_t fill(const evaluation *e, uint64_t first, int slot, ons_status **status) {
    const ons_evaluator_options *o = e->o;
    uint64_t left = o->samples - first;
    size_t count = left < o->full.rows ? (o->rest.program == NULL ? 0 : (size_t)left) : o->full.rows;
    for (size_t i = 0; i < count; ++i) o->feed->rows[slot][i] = first + i;
    *status = count == 0 ? NULL : ons_feed_fill(o->feed, slot, count);
    return count;
}

static ons_status *finish_batch(evaluation *e, uint64_t first, size_t count) {
    const ons_evaluator_options *o = e->o;
    if (e->fault.fault.problem != NULL) {
        const ons_graph *graph = ons_program_graph(e->unit->program);
        return ons_status_new(ONS_INVALID_DATA,
                              "samples from %" PRIu64 " on, node '%s': %s (element %" PRId64 " is %" PRId64 ")", first,
                              ons_graph_node(graph, e->fault.node)->name, e->fault.fault.problem, e->fault.fault.index,
                              e->fault.fault.value);
    }
    if (e->unit->loss != ONS_NONE && e->step.counted_targets > 0)
        e->loss_sum += ons_program_scalar(e->unit->program, e->unit->loss, NULL) * e->step.counted_targets;
    e->counted += e->step.counted_targets;
    if (o->counts_classes) count_right(e, e->unit == &o->full ? o->full_prediction : o->rest_prediction);
    return o->read == NULL ? NULL : o->read(o->read_context, e->unit, first, count);
}

ons_status *ons_evaluator_run(const ons_evaluator_options *o, ons_evaluation_result *result) {
    evaluation e = {.o = o, .step = {.step = 1, .sample_share = 1}, .fault = {.node = ONS_NONE}};
    ons_status *status;
    uint64_t first = 0;
    size_t count = fill(&e, 0, 0, &status);
    ONS_TRY(status);
    while (count > 0) {
        e.unit = count == o->full.rows ? &o->full : &o->rest;
        ONS_TRY(count_batch(&e, count));
        ons_machine_launch(o->machine, run_batch, &e);
        /* The compute thread reads the slot that it was given; the other one is filled meanwhile. */
        ons_status *ahead;
        int next_slot = 1 - e.slot;
        size_t next = fill(&e, first + count, next_slot, &ahead);
        ons_machine_wait(o->machine);
        ons_status *finished = finish_batch(&e, first, count);
        if (finished != NULL) ons_status_free(ahead);
        ONS_TRY(finished);
        ONS_TRY(ahead);
        first += count;
        e.slot = next_slot;
        count = next;
        if (o->progress != NULL && !o->progress(o->progress_context, (int64_t)first, (int64_t)o->samples))
            return ons_status_new(ONS_INTERRUPTED, "stopped after %" PRIu64 " of %" PRIu64 " samples", first,
                                  o->samples);
    }
    ONS_CHECK(first > 0, ONS_INVALID_DATA, "the model takes batches of %zu samples, the data has only %" PRIu64,
              o->full.rows, o->samples);
    *result = (ons_evaluation_result){
        .samples = first,
        .dropped = o->samples - first,
        .loss = o->full.loss == ONS_NONE ? NAN : e.loss_sum / e.counted,
        .accuracy = o->counts_classes ? e.right / e.counted : NAN,
    };
    return NULL;
}
