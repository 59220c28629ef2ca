#include "tests/rooms/pipeline/delayed.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "graph/sharing.h"

typedef struct weight {
    char *place;
    size_t bytes;
} weight;

struct delayed {
    ons_device_context *device_context;
    uint32_t stages;
    ONS_VECTOR(weight) weights;
    size_t bytes;                 /* of all weights */
    ONS_VECTOR(char *) snapshots; /* of all weights, by the number of updates in them */
    size_t lying;                 /* the snapshot that lies in the machine */
};

/* ---------------------------------------------------------------------------------------------------------- weights */

static void put(delayed *d, size_t number) {
    const char *from = d->snapshots.items[number];
    if (d->lying == number) return;
    for (size_t i = 0; i < d->weights.count; from += d->weights.items[i++].bytes)
        memcpy(d->weights.items[i].place, from, d->weights.items[i].bytes);
    d->lying = number;
}

static ons_status *keep(delayed *d) {
    char *to = malloc(d->bytes + 1);
    if (to == NULL || !ons_vector_reserve(&d->snapshots, 1)) {
        free(to);
        return ons_status_out_of_memory();
    }
    d->lying = d->snapshots.count;
    d->snapshots.items[d->snapshots.count++] = to;
    for (size_t i = 0; i < d->weights.count; to += d->weights.items[i++].bytes)
        memcpy(to, d->weights.items[i].place, d->weights.items[i].bytes);
    return NULL;
}

static ons_status *find_weights(delayed *d, const ons_graph *graph) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        if (v->kind != ONS_PARAMETER || v->producer != ONS_NONE) continue;
        weight w = {ons_device_context_find(d->device_context, v->name, NULL), (size_t)ons_type_dense_bytes(&v->type)};
        ONS_CHECK(w.place != NULL, ONS_DEFECT, "weight '%s' is not in the machine", v->name);
        d->bytes += w.bytes;
        ONS_PUSH(&d->weights, w);
    }
    return keep(d);
}

ons_status *delayed_new(ons_device_context *device_context, const ons_stage_program *whole, uint32_t stages,
                        delayed **result) {
    delayed *d = calloc(1, sizeof *d);
    if (d == NULL) return ons_status_out_of_memory();
    d->device_context = device_context;
    d->stages = stages;
    ons_status *status = find_weights(d, whole->cut->graph);
    if (status != NULL) {
        delayed_free(d);
        return status;
    }
    *result = d;
    return NULL;
}

void delayed_free(delayed *d) {
    if (d == NULL) return;
    for (size_t i = 0; i < d->snapshots.count; ++i) free(d->snapshots.items[i]);
    ons_vector_free(&d->snapshots);
    ons_vector_free(&d->weights);
    free(d);
}

void delayed_set_stages(delayed *d, uint32_t stages) { d->stages = stages; }

/* ---------------------------------------------------------------------------------------------------------- running */

ons_status *delayed_find_stages(const ons_cut *cut, const ons_cut *whole, ons_arena *arena, uint32_t **stage_of_node) {
    const ons_cut_stage *one = &whole->stages[0];
    uint32_t *stage_of_original, originals = 0;
    for (uint32_t i = 0; i < cut->stage_count; ++i)
        for (uint32_t k = 0; k < cut->stages[i].graph->nodes.count; ++k)
            if (cut->stages[i].original[k] >= originals) originals = cut->stages[i].original[k] + 1;
    ONS_NEW(stage_of_original, arena, originals + 1);
    ONS_NEW(*stage_of_node, arena, one->graph->nodes.count + 1);
    for (uint32_t i = 0; i < cut->stage_count; ++i)
        for (uint32_t k = 0; k < cut->stages[i].graph->nodes.count; ++k)
            stage_of_original[cut->stages[i].original[k]] = i;
    for (uint32_t k = 0; k < one->graph->nodes.count; ++k)
        if (one->original[k] < originals) (*stage_of_node)[k] = stage_of_original[one->original[k]];
    return NULL;
}

/* A value that is made of weights once a step (in another layout, rounded): every stage that reads it makes its own. */
typedef struct made {
    ons_value_id value;
    size_t bytes;
    char *copies; /* of all stages, one behind the other */
} made;

typedef struct job {
    delayed *d;
    const delayed_turn *turn;
    size_t newest; /* before this micro-batch's update */
    ONS_VECTOR(made) made;
    ons_status *status;
    ons_program_fault fault;
} job;

/* Updates that the stage has made when the forward part of the micro-batch runs. */
static size_t updates_seen(const job *j, uint32_t stage) {
    size_t made_before = j->newest - j->turn->micro_batch; /* when the pipeline was empty */
    uint32_t holds = j->d->stages - stage, micro_batch = j->turn->micro_batch;
    return micro_batch < holds ? made_before : made_before + micro_batch + 1 - holds;
}

static const ons_program *program_of(const job *j) { return j->turn->whole->program; }

/* The value whose bytes are read. */
static ons_value_id behind_views(const ons_graph *graph, ons_value_id value) {
    for (;;) {
        ons_node_id maker = ons_graph_value(graph, value)->producer;
        if (maker == ONS_NONE || !ons_is_view(ons_graph_node(graph, maker)->op)) return value;
        value = ons_graph_node(graph, maker)->inputs[0];
    }
}

/* What nobody reads later is gone after its node. */
static ons_status *note_made(job *j, uint32_t position, const ons_node *node) {
    const ons_liveness *liveness = ons_program_liveness(program_of(j));
    for (uint32_t i = 0; i < node->output_count; ++i) {
        if (node->outputs[i] == ONS_NONE) continue;
        const ons_buffer *buffer = &liveness->buffers[liveness->buffer_of_value[node->outputs[i]]];
        if (buffer->last <= position) continue;
        made m = {.value = node->outputs[i], .bytes = (size_t)buffer->bytes};
        m.copies = malloc(m.bytes * j->d->stages + 1);
        if (m.copies == NULL || !ons_vector_reserve(&j->made, 1)) {
            free(m.copies);
            return ons_status_out_of_memory();
        }
        j->made.items[j->made.count++] = m;
    }
    return NULL;
}

/* Runs the node at a position as a stage does: with its weights, and with what it has made of them. */
static void run_as(job *j, uint32_t position, const ons_node *node, uint32_t stage, const ons_run *how) {
    const ons_graph *graph = ons_program_graph(program_of(j));
    put(j->d, updates_seen(j, stage));
    for (uint32_t i = 0; i < node->input_count; ++i) {
        ons_value_id read = node->inputs[i] == ONS_NONE ? ONS_NONE : behind_views(graph, node->inputs[i]);
        for (size_t k = 0; k < j->made.count; ++k) {
            const made *m = &j->made.items[k];
            if (m->value == read)
                memcpy(ons_program_address_to_write(program_of(j), read, NULL), m->copies + stage * m->bytes, m->bytes);
        }
    }
    ons_program_run_positions(j->turn->whole->program, position, position + 1, how);
}

static ons_status *run_in_all(job *j, uint32_t position, const ons_node *node, const ons_run *how) {
    size_t first = j->made.count;
    ONS_TRY(note_made(j, position, node));
    for (uint32_t stage = 0; stage < j->d->stages; ++stage) {
        run_as(j, position, node, stage, how);
        for (size_t k = first; k < j->made.count; ++k) {
            const made *m = &j->made.items[k];
            memcpy(m->copies + stage * m->bytes, ons_program_address(program_of(j), m->value, NULL), m->bytes);
        }
    }
    return NULL;
}

static ons_status *run_both_ways(job *j, const ons_run *how) {
    const ons_graph *graph = ons_program_graph(program_of(j));
    const ons_execution_order *execution_order = ons_program_execution_order(program_of(j));
    for (uint32_t i = 0; i < execution_order->end[ONS_PART_BACKWARD]; ++i) {
        const ons_node *node = ons_graph_node(graph, execution_order->nodes[i]);
        if (node->per_step && node->phase == ONS_FORWARD && !ons_is_view(node->op))
            ONS_TRY(run_in_all(j, i, node, how));
        else
            run_as(j, i, node, j->turn->stage_of_node[execution_order->nodes[i]], how);
    }
    return NULL;
}

static void run(void *argument, uintptr_t native) {
    (void)native;
    job *j = argument;
    const ons_execution_order *execution_order = ons_program_execution_order(program_of(j));
    ons_step step = j->turn->step;
    const ons_run how = {.step = &step, .fault = &j->fault};
    j->status = run_both_ways(j, &how);
    put(j->d, j->newest);
    step.step = j->turn->update;
    ons_program_run_positions(j->turn->whole->program, execution_order->end[ONS_PART_BACKWARD],
                              execution_order->end[ONS_PART_END], &how);
}

ons_status *delayed_run(delayed *d, const delayed_turn *turn) {
    job j = {.d = d, .turn = turn, .newest = d->snapshots.count - 1, .fault = {.node = ONS_NONE}};
    ons_device_context_launch(d->device_context, run, &j);
    ons_device_context_wait(d->device_context);
    for (size_t i = 0; i < j.made.count; ++i) free(j.made.items[i].copies);
    ons_vector_free(&j.made);
    ONS_TRY(j.status);
    ONS_CHECK(j.fault.fault.problem == NULL, ONS_INVALID_DATA, "%s", j.fault.fault.problem);
    return keep(d);
}
