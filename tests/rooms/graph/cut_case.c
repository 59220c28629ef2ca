#include "tests/rooms/graph/cut_case.h"

#include <criterion/criterion.h>

#include "tests/rooms/graph/fixture.h"

cut_case cut_case_open(const cut_model *model, bool repeats, uint64_t seed) {
    return cut_case_open_for("cpu", model, repeats, seed);
}

cut_case cut_case_open_for(const char *name, const cut_model *model, bool repeats, uint64_t seed) {
    cut_case c = {.path = model->path, .repeats = repeats, .arena = ons_arena_new(), .random = seed};
    ons_device_profile profile;
    must(ons_config_new(&c.config));
    if (model->option != NULL) must(ons_config_set(c.config, model->option, model->value));
    must(ons_device_profile_load(name, c.arena, &profile));
    must(ons_model_open(model->path, c.config, true, NULL, &c.model));
    ons_plan_input_options options = {
        .model = c.model,
        .config = c.config,
        .profile = &profile,
        .batch = model->rows * (repeats ? 3 : 1),
        .micro_batches = repeats ? 3 : 1,
        .accumulates = repeats,
    };
    must(ons_plan_input_make(&options, &c.input));
    c.graph = c.input.stage.graph;
    c.stage_of_node = ons_arena_allocate(c.arena, c.graph->nodes.count + 1, sizeof *c.stage_of_node);
    cr_assert_not_null(c.stage_of_node);
    return c;
}

void cut_case_close(cut_case *c) {
    ons_plan_input_free(&c->input);
    ons_model_free(c->model);
    ons_config_free(c->config);
    ons_arena_free(c->arena);
}

ons_cut_options cut_case_options(cut_case *c, uint32_t stages) {
    return (ons_cut_options){
        .whole = c->graph,
        .registry = c->model->registry,
        .repeats = c->repeats,
        .updates_in_backward = stages == 1 && !c->repeats,
        .stage_of_node = c->stage_of_node,
        .stages = stages,
        .kept = c->input.stage.kept,
        .kept_count = c->input.stage.kept_count,
    };
}
