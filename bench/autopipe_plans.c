#include "bench/autopipe_plans.h"

#include <math.h>

#include "planner/partition/link.h"
#include "planner/partition/reduce.h"
#include "planner/partition/step_estimate.h"
#include "planner/search/degrees.h"
#include "planner/search/layer_chain.h"

/* --------------------------------------------------------------------------------------------------------- planners */

/* DAPPLE profiles layers as they are; recomputation is a choice of whoever runs its plan. */
ons_status *autopipe_ask_dapple(const autopipe_model *model, uint32_t gpus, uint32_t micro_batches,
                                uint32_t least_stages, bool recomputes, ons_arena *arena, ons_replicated_plan *plan) {
    ons_workload work;
    ons_layer_chain chain;
    ONS_TRY(autopipe_model_make(model, arena, &work));
    ons_planning_problem p = autopipe_problem(&work, 1, micro_batches);
    ONS_TRY(ons_layer_chain_make(&p, arena, &chain));
    for (uint32_t i = 1; i + 1 < chain.count && !recomputes; ++i) chain.layers[i].backward -= chain.layers[i].forward;
    return ons_dapple_plan(&chain, gpus, least_stages, arena, plan);
}

/* Piper's bytes are what is saved, and what recomputation saves again; the head computes nothing again. */
ons_status *autopipe_ask_piper(const autopipe_model *model, uint32_t gpus, uint32_t micro_batches, uint32_t stages,
                               ons_arena *arena, ons_replicated_plan *plan) {
    ons_workload work;
    ons_layer_chain chain;
    ONS_TRY(autopipe_model_make(model, arena, &work));
    ons_planning_problem p = autopipe_problem(&work, 1, micro_batches);
    ONS_TRY(ons_layer_chain_make(&p, arena, &chain));
    chain.layers[chain.count - 1].held_bytes -= work.nodes[work.node_count - 1].backward_bytes;
    return ons_piper_plan(&chain, gpus, stages, arena, plan);
}

static void take_layers(const ons_workload *work, const ons_replicated_plan *from, autopipe_plan *to) {
    to->stages = from->stages;
    for (uint32_t i = 0; i < from->stages; ++i) {
        to->first[i] = work->layers[from->first[i]].first;
        to->replicas[i] = from->replicas[i];
    }
    to->first[from->stages] = work->node_count;
}

static ons_status *ask_autopipe(const ons_workload *work, const autopipe_case *c, uint32_t micro_batches,
                                ons_arena *arena, autopipe_plan *plan) {
    ons_planning_problem p = autopipe_problem(work, 1, micro_batches);
    ons_degrees found;
    ONS_TRY(ons_degrees_search(&p, ons_partition_strategy_find("autopipe"), c->gpus, arena, &found));
    plan->stages = found.feasible ? found.stages : 0;
    for (uint32_t i = 0; i < plan->stages; ++i) plan->replicas[i] = found.replicas;
    for (uint32_t i = 0; i <= plan->stages; ++i) plan->first[i] = found.planned.partition.first[i];
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- reckoning */

/* A share of a micro-batch of `samples`: the largest of `replicas`. */
static double share_of(int64_t samples, uint32_t replicas) {
    int64_t largest = (samples + replicas - 1) / replicas;
    return (double)largest / (double)samples;
}

/* `shares`: replicas divide each micro-batch; else each has micro-batches of its own. */
static ons_status *estimate(const ons_workload *work, const autopipe_plan *plan, bool shares, uint32_t micro_batches,
                            ons_arena *arena, double *seconds) {
    ons_step_stage stages[AUTOPIPE_MOST_STAGES] = {0};
    ons_planning_problem p = autopipe_problem(work, plan->stages, micro_batches);
    ons_step_walk walk;
    if (!shares) p.pipeline.micro_batches /= plan->replicas[0];
    for (uint32_t i = 0; i < plan->stages; ++i) {
        uint32_t first = plan->first[i], end = plan->first[i + 1], r = plan->replicas[i];
        double share = shares ? share_of(work->samples, r) : 1, before = share;
        if (i > 0 && shares) before = fmax(share, share_of(work->samples, plan->replicas[i - 1]));
        stages[i].forward = share * ons_work_forward_seconds(work, first, end);
        stages[i].backward = share * ons_work_backward_seconds(work, first, end);
        p.pipeline.replicas = r;
        stages[i].update = ons_reduce_seconds(&p, first, end);
        if (i == 0) continue;
        stages[i].arrive =
            ons_link_seconds(ons_link_in_node(&p), (int64_t)(before * (double)ons_work_cut_bytes(work, first)));
        stages[i].back = ons_link_seconds(ons_link_in_node(&p),
                                          (int64_t)(before * (double)ons_work_cut_gradient_bytes(work, first)));
    }
    p.pipeline.replicas = 1;
    ONS_TRY(ons_step_walk_make(&p.pipeline, NULL, arena, &walk));
    *seconds = ons_step_estimate(&walk, stages);
    return NULL;
}

static void measure_balance(const ons_workload *work, bool shares, autopipe_plan *plan) {
    double mean = 0, squares = 0;
    for (uint32_t i = 0; i < plan->stages; ++i) {
        double share = shares ? share_of(work->samples, plan->replicas[i]) : 1.0 / plan->replicas[i];
        plan->stage_seconds[i] = share * ons_work_seconds(work, plan->first[i], plan->first[i + 1]);
        mean += plan->stage_seconds[i] / plan->stages;
    }
    for (uint32_t i = 0; i < plan->stages; ++i) squares += pow(plan->stage_seconds[i] - mean, 2) / plan->stages;
    plan->deviation = sqrt(squares);
}

/* With whole micro-batches in every replica, as data parallelism has them. */
static void measure_bytes(const ons_workload *work, autopipe_plan *plan) {
    for (uint32_t i = 0; i < plan->stages; ++i) {
        const ons_stage_load load = {.in_flight = plan->stages - i, .versions = 1, .accumulates = true};
        ons_stage_memory m;
        ons_work_stage_memory(work, plan->first[i], plan->first[i + 1], &load, &m);
        if (m.total > plan->bytes) plan->bytes = m.total;
    }
}

/* How many stages Piper's best time can be had with. */
static ons_status *count_equal(const autopipe_case *c, uint32_t micro_batches, double best, ons_arena *arena,
                               autopipe_result *result) {
    for (uint32_t stages = 1; stages <= c->gpus; ++stages) {
        ons_replicated_plan plan;
        ONS_TRY(autopipe_ask_piper(&c->model, c->gpus, micro_batches, stages, arena, &plan));
        if (!(plan.seconds <= best * (1 + 1e-9))) continue;
        if (result->piper_least == 0) result->piper_least = stages;
        result->piper_most = stages;
        result->piper_stated = result->piper_stated || stages == c->paper_stages[PIPER];
    }
    return NULL;
}

ons_status *autopipe_plan_all(const autopipe_case *c, ons_arena *arena, autopipe_result *result) {
    ons_workload work;
    ons_replicated_plan plan;
    uint32_t middle = (uint32_t)(c->batches[1] / c->model.samples);
    *result = (autopipe_result){0};
    ONS_TRY(autopipe_model_make(&c->model, arena, &work));
    ONS_TRY(autopipe_ask_dapple(&c->model, c->gpus, AUTOPIPE_DAPPLE_MICRO_BATCHES, 1, false, arena, &plan));
    take_layers(&work, &plan, &result->plans[DAPPLE]);
    ONS_TRY(autopipe_ask_piper(&c->model, c->gpus, middle, 0, arena, &plan));
    take_layers(&work, &plan, &result->plans[PIPER]);
    ONS_TRY(count_equal(c, middle, plan.seconds, arena, result));
    ONS_TRY(ask_autopipe(&work, c, middle, arena, &result->plans[AUTOPIPE]));
    for (int i = 0; i < AUTOPIPE_PLANNERS; ++i) {
        autopipe_plan *each = &result->plans[i];
        bool shares = i != AUTOPIPE;
        if (each->stages == 0) continue;
        measure_balance(&work, shares, each);
        measure_bytes(&work, each);
        for (int b = 0; b < AUTOPIPE_BATCHES; ++b)
            ONS_TRY(
                estimate(&work, each, shares, (uint32_t)(c->batches[b] / c->model.samples), arena, &each->seconds[b]));
    }
    return NULL;
}
