#include "engine/plan/lowering.h"

#include <stdlib.h>
#include <string.h>

#include "engine/plan/node_shards.h"
#include "engine/plan/plan_input.h"
#include "engine/plan/plan_subject.h"
#include "engine/plan/problem.h"
#include "engine/plan/swap_order_check.h"
#include "engine/plan/weight_places.h"
#include "planner/cost/graph_positions.h"
#include "planner/schedule/device_groups.h"
#include "planner/search/planner.h"

/* --------------------------------------------------------------------------------------------------------- planning */

typedef struct planning {
    const ons_lowering_request *request;
    int64_t capacity;
    ons_arena *arena;
    ons_device_profile profile;
    const ons_partition_strategy *strategy;
    ons_planning_problem problem;
    ons_plan_costs costs;
} planning;

static ons_status *pose(planning *p) {
    const ons_lowering_request *r = p->request;
    ons_config own = *r->config;
    own.memory = NULL; /* `capacity` says it, with the libraries' share off */
    ONS_TRY(ons_problem_pose(&own, p->arena, &p->profile, &p->strategy, &p->problem));
    if (r->choice != NULL) p->problem.pipeline = r->choice->pipeline;
    if (r->choice != NULL) p->strategy = r->choice->strategy;
    p->problem.capacity_bytes = p->capacity;
    p->problem.pipeline.micro_batches = (uint32_t)r->batching->micro_batches;
    p->problem.batch = ons_batching_replica_samples(r->batching);
    bool updates_in_backward = ons_step_form_of(&p->problem.pipeline).updates_in_backward;
    ONS_TRY(ons_plan_costs_find(r->model, r->config, &p->profile, r->graph, updates_in_backward, p->arena, &p->costs));
    p->problem.work = &p->costs.graph_work.work;
    return ons_node_shards_pose(r->config, r->graph, &p->costs.graph_work, p->strategy, p->arena, &p->problem);
}

static ons_status *search_plan(planning *p, ons_lowering *lowering) {
    const ons_lowering_request *r = p->request;
    ons_planned planned;
    ons_plan *plan = &lowering->plan;
    ONS_TRY(pose(p));
    ONS_TRY(ons_planner_search(&p->problem, p->strategy, p->arena, &planned));
    ONS_TRY(ons_planner_fill(&planned, p->arena, plan));
    lowering->pipeline = plan->pipeline;
    ONS_TRY(ons_schedule_lanes_find(&plan->schedule, p->arena, &lowering->lanes));
    plan->partition = p->strategy->name;
    plan->subject.device_profile = p->profile.name;
    plan->subject.batch = r->batching->batch;
    plan->subject.micro_batches = r->batching->micro_batches;
    plan->subject.replicas = r->batching->replicas;
    plan->subject.shard_optimizer = r->config->shard_optimizer;
    ONS_TRY(ons_plan_subject_fill(r->model, r->config, p->profile.processor, r->graph, p->arena, &plan->subject));
    return ons_lowering_place(r->graph->graph, lowering);
}

ons_status *ons_lowering_make(const ons_lowering_request *request, int64_t capacity, ons_lowering *lowering) {
    *lowering = (ons_lowering){.arena = ons_arena_new(), .planned = true};
    planning p = {.request = request, .capacity = capacity, .arena = lowering->arena};
    return lowering->arena == NULL ? ons_status_out_of_memory() : search_plan(&p, lowering);
}

ons_status *ons_lowering_least(const ons_lowering_request *request, int64_t *bytes) {
    planning p = {.request = request, .capacity = 1, .arena = ons_arena_new()}; /* nothing fits */
    ons_planned planned;
    if (p.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = pose(&p);
    if (status == NULL) status = ons_planner_search(&p.problem, p.strategy, p.arena, &planned);
    if (status == NULL) *bytes = planned.partition.feasible ? 1 : planned.partition.least_bytes;
    ons_arena_free(p.arena);
    return status;
}

ons_status *ons_lowering_choose(const ons_lowering_request *request, int64_t capacity, ons_arena *arena,
                                ons_schedule_choices *choices) {
    planning p = {.request = request, .capacity = capacity, .arena = ons_arena_new()};
    if (p.arena == NULL) return ons_status_out_of_memory();
    ons_status *status = pose(&p);
    if (status == NULL) status = ons_schedule_choices_find(&p.problem, p.strategy, arena, choices);
    ons_arena_free(p.arena);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ from a file */

ons_status *ons_lowering_parse(const char *text, size_t size, ons_lowering *lowering) {
    *lowering = (ons_lowering){.arena = ons_arena_new(), .planned = true};
    if (lowering->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(ons_plan_parse(text, size, lowering->arena, &lowering->plan));
    lowering->pipeline = lowering->plan.pipeline;
    return ons_schedule_lanes_find(&lowering->plan.schedule, lowering->arena, &lowering->lanes);
}

ons_status *ons_lowering_check(const ons_model *model, const ons_config *config, const ons_model_graph *graph,
                               const ons_batching *batching, const ons_lowering *lowering) {
    /* A plan that knows of no replicas is one's. */
    bool alone = lowering->plan.subject.replicas == 1;
    ons_plan_subject run = {.batch = alone ? ons_batching_replica_samples(batching) : batching->batch,
                            .micro_batches = batching->micro_batches,
                            .replicas = batching->replicas};
    ONS_TRY(ons_plan_subject_fill(model, config, false, graph, lowering->arena, &run));
    return ons_plan_subject_check(&lowering->plan.subject, &run);
}

static ons_status *check_names(const ons_graph *graph, const ons_plan_decision *d, uint32_t stage) {
    ONS_CHECK(ons_graph_find_value(graph, d->tensor) != ONS_NONE, ONS_INVALID_DATA,
              "decisions.stages[%u]: the model has no tensor '%s'", stage, d->tensor);
    const char *const nodes[] = {d->out_after, d->in_before, d->gone_before};
    for (int i = 0; i < 3; ++i)
        ONS_CHECK(nodes[i] == NULL || ons_graph_find_node(graph, nodes[i]) != ONS_NONE, ONS_INVALID_DATA,
                  "decisions.stages[%u]: '%s': the model has no node '%s'", stage, d->tensor, nodes[i]);
    return NULL;
}

/* A plan may be simulated with actions that no device carries out by itself. */
static ons_status *check_kinds(const ons_action_list *list, uint32_t device) {
    for (uint32_t i = 0; i < list->count; ++i) {
        ons_action_kind kind = list->items[i].kind;
        ONS_CHECK(kind <= ONS_ACTION_UPDATE, ONS_UNSUPPORTED,
                  "decisions.actions[%u][%u]: training carries out forward (F), backward (B), or apart input gradients "
                  "(I) and weight gradients (W), and update (U), not %s; the rest follows from the plan",
                  device, i, ons_action_name(kind));
    }
    return NULL;
}

ons_status *ons_lowering_check_decisions(const ons_graph *graph, const ons_lowering *lowering) {
    const ons_plan *plan = &lowering->plan;
    for (uint32_t i = 0; i < plan->schedule.devices; ++i) ONS_TRY(check_kinds(&plan->schedule.lists[i], i));
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i)
        for (uint32_t k = 0; k < plan->stages[i].decision_count; ++k)
            ONS_TRY(check_names(graph, &plan->stages[i].decisions[k], i));
    return NULL;
}

static ons_status *place(ons_lowering *r, const char *name, uint32_t stage) {
    ONS_CHECK(ons_map_get(&r->names, name) == ONS_MAP_ABSENT, ONS_INVALID_DATA,
              "decisions.stages[%u]: node '%s' is in another stage, too", stage, name);
    r->stage_of_name[r->name_count] = stage;
    return ons_map_set(&r->names, name, r->name_count++);
}

/* An interval of the file's order from the first node of a stage to that of the next one. */
static ons_status *place_interval(const ons_graph *graph, ons_lowering *r) {
    uint32_t stage = 0;
    const ons_plan *plan = &r->plan;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(graph, id);
        if (!ons_is_forward_unit(node)) continue;
        bool next = stage + 1 < plan->pipeline.stages && strcmp(plan->stages[stage + 1].first_node, node->name) == 0;
        stage += next;
        ONS_TRY(place(r, node->name, stage));
    }
    for (uint32_t i = 0; i <= stage; ++i) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < r->name_count; ++k) count += r->stage_of_name[k] == i;
        ONS_CHECK(count == plan->stages[i].node_count || stage + 1 < plan->pipeline.stages, ONS_INVALID_DATA,
                  "decisions.stages[%u]: 'nodes' says %u, and %u stand before the next stage's first one", i,
                  plan->stages[i].node_count, count);
    }
    ONS_CHECK(stage + 1 == plan->pipeline.stages, ONS_INVALID_DATA,
              "decisions.stages[%u].first_node: the model has no node '%s' behind those of the stage before", stage + 1,
              plan->stages[stage + 1].first_node);
    return NULL;
}

ons_status *ons_lowering_place(const ons_graph *graph, ons_lowering *r) {
    const ons_plan *plan = &r->plan;
    size_t most = graph->nodes.count;
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i) most += plan->stages[i].node_count;
    ONS_NEW(r->stage_of_name, r->arena, most + 1);
    if (plan->stages[0].names == NULL) return place_interval(graph, r);
    for (uint32_t i = 0; i < plan->pipeline.stages; ++i)
        for (uint32_t k = 0; plan->stages[i].names != NULL && k < plan->stages[i].node_count; ++k)
            ONS_TRY(place(r, plan->stages[i].names[k], i));
    return NULL;
}

void ons_lowering_free(ons_lowering *lowering) {
    ons_map_free(&lowering->names);
    ons_arena_free(lowering->arena);
    *lowering = (ons_lowering){0};
}

/* ---------------------------------------------------------------------------------------------------------- cutting */

typedef struct cutting {
    const ons_lowering *l;
    const ons_model *model;
    const ons_graph *graph;
    ons_arena *arena;
    const ons_weight_places *places; /* NULL: of the planned graph itself */
    ons_graph_work positions;
    uint32_t *stage_of_node;
    bool *apart; /* of each stage */
    ons_cut_decision *decisions;
    uint32_t decision_count;
} cutting;

/* A node that the planned graph lacks asks for the first stage: the cut moves it to where its inputs are. */
static uint32_t stage_of_unit(const cutting *c, ons_node_id unit) {
    uint32_t index = ons_map_get(&c->l->names, ons_graph_node(c->graph, unit)->name);
    return index == ONS_MAP_ABSENT ? 0 : c->l->stage_of_name[index];
}

static ons_status *place_nodes(cutting *c) {
    const ons_graph_work_options options = {.graph = c->graph, .registry = c->model->registry};
    uint32_t count;
    ONS_TRY(ons_graph_positions_find(&options, c->arena, &c->positions, &count));
    ONS_NEW(c->stage_of_node, c->arena, c->graph->nodes.count + 1);
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) {
        uint32_t position = c->positions.position_of_node[id];
        c->stage_of_node[id] = position == ONS_NO_NODE ? 0 : stage_of_unit(c, c->positions.node_of_position[position]);
        uint32_t like = c->places == NULL ? ONS_NONE : ons_weight_places_stage(c->places, c->graph, id);
        if (like != ONS_NONE) c->stage_of_node[id] = like;
    }
    const ons_schedule *schedule = &c->l->plan.schedule;
    ONS_NEW(c->apart, c->arena, schedule->stages);
    for (uint32_t i = 0; i < schedule->stages; ++i) c->apart[i] = schedule->loads[i].apart;
    return NULL;
}

static ons_status *add_decision(cutting *c, const ons_plan_decision *d) {
    ons_value_id value = ons_graph_find_value(c->graph, d->tensor);
    if (d->decision == ONS_KEEP || value == ONS_NONE) return NULL;
    ons_cut_decision decision = {
        .eviction = d->decision == ONS_SWAP ? ONS_EVICTION_SWAP : ONS_EVICTION_RECOMPUTE,
        .value = value,
        .out_after = d->out_after == NULL ? ONS_NONE : ons_graph_find_node(c->graph, d->out_after),
        .in_before = d->in_before == NULL ? ONS_NONE : ons_graph_find_node(c->graph, d->in_before),
        .gone_before = d->gone_before == NULL ? ONS_NONE : ons_graph_find_node(c->graph, d->gone_before),
    };
    if (decision.in_before == ONS_NONE) return NULL;
    if (decision.eviction == ONS_EVICTION_SWAP && decision.out_after == ONS_NONE) return NULL;
    c->decisions[c->decision_count++] = decision;
    return NULL;
}

static ons_status *list_decisions(cutting *c) {
    size_t most = 0;
    const ons_plan *plan = &c->l->plan;
    for (uint32_t i = 0; i < c->l->pipeline.stages; ++i) most += plan->stages[i].decision_count;
    ONS_NEW(c->decisions, c->arena, most + 1);
    for (uint32_t i = 0; i < c->l->pipeline.stages; ++i)
        for (uint32_t k = 0; k < plan->stages[i].decision_count; ++k)
            ONS_TRY(add_decision(c, &plan->stages[i].decisions[k]));
    return NULL;
}

typedef struct lowering_job {
    const ons_lowering *l;
    const ons_model *model;
    bool training;
    ons_step_form form;
} lowering_job;

static ons_status *make_cut(cutting *c, const lowering_job *job, const ons_model_graph *stage, ons_cut *cut) {
    ons_device_groups groups; /* copies of a stage run one cut of it */
    ONS_TRY(place_nodes(c));
    if (job->training) ONS_TRY(list_decisions(c));
    ONS_TRY(ons_device_groups_find(&job->l->lanes.schedule, c->arena, &groups));
    const ons_cut_options options = {
        .whole = stage->graph,
        .registry = job->model->registry,
        .repeats = job->form.repeats,
        .updates_in_backward = job->form.updates_in_backward,
        .stage_of_node = c->stage_of_node,
        .stages = job->l->pipeline.stages,
        .device_of = groups.of_stage,
        .devices = groups.count,
        .apart = c->apart,
        .decisions = c->decisions,
        .decision_count = c->decision_count,
        .lenient = c->places != NULL, /* other shapes have other layouts, and so other nodes in other stages */
        .kept = stage->kept,
        .kept_count = stage->kept_count,
    };
    ONS_TRY(ons_cut_make(&options, cut));
    return c->places == NULL ? NULL : ons_weight_places_check(c->places, stage->graph, cut);
}

/* `like`: the training graphs whose weights are read; NULL: the graph is the first one. */
static ons_status *cut_graph(const lowering_job *job, const ons_dataset_graphs *like, const ons_model_graph *stage,
                             ons_cut *cut) {
    if (stage->graph == NULL) return NULL;
    ons_weight_places places;
    cutting c = {.l = job->l, .model = job->model, .graph = stage->graph, .arena = ons_arena_new()};
    ons_status *status = c.arena == NULL ? ons_status_out_of_memory() : NULL;
    if (status == NULL && like != NULL) {
        status = ons_weight_places_find(like->graphs[ONS_WHOLE].graph, &like->cuts[ONS_WHOLE], c.arena, &places);
        c.places = &places;
    }
    if (status == NULL) status = make_cut(&c, job, stage, cut);
    ons_arena_free(c.arena);
    return status;
}

ons_status *ons_lowering_cut(const ons_lowering *l, const ons_model *model, const ons_dataset_graphs *trained,
                             ons_step_form form, ons_dataset_graphs *dataset_graphs) {
    if (dataset_graphs->graphs[ONS_WHOLE].graph == NULL) return NULL;
    if (!l->planned) return ons_dataset_graphs_cut_whole(model, form, dataset_graphs);
    const lowering_job job = {l, model, trained == NULL, form};
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_BATCH_VARIANTS; ++v) {
        const ons_dataset_graphs *like = trained == NULL && v != ONS_WHOLE ? dataset_graphs : trained;
        ONS_TRY(cut_graph(&job, like, &dataset_graphs->graphs[v], &dataset_graphs->cuts[v]));
        if (job.training && dataset_graphs->graphs[v].graph != NULL)
            ONS_TRY(ons_swap_order_check(&l->lanes.schedule, &dataset_graphs->cuts[v]));
    }
    for (ons_batch_variant v = ONS_WHOLE; v < ONS_REST; ++v)
        for (int half = 0; half < 2; ++half)
            ONS_TRY(cut_graph(&job, dataset_graphs, &dataset_graphs->half_graphs[v][half],
                              &dataset_graphs->half_cuts[v][half]));
    for (uint32_t i = 0; i < dataset_graphs->grouped_count; ++i) {
        ons_grouped_graphs *grouped = &dataset_graphs->grouped[i];
        ONS_TRY(cut_graph(&job, dataset_graphs, &grouped->graph, &grouped->cut));
        ONS_TRY(ons_swap_order_check(&l->lanes.schedule, &grouped->cut));
    }
    return ons_dataset_graphs_check_groups(model, dataset_graphs);
}
