#include "runtime/stepper.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ons_stepper {
    ons_stepper_options o;
    uint64_t usable, steps_per_epoch; /* samples, steps of an epoch */
    uint64_t filled[ONS_FEED_SLOTS];  /* the step whose samples a slot holds; 0: none */
    /* what the compute thread works on */
    ons_step step;
    int slot;
    size_t samples;
    ons_program_fault fault;
};

ons_status *ons_stepper_new(const ons_stepper_options *options, ons_stepper **result) {
    ons_stepper *s = calloc(1, sizeof *s);
    if (s == NULL) return ons_status_out_of_memory();
    s->o = *options;
    uint64_t samples = options->order.count;
    s->usable = options->rest.program != NULL ? samples : samples - samples % options->full.rows;
    s->steps_per_epoch = (s->usable + options->batch - 1) / options->batch;
    s->step.seed = options->order.seed;
    *result = s;
    if (s->usable > 0) return NULL;
    ons_status *status = ons_status_new(ONS_INVALID_DATA,
                                        "the model was exported for batches of %zu samples, the data has only %" PRIu64,
                                        options->full.rows, samples);
    free(s);
    return status;
}

void ons_stepper_free(ons_stepper *stepper) { free(stepper); }

uint64_t ons_stepper_steps_per_epoch(const ons_stepper *s) { return s->steps_per_epoch; }

uint64_t ons_stepper_dropped(const ons_stepper *s) { return s->o.order.count - s->usable; }

/* How many samples step `step` takes. */
static size_t sample_count(const ons_stepper *s, uint64_t step) {
    uint64_t position = (step - 1) % s->steps_per_epoch * s->o.batch;
    uint64_t left = s->usable - position;
    return left < s->o.batch ? (size_t)left : s->o.batch;
}

static ons_status *fetch(ons_stepper *s, uint64_t step) {
    int slot = (int)(step % ONS_FEED_SLOTS);
    if (s->filled[slot] == step) return NULL;
    s->filled[slot] = 0;
    size_t count = sample_count(s, step);
    uint64_t epoch = (step - 1) / s->steps_per_epoch, position = (step - 1) % s->steps_per_epoch * s->o.batch;
    ons_order_rows(&s->o.order, epoch, position, count, s->o.feed->rows[slot]);
    ONS_TRY(ons_feed_fill(s->o.feed, slot, count));
    s->filled[slot] = step;
    return NULL;
}

/* Targets of the step that count, whichever micro-batch they fall into. */
static ons_status *count_targets(ons_stepper *s, int slot, size_t samples, double *counted) {
    *counted = (double)samples;
    if (s->o.target_field == ONS_NO_FIELD) return NULL;
    const ons_feed_field *target = &s->o.feed->fields[s->o.target_field];
    if (!s->o.counts_classes) {
        *counted *= (double)ons_shape_elements(&target->sample.shape);
        return NULL;
    }
    uint64_t count;
    ONS_TRY(ons_dataset_count_targets(s->o.feed->dataset, target->field, s->o.feed->rows[slot], samples,
                                      s->o.ignore_index, &count));
    ONS_CHECK(count > 0, ONS_INVALID_DATA,
              "step %" PRIu64 ": none of its targets counts, all are --ignore-index %" PRId64, s->step.step,
              s->o.ignore_index);
    *counted = (double)count;
    return NULL;
}

static void run_part(ons_stepper *s, const ons_unit *unit, ons_part part) {
    const ons_run run = {
        .step = &s->step, .observer = s->o.observer, .context = s->o.observer_context, .fault = &s->fault};
    if (s->fault.fault.problem == NULL) ons_program_run(unit->program, part, &run);
}

static void run_micro_batch(ons_stepper *s, const ons_unit *unit, size_t first_row) {
    for (uint32_t i = 0; i < s->o.feed->field_count; ++i) {
        void *address = ons_program_address(unit->program, unit->inputs[i], NULL);
        if (address != NULL)
            memcpy(address, ons_feed_sample(s->o.feed, s->slot, i, first_row), unit->rows * s->o.feed->fields[i].bytes);
    }
    s->step.sample_share = (double)unit->rows / (double)s->samples;
    run_part(s, unit, ONS_PART_FORWARD);
    run_part(s, unit, ONS_PART_BACKWARD);
    ++s->step.micro_batch;
}

/* The compute thread's part of a step: whole micro-batches, then what is left. */
static void run_step(void *argument, uintptr_t native) {
    (void)native;
    ons_stepper *s = argument;
    size_t whole = s->samples / s->o.full.rows;
    bool rest = s->samples % s->o.full.rows != 0;
    s->step.micro_batch = 0;
    if (whole > 0) run_part(s, &s->o.full, ONS_PART_BEGIN);
    for (size_t i = 0; i < whole; ++i) run_micro_batch(s, &s->o.full, i * s->o.full.rows);
    if (rest) {
        run_part(s, &s->o.rest, ONS_PART_BEGIN);
        run_micro_batch(s, &s->o.rest, whole * s->o.full.rows);
    }
    run_part(s, rest ? &s->o.rest : &s->o.full, ONS_PART_END);
}

static ons_status *fault_status(const ons_stepper *s, const ons_unit *unit, uint64_t step) {
    const ons_fault *fault = &s->fault.fault;
    const ons_graph *graph = ons_program_graph(unit->program);
    const char *node = s->fault.node == ONS_NONE ? "" : ons_graph_node(graph, s->fault.node)->name;
    return ons_status_new(ONS_INVALID_DATA, "step %" PRIu64 ", node '%s': %s (element %" PRId64 " is %" PRId64 ")",
                          step, node, fault->problem, fault->index, fault->value);
}

ons_status *ons_stepper_run(ons_stepper *s, uint64_t step, double learning_rate, bool last_step,
                            ons_step_result *result) {
    ONS_TRY(fetch(s, step));
    s->slot = (int)(step % ONS_FEED_SLOTS);
    s->samples = sample_count(s, step);
    s->step.step = step;
    s->step.learning_rate = (float)learning_rate;
    s->fault = (ons_program_fault){.node = ONS_NONE};
    ONS_TRY(count_targets(s, s->slot, s->samples, &s->step.counted_targets));
    ons_machine_launch(s->o.machine, run_step, s);
    ons_status *ahead = last_step ? NULL : fetch(s, step + 1);
    ons_machine_wait(s->o.machine);
    ONS_TRY(ahead);
    const ons_unit *last = s->samples % s->o.full.rows != 0 ? &s->o.rest : &s->o.full;
    if (s->fault.fault.problem != NULL) return fault_status(s, last, step);
    *result = (ons_step_result){
        .loss = ons_program_scalar(last->program, last->loss, NULL),
        .norm = last->norm == ONS_NONE ? NAN : ons_program_scalar(last->program, last->norm, NULL),
        .samples = s->samples,
        .last = last,
    };
    return NULL;
}
