/* What outlives a training run: checkpoints, and the trained model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trainer.h"
#include "onnx_import/export.h"

enum { CHECKPOINTS_KEPT = 2 };

typedef ONS_VECTOR(ons_named_tensor) named_tensors;

static ons_status *add_tensor(ons_trainer *t, named_tensors *list, const char *name, const char *resident) {
    ons_named_tensor tensor = {.name = name};
    tensor.tensor.data = ons_crew_find(t->crew, resident, &tensor.tensor.type);
    ONS_CHECK(tensor.tensor.data != NULL && name != NULL, ONS_DEFECT, "'%s' has no place in the arena", resident);
    ONS_PUSH(list, tensor);
    return NULL;
}

/* Weights and running statistics under the initialisers' names, states under NAME#STATE. `names` holds the texts. */
static ons_status *list_tensors(ons_trainer *t, ons_arena *names, named_tensors *list) {
    const ons_stage_graph *stage = &t->training.full;
    for (uint32_t i = 0; i < stage->update.trained_count; ++i) {
        const ons_trained *each = &stage->update.trained[i];
        const char *name = ons_graph_value(stage->graph, each->parameter)->name;
        ONS_TRY(add_tensor(t, list, name, name));
        for (int k = 0; k < 2; ++k)
            if (each->states[k] != ONS_NONE)
                ONS_TRY(add_tensor(t, list, ons_arena_format(names, "%s#%s", name, stage->update.state_names[k]),
                                   ons_graph_value(stage->graph, each->states[k])->name));
    }
    for (ons_value_id id = 0; id < stage->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(stage->graph, id);
        if (value->kind == ONS_BUFFER && value->producer == ONS_NONE)
            ONS_TRY(add_tensor(t, list, value->name, value->name));
    }
    return NULL;
}

static ons_status *write_checkpoint(ons_trainer *t, const named_tensors *list) {
    char digest[32];
    snprintf(digest, sizeof digest, "%016" PRIx64, t->digest);
    ons_checkpoint_info info = {
        .step = (uint64_t)t->step,
        .epoch = (uint64_t)(t->step / t->steps_per_epoch),
        .position = (uint64_t)(t->step % t->steps_per_epoch * t->batching.batch),
        .seed = (uint64_t)t->config->seed,
        .threads = (uint32_t)t->threads,
        .optimizer = t->config->optimizer,
        .options_digest = digest,
    };
    ons_safetensors_content content = {.tensors = list->items, .count = list->count};
    if (t->log != NULL) /* a log that is behind its checkpoint would have a gap after a resume */
        ONS_TRY(ons_log_json_sync(t->log));
    return ons_checkpoint_write(t->config->checkpoint, &info, &content, CHECKPOINTS_KEPT);
}

ons_status *ons_trainer_checkpoint(ons_trainer *t) {
    ONS_CHECK(t->config->checkpoint != NULL, ONS_INVALID_ARGUMENT, "no folder for checkpoints; give --checkpoint DIR");
    named_tensors list = {0};
    ons_arena *names = ons_arena_new();
    ons_status *status = names == NULL ? ons_status_out_of_memory() : list_tensors(t, names, &list);
    if (status == NULL) status = write_checkpoint(t, &list);
    ons_vector_free(&list);
    ons_arena_free(names);
    return status;
}

static ons_status *check_fits(const ons_trainer *t, const ons_checkpoint *c) {
    char digest[32];
    snprintf(digest, sizeof digest, "%016" PRIx64, t->digest);
    ONS_CHECK(strcmp(c->info.options_digest, digest) == 0, ONS_INVALID_ARGUMENT,
              "--resume: the checkpoint in %s was written with another model, data, batch, loss, optimiser or seed; "
              "resume with "
              "the same options, or start a new run in another folder",
              t->config->checkpoint);
    ONS_CHECK(
        c->info.threads == (uint32_t)t->threads, ONS_INVALID_ARGUMENT,
        "--resume: the checkpoint in %s was written with --threads %u, now there are %d; the result would not be the "
        "same to the bit. Give --threads %u",
        t->config->checkpoint, c->info.threads, t->threads, c->info.threads);
    return NULL;
}

static ons_status *load_tensors(ons_trainer *t, const ons_checkpoint *c, const named_tensors *list) {
    for (size_t i = 0; i < list->count; ++i) {
        const ons_named_tensor *wanted = &list->items[i];
        const ons_tensor *found = ons_checkpoint_find(c, wanted->name);
        ONS_CHECK(found != NULL && ons_type_equal(&found->type, &wanted->tensor.type), ONS_INVALID_DATA,
                  "--resume: the checkpoint in %s has no tensor '%s' of this model's type", t->config->checkpoint,
                  wanted->name);
        memcpy((void *)wanted->tensor.data, found->data, (size_t)ons_type_dense_bytes(&found->type));
    }
    return NULL;
}

static ons_status *restore(ons_trainer *t, const ons_checkpoint *c) {
    ONS_TRY(check_fits(t, c));
    named_tensors list = {0};
    ons_arena *names = ons_arena_new();
    ons_status *status = names == NULL ? ons_status_out_of_memory() : list_tensors(t, names, &list);
    if (status == NULL) status = load_tensors(t, c, &list);
    ons_vector_free(&list);
    ons_arena_free(names);
    t->step = (int64_t)c->info.step;
    return status;
}

ons_status *ons_trainer_resume(ons_trainer *t, bool *resumed) {
    *resumed = false;
    if (t->config->checkpoint == NULL) return NULL;
    if (!t->config->resume) {
        ONS_CHECK(
            !ons_checkpoint_exists(t->config->checkpoint), ONS_INVALID_ARGUMENT,
            "--checkpoint: %s holds the checkpoints of another run; give --resume to go on with it, or another folder",
            t->config->checkpoint);
        return NULL;
    }
    ons_checkpoint checkpoint = {0};
    ons_status *status = ons_checkpoint_open_newest(t->config->checkpoint, &checkpoint, resumed);
    if (status == NULL && *resumed) status = restore(t, &checkpoint);
    ons_checkpoint_close(&checkpoint);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- export
 */

static ons_status *read_weight(void *context, const char *initialiser, int64_t offset, void *buffer, size_t bytes) {
    ons_trainer *t = context;
    /* The file has both names of a tied pair, the graph only the second. */
    for (size_t i = 0; i < t->config->ties.count; ++i)
        if (strcmp(t->config->ties.items[i].name, initialiser) == 0) initialiser = t->config->ties.items[i].value;
    const char *address = ons_crew_find(t->crew, initialiser, NULL);
    ONS_CHECK(address != NULL, ONS_DEFECT, "'%s' has no place in the arena", initialiser);
    memcpy(buffer, address + offset, bytes);
    return NULL;
}

static ons_status *list_changed(ons_trainer *t, const char **names, size_t *count) {
    const ons_stage_graph *stage = &t->training.full;
    *count = 0;
    for (uint32_t i = 0; i < stage->update.trained_count; ++i)
        names[(*count)++] = ons_graph_value(stage->graph, stage->update.trained[i].parameter)->name;
    for (ons_value_id id = 0; id < stage->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(stage->graph, id);
        if (value->kind == ONS_BUFFER && value->pair != ONS_NONE) /* running statistics that this run moved */
            names[(*count)++] = ons_graph_value(stage->graph, value->pair)->name;
    }
    /* Both names of a --tie'd pair are asked for. */
    for (size_t i = 0; i < t->config->ties.count; ++i) names[(*count)++] = t->config->ties.items[i].name;
    return NULL;
}

ons_status *ons_trainer_save(ons_trainer *t, const char *path) {
    path = path == NULL ? t->config->out : path;
    ONS_CHECK(path != NULL, ONS_INVALID_ARGUMENT, "no file for the trained model; give --out FILE");
    const ons_stage_graph *stage = &t->training.full;
    const char **names = calloc(stage->graph->values.count + t->config->ties.count + 1, sizeof *names);
    if (names == NULL) return ons_status_out_of_memory();
    ons_export_options options = {
        .changed = names,
        .read = read_weight,
        .context = t,
        .inference = strcmp(t->config->export_form, "inference") == 0,
        .registry = t->model->registry,
    };
    ons_status *status = list_changed(t, names, &options.changed_count);
    if (status == NULL) status = ons_export(t->model->file, path, &options);
    free(names);
    return status;
}
