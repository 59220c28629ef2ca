#include "runtime/pipeline/evaluator.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"

typedef struct evaluation {
    const ons_evaluator_options *o;
    ons_batch_variant variant;            /* of the batch that runs */
    const ons_step_program *step_program; /* its programs */
    ons_step step;
    uint32_t number; /* of the batch */
    int slot;
    ons_pipeline_pass pass;
    ons_evaluation_sums batch, total;
    ons_host_copy prediction;
} evaluation;

static void load(void *context, uint32_t micro_batch, ons_part part, const ons_part_place *part_place) {
    (void)micro_batch;
    const evaluation *e = context;
    ons_step_program_load_totals(e->step_program, e->o->worker, e->o->totals, 0, part, part_place);
    const ons_feed *feed = e->o->feed;
    for (uint32_t i = 0; i < feed->field_count; ++i) {
        ons_value_id input = e->step_program->inputs[i];
        if (input == ONS_NONE || !ons_stage_program_loads(e->step_program->stage, input, part)) continue;
        void *address = ons_program_address_to_write(e->step_program->program, input, part_place);
        if (address != NULL)
            ons_worker_transfer(e->o->worker, address, ons_feed_sample(feed, e->slot, i, 0),
                                e->step_program->rows * feed->fields[i].bytes);
    }
}

static uint64_t usable(const ons_evaluator_options *o) {
    return o->programs[ONS_REST].program != NULL ? o->samples : o->samples - o->samples % o->programs[ONS_WHOLE].rows;
}

/* The forward parts with what comes before them; nothing is computed backward, nothing brought up to date. */
static ons_status *launch(evaluation *e) {
    e->pass = (ons_pipeline_pass){
        .lineup = {{e->step_program->stage, NULL}, 0},
        .actions = e->step_program->stage->forward,
        .micro_batches = 1,
        .form = ONS_PASS_OF_BATCH,
        .begins = true,
        .number = e->number,
        .step = e->step,
        .load = load,
        .context = e,
    };
    return ons_worker_launch(e->o->worker, &e->pass);
}

/* Element `index` of scores of any float type. */
static double score_at(const void *scores, ons_dtype dtype, int64_t index) {
    double score;
    if (dtype == ONS_FLOAT32) return ((const float *)scores)[index];
    ons_widen(dtype, (const char *)scores + (size_t)index * ons_dtype_size(dtype), 1, &score);
    return score;
}

/* The class with the largest output, the first of equals. `first`: the element of class 0. */
static int64_t best_class(const void *scores, ons_dtype dtype, int64_t first, int64_t classes, int64_t stride) {
    int64_t best = 0;
    double most = score_at(scores, dtype, first);
    for (int64_t c = 1; c < classes; ++c) {
        double score = score_at(scores, dtype, first + c * stride);
        if (score > most) best = c, most = score;
    }
    return best;
}

static ons_status *count_right(evaluation *e, ons_value_id prediction) {
    const ons_evaluator_options *o = e->o;
    const ons_type *type = &ons_graph_value(ons_program_graph(e->step_program->program), prediction)->type;
    const void *scores;
    ONS_TRY(ons_device_context_read(ons_worker_device_context(o->worker),
                                    ons_program_address(e->step_program->program, prediction, NULL),
                                    (size_t)ons_type_dense_bytes(type), &e->prediction, &scores));
    const void *targets = ons_feed_sample(o->feed, e->slot, o->fed_target, 0);
    bool wide = o->target_sample.dtype == ONS_INT64;
    int64_t classes = type->shape.dims[o->class_axis];
    int64_t inner = ons_shape_span(&type->shape, o->class_axis + 1, type->shape.rank);
    int64_t outer = ons_shape_span(&type->shape, 0, o->class_axis);
    for (int64_t i = 0; i < outer * inner; ++i) {
        int64_t target = wide ? ((const int64_t *)targets)[i] : ((const int32_t *)targets)[i];
        int64_t first = i / inner * classes * inner + i % inner;
        if (target != o->ignore_index)
            e->batch.right += best_class(scores, type->dtype, first, classes, inner) == target;
    }
    return NULL;
}

static ons_status *count_classes(evaluation *e, size_t samples) {
    const ons_evaluator_options *o = e->o;
    const uint64_t *rows = o->feed->rows[e->slot];
    uint64_t counted;
    ONS_TRY(ons_dataset_count_targets(o->feed->dataset, o->target_field, rows, samples, o->ignore_index, &counted));
    e->batch.targets = e->batch.weight = (double)counted;
    if (o->class_weights.of_class == NULL) return NULL;
    return ons_dataset_weigh_targets(o->feed->dataset, o->target_field, rows, samples, o->ignore_index,
                                     &o->class_weights, &e->batch.weight);
}

static ons_status *count_batch(evaluation *e, size_t samples) {
    const ons_evaluator_options *o = e->o;
    bool targets = o->target_field != ONS_NO_FIELD;
    e->batch = (ons_evaluation_sums){.targets = (double)samples *
                                                (targets ? (double)ons_shape_elements(&o->target_sample.shape) : 1)};
    e->batch.weight = e->batch.targets;
    if (targets && o->counts_classes) ONS_TRY(count_classes(e, samples));
    e->step.counted_targets = e->batch.weight > 0 ? e->batch.weight : 1; /* a batch of no weight may have a loss */
    return NULL;
}

static size_t fill(const evaluation *e, uint64_t first, int slot, ons_status **status) {
    const ons_evaluator_options *o = e->o;
    size_t whole = o->programs[ONS_WHOLE].rows;
    uint64_t left = first < o->samples ? o->samples - first : 0;
    size_t count = left >= whole ? whole : o->programs[ONS_REST].program == NULL ? 0 : (size_t)left;
    for (size_t i = 0; i < count; ++i) o->feed->rows[slot][i] = first + i;
    *status = count == 0 ? NULL : ons_feed_fill(o->feed, slot, 0, count, 0);
    return count;
}

static ons_status *fault_status(const ons_program_fault *found, const ons_stage_program *where, uint64_t first) {
    char text[ONS_FAULT_TEXT];
    const char *node = ons_program_fault_node(where->program, found);
    return ons_status_new(ONS_INVALID_DATA, "samples from %" PRIu64 " on, node '%s': %s", first, node,
                          ons_fault_print(&found->fault, text));
}

static void add(const ons_evaluation_sums *batch, ons_evaluation_sums *total) {
    total->loss += batch->loss;
    total->right += batch->right;
    total->targets += batch->targets;
    total->weight += batch->weight;
}

static bool has_loss(const ons_evaluator_options *o) { return o->programs[ONS_WHOLE].loss != ONS_NONE; }

static bool predicts(const ons_evaluator_options *o) {
    return o->counts_classes && o->programs[ONS_WHOLE].prediction != ONS_NONE;
}

static void note_batch(const evaluation *e, uint64_t first) {
    ons_evaluation_sums *batch = &e->o->batches[first / e->o->programs[ONS_WHOLE].rows];
    *batch = e->batch;
    if (!has_loss(e->o)) batch->loss = NAN;
    if (!predicts(e->o)) batch->right = NAN;
}

static ons_status *finish_batch(evaluation *e, uint64_t first, size_t count) {
    const ons_evaluator_options *o = e->o;
    ons_program_fault fault;
    const ons_stage_program *where;
    ONS_TRY(ons_worker_wait(o->worker, &fault, &where));
    if (fault.fault.problem != NULL) return fault_status(&fault, where, first);
    if (e->step_program->loss != ONS_NONE) {
        double loss;
        ONS_TRY(ons_device_context_scalar(ons_worker_device_context(o->worker), e->step_program->program,
                                          e->step_program->loss, &loss));
        e->batch.loss = loss * (e->step_program->sums ? (double)usable(e->o) : e->step.counted_targets);
    }
    if (o->counts_classes && e->step_program->prediction != ONS_NONE)
        ONS_TRY(count_right(e, e->step_program->prediction));
    if (o->batches != NULL) note_batch(e, first);
    add(&e->batch, &e->total);
    return o->read == NULL ? NULL : o->read(o->read_context, e->variant, first, count);
}

/* Samples from one batch of this rank to the next. */
static uint64_t stride(const ons_evaluator_options *o) {
    return (uint64_t)o->programs[ONS_WHOLE].rows * (o->rank_group.count > 1 ? o->rank_group.count : 1);
}

/* Runs the batch in the current slot while the next one is put into the other. */
static ons_status *run_batch(evaluation *e, uint64_t first, size_t count, size_t *next) {
    e->variant = count == e->o->programs[ONS_WHOLE].rows ? ONS_WHOLE : ONS_REST;
    e->step_program = &e->o->programs[e->variant];
    e->number = (uint32_t)(first / e->o->programs[ONS_WHOLE].rows);
    ONS_TRY(count_batch(e, count));
    e->step.sample_share = e->step_program->sums ? (double)count / (double)usable(e->o) : 1;
    ons_status *launched = launch(e), *ahead = NULL;
    if (launched == NULL) *next = fill(e, first + stride(e->o), 1 - e->slot, &ahead);
    ons_status *finished = finish_batch(e, first, count);
    if (launched != NULL || finished != NULL) ons_status_free(ahead);
    if (launched != NULL) ons_status_free(finished);
    ONS_TRY(launched);
    ONS_TRY(finished);
    e->slot = 1 - e->slot;
    return ahead;
}

uint64_t ons_evaluator_batches(const ons_evaluator_options *o) {
    size_t rows = o->programs[ONS_WHOLE].rows;
    return (usable(o) + rows - 1) / rows;
}

static ons_status *find_means(const ons_evaluator_options *o, const ons_evaluation_sums *total,
                              ons_evaluation_result *result) {
    bool classes = o->counts_classes && o->target_field != ONS_NO_FIELD;
    ONS_CHECK(!classes || total->targets > 0, ONS_INVALID_DATA,
              "none of the targets counts, all are --ignore-index %" PRId64, o->ignore_index);
    ONS_CHECK(!classes || total->weight > 0, ONS_INVALID_DATA,
              "the classes of all targets have the weight 0 in --class-weights");
    result->loss = total->loss / total->weight;
    result->accuracy = o->counts_classes ? total->right / total->targets : NAN;
    return NULL;
}

ons_status *ons_evaluator_join(const ons_evaluator_options *o, ons_evaluation_result *result) {
    ons_evaluation_sums total = {0};
    for (uint64_t i = 0; i < ons_evaluator_batches(o); ++i) add(&o->batches[i], &total);
    return find_means(o, &total, result);
}

static ons_status *run_batches(evaluation *e) {
    const ons_evaluator_options *o = e->o;
    ons_status *status;
    uint64_t first = (uint64_t)o->rank_group.own * o->programs[ONS_WHOLE].rows;
    size_t count = fill(e, first, 0, &status), next = 0;
    ONS_TRY(status);
    for (; count > 0; first += stride(o), count = next) {
        ONS_TRY(run_batch(e, first, count, &next));
        uint64_t done = first + count;
        if (o->progress != NULL && !o->progress(o->progress_context, (int64_t)done, (int64_t)o->samples))
            return ons_status_new(ONS_INTERRUPTED, "stopped after %" PRIu64 " of %" PRIu64 " samples", done,
                                  o->samples);
    }
    return NULL;
}

/* Of all samples that are evaluated, whichever rank takes them. */
static ons_status *find_totals(const ons_evaluator_options *o) {
    if (o->totals == NULL) return NULL;
    uint64_t count = usable(o), *rows = malloc(((size_t)count + 1) * sizeof *rows);
    if (rows == NULL) return ons_status_out_of_memory();
    for (uint64_t i = 0; i < count; ++i) rows[i] = i;
    ons_status *status = ons_step_totals_find(o->totals, 0, rows, (size_t)count);
    free(rows);
    return status;
}

static ons_status *evaluate(evaluation *e, ons_evaluation_result *result) {
    const ons_evaluator_options *o = e->o;
    ONS_CHECK(usable(o) > 0, ONS_INVALID_DATA, "the model takes batches of %zu samples, the data has only %" PRIu64,
              o->programs[ONS_WHOLE].rows, o->samples);
    *result =
        (ons_evaluation_result){.samples = usable(o), .dropped = o->samples - usable(o), .loss = NAN, .accuracy = NAN};
    for (uint64_t i = 0; o->batches != NULL && i < ons_evaluator_batches(o); ++i)
        o->batches[i] = (ons_evaluation_sums){NAN, NAN, NAN, NAN};
    ONS_TRY(find_totals(o));
    ONS_TRY(run_batches(e));
    if (o->batches != NULL) return NULL;
    ONS_TRY(find_means(o, &e->total, result));
    if (!has_loss(o)) result->loss = NAN;
    if (!predicts(o)) result->accuracy = NAN;
    return NULL;
}

ons_status *ons_evaluator_run(const ons_evaluator_options *o, ons_evaluation_result *result) {
    evaluation e = {.o = o, .step = {.step = 1, .sample_share = 1}};
    ons_status *status = evaluate(&e, result);
    ons_host_copy_free(&e.prediction);
    return status;
}
