#include "tests/rooms/pipeline/replayed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/sharing.h"
#include "runtime/data/order.h"

enum { ONCE = UINT32_MAX / 2 }; /* … for the first copy of a stage, and from there on for the others */

/* A unit of a message (ONCE: all of it) that nobody has read yet. */
typedef struct letter {
    struct letter *next;
    const char *name;
    uint32_t to, unit; /* a group of devices */
    size_t bytes;
    char data[];
} letter;

typedef struct device {
    uint32_t number, group, copy, copies;
    uint32_t size; /* units in a micro-batch */
    ons_device_context *context;
    ons_share share;
    bool ready; /* all that the step's micro-batches add up is there, of this copy */
    bool adds;  /* this copy has had a micro-batch in the step */
    /* of the pass */
    const ons_share_program *share_program;
    const ons_cut_stage *cut;
    ons_value_id *roots;
    ons_action_list actions;
    uint32_t pieces; /* units in a message of a micro-batch */
    uint32_t next;   /* action */
    uint32_t *read;  /* [receive]: micro-batches that have read it */
    bool began, inside;
    /* of the part, while inside */
    ons_part part;
    uint32_t micro_batch, position;
    bool *sent; /* [send] */
} device;

struct replayed {
    replayed_options o;
    ons_arena *arena;
    device *devices;
    letter *letters;
    uint64_t usable;
    /* of the pass */
    ons_step step;
    size_t samples;
    uint32_t done; /* units before it in the step */
    ons_device_groups groups;
};

/* --------------------------------------------------------------------------------------------------------- building */

static ons_status *build_device(replayed *r, device *d) {
    ons_device *cpu;
    ONS_TRY(ons_cpu_device_new(0, false, &cpu));
    ONS_TRY(ons_device_context_new(cpu, r->o.model->registry, r->o.threads, &d->context));
    const ons_share_options options = {
        .model = r->o.model,
        .dataset_graphs = r->o.dataset_graphs,
        .device_context = d->context,
        .batch = (size_t)r->o.batching.batch,
        .repeats = r->o.batching.micro_batches > 1,
        .stage = d->group,
        .device = d->number,
        .schedule = r->o.schedule,
        .micro_batches = (uint32_t)r->o.batching.micro_batches / d->copies,
        .versions = 1,
    };
    ONS_TRY(ons_share_build(&options, &d->share));
    return ons_device_context_start(d->context);
}

static ons_status *build(replayed *r) {
    ONS_NEW(r->devices, r->arena, r->o.schedule->devices);
    ONS_TRY(ons_device_groups_find(r->o.schedule, r->arena, &r->groups));
    for (uint32_t i = 0; i < r->o.schedule->devices; ++i) {
        device *d = &r->devices[i];
        uint32_t group = r->groups.of_device[i], stage = 0;
        while (!ons_schedule_holds(r->o.schedule, stage, i)) ++stage;
        *d = (device){.number = i,
                      .group = group,
                      .copy = i - r->groups.items[group].first,
                      .copies = r->groups.items[group].copies,
                      .size = ons_schedule_grouping(r->o.schedule, stage).size};
        ONS_TRY(build_device(r, d));
    }
    return NULL;
}

ons_status *replayed_new(const replayed_options *options, replayed **result) {
    replayed *r = calloc(1, sizeof *r);
    if (r == NULL) return ons_status_out_of_memory();
    r->o = *options;
    r->arena = ons_arena_new();
    ons_status *status = r->arena == NULL ? ons_status_out_of_memory() : build(r);
    if (status != NULL) {
        replayed_free(r);
        return status;
    }
    *result = r;
    return NULL;
}

static void drop_letters(replayed *r) {
    for (letter *l = r->letters, *next; l != NULL; l = next) {
        next = l->next;
        free(l);
    }
    r->letters = NULL;
}

void replayed_free(replayed *r) {
    if (r == NULL) return;
    for (uint32_t i = 0; r->devices != NULL && i < r->o.schedule->devices; ++i) {
        ons_device_context_free(r->devices[i].context);
        ons_share_free(&r->devices[i].share);
    }
    drop_letters(r);
    ons_arena_free(r->arena);
    free(r);
}

ons_device_context *replayed_device_context(const replayed *r, uint32_t index) { return r->devices[index].context; }

/* ---------------------------------------------------------------------------------------------------------- letters */

static bool is_of_step(ons_part_kind kind) { return kind == ONS_PART_BEGIN || kind == ONS_PART_END; }

static const char *name_of(const device *d, const ons_cut_transfer *t) {
    return ons_graph_value(d->cut->graph, t->value)->name;
}

static ons_status *post(replayed *r, const char *name, uint32_t to, uint32_t unit, const char *data, size_t bytes) {
    letter *l = malloc(sizeof *l + bytes);
    if (l == NULL) return ons_status_out_of_memory();
    *l = (letter){r->letters, name, to, unit, bytes};
    memcpy(l->data, data, bytes);
    r->letters = l;
    return NULL;
}

/* The first of the step's units in the micro-batch. */
static uint32_t first_unit(const replayed *r, const device *d) {
    return d->share_program == &d->share.programs[ONS_REST] ? r->done
                                                            : (d->micro_batch * d->copies + d->copy) * d->size;
}

/* `copy`: of what a step has once, whose it is. */
static uint32_t unit_of(const replayed *r, const device *d, const ons_cut_transfer *t, uint32_t copy, uint32_t k) {
    return is_of_step(t->kind) ? ONCE + copy : first_unit(r, d) + k;
}

/* Where a unit of a message begins. Between devices of one size it may have no units, and is cut anywhere. */
static size_t begin_of(const device *d, const ons_cut_transfer *t, uint32_t k) {
    size_t bytes = (size_t)ons_stage_program_bytes(&d->share_program->stage, t->value);
    uint32_t units = is_of_step(t->kind) ? 1 : d->pieces;
    return units == 0 ? 0 : bytes * k / units;
}

/* What has been made so far in the part. */
static ons_status *send(replayed *r, device *d, bool *moved) {
    for (uint32_t i = 0; i < d->cut->send_count; ++i) {
        const ons_cut_transfer *t = &d->cut->sends[i];
        ons_node_id maker = ons_graph_value(d->cut->graph, t->value)->producer;
        if (t->part != d->part || d->sent[i] || (maker != ONS_NONE && maker >= d->position)) continue;
        d->sent[i] = *moved = true;
        const ons_part_place part_place = {.micro_batch = d->micro_batch};
        const char *data = ons_program_address(d->share_program->stage.program, t->value, &part_place);
        bool once = is_of_step(t->kind);
        uint32_t copies = once ? r->groups.items[t->peer].copies : d->copy + 1;
        for (uint32_t copy = d->copy; copy < copies; copy += d->copies) /* each has it from one of this stage's */
            for (uint32_t k = 0; k < (once ? 1 : d->pieces); ++k)
                ONS_TRY(post(r, name_of(d, t), t->peer, unit_of(r, d, t, copy, k), data + begin_of(d, t, k),
                             begin_of(d, t, k + 1) - begin_of(d, t, k)));
    }
    return NULL;
}

static letter **find_letter(replayed *r, const device *d, const ons_cut_transfer *t, uint32_t unit) {
    letter **l = &r->letters;
    while (*l != NULL && ((*l)->to != d->group || (*l)->unit != unit || strcmp((*l)->name, name_of(d, t)) != 0))
        l = &(*l)->next;
    return l;
}

/* Takes a message, once all of it is there. */
static ons_status *receive(replayed *r, device *d, uint32_t index, bool *taken) {
    const ons_cut_transfer *t = &d->cut->receives[index];
    const ons_part_place part_place = {.micro_batch = d->micro_batch};
    uint32_t units = is_of_step(t->kind) ? 1 : d->pieces;
    char *place = ons_program_address_to_write(d->share_program->stage.program, t->value, &part_place);
    *taken = true;
    for (uint32_t k = 0; k < units; ++k) *taken = *taken && *find_letter(r, d, t, unit_of(r, d, t, d->copy, k)) != NULL;
    for (uint32_t k = 0; *taken && k < units; ++k) {
        letter **at = find_letter(r, d, t, unit_of(r, d, t, d->copy, k)), *l = *at;
        size_t bytes = begin_of(d, t, k + 1) - begin_of(d, t, k);
        ONS_CHECK(l->bytes == bytes, ONS_DEFECT, "'%s': %zu bytes instead of %zu", l->name, l->bytes, bytes);
        memcpy(place + begin_of(d, t, k), l->data, bytes);
        *at = l->next;
        free(l);
    }
    if (*taken) d->read[index] = d->micro_batch + 1;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ parts */

/* A message of this micro-batch that the node reads and that was not taken yet; `receive_count`: none. */
static uint32_t wanted(const device *d, ons_node_id id) {
    const ons_node *node = ons_graph_node(d->cut->graph, id);
    for (uint32_t r = 0; r < d->cut->receive_count; ++r) {
        const ons_cut_transfer *t = &d->cut->receives[r];
        bool taken = is_of_step(t->kind) ? d->read[r] > 0 : d->read[r] > d->micro_batch;
        for (uint32_t i = 0; !taken && i < node->input_count; ++i)
            if (node->inputs[i] != ONS_NONE && d->roots[node->inputs[i]] == t->value) return r;
    }
    return d->cut->receive_count;
}

typedef struct stretch {
    const ons_program *program;
    uint32_t first, end;
    ons_step step;
    ons_part_place part_place;
    ons_program_fault fault;
} stretch;

static void run_stretch(void *argument, uintptr_t native) {
    stretch *s = argument;
    const ons_run run = {.step = &s->step, .part_place = &s->part_place, .fault = &s->fault, .stream = native};
    ons_program_run_positions((ons_program *)s->program, s->first, s->end, &run);
}

static ons_status *run_until(const replayed *r, device *d, uint32_t end) {
    stretch s = {.program = d->share_program->stage.program,
                 .first = d->position,
                 .end = end,
                 .step = r->step,
                 .part_place = {.micro_batch = d->micro_batch},
                 .fault = {.node = ONS_NONE}};
    s.step.first_micro_batch = d->copy * d->size;
    s.step.micro_batch = first_unit(r, d);
    s.step.sample_share = (double)d->share_program->step_program.rows / (double)r->samples;
    if (d->position < end) {
        ons_device_context_launch(d->context, run_stretch, &s);
        ons_device_context_wait(d->context);
    }
    ONS_CHECK(s.fault.fault.problem == NULL, ONS_INVALID_DATA, "%s", s.fault.fault.problem);
    d->position = end;
    return NULL;
}

static void load(const replayed *r, const device *d) {
    const ons_part_place part_place = {.micro_batch = d->micro_batch};
    const ons_step_program *step_program = &d->share_program->step_program;
    size_t row = first_unit(r, d) * (size_t)r->o.batching.rows;
    for (uint32_t i = 0; i < d->share.feed.field_count; ++i) {
        if (step_program->inputs[i] == ONS_NONE ||
            !ons_stage_program_loads(step_program->stage, step_program->inputs[i], d->part))
            continue;
        void *place = ons_program_address_to_write(step_program->program, step_program->inputs[i], &part_place);
        if (place != NULL)
            memcpy(place, ons_feed_sample(&d->share.feed, 0, i, row),
                   step_program->rows * d->share.feed.fields[i].bytes);
    }
}

static bool is_sum(const ons_value *value) {
    bool sum = strstr(value->name, "/accumulator_") != NULL || strcmp(value->name, "loss/sum") == 0;
    return sum && value->kind == ONS_STATE && value->producer == ONS_NONE;
}

/* Over the copies that have had a micro-batch, in their order; all get it. */
static ons_status *add_up(replayed *r, uint32_t first, uint32_t copies, const char *name) {
    ons_type type;
    float *total = (float *)ons_device_context_find(r->devices[first].context, name, &type);
    if (total == NULL) return NULL;
    ONS_CHECK(type.dtype == ONS_FLOAT32, ONS_DEFECT, "'%s' is no sum in float32", name);
    size_t count = (size_t)ons_type_dense_bytes(&type) / sizeof *total;
    for (uint32_t i = 1; i < copies && r->devices[first + i].adds; ++i) {
        const float *more = (const float *)ons_device_context_find(r->devices[first + i].context, name, NULL);
        for (size_t k = 0; k < count; ++k) total[k] += more[k];
    }
    for (uint32_t i = 1; i < copies; ++i)
        memcpy(ons_device_context_find(r->devices[first + i].context, name, NULL), total, count * sizeof *total);
    return NULL;
}

/* Before the update, once all copies have come to it; the last one adds up. */
static ons_status *meet(replayed *r, device *d, bool *met, bool *moved) {
    const ons_graph *graph = r->o.dataset_graphs->graphs[ONS_WHOLE].graph;
    uint32_t first = d->number - d->copy, ready = 0;
    bool last = !d->ready;
    d->ready = true; /* others may wait for it */
    *moved = *moved || last;
    for (uint32_t i = 0; i < d->copies; ++i) ready += r->devices[first + i].ready;
    *met = ready == d->copies;
    for (ons_value_id id = 0; *met && last && d->copies > 1 && id < graph->values.count; ++id)
        if (is_sum(ons_graph_value(graph, id))) ONS_TRY(add_up(r, first, d->copies, ons_graph_value(graph, id)->name));
    return NULL;
}

/* The next part of the device's list; false: there is none. What runs once stands first. */
static bool begin_part(const replayed *r, device *d) {
    bool found = !d->began;
    d->part = ONS_PART_BEGIN;
    d->micro_batch = 0;
    while (d->began && !found && d->next < d->actions.count) {
        d->micro_batch = d->actions.items[d->next].micro_batch;
        found = ons_stage_program_part(&d->share_program->stage, &d->actions, d->next++, false, &d->part);
    }
    if (!found) return false;
    ons_part_kind kind = ons_stage_program_kind(&d->share_program->stage, d->part);
    d->position = d->part == ONS_PART_BEGIN ? 0 : d->cut->end[d->part - 1];
    memset(d->sent, 0, d->cut->send_count * sizeof *d->sent);
    if (!is_of_step(kind)) load(r, d);
    return d->began = d->inside = true;
}

/* As far as it goes without what is not there yet. */
static ons_status *advance(replayed *r, device *d, bool *moved) {
    bool taken = true, met = true;
    while (taken) {
        if (!d->inside && !begin_part(r, d)) return NULL;
        if (ons_stage_program_kind(&d->share_program->stage, d->part) == ONS_PART_END) ONS_TRY(meet(r, d, &met, moved));
        if (!met) return NULL;
        uint32_t end = d->cut->end[d->part], stop = d->position, before = d->position;
        while (stop < end && wanted(d, stop) == d->cut->receive_count) ++stop;
        ONS_TRY(run_until(r, d, stop));
        ONS_TRY(send(r, d, moved));
        d->inside = stop < end;
        if (d->inside) ONS_TRY(receive(r, d, wanted(d, stop), &taken));
        *moved = *moved || taken || stop > before;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- pass */

static bool is_through(const device *d) { return d->began && !d->inside && d->next == d->actions.count; }

/* Of the device's list what belongs to the first micro-batches, which may be none; and the update, where it comes. */
static ons_status *list_actions(replayed *r, device *d, uint32_t micro_batches, bool updates) {
    const ons_action_list *all = &r->o.schedule->lists[d->number];
    d->actions.count = 0;
    ONS_NEW(d->actions.items, r->arena, all->count);
    for (uint32_t i = 0; i < all->count; ++i) {
        ons_action a = all->items[i];
        bool update = a.kind == ONS_ACTION_UPDATE;
        if (update) a.micro_batch = micro_batches > 0 ? micro_batches - 1 : 0;
        if (update ? updates : a.micro_batch < micro_batches) d->actions.items[d->actions.count++] = a;
    }
    return NULL;
}

/* Of so many of the step's units, or of the rest: the copies take the stage's micro-batches in turn. */
static uint32_t count_micro_batches(const replayed *r, const device *d, ons_batch_variant v, uint32_t units) {
    if (v == ONS_REST) return r->done / d->size % d->copies == d->copy;
    return (units / d->size + d->copies - 1 - d->copy) / d->copies;
}

static ons_status *begin_pass(replayed *r, device *d, ons_batch_variant v, uint32_t units, bool updates) {
    uint32_t micro_batches = count_micro_batches(r, d, v, units);
    d->pieces = v == ONS_REST ? 1 : d->size;
    d->share_program = &d->share.programs[micro_batches > 0 ? v : ONS_WHOLE];
    d->adds = d->adds || micro_batches > 0;
    d->cut = d->share_program->stage.cut;
    d->next = 0;
    d->began = d->inside = false;
    ONS_NEW(d->read, r->arena, d->cut->receive_count + 1);
    ONS_NEW(d->sent, r->arena, d->cut->send_count + 1);
    ONS_CHECK(d->cut->swap_count == 0, ONS_UNSUPPORTED, "a replay of lists does not swap");
    ONS_TRY(ons_find_roots(d->cut->graph, r->arena, &d->roots));
    return list_actions(r, d, micro_batches, updates);
}

/* `units`: of a rest there is one. */
static ons_status *run_pass(replayed *r, ons_batch_variant v, uint32_t units, bool updates) {
    uint32_t devices = r->o.schedule->devices, through = 0;
    for (uint32_t i = 0; i < devices; ++i) ONS_TRY(begin_pass(r, &r->devices[i], v, units, updates));
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < devices; ++i) ONS_TRY(advance(r, &r->devices[i], &moved));
    }
    for (uint32_t i = 0; i < devices; ++i) through += is_through(&r->devices[i]);
    ONS_CHECK(through == devices, ONS_DEFECT, "%u of %u devices come to the end of their lists", through, devices);
    ONS_CHECK(r->letters == NULL, ONS_DEFECT, "nobody reads '%s'", r->letters->name);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- step */

static ons_status *fetch(replayed *r, uint64_t step) {
    ons_dataset *dataset = r->o.dataset_graphs->dataset;
    uint64_t batch = (uint64_t)r->o.batching.batch, usable = ons_dataset_count(dataset);
    uint64_t steps = (usable + batch - 1) / batch, position = (step - 1) % steps * batch;
    const ons_order order = {usable, (uint64_t)r->o.config->seed, r->o.config->shuffle};
    r->samples = usable - position < batch ? usable - position : batch;
    for (uint32_t i = 0; i < r->o.schedule->devices; ++i) {
        ons_feed *feed = &r->devices[i].share.feed;
        ons_order_rows(&order, (step - 1) / steps, position, r->samples, feed->rows[0]);
        ONS_TRY(ons_feed_fill(feed, 0, 0, r->samples, 0));
    }
    return NULL;
}

static ons_status *count_targets(replayed *r) {
    ons_type sample;
    uint64_t count;
    uint32_t field = ons_dataset_graphs_target(r->o.dataset_graphs, &sample);
    r->step.counted_targets = (double)r->samples;
    if (field == ONS_NO_FIELD) return NULL;
    r->step.counted_targets *= (double)ons_shape_elements(&sample.shape);
    if (!r->o.dataset_graphs->counts_classes) return NULL;
    ONS_TRY(ons_dataset_count_targets(r->o.dataset_graphs->dataset, field, r->devices[0].share.feed.rows[0], r->samples,
                                      (int64_t)r->o.config->ignore_index.value, &count));
    r->step.counted_targets = (double)count;
    return NULL;
}

/* Whether each stage can divide so many units into its micro-batches. */
static bool suits_all(const replayed *r, uint32_t units) {
    bool suits = true;
    for (uint32_t i = 0; i < r->o.schedule->stages; ++i)
        suits = suits && units % ons_schedule_grouping(r->o.schedule, i).size == 0;
    return suits;
}

static uint32_t whole_units(const replayed *r) {
    uint32_t units = (uint32_t)(r->samples / (size_t)r->o.batching.rows);
    while (!suits_all(r, units)) --units;
    return units;
}

static ons_status *read_scalar(const replayed *r, size_t offset, double *scalar) {
    *scalar = NAN;
    for (uint32_t i = 0; i < r->o.schedule->devices; ++i) {
        const ons_step_program *step_program = &r->devices[i].share_program->step_program;
        ons_value_id value;
        memcpy(&value, (const char *)step_program + offset, sizeof value);
        if (value != ONS_NONE)
            return ons_device_context_scalar(r->devices[i].context, step_program->program, value, scalar);
    }
    return NULL;
}

ons_status *replayed_square(const replayed *r, uint32_t index, double *square) {
    *square = NAN;
    for (uint32_t i = 0; i < r->o.schedule->devices; ++i) {
        const ons_step_program *step_program = &r->devices[i].share_program->step_program;
        if (step_program->squares != NULL && step_program->squares[index] != ONS_NONE)
            return ons_device_context_scalar(r->devices[i].context, step_program->program, step_program->squares[index],
                                             square);
    }
    return NULL;
}

static ons_status *find_norm(const replayed *r, double *norm) {
    double sum = 0, square;
    ONS_TRY(read_scalar(r, offsetof(ons_step_program, norm), norm));
    if (!isnan(*norm) || r->devices[0].share_program->step_program.squares == NULL) return NULL;
    for (uint32_t i = 0; i < r->o.dataset_graphs->graphs[ONS_WHOLE].update.trained_count; ++i) {
        ONS_TRY(replayed_square(r, i, &square));
        sum += square;
    }
    *norm = sqrt(sum);
    return NULL;
}

ons_status *replayed_step(replayed *r, uint64_t step, double rate, double *loss, double *norm) {
    ONS_TRY(fetch(r, step));
    r->step =
        (ons_step){.seed = (uint64_t)r->o.config->seed, .step = step, .learning_rate = (float)rate, .rate_share = 1};
    ONS_TRY(count_targets(r));
    uint32_t units = whole_units(r);
    bool rest = units * (size_t)r->o.batching.rows < r->samples;
    r->done = 0;
    for (uint32_t i = 0; i < r->o.schedule->devices; ++i) r->devices[i].ready = r->devices[i].adds = false;
    if (units > 0) ONS_TRY(run_pass(r, ONS_WHOLE, units, !rest));
    r->done = units;
    if (rest) ONS_TRY(run_pass(r, ONS_REST, 1, true));
    ONS_TRY(read_scalar(r, offsetof(ons_step_program, loss), loss));
    return find_norm(r, norm);
}
