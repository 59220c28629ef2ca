/* Pipelines by simulation: known closed forms, and properties of random workloads, cuts, schedules and decisions. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "planner/simulate/pipeline_simulation.h"
#include "tests/rooms/planner/loads.h"
#include "tests/rooms/planner/random_pipeline.h"
#include "tests/rooms/planner/whole_parts.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(pipeline_simulation, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

static ons_pipeline_forecast simulate(const ons_planning_problem *p, const uint32_t *first) {
    ons_pipeline_setup setup = {.problem = p, .first = first};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    return f;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)); }

/* ----------------------------------------------------------------------------------------------------- closed forms */

/* Updates take no time, so that closed forms are short. */
static void make_uniform(uint32_t nodes, ons_workload *work) {
    expect_success(uniform_work_make(nodes, arena, work));
    for (uint32_t i = 0; i < nodes; ++i) work->nodes[i].update_seconds = 0;
    expect_success(ons_workload_finish(work, arena));
}

static void cut_evenly(const ons_workload *work, uint32_t stages, uint32_t *first) {
    for (uint32_t i = 0; i <= stages; ++i) first[i] = work->node_count / stages * i;
}

Test(pipeline_simulation, equal_stages_take_m_plus_l_minus_1_turns) {
    for (uint32_t stages = 1; stages <= RANDOM_PIPELINE_STAGES; ++stages)
        for (uint32_t m = 1; m <= 10; ++m)
            for (int one_by_one = 0; one_by_one < 2; ++one_by_one) {
                const ons_generator *kind = one_by_one ? &ons_generator_one_f_one_b : &ons_generator_gpipe;
                ons_workload work;
                uint32_t first[RANDOM_PIPELINE_STAGES + 1];
                make_uniform(stages * 2, &work);
                cut_evenly(&work, stages, first);
                ons_planning_problem p = {.work = &work, .pipeline = {kind, stages, m, 0}};
                ons_pipeline_forecast f = simulate(&p, first);
                double turn = 2 * 3e-3, expected = (m + stages - 1) * turn;
                cr_assert(near(f.iteration_seconds, expected), "%s, %u stages, %u micro-batches: %g instead of %g",
                          kind->name, stages, m, f.iteration_seconds, expected);
                for (uint32_t i = 0; i < stages; ++i)
                    cr_assert_float_eq(f.devices[i].bubble_share, (stages - 1.0) / (m + stages - 1.0), 1e-9);
                cr_assert(near(f.seconds_per_sample * (double)work.samples * m, expected));
                ons_simulation_free(f.simulation);
            }
}

Test(pipeline_simulation, transfers_add_to_the_way_through) {
    ons_workload work;
    uint32_t first[] = {0, 2, 4};
    make_uniform(4, &work);
    ons_planning_problem p = {
        .work = &work, .pipeline = {&ons_generator_one_f_one_b, 2, 1, 0}, .link_bandwidth = 1e6, .link_latency = 5e-4};
    ons_pipeline_forecast f = simulate(&p, first);
    int64_t there = ons_work_cut_bytes(&work, 2), back = ons_work_cut_gradient_bytes(&work, 2);
    cr_expect(near(f.iteration_seconds, 4 * 3e-3 + (double)(there + back) / 1e6 + 2 * 5e-4), "%g", f.iteration_seconds);
    cr_expect(f.devices[0].sent_bytes == there && f.devices[0].received_bytes == back);
    cr_expect(f.devices[1].sent_bytes == back && f.devices[1].received_bytes == there);
    cr_expect(near(f.devices[0].send_seconds, (double)there / 1e6 + 5e-4));
    cr_expect_eq(f.critical_count, 6, "two stages there and back, with a transfer each way");
    ons_simulation_free(f.simulation);
}

/* Messages follow each other; or they leave without asking, and travel beside each other; or they are larger than that.
 */
Test(pipeline_simulation, how_messages_leave) {
    enum { MICRO_BATCHES = 5 };
    ons_workload work;
    uint32_t first[] = {0, 2, 4};
    make_uniform(4, &work);
    int64_t there = ons_work_cut_bytes(&work, 2), back = ons_work_cut_gradient_bytes(&work, 2);
    double turn = 4 * 3e-3, latency = 0.1, bytes = (double)(there + back) / 1e9; /* links are what all wait for */
    ons_planning_problem p = {.work = &work,
                              .pipeline = {&ons_generator_gpipe, 2, MICRO_BATCHES, 0},
                              .link_bandwidth = 1e9,
                              .link_latency = latency};
    ons_pipeline_forecast f = simulate(&p, first);
    double expected = turn + 2 * MICRO_BATCHES * latency + MICRO_BATCHES * bytes;
    cr_expect(near(f.iteration_seconds, expected), "one after another: %g, not %g", f.iteration_seconds, expected);
    ons_simulation_free(f.simulation);
    p.link_eager_bytes = there > back ? there : back;
    f = simulate(&p, first);
    expected = (MICRO_BATCHES + 1) * turn / 2 + 2 * latency + bytes;
    cr_expect(near(f.iteration_seconds, expected), "without asking: %g, not %g", f.iteration_seconds, expected);
    cr_expect(near(f.devices[0].send_seconds, MICRO_BATCHES * (double)there / 1e9), "the latency keeps nobody");
    cr_expect_eq(f.critical_count, 2 * (MICRO_BATCHES + 1) + 2 * 3, "each message leaves, travels, arrives");
    ons_simulation_free(f.simulation);
    p.link_eager_bytes = 1;
    f = simulate(&p, first);
    /* Gradients are made when the one before has gone: two latencies, and a part. Values of uniform work are kept. */
    cr_expect(f.iteration_seconds > turn + 4 * MICRO_BATCHES * latency + 2 * latency);
    cr_expect(f.iteration_seconds < MICRO_BATCHES * (turn + 4 * latency + bytes) + 2 * latency + turn);
    ons_simulation_free(f.simulation);
}

static double stage_load(const ons_workload *work, const uint32_t *first, uint32_t stage, bool with_update) {
    return ons_work_seconds(work, first[stage], first[stage + 1]) +
           (with_update ? ons_work_update_seconds(work, first[stage], first[stage + 1]) : 0);
}

Test(pipeline_simulation, the_asynchronous_period_is_the_slowest_stage) {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        random_source random = {seed};
        ons_workload work;
        uint32_t first[RANDOM_PIPELINE_STAGES + 1], stages = 1 + random_below(&random, RANDOM_PIPELINE_STAGES);
        expect_success(random_pipeline_work(seed, true, stages + random_below(&random, 30), arena, &work));
        random_pipeline_cut(&random, work.node_count, stages, first);
        ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_pipedream, stages, 5, 0}};
        ons_pipeline_forecast f = simulate(&p, first);
        double slowest = 0;
        for (uint32_t i = 0; i < stages; ++i) slowest = fmax(slowest, stage_load(&work, first, i, true));
        cr_assert(near(f.iteration_seconds, 5 * slowest), "seed %llu: %g instead of %g", (unsigned long long)seed,
                  f.iteration_seconds, 5 * slowest);
        ons_simulation_free(f.simulation);
        if (seed % 20 == 0) free_arena(), make_arena();
    }
}

/* Stages that share a weight add each other's gradients before they update: an exchange at the end of the step. */
Test(pipeline_simulation, tied_weights_are_exchanged_before_the_update) {
    ons_workload work;
    uint32_t first[] = {0, 1, 2, 3};
    make_uniform(3, &work);
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 3, 2, 0}, .link_bandwidth = 1e6};
    ons_pipeline_forecast f = simulate(&p, first);
    double untied = f.iteration_seconds;
    int64_t sent = f.devices[2].sent_bytes;
    ons_simulation_free(f.simulation);
    work.weights[0].users = (const uint32_t[]){0, 2};
    work.weights[0].user_count = 2;
    work.weights[0].gradient_bytes = 3000;
    expect_success(ons_workload_finish(&work, arena));
    f = simulate(&p, first);
    cr_expect(near(f.iteration_seconds, untied + 3e-3), "%g, %g without the tie", f.iteration_seconds, untied);
    cr_expect(f.devices[2].sent_bytes == sent + 3000 && f.devices[2].received_bytes > 3000);
    ons_simulation_free(f.simulation);
    p.pipeline.generator = &ons_generator_pipedream;
    f = simulate(&p, first);
    cr_expect_eq(f.devices[2].sent_bytes, sent, "asynchronous: not simulated");
    ons_simulation_free(f.simulation);
}

/* ------------------------------------------------------------------------------------------------- swapping by hand */

/* One stage of two nodes and one micro-batch: F0 F1 B1 B0, where B1 saves tensor 0. */
Test(pipeline_simulation, a_copy_overlaps_exactly_where_its_triggers_let_it) {
    ons_workload work;
    uint32_t first[] = {0, 4};
    make_uniform(4, &work); /* tensor i: made by i, read and saved by i + 1 */
    ons_planning_problem p = {
        .work = &work, .pipeline = {&ons_generator_one_f_one_b, 1, 1, 0}, .host_bandwidth = 1000 / 2e-3};
    ons_tensor_decision d = {0, ONS_SWAP, 1, 2, ONS_NO_NODE}; /* 2 ms out after F1, 2 ms in before B2, needed by B1 */
    ons_stage_solution solution = {.feasible = true, .decisions = &d, .decision_count = 1};
    ons_pipeline_setup setup = {.problem = &p, .first = first, .solutions = &solution};
    ons_pipeline_forecast f;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    /* F0-F3 until 4 ms, B3 until 6, B2 until 8 while the copy comes back from 6 to 8. */
    cr_expect(near(f.iteration_seconds, 12e-3), "%g", f.iteration_seconds);
    cr_expect(f.devices[0].swapped_out_bytes == 1000 && f.devices[0].swapped_in_bytes == 1000);
    ons_simulation_free(f.simulation);
    d.in_before = 1; /* right before it is needed: 2 ms more */
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    cr_expect(near(f.iteration_seconds, 14e-3), "%g", f.iteration_seconds);
    cr_expect(near(f.devices[0].busy_seconds, 12e-3));
    ons_simulation_free(f.simulation);
    p.host_bandwidth = 1000 / 7e-3; /* out from 2 to 9 ms, in from 9 to 16; then B1 and B0 */
    d.in_before = 3;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    cr_expect(near(f.iteration_seconds, 20e-3), "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
    d = (ons_tensor_decision){0, ONS_RECOMPUTE, 0, 1, ONS_NO_NODE};
    solution.recompute_seconds = 1e-3;
    expect_success(ons_pipeline_simulate(&setup, arena, &f));
    cr_expect(near(f.iteration_seconds, 13e-3), "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
    d.in_before = 4;
    expect_refusal(ons_pipeline_simulate(&setup, arena, &f), "must be back before");
    d = (ons_tensor_decision){99, ONS_SWAP, 0, 1, ONS_NO_NODE};
    expect_refusal(ons_pipeline_simulate(&setup, arena, &f), "tensor 99");
}

/* ----------------------------------------------------------------------------------------------------- user's lists */

static ons_action_list parse(const char *text) { /* "F0.1 B0.1 U0.1": kind, stage, micro-batch */
    ons_action_list list = {ons_arena_allocate(arena, strlen(text) + 1, sizeof(ons_action)), 0};
    for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " ")) {
        static const ons_action_kind kinds[] = {
            ONS_ACTION_FORWARD, ONS_ACTION_BACKWARD, ONS_ACTION_INPUT_GRADIENT, ONS_ACTION_WEIGHT_GRADIENT,
            ONS_ACTION_UPDATE,  ONS_ACTION_SWAP_OUT, ONS_ACTION_SWAP_IN};
        list.items[list.count++] = (ons_action){.kind = kinds[strchr("FBIWUoi", text[0]) - "FBIWUoi"],
                                                .stage = (uint32_t)(text[1] - '0'),
                                                .micro_batch = (uint32_t)(text[3] - '0')};
    }
    return list;
}

static ons_status *simulate_lists(const ons_planning_problem *p, const uint32_t *first, ons_action_list *lists,
                                  uint32_t devices, ons_pipeline_forecast *f) {
    ons_schedule schedule = {
        .stages = p->pipeline.stages, .devices = devices, .micro_batches = p->pipeline.micro_batches, .lists = lists};
    const ons_pipeline_setup setup = {.problem = p, .first = first, .schedule = &schedule};
    ONS_TRY(ons_schedule_take(&schedule, arena));
    return ons_pipeline_simulate(&setup, arena, f);
}

Test(pipeline_simulation, lists_of_a_user) {
    ons_workload work;
    uint32_t first[] = {0, 1, 2};
    make_uniform(2, &work);
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 2, 2, 0}};
    ons_action_list lists[] = {parse("F0.0 F0.1 B0.0 B0.1 U0.1"), parse("F1.0 B1.0 F1.1 B1.1 U1.1")};
    ons_pipeline_forecast f;
    expect_success(simulate_lists(&p, first, lists, 2, &f));
    cr_expect(near(f.iteration_seconds, 9e-3), "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
    /* Gradients apart: the first stage waits for the input gradient alone, so the last weight gradient is all that
     * lies behind: F F I | I W at stage 0, F I F I W W at stage 1. */
    lists[0] = parse("F0.0 F0.1 I0.0 W0.0 I0.1 W0.1 U0.1");
    lists[1] = parse("F1.0 I1.0 F1.1 I1.1 W1.0 W1.1 U1.1");
    expect_success(simulate_lists(&p, first, lists, 2, &f));
    cr_expect(near(f.iteration_seconds, 7e-3), "%g", f.iteration_seconds);
    cr_expect_eq(f.devices[1].memory[f.devices[1].memory_count - 1].bytes, f.devices[1].memory[0].bytes);
    ons_simulation_free(f.simulation);
    lists[0] = parse("F0.0 F1.0 B1.0 B0.0 F0.1 F1.1 B1.1 U1.1 B0.1 U0.1"); /* both stages on one device */
    expect_success(simulate_lists(&p, first, lists, 1, &f));
    cr_expect(near(f.iteration_seconds, 12e-3), "%g", f.iteration_seconds);
    cr_expect(f.devices[0].sent_bytes == 0 && fabs(f.devices[0].bubble_share) < 1e-9);
    ons_simulation_free(f.simulation);
    lists[0] = parse("F0.0 B0.0 F0.1 B0.1 U0.1");
    lists[1] = parse("F1.0 F1.1 B1.0 B1.1 U1.1");
    expect_refusal(simulate_lists(&p, first, lists, 2, &f), "waiting to receive the gradient of micro-batch 0");
    lists[0] = parse("F0.0 F0.1 o0.0 i0.0 B0.0 B0.1 U0.1");
    lists[1] = parse("F1.0 B1.0 F1.1 B1.1 U1.1");
    expect_refusal(simulate_lists(&p, first, lists, 2, &f), "computations alone");
    lists[0] = parse("F0.0 F0.2 B0.0 B0.1 U0.1");
    expect_refusal(simulate_lists(&p, first, lists, 2, &f), "no micro-batch 2");
}

Test(pipeline_simulation, stages_must_cover_the_nodes) {
    ons_workload work;
    ons_pipeline_forecast f;
    make_uniform(4, &work);
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 2, 2, 0}};
    ons_pipeline_setup setup = {.problem = &p, .first = (const uint32_t[]){0, 2, 3}};
    expect_refusal(ons_pipeline_simulate(&setup, arena, &f), "do not cover");
    setup.first = (const uint32_t[]){0, 0, 4};
    expect_refusal(ons_pipeline_simulate(&setup, arena, &f), "stage 0 holds no node");
}

/* ------------------------------------------------------------------------------------------------ messages within
 * parts
 */

/* A stage of one node, and one of two: a (2 s) and b (3 s) are read by c (1 s); each gradient takes 1 s. */
static void make_fork(ons_workload *work) {
    static const uint32_t reader[] = {2};
    static ons_work_node nodes[3];
    static ons_work_tensor tensors[2];
    static ons_work_layer layers[3];
    static const char *const names[] = {"a", "b", "c"};
    static const double seconds[] = {2, 3, 1};
    for (uint32_t i = 0; i < 3; ++i) {
        nodes[i] = (ons_work_node){.name = names[i],
                                   .kind = "",
                                   .layer = i,
                                   .forward_seconds = seconds[i],
                                   .input_gradient_seconds = 1,
                                   .recomputable = true};
        layers[i] = (ons_work_layer){names[i], i, 1};
    }
    for (uint32_t i = 0; i < 2; ++i) tensors[i] = (ons_work_tensor){names[i], 8, 8, i, reader, NULL, 1, 0};
    *work = (ons_workload){.name = "fork",
                           .nodes = nodes,
                           .tensors = tensors,
                           .layers = layers,
                           .node_count = 3,
                           .tensor_count = 2,
                           .layer_count = 3,
                           .samples = 1};
    expect_success(ons_workload_finish(work, arena));
}

/* b does not wait for a's value, and its own gradient is computed while that of a's travels. */
Test(pipeline_simulation, messages_are_due_where_they_are_read_and_leave_when_they_are_made) {
    ons_workload work;
    const uint32_t first[] = {0, 1, 3};
    make_fork(&work);
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_gpipe, 2, 1, 0}};
    ons_pipeline_forecast f = simulate(&p, first);
    cr_expect_float_eq(f.iteration_seconds, 6, 1e-12, "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
    ons_pipeline_setup setup = {.problem = &p, .first = first};
    expect_success(whole_parts_simulate(&setup, arena, &f));
    cr_expect_float_eq(f.iteration_seconds, 9, 1e-12, "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
    work.nodes[0].forward_seconds = 4; /* c waits now, and b does not */
    expect_success(ons_workload_finish(&work, arena));
    f = simulate(&p, first);
    cr_expect_float_eq(f.iteration_seconds, 7, 1e-12, "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
}

Test(pipeline_simulation, weights_gradients_do_not_hold_what_leaves) {
    const uint32_t first[] = {0, 1, 2};
    ons_workload work;
    make_uniform(2, &work);
    ons_planning_problem p = {.work = &work, .pipeline = {&ons_generator_one_f_one_b, 2, 1, 0}};
    for (int late = 0; late <= 1; ++late) {
        work.nodes[1].late_weight_seconds = late * work.nodes[1].weight_gradient_seconds;
        ons_pipeline_forecast f = simulate(&p, first);
        cr_expect_float_eq(f.iteration_seconds, (6 - late) * 1e-3, 1e-12, "%g", f.iteration_seconds);
        ons_simulation_free(f.simulation);
    }
    p.pipeline.generator = &ons_generator_zero_bubble; /* they are parts of their own already */
    ons_pipeline_forecast f = simulate(&p, first);
    cr_expect_float_eq(f.iteration_seconds, 5e-3, 1e-12, "%g", f.iteration_seconds);
    ons_simulation_free(f.simulation);
}

/* ------------------------------------------------------------------------------------------------- random pipelines */

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

Test(pipeline_simulation, random_pipelines) {
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

/* The stretch that is long enough gives the period of one that is many times longer. */
Test(pipeline_simulation, the_steady_state_is_that_of_a_long_run) {
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
Test(pipeline_simulation, solved_stages_do_what_was_planned) {
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
