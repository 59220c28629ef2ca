/* The best validation: when to stop early, and the weights to write at the end.
 *
 * All processes of a run have the same validation loss, so they decide alike; each keeps what it owns. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/train/trainer.h"

/* A copy of a weight, or of running statistics, in host memory. */
typedef struct ons_best_value {
    const char *name, *kept_name; /* in the graph; in a checkpoint */
    ons_type type;
    void *data;
} best_value;

/* ----------------------------------------------------------------------------------------------------------- making */

static ons_status *add_value(ons_trainer *t, ons_value_id id) {
    if (!ons_trainer_owns(t, id)) return NULL;
    const void *contents;
    best_value *value = &t->best.values[t->best.value_count];
    value->name = ons_graph_value(t->training.graphs[ONS_WHOLE].graph, id)->name;
    value->kept_name = ons_arena_format(t->arena, "%s#best", value->name);
    t->looked_name = NULL;
    ONS_TRY(ons_local_stages_read(t->local_stages, value->name, &value->type, &t->looked_at, &contents));
    ONS_CHECK(contents != NULL, ONS_DEFECT, "'%s' has no place in the arena", value->name);
    value->data = malloc((size_t)ons_type_dense_bytes(&value->type) + 1);
    if (value->data == NULL || value->kept_name == NULL) return ons_status_out_of_memory();
    ++t->best.value_count;
    return NULL;
}

static ons_status *make_room(ons_trainer *t) {
    const ons_model_graph *whole = &t->training.graphs[ONS_WHOLE];
    ONS_NEW(t->best.values, t->arena, whole->graph->values.count + 1);
    for (uint32_t i = 0; i < whole->update.trained_count; ++i)
        ONS_TRY(add_value(t, whole->update.trained[i].parameter));
    for (ons_value_id id = 0; id < whole->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(whole->graph, id);
        if (value->kind == ONS_BUFFER && value->producer == ONS_NONE) ONS_TRY(add_value(t, id));
    }
    return NULL;
}

ons_status *ons_trainer_open_best(ons_trainer *t) {
    t->best.loss = INFINITY;
    return t->config->best ? make_room(t) : NULL;
}

void ons_trainer_close_best(ons_trainer *t) {
    for (size_t i = 0; i < t->best.value_count; ++i) free(t->best.values[i].data);
}

/* --------------------------------------------------------------------------------------------------------- watching */

static ons_status *take_values(ons_trainer *t) {
    t->looked_name = NULL;
    for (size_t i = 0; i < t->best.value_count; ++i) {
        const best_value *value = &t->best.values[i];
        const void *contents;
        ONS_TRY(ons_local_stages_read(t->local_stages, value->name, NULL, &t->looked_at, &contents));
        memcpy(value->data, contents, (size_t)ons_type_dense_bytes(&value->type));
    }
    return NULL;
}

ons_status *ons_trainer_note_validation(ons_trainer *t, double loss) {
    ++t->best.since;
    if (!(loss < t->best.loss)) return NULL;
    t->best.loss = loss;
    t->best.step = t->step;
    t->best.since = 0;
    return take_values(t);
}

bool ons_trainer_stops_early(const ons_trainer *t) {
    return t->config->early_stop > 0 && t->best.since >= t->config->early_stop;
}

bool ons_trainer_find_best(const ons_trainer *t, const char *name, ons_type *type, const void **contents) {
    for (size_t i = 0; t->best.is_read && i < t->best.value_count; ++i) {
        const best_value *value = &t->best.values[i];
        if (strcmp(value->name, name) != 0) continue;
        if (type != NULL) *type = value->type;
        *contents = value->data;
        return true;
    }
    return false;
}

void ons_trainer_read_best(ons_trainer *t, bool read) {
    t->best.is_read = read && t->config->best && t->best.step > 0;
    t->looked_name = NULL;
}

/* ------------------------------------------------------------------------------------------------------ checkpoints */

size_t ons_trainer_best_count(const ons_trainer *t) {
    return t->config->best && t->best.step > 0 ? t->best.value_count : 0;
}

ons_named_tensor ons_trainer_best_tensor(const ons_trainer *t, size_t index) {
    const best_value *value = &t->best.values[index];
    return (ons_named_tensor){value->kept_name, {value->type, value->data}};
}

ons_status *ons_trainer_write_best(const ons_trainer *t, ons_json *more) {
    const ons_best *best = &t->best;
    ons_json *record;
    if (t->validation.dataset == NULL) return NULL;
    ONS_TRY(ons_json_new_object(&record));
    ONS_TRY(ons_json_set(more, "best", record)); /* which then holds it, also while it is filled */
    ONS_TRY(ons_json_set_uint64(record, "step", (uint64_t)best->step));
    ONS_TRY(ons_json_set_uint64(record, "since", (uint64_t)best->since));
    if (best->step > 0) ONS_TRY(ons_json_set_double(record, "loss", best->loss));
    return ons_json_set_bool(record, "kept", t->config->best);
}

static ons_status *load_values(ons_trainer *t, const ons_checkpoint *c) {
    for (size_t i = 0; i < t->best.value_count; ++i) {
        const best_value *value = &t->best.values[i];
        const ons_tensor *found = ons_checkpoint_find(c, value->kept_name);
        ONS_CHECK(found != NULL && ons_type_equal(&found->type, &value->type), ONS_INVALID_DATA,
                  "--resume: the checkpoint in %s has no tensor '%s' of this model's type", t->config->checkpoint,
                  value->kept_name);
        memcpy(value->data, found->data, (size_t)ons_type_dense_bytes(&value->type));
    }
    return NULL;
}

ons_status *ons_trainer_restore_best(ons_trainer *t, const ons_checkpoint *c) {
    const ons_json *record = c->info.more == NULL ? NULL : ons_json_find(c->info.more, "best");
    bool kept;
    if (record == NULL || t->validation.dataset == NULL) return NULL; /* nothing was validated, or is any more */
    ONS_TRY(ons_json_get_int(record, "step", &t->best.step));
    ONS_TRY(ons_json_get_int(record, "since", &t->best.since));
    ONS_TRY(ons_json_get_bool(record, "kept", &kept));
    if (t->best.step == 0) return NULL;
    ONS_TRY(ons_json_get_double(record, "loss", &t->best.loss));
    if (!t->config->best) return NULL;
    if (kept) return load_values(t, c);
    if (t->best.step == t->step) return take_values(t);
    return ons_status_new(
        ONS_INVALID_ARGUMENT,
        "--best: the checkpoint in %s was written without it, and the weights of its best validation, "
        "of step %" PRId64 ", are not there; leave --best out, or start a new run in another folder",
        t->config->checkpoint, t->best.step);
}
