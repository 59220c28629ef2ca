#include "runtime/pipeline/stepper.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "runtime/pipeline/samples_ahead.h"

/* One way of micro-batches through the pipeline: those that go together, or the rest. */
typedef struct leg {
    ons_stepper *stepper;
    const ons_step_program *programs[2]; /* as in the pass's lineup */
    size_t first_row;
    int slot; /* of the feed */
    ons_pipeline_pass pass;
} leg;

enum { TOGETHER, REST, LEGS };

struct ons_stepper {
    ons_stepper_options o;
    ons_arena *arena;
    uint64_t usable, steps_per_epoch; /* samples, steps of an epoch */
    uint32_t size, together;          /* units of the step in a micro-batch, and in as many as all stages can divide */
    uint32_t most, least; /* micro-batches of this rank, but for the rest: of a whole step, of an epoch's last one */
    ons_action_list most_actions, least_actions, rest_actions, update_actions;
    const bool *most_halved, *least_halved; /* see ons_pipeline_pass; the rest is computed as a whole */
    uint64_t filled[ONS_FEED_SLOTS];        /* the step whose samples a slot holds; 0: none */
    ons_samples_ahead *ahead;               /* NULL: samples come from the feed when their step runs */
    double *counted;                        /* of each micro-batch, where each has an update of its own */
    uint64_t *losses; /* of each micro-batch, where each has an update of its own: the bits of a float32 or float64 */
    uint32_t version; /* place of the newest weights */
    /* the step that runs */
    ons_step step;
    int slot;
    size_t samples;   /* of all ranks */
    ons_portions own; /* what this rank has of it */
    ons_numbers numbers;
    uint32_t *shares; /* [rank]: micro-batches */
    uint32_t active;  /* ranks that have any */
    leg legs[LEGS];
};

/* --------------------------------------------------------------------------------------------------------- building */

static bool is_asynchronous(const ons_stepper *s) { return s->o.schedule->asynchronous; }

static ons_portions portions_of(const ons_stepper *s, uint64_t samples) {
    uint64_t units = (uint64_t)s->o.micro_batches * s->o.rank_group.count;
    return ons_portions_in_parts(ons_portions_make(s->o.batch, units / s->together, samples), s->together / s->size);
}

static ons_numbers numbers_of(const ons_stepper *s, const ons_portions *of_step, uint32_t rank) {
    return ons_rank_group_numbers(&s->o.rank_group, rank, ons_portions_total(of_step));
}

static ons_portions own_portions(const ons_stepper *s, const ons_portions *of_step) {
    ons_numbers numbers = numbers_of(s, of_step, s->o.rank_group.own);
    return ons_portions_of_numbers(*of_step, &numbers);
}

/* Which forward parts of all stages are in halves. */
static ons_status *list_halved(ons_stepper *s, const ons_schedule *schedule, const bool **result) {
    bool *halved = NULL;
    for (uint32_t device = 0; device < schedule->devices; ++device)
        for (uint32_t i = 0; i < schedule->lists[device].count; ++i) {
            const ons_action *a = &schedule->lists[device].items[i];
            if (!a->halved) continue;
            if (halved == NULL) ONS_NEW(halved, s->arena, (size_t)schedule->stages * schedule->micro_batches);
            halved[(size_t)a->stage * schedule->micro_batches + a->micro_batch] = true;
        }
    *result = halved;
    return NULL;
}

static ons_status *list_actions(ons_stepper *s, uint32_t micro_batches, ons_action_list *list, const bool **halved) {
    ons_schedule shorter;
    if (micro_batches == 0) return NULL;
    if (s->o.schedule->groupings != NULL) /* copies may have one more or less than others */
        return ons_device_list_shorten(&s->o.schedule->lists[s->o.device], micro_batches, s->arena, list);
    ONS_TRY(ons_schedule_shorten(s->o.schedule, micro_batches, s->arena, &shorter));
    *list = shorter.lists[s->o.device];
    return halved == NULL ? NULL : list_halved(s, &shorter, halved);
}

/* What is left is one micro-batch, the same to all stages. */
static ons_status *list_rest(ons_stepper *s) {
    if (s->o.schedule->groupings == NULL) return list_actions(s, 1, &s->rest_actions, NULL);
    return ons_device_list_shorten(&s->o.schedule->lists[s->o.device], 1, s->arena, &s->rest_actions);
}

/* Of a rank that has no sample in a step, and yet the same weights after it. */
static ons_status *list_updates(ons_stepper *s) {
    const ons_action_list *all = &s->o.schedule->lists[s->o.device];
    ons_action_list *list = &s->update_actions;
    ONS_NEW(list->items, s->arena, all->count + 1);
    for (uint32_t i = 0; i < all->count; ++i)
        if (all->items[i].kind == ONS_ACTION_UPDATE) {
            list->items[list->count] = all->items[i];
            list->items[list->count++].micro_batch = 0;
        }
    return NULL;
}

static int64_t losses_bytes(const ons_stepper *s) { return (int64_t)((s->o.micro_batches + 2) * sizeof *s->losses); }

static ons_status *set_up(ons_stepper *s) {
    const ons_stepper_options *o = &s->o;
    uint64_t samples = o->order.count;
    s->together = ons_units_together(o->schedule);
    s->size = ons_units_of_device(o->schedule, o->device);
    s->most = o->micro_batches / s->size;
    ons_portions last = portions_of(s, samples % o->batch);
    s->usable = o->programs[ONS_REST].program != NULL ? samples : samples - last.rows[ONS_REST];
    ONS_CHECK(s->usable > 0, ONS_INVALID_DATA,
              "micro-batches of fewer than %zu samples are not computed, and the data has only %" PRIu64
              "; give more, or a smaller --batch",
              o->programs[ONS_WHOLE].rows, samples);
    s->steps_per_epoch = (s->usable + o->batch - 1) / o->batch;
    s->step.seed = o->order.seed;
    last = portions_of(s, s->usable % o->batch);
    last = own_portions(s, &last);
    s->least = ons_portions_together(&last);
    ONS_NEW(s->shares, s->arena, o->rank_group.count);
    ONS_NEW(s->counted, s->arena, o->micro_batches + 2);
    ons_device *device = ons_device_context_device(ons_worker_device_context(o->worker));
    void *losses;
    ONS_TRY(device->allocate_host(device, losses_bytes(s), &losses));
    s->losses = losses;
    ONS_TRY(ons_samples_ahead_new(ons_worker_device_context(o->worker), o->feed, &s->ahead));
    ONS_TRY(list_actions(s, s->most, &s->most_actions, &s->most_halved));
    ONS_TRY(list_actions(s, s->least, &s->least_actions, &s->least_halved));
    ONS_TRY(list_updates(s));
    return list_rest(s);
}

ons_status *ons_stepper_new(const ons_stepper_options *options, ons_stepper **result) {
    ons_stepper *s = calloc(1, sizeof *s);
    if (s == NULL) return ons_status_out_of_memory();
    s->o = *options;
    if (s->o.rank_group.count == 0) s->o.rank_group.count = 1;
    s->arena = ons_arena_new();
    ons_status *status = s->arena == NULL ? ons_status_out_of_memory() : set_up(s);
    if (status != NULL) {
        ons_stepper_free(s);
        return status;
    }
    *result = s;
    return NULL;
}

void ons_stepper_free(ons_stepper *s) {
    if (s == NULL) return;
    ons_device *device = ons_device_context_device(ons_worker_device_context(s->o.worker));
    ons_samples_ahead_free(s->ahead);
    if (s->losses != NULL) device->release_host(device, s->losses, losses_bytes(s));
    ons_arena_free(s->arena);
    free(s);
}

uint64_t ons_stepper_steps_per_epoch(const ons_stepper *s) { return s->steps_per_epoch; }

uint64_t ons_stepper_dropped(const ons_stepper *s) { return s->o.order.count - s->usable; }

uint32_t ons_stepper_version(const ons_stepper *s) { return s->version; }

void ons_stepper_rewind(ons_stepper *s) { s->version = 0; }

/* ------------------------------------------------------------------------------------------------------------- data */

/* How many samples step `step` takes. */
static size_t sample_count(const ons_stepper *s, uint64_t step) {
    uint64_t position = (step - 1) % s->steps_per_epoch * s->o.batch;
    uint64_t left = s->usable - position;
    return left < s->o.batch ? (size_t)left : s->o.batch;
}

static const ons_step_program *step_program_of_number(const ons_stepper *s, const ons_portions *of_step,
                                                      uint64_t number) {
    ons_batch_variant v = ONS_WHOLE;
    while (number >= of_step->count[v]) number -= of_step->count[v++];
    return &s->o.programs[v];
}

/* Samples of this rank's micro-batches, one behind the other; `filled`: how many they are. */
static ons_status *fill(const ons_stepper *s, int slot, const ons_portions *of_step, size_t *filled) {
    ons_numbers numbers = numbers_of(s, of_step, s->o.rank_group.own);
    ons_portions own = ons_portions_of_numbers(*of_step, &numbers);
    size_t to = 0;
    *filled = (size_t)ons_portions_samples(&own);
    if (numbers.stride == 1)
        return ons_feed_fill(s->o.feed, slot, ons_portions_first_sample(of_step, numbers.first), *filled, 0);
    for (uint64_t i = 0; i < numbers.count; ++i) {
        uint64_t number = numbers.first + i * numbers.stride;
        size_t rows = step_program_of_number(s, of_step, number)->rows;
        ONS_TRY(ons_feed_fill(s->o.feed, slot, ons_portions_first_sample(of_step, number), rows, to));
        to += rows;
    }
    return NULL;
}

static ons_status *fetch(ons_stepper *s, uint64_t step) {
    int slot = (int)(step % ONS_FEED_SLOTS);
    if (s->filled[slot] == step) return NULL;
    s->filled[slot] = 0;
    size_t count = sample_count(s, step), filled;
    uint64_t epoch = (step - 1) / s->steps_per_epoch, position = (step - 1) % s->steps_per_epoch * s->o.batch;
    ons_order_rows(&s->o.order, epoch, position, count, s->o.feed->rows[slot]);
    ons_portions of_step = portions_of(s, count);
    ONS_TRY(fill(s, slot, &of_step, &filled));
    if (s->o.totals != NULL) ONS_TRY(ons_step_totals_find(s->o.totals, slot, s->o.feed->rows[slot], count));
    if (s->ahead != NULL) ons_samples_ahead_copy(s->ahead, slot, filled);
    s->filled[slot] = step;
    return NULL;
}

static ons_status *weigh_targets(const ons_stepper *s, size_t first, size_t samples, double *weight) {
    ONS_TRY(ons_dataset_weigh_targets(s->o.feed->dataset, s->o.target_field, s->o.feed->rows[s->slot] + first, samples,
                                      s->o.ignore_index, &s->o.class_weights, weight));
    ONS_CHECK(*weight > 0, ONS_INVALID_DATA,
              "step %" PRIu64 ": the classes of all its targets have the weight 0 in --class-weights", s->step.step);
    return NULL;
}

/* Targets that count among some samples of the step, or the sum of their classes' weights. */
static ons_status *count_targets(const ons_stepper *s, size_t first, size_t samples, double *counted) {
    *counted = (double)samples;
    if (s->o.target_field == ONS_NO_FIELD) return NULL;
    if (!s->o.counts_classes) {
        *counted *= (double)ons_shape_elements(&s->o.target_sample.shape);
        return NULL;
    }
    uint64_t count;
    ONS_TRY(ons_dataset_count_targets(s->o.feed->dataset, s->o.target_field, s->o.feed->rows[s->slot] + first, samples,
                                      s->o.ignore_index, &count));
    ONS_CHECK(count > 0, ONS_INVALID_DATA,
              "step %" PRIu64 ": none of its targets counts, all are --ignore-index %" PRId64, s->step.step,
              s->o.ignore_index);
    *counted = (double)count;
    return s->o.class_weights.of_class == NULL ? NULL : weigh_targets(s, first, samples, counted);
}

/* Of the whole step, whichever micro-batch they fall into; asynchronously each micro-batch is an update of its own. */
static ons_status *count_all_targets(ons_stepper *s) {
    ONS_TRY(count_targets(s, 0, s->samples, &s->step.counted_targets));
    ons_portions of_step = portions_of(s, s->samples);
    size_t first = 0, number = 0;
    for (ons_batch_variant v = ONS_WHOLE; is_asynchronous(s) && v < ONS_BATCH_VARIANTS; ++v)
        for (uint64_t i = 0; i < of_step.count[v]; ++i, first += of_step.rows[v])
            ONS_TRY(count_targets(s, first, of_step.rows[v], &s->counted[number++]));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- step */

static const ons_step_program *step_program_of(const leg *l, uint32_t micro_batch) {
    return l->programs[l->programs[1] != NULL && micro_batch >= l->pass.lineup.first_count];
}

/* The first sample of a micro-batch among those that this rank has of the step. */
static size_t first_row(const leg *l, uint32_t micro_batch) {
    const ons_step_program *step_program = step_program_of(l, micro_batch);
    size_t before = step_program == l->programs[0] ? 0 : l->pass.lineup.first_count;
    return l->first_row + before * l->programs[0]->rows + (micro_batch - before) * step_program->rows;
}

static void load(void *context, uint32_t micro_batch, ons_part part, const ons_part_place *part_place) {
    const leg *l = context;
    ons_step_program_load_totals(step_program_of(l, micro_batch), l->stepper->o.worker, l->stepper->o.totals, l->slot,
                                 part, part_place);
    const ons_step_program *step_program = step_program_of(l, micro_batch);
    const ons_feed *feed = l->stepper->o.feed;
    for (uint32_t i = 0; i < feed->field_count; ++i) {
        ons_value_id input = step_program->inputs[i];
        if (input == ONS_NONE || !ons_stage_program_loads(step_program->stage, input, part)) continue;
        void *address = ons_program_address_to_write(step_program->program, input, part_place);
        size_t row = first_row(l, micro_batch);
        const ons_samples_ahead *ahead = l->stepper->ahead;
        if (address != NULL)
            ons_worker_transfer(l->stepper->o.worker, address,
                                ahead != NULL ? ons_samples_ahead_sample(ahead, l->slot, i, row)
                                              : ons_feed_sample(feed, l->slot, i, row),
                                step_program->rows * feed->fields[i].bytes);
    }
}

static bool is_wide(const ons_step_program *step_program) {
    return ons_graph_value(ons_program_graph(step_program->program), step_program->loss)->type.dtype == ONS_FLOAT64;
}

/* Of an asynchronous pipeline: its losses do not add up by themselves. */
static void read_loss(void *context, uint32_t micro_batch, const ons_part_place *part_place) {
    const leg *l = context;
    const ons_step_program *step_program = step_program_of(l, micro_batch);
    uint32_t number = l->pass.step.micro_batch + micro_batch;
    ons_worker_transfer(l->stepper->o.worker, &l->stepper->losses[number],
                        ons_program_address(step_program->program, step_program->loss, part_place),
                        is_wide(step_program) ? sizeof(double) : sizeof(float));
}

/* Of an asynchronous pipeline, in which every micro-batch is an update. */
static uint64_t updates_before(const ons_stepper *s) {
    uint64_t steps = s->steps_per_epoch, done = s->step.step - 1, left = s->usable % s->o.batch;
    uint64_t of_epoch = steps * s->o.micro_batches;
    if (left > 0) of_epoch -= s->o.micro_batches - s->least - portions_of(s, left).count[ONS_REST];
    return done / steps * of_epoch + done % steps * s->o.micro_batches;
}

/* Which rows of which slot are loaded, and which losses are read. */
static uint32_t places(uint32_t done, int slot) { return 1 + done * ONS_FEED_SLOTS + (uint32_t)slot; }

/* Of the step that a micro-batch belongs to: asynchronously it is a step of its own. */
static double sample_share(const ons_stepper *s, const ons_step_program *step_program) {
    return is_asynchronous(s) ? 1 : (double)step_program->rows / (double)s->samples;
}

static ons_pipeline_pass make_pass(ons_stepper *s, const ons_action_list *actions, uint32_t count, uint32_t done,
                                   bool last) {
    ons_pipeline_pass pass = {
        .actions = *actions,
        .micro_batches = count,
        .begins = true,
        .updates = last || is_asynchronous(s),
        .asynchronous = is_asynchronous(s),
        .version = s->version + done,
        .step = s->step,
        .update = is_asynchronous(s) ? updates_before(s) + done + 1 : s->step.step,
        .counted_targets = is_asynchronous(s) ? s->counted + done : NULL,
        .replicas = {s->active, s->shares},
        .load = load,
        .places = places(done, s->slot),
    };
    pass.stride = (uint32_t)s->numbers.stride;
    pass.number = (uint32_t)s->numbers.first + done * pass.stride;
    pass.step.first_micro_batch = (uint32_t)s->numbers.first * s->size;
    pass.step.micro_batch = pass.number * s->size;
    return pass;
}

/* `first_count` of `count` micro-batches by the first program, the others by the second. */
static uint32_t make_leg(ons_stepper *s, const ons_step_program *const programs[2], uint32_t first_count, uint32_t done,
                         uint32_t count, bool last, leg *l) {
    bool rest = programs[0] == &s->o.programs[ONS_REST];
    const ons_action_list *actions = rest ? &s->rest_actions : count == s->most ? &s->most_actions : &s->least_actions;
    *l = (leg){.stepper = s, .programs = {programs[0], programs[1]}, .slot = s->slot};
    l->pass = make_pass(s, actions, count, done, last);
    l->pass.form = rest ? ONS_PASS_OF_REST : ONS_PASS_OF_STEP;
    l->pass.halved = actions == &s->most_actions    ? s->most_halved
                     : actions == &s->least_actions ? s->least_halved
                                                    : NULL;
    l->pass.lineup = (ons_lineup){{programs[0]->stage, programs[1] == NULL ? NULL : programs[1]->stage}, first_count};
    l->pass.read = is_asynchronous(s) && programs[0]->loss != ONS_NONE ? read_loss : NULL;
    l->pass.context = l;
    l->pass.step.sample_share = sample_share(s, programs[0]);
    if (programs[1] != NULL) l->pass.second_share = sample_share(s, programs[1]);
    return done + count;
}

/* No micro-batch: sums come from other ranks. */
static ons_status *launch_update(ons_stepper *s) {
    leg *l = &s->legs[TOGETHER];
    *l = (leg){.stepper = s, .programs = {&s->o.programs[ONS_WHOLE], NULL}, .slot = s->slot};
    l->pass = make_pass(s, &s->update_actions, 0, 0, true);
    l->pass.lineup = (ons_lineup){{l->programs[0]->stage, NULL}, 0};
    l->pass.context = l;
    return ons_worker_launch(s->o.worker, &l->pass);
}

/* Micro-batches that go through the pipeline together, then what is left. */
static ons_status *launch(ons_stepper *s, uint32_t *micro_batches) {
    const ons_stepper_options *o = &s->o;
    const ons_portions *own = &s->own;
    uint32_t together = ons_portions_together(own), done = 0;
    ONS_CHECK(together == 0 || together == s->most || together == s->least, ONS_DEFECT,
              "a step of %u micro-batches, and there are lists for %u and %u", together, s->most, s->least);
    if (together > 0) {
        uint32_t whole = (uint32_t)own->count[ONS_WHOLE];
        const ons_step_program *const programs[] = {&o->programs[whole > 0 ? ONS_WHOLE : ONS_SHORTER],
                                                    whole > 0 && together > whole ? &o->programs[ONS_SHORTER] : NULL};
        done = make_leg(s, programs, whole, 0, together, own->count[ONS_REST] == 0, &s->legs[TOGETHER]);
        ONS_TRY(ons_worker_launch(o->worker, &s->legs[TOGETHER].pass));
    }
    if (own->count[ONS_REST] > 0) {
        const ons_step_program *const programs[] = {&o->programs[ONS_REST], NULL};
        done = make_leg(s, programs, 1, done, 1, true, &s->legs[REST]);
        s->legs[REST].first_row = ons_portions_samples(own) - own->rows[ONS_REST];
        ONS_TRY(ons_worker_launch(o->worker, &s->legs[REST].pass));
    }
    *micro_batches = done;
    return done > 0 ? NULL : launch_update(s);
}

/* What has run once is recorded, with the data of either slot: so nothing is taken on the device from the second step
 * of a kind on. */
static ons_status *keep(const leg *l, uint32_t done) {
    for (int slot = 0; slot < ONS_FEED_SLOTS; ++slot) {
        leg other = *l;
        other.slot = slot;
        other.pass.places = places(done, slot);
        other.pass.context = &other;
        ONS_TRY(ons_worker_keep(l->stepper->o.worker, &other.pass));
    }
    return NULL;
}

static ons_status *keep_legs(const ons_stepper *s) {
    uint32_t together = ons_portions_together(&s->own);
    if (together > 0) ONS_TRY(keep(&s->legs[TOGETHER], 0));
    return s->own.count[ONS_REST] == 0 ? NULL : keep(&s->legs[REST], together);
}

static const ons_step_program *last_step_program(const ons_stepper *s) {
    ons_batch_variant v = ONS_REST;
    while (v > ONS_WHOLE && s->own.count[v] == 0) --v;
    return &s->o.programs[v];
}

static ons_status *fault_status(const ons_program_fault *found, const ons_stage_program *where, uint64_t step) {
    char text[ONS_FAULT_TEXT];
    const char *node = ons_program_fault_node(where->program, found);
    return ons_status_new(ONS_INVALID_DATA, "step %" PRIu64 ", node '%s': %s", step, node,
                          ons_fault_print(&found->fault, text));
}

static double loss_of_bits(const ons_step_program *step_program, const uint64_t *bits) {
    double wide;
    float narrow;
    memcpy(&wide, bits, sizeof wide);
    memcpy(&narrow, bits, sizeof narrow);
    return is_wide(step_program) ? wide : (double)narrow;
}

/* NaN: the stage has no such number. */
static ons_status *read_numbers(const ons_stepper *s, const ons_step_program *last, uint32_t micro_batches,
                                ons_step_result *result) {
    const ons_value_id values[] = {last->loss, last->scale, last->norm};
    double numbers[] = {NAN, NAN, NAN}, sum = 0;
    ONS_TRY(ons_device_context_scalars(ons_worker_device_context(s->o.worker), last->program, values, 3, numbers));
    result->loss = numbers[0];
    result->scale = numbers[1];
    result->norm = numbers[2];
    if (!is_asynchronous(s) || last->loss == ONS_NONE) return NULL;
    for (uint32_t i = 0; i < micro_batches; ++i) sum += loss_of_bits(last, &s->losses[i]) * s->counted[i];
    result->loss = sum / s->step.counted_targets;
    return NULL;
}

static ons_status *finish(ons_stepper *s, uint64_t step, uint32_t micro_batches, ons_step_result *result) {
    ons_program_fault fault;
    const ons_stage_program *where;
    ONS_TRY(ons_worker_wait(s->o.worker, &fault, &where));
    if (fault.fault.problem != NULL) return fault_status(&fault, where, step);
    const ons_step_program *last = last_step_program(s);
    if (is_asynchronous(s)) s->version = (s->version + micro_batches) % last->stage->versions;
    *result = (ons_step_result){.samples = s->samples, .last = last};
    return read_numbers(s, last, micro_batches, result);
}

/* Which micro-batches of the step are whose. */
static void share_step(ons_stepper *s) {
    ons_portions of_step = portions_of(s, s->samples);
    s->numbers = numbers_of(s, &of_step, s->o.rank_group.own);
    s->own = own_portions(s, &of_step);
    s->active = 0;
    for (uint32_t i = 0; i < s->o.rank_group.count; ++i) {
        s->shares[i] = (uint32_t)numbers_of(s, &of_step, i).count;
        s->active += s->shares[i] > 0;
    }
    if (s->o.reducer != NULL) ons_reducer_begin_step(s->o.reducer);
}

ons_status *ons_stepper_run(ons_stepper *s, uint64_t step, ons_rate rate, bool last_step, ons_step_result *result) {
    ONS_TRY(fetch(s, step));
    s->slot = (int)(step % ONS_FEED_SLOTS);
    s->samples = sample_count(s, step);
    s->step.step = step;
    s->step.learning_rate = (float)(rate.base * rate.share);
    s->step.rate_share = rate.share;
    ONS_TRY(count_all_targets(s));
    share_step(s);
    uint32_t micro_batches = 0;
    if (s->ahead != NULL) ons_samples_ahead_await(s->ahead, s->slot);
    ons_status *launched = launch(s, &micro_batches);
    /* What fails for the next step fails there, before anything is done: this step is as good as any. */
    if (launched == NULL && !last_step) ons_status_free(fetch(s, step + 1));
    ons_status *finished = finish(s, step, micro_batches, result);
    if (launched != NULL) ons_status_free(finished);
    ONS_TRY(launched);
    ONS_TRY(finished);
    return last_step ? NULL : keep_legs(s);
}
