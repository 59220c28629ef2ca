#include "tests/graph/cut_case.h"

#include <criterion/criterion.h>

#include "tests/graph/fixture.h"

cut_case cut_case_open(const cut_model *model, bool repeats, uint64_t seed) {
    cut_case c = {.path = model->path, .repeats = repeats, .arena = ons_arena_new(), .random = seed};
    ons_device_profile profile;
    must(ons_config_new(&c.config));
    if (model->option != NULL) must(ons_config_set(c.config, model->option, model->value));
    must(ons_device_profile_load("cpu", c.arena, &profile));
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
        .stage_of_node = c->stage_of_node,
        .stages = stages,
        .kept = c->input.stage.kept,
        .kept_count = c->input.stage.kept_count,
    };
}

uint32_t cut_case_random(cut_case *c, uint32_t below) { return (uint32_t)(next_random(&c->random) % below); }

void cut_case_slice(cut_case *c, uint32_t stages) {
    uint32_t positions = c->input.graph_work.work.node_count, *ends;
    ends = ons_arena_allocate(c->arena, stages, sizeof *ends);
    cr_assert_not_null(ends);
    for (uint32_t i = 0; i + 1 < stages; ++i) ends[i] = 1 + cut_case_random(c, positions - 1);
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) {
        c->stage_of_node[id] = 0;
        for (uint32_t i = 0; i + 1 < stages; ++i)
            c->stage_of_node[id] += c->input.graph_work.position_of_node[id] >= ends[i];
    }
}

void cut_case_scatter(cut_case *c, uint32_t stages) {
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) c->stage_of_node[id] = cut_case_random(c, stages);
}

/* ------------------------------------------------------------------------------------------------------- decisions */

static bool is_view(const ons_node *node) {
    bool view = false;
    for (const ons_alias *a = node->op->aliases; a->kind != ONS_ALIAS_END; ++a) view |= a->kind == ONS_ALIAS_VIEW;
    return view;
}

/* The stage's value whose bytes a value shows. */
static ons_value_id root_of(const ons_graph *graph, ons_value_id value) {
    for (;;) {
        ons_node_id maker = ons_graph_value(graph, value)->producer;
        if (maker == ONS_NONE || !is_view(ons_graph_node(graph, maker))) return value;
        value = ons_graph_node(graph, maker)->inputs[0];
    }
}

static bool *find_saved(const cut_case *c, const ons_cut_stage *stage) {
    bool *saved = ons_arena_allocate(c->arena, stage->graph->values.count + 1, sizeof *saved);
    for (ons_node_id id = stage->end[ONS_PART_FORWARD]; id < stage->end[ONS_PART_BACKWARD]; ++id) {
        const ons_node *node = ons_graph_node(stage->graph, id);
        for (uint32_t i = 0; i < node->input_count && !is_view(node); ++i)
            if (node->inputs[i] != ONS_NONE) saved[root_of(stage->graph, node->inputs[i])] = true;
    }
    return saved;
}

static bool is_received_forward(const ons_cut_stage *stage, ons_value_id value) {
    bool found = false;
    for (uint32_t i = 0; i < stage->receive_count; ++i)
        found |= stage->receives[i].value == value && stage->receives[i].part == ONS_PART_FORWARD;
    for (size_t i = 0; i < stage->graph->inputs.count; ++i) found |= stage->graph->inputs.items[i] == value;
    return found;
}

/* A forward node that runs in this stage alone, from the whole graph's node `from` on; ONS_NONE: there is none. */
static ons_node_id pick_forward(cut_case *c, const ons_cut_stage *stage, ons_node_id from) {
    ons_node_id found = ONS_NONE;
    for (ons_node_id id = stage->end[ONS_PART_BEGIN], seen = 0; id < stage->end[ONS_PART_FORWARD]; ++id) {
        const ons_node *node = ons_graph_node(stage->graph, id);
        if (is_view(node) || node->per_step || stage->original[id] < from) continue;
        if (cut_case_random(c, ++seen) == 0) found = stage->original[id];
    }
    return found;
}

static void decide_value(cut_case *c, const ons_cut_stage *stage, ons_value_id value, ons_cut_decision *list,
                         uint32_t *count) {
    ons_value_id own = stage->value_of[value];
    ons_node_id maker = ons_graph_value(stage->graph, own)->producer;
    if (ons_graph_value(stage->graph, own)->pair != ONS_NONE) return;
    bool made = maker != ONS_NONE && maker >= stage->end[ONS_PART_BEGIN] && maker < stage->end[ONS_PART_FORWARD] &&
                !ons_graph_node(stage->graph, maker)->per_step;
    if (!made && !is_received_forward(stage, own)) return;
    ons_cut_decision d = {
        .relief = made && cut_case_random(c, 2) == 0 ? ONS_RELIEF_RECOMPUTE : ONS_RELIEF_SWAP,
        .value = value,
        .out_after = pick_forward(c, stage, made ? stage->original[maker] : 0),
        .in_before = pick_forward(c, stage, 0),
    };
    if (d.in_before != ONS_NONE && d.out_after != ONS_NONE) list[(*count)++] = d;
}

void cut_case_decide(cut_case *c, const ons_cut *plain, uint32_t one_in, ons_cut_options *options) {
    ons_cut_decision *list =
        ons_arena_allocate(c->arena, plain->stage_count * c->graph->values.count + 1, sizeof *list);
    cr_assert_not_null(list);
    options->decisions = list;
    options->decision_count = 0;
    for (uint32_t s = 0; s < plain->stage_count; ++s) {
        const ons_cut_stage *stage = &plain->stages[s];
        const bool *saved = find_saved(c, stage);
        for (ons_value_id id = 0; id < c->graph->values.count; ++id)
            if (stage->value_of[id] != ONS_NONE && saved[stage->value_of[id]] && cut_case_random(c, one_in) == 0)
                decide_value(c, stage, id, list, &options->decision_count);
    }
}
