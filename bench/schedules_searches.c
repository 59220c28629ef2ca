#include "bench/schedules_page.h"
#include "planner/partition/cuts.h"
#include "planner/search/flexpipe_tuner.h"
#include "planner/search/pfeife.h"
#include "planner/simulate/pipeline_simulation.h"

enum { SIZES = 8 };

/* --------------------------------------------------------------------------------------------------------- FlexPipe */

static ons_status *find_work(void *context, int64_t samples, const ons_workload **work) {
    *work = (const ons_workload *)context + __builtin_ctzll((uint64_t)samples);
    return NULL;
}

static ons_status *make_works(ons_arena *arena, ons_workload **works) {
    ONS_NEW(*works, arena, SIZES);
    for (uint32_t i = 0; i < SIZES; ++i) {
        vision_work_options o = vision_work_gpt2((int64_t)1 << i);
        o.blocks = 64;
        o.hidden = 2560;
        o.inner = 10240;
        o.heads = 64;
        ONS_TRY(vision_work_make(&o, arena, &(*works)[i]));
    }
    return NULL;
}

static ons_status *tune(const ons_planning_problem *p, ons_workload *works, uint32_t devices, bool separate,
                        ons_arena *arena, ons_flexpipe_tuning *found, double *seconds) {
    ons_flexpipe_tuner tuner = {.space = {.least_devices = 2,
                                          .most_devices = devices,
                                          .batch = 128,
                                          .least_samples = 1,
                                          .most_samples = 128,
                                          .chunks = 2},
                                .works = {find_work, works},
                                .separate = separate};
    double began = schedules_now();
    ONS_TRY(ons_flexpipe_tune(p, &tuner, arena, found));
    *seconds = schedules_now() - began;
    return NULL;
}

static ons_status *search_flexpipe(ons_arena *arena, schedules_page *page) {
    static const double table_5[SCHEDULES_SEARCHES] = {4.73, 8.28, 71.28, 107.34, 534.78};
    ons_workload *works;
    ons_planning_problem p = {.capacity_bytes = (int64_t)80e9, .link_bandwidth = 25.6e9, .link_latency = 1e-5};
    ONS_TRY(make_works(arena, &works));
    for (uint32_t i = 0; i < SCHEDULES_SEARCHES; ++i) {
        ons_flexpipe_tuning *found;
        schedules_search *s = &page->searches[i];
        ONS_NEW(found, arena, 1);
        *s = (schedules_search){.devices = 2u << i, .paper_seconds = table_5[i]};
        ONS_TRY(tune(&p, works, s->devices, false, arena, found, &s->seconds));
        s->points = found->points;
        s->made = found->made;
        s->different = found->different;
        s->simulated = found->simulated;
        s->refused = found->refused;
        ONS_TRY(tune(&p, works, s->devices, true, arena, found, &s->apart_seconds));
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- Pfeife */

static ons_status *pose(const vision_work_options *o, uint32_t devices, uint32_t micro_batches, ons_arena *arena,
                        ons_planning_problem *p) {
    ons_workload *work;
    ONS_NEW(work, arena, 1);
    ONS_TRY(vision_work_make(o, arena, work));
    *p = (ons_planning_problem){.work = work,
                                .pipeline = {.stages = devices, .devices = devices, .micro_batches = micro_batches},
                                .link_bandwidth = 50e9,
                                .link_latency = 1e-5};
    return NULL;
}

static ons_status *time_beam(const vision_work_options *o, uint32_t devices, uint32_t micro_batches, ons_arena *arena,
                             schedules_beam *beam) {
    ons_planning_problem p;
    ons_pfeife_plan plan;
    ons_pfeife_options options = {.least_loops = 3, .most_loops = 3, .most_prefetch = ONS_PFEIFE_ANY};
    ONS_TRY(pose(o, devices, micro_batches, arena, &p));
    double began = schedules_now();
    ONS_TRY(ons_pfeife_search(&p, &options, arena, &plan));
    beam->seconds = schedules_now() - began;
    beam->nodes = p.work->node_count;
    beam->cuts = plan.pipeline.stages - 1;
    beam->schedules = plan.schedules;
    beam->splits = plan.looked_at;
    return NULL;
}

static ons_status *even_step(const ons_planning_problem *problem, ons_arena *arena, double *seconds) {
    const ons_beam_options options = {.part_seconds = 0};
    ons_planning_problem p = *problem;
    ons_schedule schedule;
    ons_beam_split split;
    double *before;
    p.pipeline.generator = &ons_generator_one_f_one_b;
    ONS_TRY(ons_schedule_make(&p.pipeline, arena, &schedule));
    p.schedule = &schedule;
    ONS_NEW(split.first, arena, (size_t)p.pipeline.stages + 1);
    ONS_TRY(ons_cuts_seconds_before(p.work, arena, &before));
    ons_cuts_even(before, p.work->node_count, 0, p.pipeline.stages, split.first);
    ONS_TRY(ons_beam_measure(&p, &options, arena, &split));
    *seconds = split.seconds;
    return NULL;
}

static ons_status *find_share(const ons_planning_problem *p, uint32_t loops, uint32_t prefetch, double even,
                              ons_arena *arena, double *share, double *simulated) {
    ons_pfeife_plan plan;
    ons_planning_problem own = *p;
    ons_pipeline_forecast f;
    ons_pfeife_options options = {.least_loops = 1, .most_loops = loops, .most_prefetch = prefetch};
    ONS_TRY(ons_pfeife_search(p, &options, arena, &plan));
    *share = plan.split.seconds / even;
    if (simulated == NULL) return NULL;
    own.pipeline = plan.pipeline;
    own.schedule = plan.schedule;
    ons_pipeline_setup setup = {.problem = &own, .first = plan.split.first, .times_alone = true};
    ONS_TRY(ons_pipeline_simulate(&setup, arena, &f));
    *simulated = f.iteration_seconds / even;
    ons_simulation_free(f.simulation);
    return NULL;
}

static ons_status *search_pfeife(ons_arena *arena, schedules_page *page) {
    vision_work_options vit = vision_work_vit(6), unet = vision_work_vit(1);
    ons_planning_problem p;
    double even;
    unet.blocks = 164;
    unet.across = true;
    page->beams[0] = (schedules_beam){.what = "ViT-g/14, 4 devices, 4 micro-batches", .paper = "10 s"};
    page->beams[1] = (schedules_beam){.what = "U-Net, 8 devices, 8 micro-batches", .paper = "about 10 min"};
    ONS_TRY(time_beam(&vit, 4, 4, arena, &page->beams[0]));
    ONS_TRY(time_beam(&unet, 8, 8, arena, &page->beams[1]));
    ONS_TRY(pose(&vit, 4, 8, arena, &p));
    ONS_TRY(even_step(&p, arena, &even));
    ONS_TRY(find_share(&p, 1, 0, even, arena, &page->uneven, NULL));
    ONS_TRY(find_share(&p, 1, ONS_PFEIFE_ANY, even, arena, &page->prefetch, NULL));
    return find_share(&p, 3, ONS_PFEIFE_ANY, even, arena, &page->looped, &page->looped_simulated);
}

ons_status *schedules_search_times(ons_arena *arena, schedules_page *page) {
    ONS_TRY(search_flexpipe(arena, page));
    return search_pfeife(arena, page);
}
