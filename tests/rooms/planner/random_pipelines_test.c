/* Pipelines by simulation: properties of random workloads, cuts, schedules and decisions. */
#include <criterion/criterion.h>
#include <math.h>

#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/loads.h"
#include "tests/rooms/planner/random_pipeline.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(random_pipelines, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)); }

/* ------------------------------------------------------------------------------------------------------- properties */

static double stage_load(const ons_workload *work, const uint32_t *first, uint32_t stage, bool with_update) {
    return ons_work_seconds(work, first[stage], first[stage + 1]) +
           (with_update ? ons_work_update_seconds(work, first[stage], first[stage + 1]) : 0);
}

static void check_times(const random_pipeline *r, const ons_pipeline_forecast *f) {
    const ons_pipeline *p = &r->problem.pipeline;
    bool async = ons_pipeline_is_asynchronous(p);
    double path = 0;
    for (uint32_t i = 0; i < f->critical_count; ++i) {
        /* A message may leave before the piece ends that makes it. */
        ons_task_times t = ons_simulation_times(f->simulation, f->critical_path[i]);
        ons_action_kind kind = ons_simulation_task(f->simulation, f->critical_path[i])->action.kind;
        bool sends = kind == ONS_ACTION_SEND_ACTIVATION || kind == ONS_ACTION_SEND_GRADIENT;
        cr_assert(near(t.start, path) || (sends && t.start < path), "seed %llu: a gap in the critical path",
                  (unsigned long long)r->seed);
        path = t.end;
    }
    cr_assert(near(path, ons_simulation_seconds(f->simulation)), "seed %llu: %g is not the critical path, %g",
              (unsigned long long)r->seed, ons_simulation_seconds(f->simulation), path);
    cr_assert(async || f->iteration_seconds * (1 + 1e-9) >= path, "seed %llu", (unsigned long long)r->seed);
    for (uint32_t i = 0; i < p->stages; ++i) {
        double load = p->micro_batches * (stage_load(&r->work, r->first, i, async) + r->again[i]);
        if (!async) load += ons_work_update_seconds(&r->work, r->first[i], r->first[i + 1]);
        cr_assert(near(f->devices[i].busy_seconds, load), "seed %llu, stage %u: busy %g instead of %g",
                  (unsigned long long)r->seed, i, f->devices[i].busy_seconds, load);
        cr_assert(f->iteration_seconds * (1 + 1e-9) >= f->devices[i].busy_seconds,
                  "seed %llu, stage %u: faster than its load", (unsigned long long)r->seed, i);
        cr_assert(f->devices[i].bubble_share >= -1e-9 && f->devices[i].bubble_share <= 1);
    }
}

static void check_memory(const random_pipeline *r, const ons_pipeline_forecast *f) {
    const ons_pipeline *p = &r->problem.pipeline;
    for (uint32_t i = 0; i < p->stages; ++i) {
        const ons_device_forecast *d = &f->devices[i];
        ons_stage_memory memory;
        ons_stage_load load = load_of_stage(p, i);
        ons_work_stage_memory(&r->work, r->first[i], r->first[i + 1], &load, &memory);
        int64_t held = memory.weights + memory.gradients + memory.states + memory.versions;
        cr_assert_eq(d->memory[0].bytes, held);
        cr_assert_eq(d->memory[d->memory_count - 1].bytes, held, "seed %llu, stage %u: %lld bytes are left",
                     (unsigned long long)r->seed, i, (long long)(d->memory[d->memory_count - 1].bytes - held));
        for (uint32_t k = 0; k < d->memory_count; ++k)
            cr_assert(d->memory[k].bytes >= held && d->memory[k].bytes <= d->peak_bytes,
                      "seed %llu, stage %u: %lld bytes less than it holds all the time", (unsigned long long)r->seed, i,
                      (long long)(held - d->memory[k].bytes));
        if (r->decided) continue;
        /* In a chain nothing exceeds the formula. Where connections skip stages, what waits to be sent comes on top. */
        int64_t waiting = ons_work_cut_gradient_bytes(&r->work, r->first[i]);
        if (i + 1 < p->stages) waiting += ons_work_cut_bytes(&r->work, r->first[i + 1]);
        int64_t bound = memory.total + (r->chain ? 0 : (p->stages + 1) * waiting);
        cr_assert(d->peak_bytes <= bound, "seed %llu, %s, stage %u of %u: %lld bytes, but at most %lld are expected",
                  (unsigned long long)r->seed, p->generator->name, i, p->stages, (long long)d->peak_bytes,
                  (long long)bound);
    }
}

enum { MOST_MICRO_BATCHES = 4096 };

/* When a stage's part of a micro-batch begins and ends, [stage][micro-batch]; found from the tasks alone. */
typedef struct part_times {
    double start[RANDOM_PIPELINE_STAGES][MOST_MICRO_BATCHES], end[RANDOM_PIPELINE_STAGES][MOST_MICRO_BATCHES];
} part_times;

static void add_part(part_times *parts, const ons_task_spec *spec, ons_task_times t) {
    double *start = &parts->start[spec->action.stage][spec->action.micro_batch];
    double *end = &parts->end[spec->action.stage][spec->action.micro_batch];
    *start = fmin(*start, t.start);
    *end = fmax(*end, t.end);
}

static uint32_t find_parts(const ons_pipeline_forecast *f, part_times *forward, part_times *backward) {
    uint32_t micro_batches = 0;
    for (uint32_t i = 0; i < RANDOM_PIPELINE_STAGES; ++i)
        for (uint32_t k = 0; k < MOST_MICRO_BATCHES; ++k) {
            forward->start[i][k] = backward->start[i][k] = INFINITY;
            forward->end[i][k] = backward->end[i][k] = -1;
        }
    for (uint32_t i = 0; i < ons_simulation_task_count(f->simulation); ++i) {
        const ons_task_spec *spec = ons_simulation_task(f->simulation, i);
        cr_assert_lt(spec->action.micro_batch, MOST_MICRO_BATCHES);
        if (spec->action.micro_batch >= micro_batches) micro_batches = spec->action.micro_batch + 1;
        ons_action_kind kind = spec->action.kind;
        if (kind == ONS_ACTION_FORWARD) add_part(forward, spec, ons_simulation_times(f->simulation, i));
        if (kind == ONS_ACTION_BACKWARD || kind == ONS_ACTION_RECOMPUTE)
            add_part(backward, spec, ons_simulation_times(f->simulation, i));
    }
    return micro_batches;
}

static double sending(const random_pipeline *r, int64_t bytes) {
    const ons_planning_problem *p = &r->problem;
    return p->link_bandwidth > 0 ? (double)bytes / p->link_bandwidth + p->link_latency : 0;
}

static uint32_t stage_of(const random_pipeline *r, uint32_t node) {
    uint32_t stage = 0;
    while (r->first[stage + 1] <= node) ++stage;
    return stage;
}

static double forward_of(const random_pipeline *r, uint32_t from, uint32_t end) {
    return ons_work_forward_seconds(&r->work, from, end);
}
static double backward_of(const random_pipeline *r, uint32_t from, uint32_t end) {
    return ons_work_backward_seconds(&r->work, from, end);
}

/* Whatever one node reads from another has been computed and, between stages, sent: in front of it lies what the one
 * stage computes up to the producer, behind it what the other does from the reader on. */
static void check_tensor(const random_pipeline *r, const ons_work_tensor *t, uint32_t reader, uint32_t micro_batches,
                         const part_times *forward, const part_times *backward) {
    uint32_t from = stage_of(r, t->producer), to = stage_of(r, reader);
    if (from == to) return;
    for (uint32_t i = 0; i < micro_batches; ++i) {
        double made = forward->start[from][i] + forward_of(r, r->first[from], t->producer + 1);
        double behind = forward_of(r, reader, r->first[to + 1]);
        cr_assert(forward->end[to][i] * (1 + 1e-9) >= made + sending(r, t->bytes) + behind,
                  "seed %llu: stage %u ends micro-batch %u before '%s' of stage %u can be there and used",
                  (unsigned long long)r->seed, to, i, t->name, from);
        made = backward->start[to][i] + backward_of(r, reader, r->first[to + 1]);
        behind = backward_of(r, r->first[from], t->producer + 1);
        cr_assert(
            t->gradient_bytes == 0 ||
                backward->end[from][i] * (1 + 1e-9) >= made + sending(r, t->gradient_bytes) + behind,
            "seed %llu: stage %u ends backward of micro-batch %u before the gradient of '%s' can be there and used",
            (unsigned long long)r->seed, from, i, t->name);
    }
}

static void check_order(const random_pipeline *r, const ons_pipeline_forecast *f) {
    static part_times forward, backward;
    uint32_t micro_batches = find_parts(f, &forward, &backward);
    for (uint32_t stage = 0; stage < r->problem.pipeline.stages; ++stage)
        for (uint32_t i = 0; i < micro_batches; ++i) {
            cr_assert(forward.end[stage][i] >= 0 && backward.end[stage][i] >= 0, "seed %llu: a part is missing",
                      (unsigned long long)r->seed);
            cr_assert(backward.start[stage][i] >= forward.end[stage][i]);
        }
    for (uint32_t i = 0; i < r->work.tensor_count; ++i) {
        const ons_work_tensor *t = &r->work.tensors[i];
        for (uint32_t k = 0; t->producer != ONS_NO_NODE && k < t->reader_count; ++k)
            check_tensor(r, t, t->readers[k], micro_batches, &forward, &backward);
    }
}

Test(random_pipelines, keep_times_memory_and_order) {
    for (uint64_t seed = 1; seed <= 600; ++seed) {
        random_pipeline r;
        expect_success(random_pipeline_make(seed, arena, &r));
        ons_pipeline_setup setup = {
            .problem = &r.problem, .first = r.first, .solutions = r.decided ? r.solutions : NULL};
        ons_pipeline_forecast f;
        ons_status *status = ons_pipeline_simulate(&setup, arena, &f);
        cr_assert(status == NULL, "seed %llu: %s", (unsigned long long)seed,
                  status != NULL ? ons_status_get_message(status) : "");
        check_times(&r, &f);
        check_memory(&r, &f);
        check_order(&r, &f);
        ons_simulation_free(f.simulation);
        if (seed % 20 == 0) free_arena(), make_arena();
    }
}

Test(random_pipelines, the_asynchronous_period_is_the_slowest_stage) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_source random = {seed};
        ons_workload work;
        uint32_t first[RANDOM_PIPELINE_STAGES + 1], stages = 1 + random_below(&random, RANDOM_PIPELINE_STAGES);
        expect_success(random_pipeline_work(seed, true, stages + random_below(&random, 30), arena, &work));
        random_pipeline_cut(&random, work.node_count, stages, first);
        ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_pipedream, stages, 5, 0}};
        ons_pipeline_setup setup = {.problem = &p, .first = first};
        ons_pipeline_forecast f;
        expect_success(ons_pipeline_simulate(&setup, arena, &f));
        double slowest = 0;
        for (uint32_t i = 0; i < stages; ++i) slowest = fmax(slowest, stage_load(&work, first, i, true));
        cr_assert(near(f.iteration_seconds, 5 * slowest), "seed %llu: %g instead of %g", (unsigned long long)seed,
                  f.iteration_seconds, 5 * slowest);
        ons_simulation_free(f.simulation);
        if (seed % 20 == 0) free_arena(), make_arena();
    }
}

/* The stretch that is long enough gives the period of one that is many times longer. */
Test(random_pipelines, the_steady_state_is_that_of_a_long_run) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        random_pipeline r;
        ons_pipeline_forecast own, given;
        ons_schedule schedule;
        expect_success(random_pipeline_make(seed, arena, &r));
        r.problem.pipeline.generator = &ons_generator_pipedream;
        r.problem.pipeline.micro_batches = 3000;
        ons_pipeline_setup setup = {.problem = &r.problem, .first = r.first};
        expect_success(ons_pipeline_simulate(&setup, arena, &own));
        expect_success(ons_schedule_make(&r.problem.pipeline, arena, &schedule));
        setup.schedule = &schedule;
        expect_success(ons_pipeline_simulate(&setup, arena, &given));
        cr_assert(fabs(own.iteration_seconds - given.iteration_seconds) <= 1e-3 * given.iteration_seconds,
                  "seed %llu: %g instead of %g", (unsigned long long)seed, own.iteration_seconds,
                  given.iteration_seconds);
        ons_simulation_free(own.simulation);
        ons_simulation_free(given.simulation);
        if (seed % 5 == 0) free_arena(), make_arena();
    }
}

/* ------------------------------------------------------------------------------------------------- what was planned */

/* Solves every stage under a part of the memory that it would take. False where one cannot. */
static bool solve(const ons_planning_problem *p, const uint32_t *first, const ons_memory_strategy *strategy,
                  double share, ons_stage_solution *solutions) {
    ons_memory_workspace *workspace;
    bool feasible = true;
    expect_success(ons_memory_workspace_new(p->work, &workspace));
    for (uint32_t i = 0; i < p->pipeline.stages; ++i) {
        ons_stage_problem stage = random_pipeline_stage(p, first, i);
        ons_stage_memory memory;
        ons_work_stage_memory(p->work, stage.first, stage.end, &stage.load, &memory);
        stage.capacity_bytes = (int64_t)(share * (double)memory.total);
        expect_success(strategy->solve(&stage, workspace, arena, &solutions[i]));
        feasible &= solutions[i].feasible;
    }
    ons_memory_workspace_free(workspace);
    return feasible;
}

/* A stage alone takes the time and the bytes that ons_memory_evaluate says, each copy in its place. In a chain
 * of stages none exceeds its plan, while the pipeline fills and drains included. */
Test(random_pipelines, solved_stages_do_what_was_planned) {
    uint32_t alone = 0, together = 0, stalled = 0;
    for (uint64_t seed = 1; seed <= 800; ++seed) {
        random_source random = {seed};
        ons_workload work;
        ons_stage_solution solutions[4];
        ons_pipeline_forecast f;
        uint32_t first[5], stages = 1 + random_below(&random, 4), m = 2 + random_below(&random, 20);
        bool chain = stages > 1 || seed % 2 == 0;
        const ons_generator *kind = stages == 1 ? &ons_generator_one_f_one_b : ons_generators[random_below(&random, 3)];
        expect_success(random_pipeline_work(seed * 2 + chain, chain, stages * 12, arena, &work));
        random_pipeline_cut(&random, work.node_count, stages, first);
        ons_planning_problem p = {
            .work = &work, .pipeline = {kind, stages, m, 0}, .host_bandwidth = random_between(&random, 1e7, 1e9, true)};
        const ons_memory_strategy *strategy =
            ons_memory_strategy_find(random_chance(&random, 0.7) ? "capuchin" : "recompute-all");
        if (!solve(&p, first, strategy, 0.75 + 0.2 * random_unit(&random), solutions)) continue;
        ons_pipeline_setup setup = {.problem = &p, .first = first, .solutions = solutions};
        expect_success(ons_pipeline_simulate(&setup, arena, &f));
        for (uint32_t i = 0; i < stages; ++i)
            cr_assert(f.devices[i].peak_bytes <= solutions[i].memory.total,
                      "seed %llu, %s, stage %u of %u: %lld of %lld", (unsigned long long)seed, kind->name, i, stages,
                      (long long)f.devices[i].peak_bytes, (long long)solutions[i].memory.total);
        if (stages == 1) {
            double expected = m * solutions[0].seconds + ons_work_update_seconds(&work, 0, work.node_count);
            cr_assert(near(f.iteration_seconds, expected), "seed %llu: %g s instead of %g", (unsigned long long)seed,
                      f.iteration_seconds, expected);
            cr_assert_eq(f.devices[0].peak_bytes, solutions[0].memory.total, "seed %llu: %lld bytes instead of %lld",
                         (unsigned long long)seed, (long long)f.devices[0].peak_bytes,
                         (long long)solutions[0].memory.total);
            stalled += solutions[0].stall_seconds > 0;
        }
        ++*(stages == 1 ? &alone : &together);
        ons_simulation_free(f.simulation);
        if (seed % 20 == 0) free_arena(), make_arena();
    }
    cr_assert(alone > 100 && together > 100 && stalled > 10, "%u alone, %u together, %u stalled: the test says little",
              alone, together, stalled);
}
