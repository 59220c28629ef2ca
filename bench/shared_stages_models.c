#include "bench/shared_stages_models.h"

#include "planner/partition/reduce.h"

ons_status *shared_machine_load(ons_arena *arena, shared_machine *machine) {
    enum { NODE_DEVICES = 8 };
    ONS_TRY(ons_device_profile_load("a100-80gb", arena, &machine->profile));
    ONS_TRY(ons_device_profile_use(&machine->profile, ONS_PRECISION_BF16));
    /* An A800's NVLink: 400 GB/s, 200 each way. A network card of 200 Gbit/s for each GPU. Of both 80 % arrive. */
    machine->node = (ons_link_cost){.bandwidth = 1.6e11, .latency = 1e-5};
    machine->network = (ons_link_cost){.bandwidth = 2e10, .latency = 1e-5};
    machine->node_devices = NODE_DEVICES;
    machine->capacity = machine->profile.memory_bytes - machine->profile.reserve_bytes;
    return NULL;
}

/* Replicas of a stage are neighbours, so a line crosses nodes where it has more devices than one. */
ons_link_cost shared_link(const shared_machine *m, const shared_way *w) {
    return (int64_t)w->devices * w->replicas > m->node_devices ? m->network : m->node;
}

static double rows(const shared_model *model, const shared_way *w) { return (double)(model->tokens * w->samples); }

static int64_t message_bytes(const shared_model *model, const shared_way *w) {
    return model->tokens * w->samples * model->hidden * SHARED_ELEMENT_BYTES;
}

double shared_message(const shared_machine *m, const shared_model *model, const shared_way *w) {
    return ons_link_seconds(shared_link(m, w), message_bytes(model, w));
}

/* -------------------------------------------------------------------------------------------------------- operators */

/* A product of `rows` × `in` with `in` × `out`. */
static double product(const shared_machine *m, double count, double in, double out) {
    double bytes = SHARED_ELEMENT_BYTES * (count * in + in * out + count * out);
    return ons_device_profile_seconds(&m->profile, 2 * count * in * out, bytes, true);
}

/* An operator that reads and writes so many elements. */
static double pass(const shared_machine *m, double elements) {
    return ons_device_profile_seconds(&m->profile, elements, SHARED_ELEMENT_BYTES * elements, false);
}

static double products(const shared_machine *m, double count, double h) {
    return product(m, count, h, 3 * h) + product(m, count, h, h) + product(m, count, h, 4 * h) +
           product(m, count, 4 * h, h);
}

/* Scores, and what they weigh, in one kernel; `times`: so many products as the forward part has two. */
static double attention(const shared_machine *m, const shared_model *model, double count, double times) {
    double h = (double)model->hidden;
    return ons_device_profile_seconds(&m->profile, times * 2 * count * (double)model->tokens * h,
                                      times * 2 * SHARED_ELEMENT_BYTES * count * h, true);
}

/* Two normalisations, two additions and an activation. */
static double small(const shared_machine *m, double count, double h) {
    return 2 * pass(m, 2 * count * h) + 2 * pass(m, 3 * count * h) + pass(m, 8 * count * h);
}

/* ----------------------------------------------------------------------------------------------------------- stages */

/* The sum over replicas, and over the second copy's, which lies elsewhere in the line; Adam. */
static void set_step_end(const shared_machine *m, const shared_way *w, double weights, bool copied,
                         ons_placed_stage *s) {
    uint32_t replicas = w->replicas * (copied ? 2 : 1);
    ons_link_cost link = copied || w->replicas > m->node_devices ? m->network : m->node;
    ons_planning_problem links = {.link_bandwidth = link.bandwidth, .link_latency = link.latency};
    s->sum =
        ons_reduce_bytes_seconds(&links, (int64_t)(SHARED_ELEMENT_BYTES * weights), s->input + s->weight, replicas);
    s->update = ons_device_profile_seconds(&m->profile, 10 * weights, 30 * weights, false);
    s->held_bytes += (int64_t)(SHARED_WEIGHT_BYTES * weights);
}

ons_placed_stage shared_layers(const shared_machine *m, const shared_model *model, const shared_way *w,
                               int64_t layers) {
    double count = rows(model, w), h = (double)model->hidden, n = (double)layers;
    double linear = products(m, count, h), rest = small(m, count, h);
    ons_placed_stage s = {.samples = w->samples};
    s.forward = n * (linear + rest + attention(m, model, count, 2));
    s.input = n * (linear + 1.5 * rest + attention(m, model, count, 5)) + (w->recompute ? s.forward : 0);
    s.weight = n * linear;
    int64_t layer_bytes = 17 * message_bytes(model, w); /* 34 bytes of each number that goes from layer to layer */
    s.saved_bytes = layers * (w->recompute ? message_bytes(model, w) : layer_bytes);
    s.held_bytes = layer_bytes; /* of the layer that is computed */
    set_step_end(m, w, n * 12 * h * h, w->both_ways, &s);
    return s;
}

ons_placed_stage shared_embedding(const shared_machine *m, const shared_model *model, const shared_way *w,
                                  uint32_t shards) {
    double count = rows(model, w), h = (double)model->hidden;
    ons_link_cost link = shared_link(m, w);
    double join = ons_collective_sum_seconds(link, message_bytes(model, w), shards);
    ons_placed_stage s = {.samples = w->samples, .together = shards > 1};
    s.forward = pass(m, 2 * count * h);
    s.weight = pass(m, 3 * count * h);
    s.collectives[ONS_AFTER_FORWARD] = s.collectives[ONS_BEFORE_BACKWARD] = join;
    set_step_end(m, w, (double)model->vocabulary * h / shards, false, &s);
    return s;
}

/* Each shard's logits, their greatest and the sum of their exponentials, which all shards need; the loss in place. */
ons_placed_stage shared_head(const shared_machine *m, const shared_model *model, const shared_way *w, uint32_t shards) {
    double count = rows(model, w), h = (double)model->hidden, words = (double)model->vocabulary / shards;
    ons_link_cost link = shared_link(m, w);
    int64_t logits = (int64_t)(count * words) * SHARED_ELEMENT_BYTES;
    double join = ons_collective_sum_seconds(link, message_bytes(model, w), shards);
    ons_placed_stage s = {.samples = w->samples, .together = shards > 1};
    s.forward = product(m, count, h, words) + pass(m, count * words);
    s.input = pass(m, 2 * count * words) + product(m, count, words, h);
    s.weight = product(m, words, count, h);
    s.collectives[ONS_BEFORE_FORWARD] = s.collectives[ONS_AFTER_BACKWARD] = join;
    s.collectives[ONS_AFTER_FORWARD] =
        2 * ons_collective_sum_seconds(link, model->tokens * w->samples * (int64_t)sizeof(float), shards);
    s.saved_bytes = logits + message_bytes(model, w);
    s.held_bytes = logits;
    set_step_end(m, w, words * h, false, &s);
    return s;
}

void shared_add(ons_placed_stage *s, const ons_placed_stage *more) {
    s->forward += more->forward;
    s->input += more->input;
    s->weight += more->weight;
    s->sum += more->sum;
    s->update += more->update;
    s->held_bytes += more->held_bytes;
    s->saved_bytes += more->saved_bytes;
}
