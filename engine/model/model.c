#include "engine/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "engine/config/given.h"
#include "engine/model/batching.h"
#include "engine/model/needed_inputs.h"
#include "engine/model/new_head.h"
#include "engine/model/sample_axes.h"
#include "engine/model/vocabulary.h"
#include "graph/passes/classify.h"
#include "kernels/kernels.h"

static bool insists(const void *config, const char *name) { return ons_config_insists(config, name); }

/* --loss-output, and what --output asks for, are all that a model has to compute then. */
static ons_status *wanted_outputs(const ons_config *config, ons_arena *arena, ons_import_options *options) {
    const char **names;
    if (config->loss_output == NULL) return NULL;
    ONS_NEW(names, arena, config->outputs.count + 1);
    names[options->output_count++] = config->loss_output;
    for (size_t i = 0; i < config->outputs.count; ++i) {
        const char *name = config->outputs.items[i].name;
        if (name[0] != '\0' && strcmp(name, config->loss_output) != 0) names[options->output_count++] = name;
    }
    options->outputs = names;
    return NULL;
}

static ons_status *import_options(const ons_config *config, ons_arena *arena, ons_import_options *options) {
    *options = (ons_import_options){0};
    if (config == NULL) return NULL;
    ons_tie *ties;
    const char **untie, **trained;
    ONS_NEW(ties, arena, config->ties.count);
    ONS_NEW(untie, arena, config->untie.count);
    for (size_t i = 0; i < config->ties.count; ++i)
        ties[i] = (ons_tie){config->ties.items[i].name, config->ties.items[i].value};
    for (size_t i = 0; i < config->untie.count; ++i) untie[i] = config->untie.items[i];
    ONS_NEW(trained, arena, config->choices.count);
    *options = (ons_import_options){.ties = ties,
                                    .tie_count = config->ties.count,
                                    .untie = untie,
                                    .untie_count = config->untie.count,
                                    .trained = trained};
    for (size_t i = 0; i < config->choices.count; ++i)
        if (config->choices.items[i].train) trained[options->trained_count++] = config->choices.items[i].glob;
    return wanted_outputs(config, arena, options);
}

static ons_status *forget_graph(ons_model *m) {
    ons_graph_free(m->graph);
    ons_store_free(&m->store);
    m->graph = NULL;
    m->store = (ons_store){0};
    return ons_store_init(&m->store);
}

static ons_status *classify(const ons_model *m, const ons_config *config) {
    ons_insistence insistence = {insists, config};
    return ons_classify(m->graph, config == NULL ? NULL : &insistence);
}

/* Which weights come in shards, of those that are no constants; the graph that tells goes. */
static ons_status *find_shards(ons_model *m, const ons_config *config, ons_import_options *options) {
    if (config == NULL || config->vocabulary_shards <= 1) return NULL;
    ONS_TRY(ons_import(m->file, m->registry, options, &m->store, NULL, &m->graph));
    ONS_TRY(classify(m, config));
    ONS_TRY(ons_vocabulary_find(m, config, m->arena, options));
    return forget_graph(m);
}

/* The file with new heads in place of the one that was opened. */
static ons_status *replace_heads(ons_model *m, const ons_config *config, const ons_import_options *wanted) {
    ons_import_options options = {.allow_missing_data = wanted->allow_missing_data};
    ons_model_file *file;
    if (config == NULL || config->new_heads.count == 0) return NULL;
    ONS_TRY(ons_import(m->file, m->registry, &options, &m->store, NULL, &m->graph));
    ONS_TRY(ons_make_new_heads(m, config, &file));
    ons_status *status = forget_graph(m);
    ons_model_file_close(m->file);
    m->file = file;
    return status;
}

static ons_status *open_model(ons_model *m, const char *path, const ons_config *config, bool structure,
                              ons_blockers *blockers) {
    m->arena = ons_arena_new();
    if (m->arena == NULL) return ons_status_out_of_memory();
    m->path = ons_arena_copy_text(m->arena, path);
    if (m->path == NULL) return ons_status_out_of_memory();
    m->registry = ons_kernels_registry();
    ons_import_options options;
    ONS_TRY(import_options(config, m->arena, &options));
    options.allow_missing_data = structure;
    ONS_TRY(ons_store_init(&m->store));
    ONS_TRY(ons_model_file_open(path, &m->file));
    ONS_TRY(replace_heads(m, config, &options));
    ONS_TRY(find_shards(m, config, &options));
    ONS_TRY(ons_import(m->file, m->registry, &options, &m->store, blockers, &m->graph));
    ONS_TRY(classify(m, config));
    if (config != NULL) ONS_TRY(ons_leave_out_inputs(m, config));
    if (config != NULL) ONS_TRY_AT(ons_place_samples(m, config), "%s", path);
    if (config != NULL) ONS_TRY_AT(ons_check_batch_symbol(m, config), "%s", path);
    return ons_arena_check(m->arena);
}

ons_status *ons_model_open(const char *path, const ons_config *config, bool structure, ons_blockers *blockers,
                           ons_model **result) {
    ons_model *m = calloc(1, sizeof *m);
    if (m == NULL) return ons_status_out_of_memory();
    ons_status *status = open_model(m, path, config, structure, blockers);
    if (status != NULL) {
        ons_model_free(m);
        return status;
    }
    *result = m;
    return NULL;
}

ons_status *ons_model_load(const char *path, const ons_config *config, ons_model **model) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(path, "path");
    ONS_GIVEN(model, "model");
    return ons_model_open(path, config, false, NULL, model);
}

void ons_model_free(ons_model *m) {
    if (m == NULL) return;
    ons_graph_free(m->graph);
    ons_store_free(&m->store);
    ons_model_file_close(m->file);
    ons_arena_free(m->arena);
    free(m);
}
