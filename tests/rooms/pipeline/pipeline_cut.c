/* How the graphs of a run are cut, and the schedule of the stages. */
#include <string.h>

#include "engine/plan/swap_order_check.h"
#include "planner/cost/graph_positions.h"
#include "planner/schedule/slicer.h"
#include "tests/rooms/pipeline/copies.h"
#include "tests/rooms/pipeline/pipeline_trial.h"
#include "tests/rooms/pipeline/stage_size_lists.h"

static ons_status *list_actions(pipeline_trial *t, ons_schedule *schedule) {
    t->pipeline.micro_batches = (uint32_t)t->batching.micro_batches;
    t->pipeline.replicas = (uint32_t)t->batching.replicas;
    ons_schedule whole;
    const stage_size_lists paced = {t->s->stages, t->pipeline.micro_batches, t->s->sizes, t->s->copies,
                                    t->s->in_flight};
    if (t->s->sizes != NULL) {
        ONS_TRY(stage_size_lists_make(&paced, t->arena, schedule));
        return ons_schedule_verify(schedule, NULL, t->arena);
    }
    if (t->s->copies != NULL)
        return copies_schedule(t->s->copies, t->s->stages, t->pipeline.micro_batches,
                               t->s->kind != &ons_generator_one_f_one_b, t->arena, schedule);
    ONS_TRY(ons_schedule_make(&t->pipeline, t->arena, &whole));
    *schedule = whole;
    if (t->s->sliced > 0) ONS_TRY(ons_schedule_slice(&whole, t->s->sliced, t->arena, schedule));
    return ons_schedule_verify(schedule, NULL, t->arena);
}

static ons_status *make_schedule(pipeline_trial *t) {
    ons_schedule made;
    ONS_TRY(list_actions(t, &made));
    ONS_TRY(ons_schedule_lanes_find(&made, t->arena, &t->lanes));
    t->schedule = t->lanes.schedule;
    ONS_TRY(ons_device_groups_find(&t->schedule, t->arena, &t->groups));
    ONS_NEW(t->apart, t->arena, t->s->stages);
    for (uint32_t i = 0; i < t->s->stages; ++i) t->apart[i] = t->schedule.loads[i].apart;
    return NULL;
}

/* The loss is one of a whole micro-batch: where another stage waited for it, nothing could be in halves or pieces. */
static void keep_loss_together(pipeline_trial *t) {
    const ons_graph *graph = t->choice.graph;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id)
        if (strncmp(ons_graph_node(graph, id)->name, "loss", 4) == 0) t->choice.stage_of_node[id] = t->s->stages - 1;
}

/* Stages by name, as the graph for whole micro-batches has them. */
static ons_status *choose_stages(pipeline_trial *t) {
    const ons_graph *graph = t->dataset_graphs.graphs[ONS_WHOLE].graph;
    const ons_graph_work_options options = {.graph = graph, .registry = t->model->registry};
    cut_case *c = &t->choice;
    c->graph = graph;
    ONS_NEW(c->stage_of_node, t->arena, graph->nodes.count + 1);
    ONS_TRY(ons_graph_positions_find(&options, t->arena, &c->input.costs.graph_work,
                                     &c->input.costs.graph_work.work.node_count));
    if (t->s->scattered)
        cut_case_scatter(c, t->s->stages);
    else if (t->s->stages > 1)
        cut_case_slice(c, t->s->stages);
    if (t->s->sliced > 0 || t->s->sizes != NULL) keep_loss_together(t);
    for (ons_node_id id = 0; id < graph->nodes.count; ++id)
        ONS_TRY(ons_map_set(&t->stage_of_name, ons_graph_node(graph, id)->name, c->stage_of_node[id]));
    return NULL;
}

static uint32_t count_clones(const ons_cut *cut) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cut->stage_count; ++i)
        for (uint32_t k = 0; k < cut->stages[i].graph->nodes.count; ++k) count += cut->stages[i].again[k];
    return count;
}

static ons_status *cut_graph(pipeline_trial *t, const ons_model_graph *stage, ons_cut *cut) {
    if (stage->graph == NULL) return NULL;
    cut_case c = t->choice;
    static const cut_evictions evictions[] = {CUT_BOTH, CUT_SWAPS, CUT_RECOMPUTES, CUT_BOTH};
    c.graph = stage->graph;
    c.evictions = evictions[t->s->eviction];
    ONS_NEW(c.stage_of_node, t->arena, stage->graph->nodes.count + 1);
    for (ons_node_id id = 0; id < stage->graph->nodes.count; ++id) {
        uint32_t known = ons_map_get(&t->stage_of_name, ons_graph_node(stage->graph, id)->name);
        c.stage_of_node[id] = known == ONS_MAP_ABSENT ? 0 : known;
    }
    ons_cut_options options = {
        .whole = stage->graph,
        .registry = t->model->registry,
        .repeats = pipeline_trial_repeats(t),
        .stage_of_node = c.stage_of_node,
        .stages = t->s->stages,
        .device_of = t->groups.of_stage,
        .devices = t->groups.count,
        .apart = t->apart,
        .kept = stage->kept,
        .kept_count = stage->kept_count,
    };
    if (t->s->eviction != PIPELINE_KEEPS) {
        ons_cut plain;
        ONS_TRY(ons_cut_make(&options, &plain));
        cut_case_decide(&c, &plain, t->s->one_in > 0 ? t->s->one_in : 1, &options);
        ons_cut_free(&plain);
    }
    ONS_TRY(ons_cut_make(&options, cut));
    return ons_swap_order_check(&t->schedule, cut);
}

static ons_model_graph_options whole_options(const pipeline_trial *t) {
    return (ons_model_graph_options){
        .model = t->model,
        .config = t->config,
        .dataset = t->dataset_graphs.dataset,
        .training = true,
        .repeats = pipeline_trial_repeats(t),
    };
}

static ons_status *build_halves(pipeline_trial *t) {
    const ons_model_graph_options whole = whole_options(t);
    return ons_dataset_graphs_build_halves(&whole, &t->schedule, &t->dataset_graphs);
}

static ons_status *build_groups(pipeline_trial *t) {
    const ons_model_graph_options whole = whole_options(t);
    return ons_dataset_graphs_build_groups(&whole, &t->schedule, &t->batching,
                                           (int64_t)ons_dataset_count(t->dataset_graphs.dataset), &t->dataset_graphs);
}

static ons_status *cut_by_chance(pipeline_trial *t) {
    ONS_TRY(make_schedule(t));
    ONS_TRY(choose_stages(t));
    ONS_TRY(build_groups(t));
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v)
        ONS_TRY(cut_graph(t, &t->dataset_graphs.graphs[v], &t->dataset_graphs.cuts[v]));
    ONS_TRY(build_halves(t));
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v)
        for (int half = 0; half < 2; ++half)
            ONS_TRY(cut_graph(t, &t->dataset_graphs.half_graphs[v][half], &t->dataset_graphs.half_cuts[v][half]));
    for (uint32_t i = 0; i < t->dataset_graphs.grouped_count; ++i)
        ONS_TRY(cut_graph(t, &t->dataset_graphs.grouped[i].graph, &t->dataset_graphs.grouped[i].cut));
    return ons_dataset_graphs_check_groups(t->model, &t->dataset_graphs);
}

static ons_status *cut_as_planned(pipeline_trial *t) {
    const ons_model_graph *whole = &t->dataset_graphs.graphs[ONS_WHOLE];
    t->lanes = t->lowering.lanes;
    t->schedule = t->lanes.schedule;
    ONS_TRY(ons_lowering_check(t->model, t->config, whole, &t->batching, &t->lowering));
    ONS_TRY(ons_lowering_check_decisions(whole->graph, &t->lowering));
    ONS_TRY(ons_lowering_place(whole->graph, &t->lowering));
    ONS_TRY(build_halves(t));
    ONS_TRY(build_groups(t));
    return ons_lowering_cut(&t->lowering, t->model, NULL, ons_step_form_of(&t->pipeline), &t->dataset_graphs);
}

ons_status *pipeline_trial_cut(pipeline_trial *t) {
    ONS_TRY(t->s->plan != NULL ? cut_as_planned(t) : cut_by_chance(t));
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        const ons_cut *cut = &t->dataset_graphs.cuts[v];
        for (uint32_t i = 0; i < cut->stage_count; ++i) t->r->swaps += cut->stages[i].swap_count;
        t->r->clones += count_clones(cut);
    }
    return NULL;
}
