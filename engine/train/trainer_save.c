/* The trained model as a file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/environment.h"
#include "engine/train/trainer.h"
#include "onnx_import/export.h"

/* The element type of a weight, whole or in shards. */
static ons_dtype type_of(const ons_trainer *t, const char *initialiser) {
    const ons_sharded *sharded = ons_sharded_find(t->model->file, initialiser);
    if (sharded != NULL) return sharded->type.dtype;
    ons_value_id id = ons_graph_find_value(t->model->graph, initialiser);
    return id == ONS_NONE ? ONS_NO_DTYPE : ons_graph_value(t->model->graph, id)->type.dtype;
}

static ons_status *read_weight(void *context, const char *initialiser, int64_t offset, void *buffer, size_t bytes) {
    ons_trainer *t = context;
    /* The file has both names of a tied pair, the graph only the second. */
    for (size_t i = 0; i < t->config->ties.count; ++i)
        if (strcmp(t->config->ties.items[i].name, initialiser) == 0) initialiser = t->config->ties.items[i].value;
    const ons_derived *derived = ons_derived_find(t->model->file, initialiser);
    const char *contents;
    ONS_TRY(ons_trainer_collect_for_file(t, derived == NULL ? initialiser : derived->source, (const void **)&contents));
    if (derived == NULL)
        memcpy(buffer, contents + offset, bytes);
    else
        ons_derived_fill(derived, contents, offset, buffer, bytes);
    const char *source = derived == NULL ? initialiser : derived->source;
    ons_dtype dtype = type_of(t, source);
    if (dtype == ONS_NO_DTYPE || ons_dtype_size(dtype) == 0) return NULL;
    size_t size = ons_dtype_size(dtype);
    int64_t place = derived == NULL ? (int64_t)((size_t)offset / size) : -1;
    return ons_trainer_check_finite(t, source, dtype, buffer, place, (int64_t)(bytes / size));
}

static bool is_listed(const char *const *names, size_t count, const char *name) {
    bool listed = false;
    for (size_t i = 0; i < count; ++i) listed |= strcmp(names[i], name) == 0;
    return listed;
}

/* A sharded weight is one initialiser of the file: all of its shards are trained if one is. */
static const char *name_in_file(const ons_model_file *file, const ons_value *weight) {
    for (size_t i = 0; weight->shard != 0 && i < ons_sharded_count(file); ++i) {
        const ons_sharded *sharded = ons_sharded_at(file, i);
        if (weight->shard > sharded->shards || strcmp(sharded->parts[weight->shard - 1], weight->name) != 0) continue;
        return weight->shard == 1 ? sharded->name : NULL;
    }
    return weight->name;
}

static ons_status *list_changed(ons_trainer *t, const char **names, size_t *count) {
    const ons_model_graph *stage = &t->training.graphs[ONS_WHOLE];
    *count = 0;
    for (uint32_t i = 0; i < stage->update.trained_count; ++i) {
        const ons_value *weight = ons_graph_value(stage->graph, stage->update.trained[i].parameter);
        const char *name = name_in_file(t->model->file, weight);
        if (name != NULL) names[(*count)++] = name;
    }
    for (ons_value_id id = 0; id < stage->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(stage->graph, id);
        if (value->kind != ONS_BUFFER || value->pair == ONS_NONE) continue;
        const char *name = ons_graph_value(stage->graph, value->pair)->name;
        if (ons_graph_find_value(t->model->graph, name) != ONS_NONE) /* running statistics that this run moved */
            names[(*count)++] = name;
    }
    /* A transposed copy is written back beside the weight that it is made from. */
    for (size_t i = 0; i < ons_derived_count(t->model->file); ++i) {
        const ons_derived *derived = ons_derived_at(t->model->file, i);
        if (strcmp(derived->name, derived->source) != 0 && is_listed(names, *count, derived->source))
            names[(*count)++] = derived->name;
    }
    /* Both names of a --tie'd pair are asked for. */
    for (size_t i = 0; i < t->config->ties.count; ++i) names[(*count)++] = t->config->ties.items[i].name;
    return NULL;
}

static ons_status *save(ons_trainer *t, const char *path) {
    const ons_model_graph *stage = &t->training.graphs[ONS_WHOLE];
    const char **names = calloc(
        stage->graph->values.count + t->config->ties.count + ons_derived_count(t->model->file) + 1, sizeof *names);
    if (names == NULL) return ons_status_out_of_memory();
    ons_export_options options = {
        .changed = names,
        .read = read_weight,
        .context = t,
        .inference = t->config->export_form.value == ONS_EXPORT_INFERENCE,
        .registry = t->model->registry,
        .cut = t->config->cut_outputs ? ons_trainer_own_loss(t) : NULL,
    };
    ons_status *status = list_changed(t, names, &options.changed_count);
    if (status == NULL) status = ons_export(t->model->file, path, &options);
    free(names);
    return status;
}

/* What was trained is worth more than where it was to go: where the model cannot be written, the weights are kept in a
 * checkpoint, if need be in a folder beside it. Takes over the failure, and says so in it. Weights that are not finite
 * are worth nothing, and a model that cannot be written at all is not written by a resumed run either. */
static ons_status *keep_weights(ons_trainer *t, const char *path, ons_status *failure) {
    ons_status_code code = ons_status_get_code(failure);
    if (failure == NULL || t->remote || code == ONS_DIVERGED) return failure;
    const char *given = t->config->checkpoint;
    if (given == NULL) {
        char *folder = ons_arena_format(t->config->arena, "%s.checkpoint", path);
        if (folder == NULL || ons_checkpoint_exists(folder)) return failure; /* of another run: not to be mixed up */
        t->config->checkpoint = folder;
    }
    ons_status *kept = ons_trainer_checkpoint(t);
    if (kept == NULL)
        failure = ons_status_at(failure,
                                code == ONS_UNSUPPORTED
                                    ? "the model is not written, but its weights are kept in the checkpoint of %s"
                                    : "the model is not written, but its weights are kept: --checkpoint %s --resume "
                                      "writes it without training again",
                                t->config->checkpoint);
    else
        rmdir(t->config->checkpoint); /* what is left of it where there was no room; if it is not empty, it stays */
    t->config->checkpoint = given;
    ons_status_free(kept);
    return failure;
}

static double seconds_before_keeping(void) {
    const char *text = ons_environment(ONS_ENV_ONSTAGE_KEEP_SECONDS);
    char *end;
    double seconds = text == NULL ? 60 : strtod(text, &end);
    return text == NULL || (end != text && *end == '\0' && seconds >= 0) ? seconds : 60;
}

/* OUT.checkpoint, OUT.2.checkpoint, …: the first that holds none of another run. */
static const char *free_folder(const ons_trainer *t) {
    const char *folder = ons_arena_format(t->config->arena, "%s.checkpoint", t->config->out);
    for (int i = 2; folder != NULL && ons_checkpoint_exists(folder) && i < 100; ++i)
        folder = ons_arena_format(t->config->arena, "%s.%d.checkpoint", t->config->out, i);
    return folder;
}

ons_status *ons_trainer_keep(ons_trainer *t, const char **folder) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_GIVEN(folder, "folder");
    ONS_TRAINER_IS_HERE(t);
    *folder = NULL;
    bool lost = t->config->out != NULL && t->config->checkpoint == NULL && !t->remote && t->begun != 0;
    if (!lost || (double)(ons_trace_now() - t->begun) * 1e-9 < seconds_before_keeping()) return NULL;
    const char *chosen = free_folder(t);
    if (chosen == NULL) return ons_status_out_of_memory();
    t->config->checkpoint = chosen;
    ons_status *status = ons_trainer_checkpoint(t);
    t->config->checkpoint = NULL;
    if (status == NULL)
        *folder = chosen;
    else
        rmdir(chosen); /* what is left of it where there was no room; if it is not empty, it stays */
    return status;
}

ons_status *ons_trainer_save(ons_trainer *t, const char *path) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_TRAINER_IS_HERE(t);
    path = path == NULL ? t->config->out : path;
    ONS_CHECK(path != NULL, ONS_INVALID_ARGUMENT, "no file for the trained model; give --out FILE");
    ONS_TRY(ons_local_stages_settle_versions(t->local_stages));
    ons_trainer_read_best(t, true);
    ons_status *status = ons_trainer_leads(t) ? ons_trainer_collected(t, save(t, path)) : ons_trainer_hand_over(t);
    ons_trainer_read_best(t, false);
    return ons_trainer_share_failure(t, keep_weights(t, path, status));
}
