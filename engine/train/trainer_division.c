/* Stages or threads, where several profiles were given: what the simulator finds fastest is set as if it had been asked
 * for, and the run goes on with that. */
#include <string.h>

#include "engine/config/profile_list.h"
#include "engine/model/results.h"
#include "engine/plan/planning.h"
#include "engine/plan/processor_choice.h"
#include "engine/train/trainer.h"

static bool is_given(const ons_config *c, const char *dim) {
    for (size_t i = 0; i < c->dims.count; ++i)
        if (strcmp(c->dims.items[i].name, dim) == 0) return true;
    return false;
}

/* A model is planned without its data: what they say of its symbolic dimensions is said by --dim. */
static ons_status *say_dims(const ons_trainer *t, ons_config *asked) {
    const ons_graph *graph = t->model->graph;
    const ons_dataset *data = t->training.dataset;
    for (size_t k = 0; graph->symbols != NULL && k < graph->inputs.count; ++k) {
        const ons_value *input = ons_graph_value(graph, graph->inputs.items[k]);
        ons_type sample = ons_dataset_sample_type(data, ons_dataset_find(data, input->name));
        if (sample.shape.rank + 1 != input->type.shape.rank) continue; /* the model's own numbers must do */
        for (uint32_t axis = 1; axis < input->type.shape.rank; ++axis) {
            const char *symbol = graph->symbols[k][axis];
            if (symbol == NULL || is_given(asked, symbol)) continue;
            const char *dim = ons_arena_format(t->arena, "%s=%lld", symbol, (long long)sample.shape.dims[axis - 1]);
            if (dim == NULL) return ons_status_out_of_memory();
            ONS_TRY(ons_config_set(asked, "dim", dim));
        }
    }
    return NULL;
}

static ons_status *plan(const ons_trainer *t, ons_planning **planning) {
    ons_config *asked;
    ONS_TRY(ons_config_copy(t->config, &asked));
    asked->out = NULL; /* a run's result may take the model's place, which a plan may not */
    ons_status *status = say_dims(t, asked);
    if (status == NULL) status = ons_processor_choice_plan(t->model->path, asked, planning);
    ons_config_free(asked);
    return status;
}

static ons_status *follow(ons_trainer *t, const ons_planning *p) {
    ONS_TRY(ons_config_set(t->config, "profile", p->config->profile));
    ONS_TRY(ons_config_set_count(t->config, "batch", p->config->batch));
    ONS_TRY(ons_config_set_count(t->config, "threads", p->config->threads));
    ONS_TRY(ons_config_set_count(t->config, "stages", p->config->stages));
    if (p->config->devices > 0) ONS_TRY(ons_config_set_count(t->config, "devices", p->config->devices));
    t->division = ons_arena_copy_text(t->arena, p->division);
    return t->division == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_trainer_divide_processors(ons_trainer *t) {
    const ons_config *c = t->config;
    ons_planning *planning = NULL;
    uint32_t processes = 1;
    if (!ons_profile_list_is_given(c)) return NULL;
    bool launched = ons_mpi_is_launched(&processes) && processes > 1 && c->transport.value != ONS_TRANSPORT_LOCAL;
    ONS_CHECK(!launched, ONS_INVALID_ARGUMENT,
              "--profile %s: %u processes were started, and their stages are what the processors are divided among; "
              "name the file that was measured for that",
              c->profile, processes);
    ONS_TRY(ons_check_results(t->model, c)); /* while all files are named */
    ONS_TRY(ons_open_training_data(t->model, c, &t->training.dataset));
    ons_status *status = plan(t, &planning);
    if (status == NULL) status = follow(t, planning);
    ons_planning_free(planning);
    return status;
}
