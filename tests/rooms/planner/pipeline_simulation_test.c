/* Pipelines by simulation: known closed forms, lists of a user, and how messages leave within a part. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "planner/simulate/pipeline_simulation.h"
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

/* -------------------------------------------------------------------------------------------- messages within parts */

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
