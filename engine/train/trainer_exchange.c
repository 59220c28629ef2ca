/* Stages in other processes: who has which weight, and how the one that writes files gets it.
 *
 * Rank 0 asks for one value at a time by its number in the whole graph, which all processes have alike; its owner
 * answers with the bytes. The others wait for requests until the last one, ONS_NONE. */
#include <stdlib.h>
#include <string.h>

#include "engine/train/trainer.h"

/* Above those of the pipeline's own messages between two ranks. */
enum { REQUESTS = 1000000, REPLIES = 1000001 };
/* A message; mpi counts bytes in an int. */
enum { PIECE = 1 << 24 };

struct ons_exchange {
    ons_channel **requests, **replies; /* rank 0: to and from each; the others: at 0 */
    ons_value_id held;                 /* what `contents` holds */
    void *contents;
    size_t size;
};

uint32_t ons_trainer_owner(const ons_trainer *t, ons_value_id value) {
    const ons_cut *cut = &t->training.cuts[ONS_WHOLE];
    uint32_t stage = 0;
    while (stage < cut->stage_count && cut->stages[stage].value_of[value] == ONS_NONE) ++stage;
    return stage < cut->stage_count ? ons_local_stages_groups(t->local_stages)->items[stage].first : ONS_NONE;
}

bool ons_trainer_owns(const ons_trainer *t, ons_value_id value) {
    return !t->remote || ons_trainer_owner(t, value) == ons_trainer_world(t)->rank;
}

/* ---------------------------------------------------------------------------------------------------------- meeting */

ons_status *ons_trainer_failure(const ons_trainer *t) {
    ons_status *status = ons_trainer_world(t)->failure(ons_trainer_world(t));
    return status != NULL ? status : ons_status_new(ONS_IO_ERROR, "a stage in another process has ended");
}

/* Of this process's own failure the others are told; what is reported is the first of all. */
static ons_status *tell_failure(const ons_trainer *t, ons_status *mine) {
    ons_trainer_world(t)->fail(ons_trainer_world(t), mine);
    ons_status_free(mine);
    return ons_trainer_failure(t);
}

ons_status *ons_trainer_meet(const ons_trainer *t, ons_status *mine, const void *record, void *all, size_t bytes) {
    ons_transport *transport = ons_trainer_world(t);
    if (mine != NULL) return tell_failure(t, mine);
    return transport->gather(transport, record, all, bytes) ? NULL : ons_trainer_failure(t);
}

/* --------------------------------------------------------------------------------------------------------- channels */

static ons_status *open_pair(ons_transport *transport, uint32_t other, ons_channel **request, ons_channel **reply) {
    ONS_TRY(transport->open(transport, 0, other, REQUESTS, request));
    return transport->open(transport, other, 0, REPLIES, reply);
}

static ons_status *open_exchange(ons_trainer *t) {
    if (t->exchange != NULL) return NULL;
    ons_transport *transport = ons_trainer_world(t);
    ons_exchange *x;
    ONS_NEW(x, t->arena, 1);
    ONS_NEW(x->requests, t->arena, transport->ranks);
    ONS_NEW(x->replies, t->arena, transport->ranks);
    x->held = ONS_NONE;
    if (transport->rank != 0) ONS_TRY(open_pair(transport, transport->rank, x->requests, x->replies));
    for (uint32_t i = 1; transport->rank == 0 && i < transport->ranks; ++i)
        ONS_TRY(open_pair(transport, i, &x->requests[i], &x->replies[i]));
    t->exchange = x;
    return NULL;
}

void ons_trainer_close_exchange(ons_trainer *t) {
    if (t->exchange != NULL) free(t->exchange->contents);
    t->exchange = NULL;
}

/* ------------------------------------------------------------------------------------------------------- collecting */

/* A persistent value of the training graph by name; ONS_NONE: there is none. */
static ons_value_id find_value(const ons_graph *graph, const char *name) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        bool persistent = value->kind == ONS_PARAMETER || value->kind == ONS_STATE || value->kind == ONS_BUFFER;
        if (persistent && value->producer == ONS_NONE && strcmp(value->name, name) == 0) return id;
    }
    return ONS_NONE;
}

static ons_status *request(ons_trainer *t, ons_value_id value, uint32_t owner) {
    ons_transport *transport = ons_trainer_world(t);
    ons_exchange *x = t->exchange;
    size_t bytes = (size_t)ons_type_dense_bytes(&ons_graph_value(t->training.graphs[ONS_WHOLE].graph, value)->type);
    if (x->held == value) return NULL;
    x->held = ONS_NONE;
    if (bytes > x->size) {
        free(x->contents);
        x->contents = malloc(bytes);
        x->size = x->contents == NULL ? 0 : bytes;
        if (x->contents == NULL) return ons_status_out_of_memory();
    }
    if (!transport->send(x->requests[owner], &value, sizeof value)) return ons_trainer_failure(t);
    for (size_t at = 0; at < bytes; at += PIECE)
        if (!transport->receive(x->replies[owner], (char *)x->contents + at, bytes - at < PIECE ? bytes - at : PIECE))
            return ons_trainer_failure(t);
    x->held = value;
    return NULL;
}

static ons_status *read_here(ons_trainer *t, const char *name, ons_type *type, const void **contents) {
    t->looked_name = NULL;
    if (ons_trainer_find_best(t, name, type, contents)) return NULL;
    ONS_TRY(ons_local_stages_read(t->local_stages, name, type, &t->looked_at, contents));
    ons_value_id value = *contents == NULL ? ONS_NONE : find_value(t->training.graphs[ONS_WHOLE].graph, name);
    if (*contents == t->looked_at.data && value != ONS_NONE)
        t->looked_name = ons_graph_value(t->training.graphs[ONS_WHOLE].graph, value)->name;
    return NULL;
}

static ons_status *collect(ons_trainer *t, const char *name, ons_type *type, const void **contents) {
    /* The exporter reads a weight in pieces. */
    bool known = t->looked_name != NULL && type == NULL && strcmp(t->looked_name, name) == 0;
    *contents = t->looked_at.data;
    if (!known) ONS_TRY(read_here(t, name, type, contents));
    if (*contents != NULL || !t->remote)
        return *contents != NULL ? NULL : ons_status_new(ONS_INVALID_ARGUMENT, "there is no weight named '%s'", name);
    ons_value_id value = find_value(t->training.graphs[ONS_WHOLE].graph, name);
    uint32_t owner = value == ONS_NONE ? ONS_NONE : ons_trainer_owner(t, value);
    ONS_CHECK(owner != ONS_NONE, ONS_INVALID_ARGUMENT, "there is no weight named '%s'", name);
    ONS_TRY(open_exchange(t));
    ONS_TRY(request(t, value, owner));
    *contents = t->exchange->contents;
    if (type != NULL) {
        *type = ons_graph_value(t->training.graphs[ONS_WHOLE].graph, value)->type;
        type->layout = ONS_LAYOUT_ONNX;
    }
    return NULL;
}

/* All shards, from wherever they lie, in one place; the exporter reads that in pieces. */
static ons_status *collect_shards(ons_trainer *t, const ons_sharded *sharded) {
    const void *part; /* as the file has it */
    if (t->whole.of == sharded) return NULL;
    free(t->whole.contents);
    t->whole = (ons_whole_weight){.contents = malloc((size_t)ons_type_dense_bytes(&sharded->type) + 1)};
    if (t->whole.contents == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < sharded->shards; ++i) {
        ONS_TRY(ons_trainer_collect_for_file(t, sharded->parts[i], &part));
        ons_sharded_put(sharded, i, part, t->whole.contents);
    }
    t->whole.of = sharded;
    return NULL;
}

ons_status *ons_trainer_collect(ons_trainer *t, const char *name, ons_type *type, const void **contents) {
    const ons_sharded *sharded = ons_sharded_find(t->model->file, name);
    if (sharded == NULL) return collect(t, name, type, contents);
    ONS_TRY(collect_shards(t, sharded));
    *contents = t->whole.contents;
    if (type != NULL) *type = sharded->type;
    return NULL;
}

static void drop_whole(ons_trainer *t) {
    free(t->whole.contents);
    t->whole = (ons_whole_weight){0};
}

ons_status *ons_trainer_collected(ons_trainer *t, ons_status *status) {
    drop_whole(t); /* the next step changes them */
    ons_trainer_drop_narrowed(t);
    if (!t->remote) return status;
    ons_transport *transport = ons_trainer_world(t);
    if (status == NULL) status = open_exchange(t);
    if (status != NULL) return tell_failure(t, status);
    t->exchange->held = ONS_NONE; /* the next step changes it */
    ons_value_id end = ONS_NONE;
    for (uint32_t i = 1; i < transport->ranks; ++i)
        if (!transport->send(t->exchange->requests[i], &end, sizeof end)) return ons_trainer_failure(t);
    return NULL;
}

static ons_status *answer(ons_trainer *t, ons_value_id value) {
    ons_transport *transport = ons_trainer_world(t);
    ONS_CHECK(value < t->training.graphs[ONS_WHOLE].graph->values.count, ONS_DEFECT, "rank 0 asks for value %u", value);
    ons_type type;
    const char *name = ons_graph_value(t->training.graphs[ONS_WHOLE].graph, value)->name;
    const void *contents;
    if (!ons_trainer_find_best(t, name, &type, &contents))
        ONS_TRY(ons_local_stages_read(t->local_stages, name, &type, &t->looked_at, &contents));
    const char *address = contents;
    ONS_CHECK(address != NULL, ONS_DEFECT, "'%s' has no place in the arena", name);
    size_t bytes = (size_t)ons_type_dense_bytes(&type);
    for (size_t at = 0; at < bytes; at += PIECE)
        if (!transport->send(t->exchange->replies[0], address + at, bytes - at < PIECE ? bytes - at : PIECE))
            return ons_trainer_failure(t);
    return NULL;
}

ons_status *ons_trainer_hand_over(ons_trainer *t) {
    ons_transport *transport = ons_trainer_world(t);
    ons_status *status = open_exchange(t);
    while (status == NULL) {
        ons_value_id value;
        if (!transport->receive(t->exchange->requests[0], &value, sizeof value)) return ons_trainer_failure(t);
        if (value == ONS_NONE) return NULL;
        status = answer(t, value);
    }
    return tell_failure(t, status);
}
