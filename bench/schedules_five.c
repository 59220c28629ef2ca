#include "bench/schedules_five.h"

#include <math.h>
#include <stdio.h>

#include "bench/schedules_systems.h"
#include "bench/stage_graph_models.h"
#include "planner/partition/link.h"
#include "planner/schedule/slicer.h"
#include "planner/search/flexpipe_tuner.h"
#include "planner/search/graph_stages.h"
#include "planner/search/pfeife.h"
#include "planner/simulate/pipeline_simulation.h"

typedef struct five_case {
    const char *model, *profile;
    vision_work_options (*blocks)(int64_t samples); /* of a model of blocks, or */
    model_make *branched;                           /* of one with branches */
    uint32_t branches;
    int64_t samples; /* of a micro-batch */
    uint32_t devices, micro_batches;
    int64_t capacity_bytes; /* 0: the profile's */
} five_case;

typedef struct trial {
    ons_arena *arena;
    ons_planning_problem problem; /* nothing may be swapped or computed again */
    five_row *row;
} trial;

/* ------------------------------------------------------------------------------------------------------------ plans */

static ons_status *simulate(const ons_planning_problem *p, const uint32_t *first, const ons_stage_solution *solutions,
                            ons_arena *arena, five_row *row) {
    ons_pipeline_setup setup = {.problem = p, .first = first, .solutions = solutions, .schedule = p->schedule};
    ons_pipeline_forecast f;
    ONS_TRY(ons_pipeline_simulate(&setup, arena, &f));
    row->step_seconds = f.iteration_seconds;
    row->bubble_share = 0;
    row->bytes = 0;
    for (uint32_t i = 0; i < f.device_count; ++i) {
        row->bubble_share += f.devices[i].bubble_share / f.device_count;
        if (f.devices[i].peak_bytes > row->bytes) row->bytes = f.devices[i].peak_bytes;
    }
    ons_simulation_free(f.simulation);
    return NULL;
}

static double gigabytes(int64_t bytes) { return 1e-9 * (double)bytes; }

static ons_status *refuse(trial *t, const char *because, int64_t least_bytes) {
    t->row->why = ons_arena_format(t->arena, "%s: %.1f GB would do", because, gigabytes(least_bytes));
    return t->row->why == NULL ? ons_status_out_of_memory() : NULL;
}

/* Swapped and computed-again tensors of all stages, as a choice to print. */
static ons_status *describe(trial *t, const char *partition, const ons_planned *planned) {
    uint32_t swapped = 0, recomputed = 0;
    for (uint32_t i = 0; i < planned->partition.stages; ++i)
        for (uint32_t k = 0; k < planned->solutions[i].decision_count; ++k) {
            ons_decision d = planned->solutions[i].decisions[k].decision;
            swapped += d == ONS_SWAP;
            recomputed += d == ONS_RECOMPUTE;
        }
    t->row->choice = swapped + recomputed == 0 ? partition
                                               : ons_arena_format(t->arena, "%s; %u tensors swapped, %u recomputed",
                                                                  partition, swapped, recomputed);
    return t->row->choice == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *search_one_f_one_b(trial *t, const char *strategy, const char *memory, ons_planned *planned) {
    ons_planning_problem p = t->problem;
    ons_schedule *schedule;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    p.memory = ons_memory_strategy_find(memory);
    ONS_NEW(schedule, t->arena, 1);
    ONS_TRY(ons_schedule_make(&p.pipeline, t->arena, schedule));
    p.schedule = schedule;
    return ons_planner_search(&p, ons_partition_strategy_find(strategy), t->arena, planned);
}

/* ---------------------------------------------------------------------------------------------------------- systems */

static ons_status *try_dawnpiper(trial *t) {
    ons_planned planned;
    ONS_TRY(search_one_f_one_b(t, "dawnpiper", "capuchin", &planned));
    const ons_partition *split = &planned.partition;
    if (!split->feasible) return refuse(t, "swapping and recomputing are not enough", split->least_bytes);
    ONS_TRY(describe(t, "1F1B", &planned));
    return simulate(&planned.problem, split->first, planned.solutions, t->arena, t->row);
}

static ons_status *find_same_work(void *context, int64_t samples, const ons_workload **work) {
    *work = context;
    return NULL;
}

static ons_status *try_flexpipe(trial *t) {
    ons_planning_problem p = t->problem;
    ons_flexpipe_tuner tuner = {.space = {.least_devices = p.pipeline.devices,
                                          .most_devices = p.pipeline.devices,
                                          .batch = p.pipeline.micro_batches,
                                          .least_samples = 1,
                                          .most_samples = 1,
                                          .chunks = 2,
                                          .limits = true},
                                .works = {find_same_work, (void *)p.work},
                                .separate = true};
    ons_flexpipe_tuning *found;
    ONS_NEW(found, t->arena, 1);
    ONS_TRY(ons_flexpipe_tune(&p, &tuner, t->arena, found));
    t->row->choice = ons_flexpipe_name(&found->best.type, t->arena);
    p.pipeline = found->best.pipeline;
    p.schedule = found->best.schedule;
    ONS_TRY(simulate(&p, found->best.first, NULL, t->arena, t->row));
    if (t->row->bytes <= p.capacity_bytes) return NULL;
    return refuse(t, "no schedule of its space fits, and it neither swaps nor recomputes", t->row->bytes);
}

static ons_status *try_pfeife(trial *t) {
    ons_planning_problem p = t->problem;
    ons_pfeife_options options = {.most_prefetch = ONS_PFEIFE_ANY};
    ons_pfeife_plan plan;
    ONS_TRY(ons_pfeife_search(&p, &options, t->arena, &plan));
    t->row->choice = ons_arena_format(t->arena, "N_l = %u, B_l = %u, B_f up to %u", plan.vectors->loops,
                                      plan.vectors->loop_micro_batches, plan.vectors->prefetch[0]);
    p.pipeline = plan.pipeline;
    p.schedule = plan.schedule;
    ONS_TRY(simulate(&p, plan.split.first, NULL, t->arena, t->row));
    int64_t most = p.capacity_bytes + plan.split.over_bytes;
    if (plan.split.over_bytes <= 0 && t->row->bytes <= p.capacity_bytes) return NULL;
    return refuse(t, "no vector fits, and it neither swaps nor recomputes",
                  most > t->row->bytes ? most : t->row->bytes);
}

/* The Slicer's share of a plan; 0: whole micro-batches. */
static ons_status *slice(const ons_planned *planned, ons_arena *arena, ons_schedule *sliced, uint32_t *count) {
    const ons_planning_problem *p = &planned->problem;
    const uint32_t *first = planned->partition.first;
    double *forward, *backward;
    ONS_NEW(forward, arena, p->pipeline.stages);
    ONS_NEW(backward, arena, p->pipeline.stages);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
        forward[i] = ons_work_forward_seconds(p->work, first[i], first[i + 1]);
        backward[i] = planned->solutions[i].seconds - forward[i];
        int64_t crossing = i > 0 ? ons_work_cut_bytes(p->work, first[i]) : 0;
        bytes = crossing > bytes ? crossing : bytes;
    }
    const ons_slicer_stages stages = {.forward = forward,
                                      .backward = backward,
                                      .transfer = ons_link_seconds(ons_link_in_node(p), bytes),
                                      .stages = p->pipeline.stages,
                                      .micro_batches = p->pipeline.micro_batches};
    *count = ons_slicer_count(&stages);
    return *count == 0 ? NULL : ons_schedule_slice(p->schedule, *count, arena, sliced);
}

static ons_status *try_autopipe(trial *t) {
    ons_planned planned;
    ons_schedule sliced;
    uint32_t count;
    ONS_TRY(search_one_f_one_b(t, "autopipe", "recompute-all", &planned));
    if (!planned.partition.feasible)
        return refuse(t, "recomputing all is not enough, and it does not swap", planned.partition.least_bytes);
    ONS_TRY(slice(&planned, t->arena, &sliced, &count));
    if (count > 0) planned.problem.schedule = &sliced;
    const char *choice = ons_arena_format(t->arena, "1F1B, %u micro-batches sliced", count);
    if (choice == NULL) return ons_status_out_of_memory();
    ONS_TRY(describe(t, choice, &planned));
    return simulate(&planned.problem, planned.partition.first, planned.solutions, t->arena, t->row);
}

static ons_status *try_graphpipe(trial *t) {
    ons_planning_problem p = t->problem;
    ons_graph_stages found;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    p.memory = ons_memory_strategy_find("none");
    ONS_TRY(ons_graph_stages_search(&p, true, t->arena, &found));
    const ons_planned *planned = &found.planned;
    if (!planned->partition.feasible)
        return refuse(t, "its stages do not fit, and it neither swaps nor recomputes", planned->partition.least_bytes);
    t->row->choice = found.straight ? "stages in a line, 1F1B" : "stages side by side";
    return simulate(&planned->problem, planned->partition.first, planned->solutions, t->arena, t->row);
}

static ons_status *try_auto(trial *t) {
    ons_planning_problem p = t->problem;
    ons_portfolio_options options = {.strategy = ons_partition_strategy_find("auto")};
    ons_portfolio found;
    ons_graph_stages graph;
    five_row side_by_side = *t->row;
    p.memory = ons_memory_strategy_find("capuchin");
    ONS_TRY(ons_portfolio_search(&p, &options, t->arena, &found));
    p.pipeline.generator = &ons_generator_one_f_one_b;
    ONS_TRY(ons_graph_stages_search(&p, true, t->arena, &graph));
    double best = found.taken < found.count ? found.candidates[found.taken].step_seconds : INFINITY;
    if (graph.step_seconds < best) {
        ONS_TRY(describe(t, graph.straight ? "graphpipe, stages in a line" : "graphpipe, stages side by side",
                         &graph.planned));
        side_by_side.choice = t->row->choice;
        *t->row = side_by_side;
        return simulate(&graph.planned.problem, graph.planned.partition.first, graph.planned.solutions, t->arena,
                        t->row);
    }
    if (isinf(best)) return refuse(t, "nothing fits", graph.planned.partition.least_bytes);
    const ons_portfolio_candidate *c = &found.candidates[found.taken];
    ONS_TRY(describe(t, c->name, &c->planned));
    t->row->step_seconds = c->step_seconds;
    t->row->bubble_share = c->bubble_share;
    t->row->bytes = c->memory_bytes;
    return NULL;
}

static const struct {
    const char *name;
    ons_status *(*attempt)(trial *trial);
} SYSTEMS[FIVE_SYSTEMS] = {{"DawnPiper", try_dawnpiper}, {"FlexPipe", try_flexpipe},   {"Pfeife", try_pfeife},
                           {"AutoPipe", try_autopipe},   {"GraphPipe", try_graphpipe}, {"**auto**", try_auto}};

/* ------------------------------------------------------------------------------------------------------------ cases */

/* Twelve blocks of 768, 1,024 tokens. */
static vision_work_options gpt2_small(int64_t samples) {
    vision_work_options o = vision_work_gpt2(samples);
    o.blocks = 12;
    o.hidden = 768;
    o.inner = 3072;
    o.heads = 12;
    o.patch = 768;
    o.tokens = 1024;
    return o;
}

static const five_case CASES[] = {
    {.model = "ViT-g/14",
     .profile = "a100-40gb",
     .blocks = vision_work_vit,
     .samples = 6,
     .devices = 4,
     .micro_batches = 8},
    {.model = "GPT-2 large",
     .profile = "a100-40gb",
     .blocks = vision_work_gpt2,
     .samples = 2,
     .devices = 4,
     .micro_batches = 8},
    {.model = "GPT-2 large",
     .profile = "a100-40gb",
     .blocks = vision_work_gpt2,
     .samples = 2,
     .devices = 4,
     .micro_batches = 8,
     .capacity_bytes = 5000000000},
    {.model = "GPT-2 small",
     .profile = "a100-40gb",
     .blocks = gpt2_small,
     .samples = 4,
     .devices = 4,
     .micro_batches = 8},
    {.model = "GPT-2 small",
     .profile = "a100-40gb",
     .blocks = gpt2_small,
     .samples = 4,
     .devices = 8,
     .micro_batches = 16},
    {.model = "MMT, 4 branches",
     .profile = "v100-16gb",
     .branched = model_multi_modal,
     .branches = 4,
     .samples = 4,
     .devices = 4,
     .micro_batches = 16},
    {.model = "MMT, 4 branches",
     .profile = "v100-16gb",
     .branched = model_multi_modal,
     .branches = 4,
     .samples = 4,
     .devices = 8,
     .micro_batches = 16},
    {.model = "MMT, 4 branches",
     .profile = "v100-16gb",
     .branched = model_multi_modal,
     .branches = 4,
     .samples = 4,
     .devices = 8,
     .micro_batches = 16,
     .capacity_bytes = 1500000000},
    {.model = "DLRM, 7 + 7 branches",
     .profile = "v100-16gb",
     .branched = model_dlrm,
     .branches = 7,
     .samples = 64,
     .devices = 8,
     .micro_batches = 16},
    {.model = "CANDLE-Uno, 7 branches",
     .profile = "v100-16gb",
     .branched = model_candle,
     .branches = 7,
     .samples = 512,
     .devices = 8,
     .micro_batches = 16},
};

static ons_status *make_work(const five_case *c, const ons_device_profile *profile, ons_arena *arena,
                             ons_workload *work) {
    if (c->branched == NULL) {
        vision_work_options o = c->blocks(c->samples);
        return vision_work_make(&o, arena, work);
    }
    model_machine machine = {.profile = *profile, .share = 1};
    branch_graph graph;
    ONS_TRY(c->branched(&machine, c->branches, arena, &graph));
    return branch_graph_work(&graph, c->samples, work);
}

static ons_status *pose(const five_case *c, ons_arena *arena, ons_planning_problem *problem) {
    ons_workload *work;
    ons_device_profile profile;
    ONS_NEW(work, arena, 1);
    ONS_TRY(ons_device_profile_load(c->profile, arena, &profile));
    ONS_TRY(make_work(c, &profile, arena, work));
    int64_t all = profile.memory_bytes - profile.reserve_bytes;
    *problem = (ons_planning_problem){
        .work = work,
        .pipeline = {.stages = c->devices, .devices = c->devices, .micro_batches = c->micro_batches},
        .capacity_bytes = c->capacity_bytes > 0 ? c->capacity_bytes : all,
        .link_bandwidth = profile.link_bandwidth,
        .link_latency = profile.link_latency,
        .host_bandwidth = profile.host_bandwidth,
        .host_latency = profile.host_latency};
    return NULL;
}

ons_status *five_measure(ons_arena *arena, five_result *results, uint32_t *count) {
    *count = sizeof CASES / sizeof *CASES;
    for (uint32_t i = 0; i < *count; ++i) {
        const five_case *c = &CASES[i];
        trial t = {.arena = arena};
        ONS_TRY(pose(c, arena, &t.problem));
        results[i] = (five_result){.model = c->model,
                                   .devices = c->devices,
                                   .micro_batches = c->micro_batches,
                                   .capacity_bytes = t.problem.capacity_bytes};
        for (uint32_t k = 0; k < FIVE_SYSTEMS; ++k) {
            t.row = &results[i].rows[k];
            *t.row = (five_row){.system = SYSTEMS[k].name};
            double began = schedules_now();
            ONS_TRY_AT(SYSTEMS[k].attempt(&t), "%s, %u devices, %s", c->model, c->devices, SYSTEMS[k].name);
            t.row->search_seconds = schedules_now() - began;
            fprintf(stderr, "%s, %u devices, %s: %.4f s a step, searched in %.2f s %s\n", c->model, c->devices,
                    t.row->system, t.row->step_seconds, t.row->search_seconds, t.row->why ? t.row->why : "");
        }
    }
    return NULL;
}
