/* A profile measures the step that is trained: the same nodes, in the same order. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "engine/profile/profile_program.h"
#include "engine/train/trainer.h"
#include "graph/sharing.h"
#include "tests/rooms/training/fixture.h"

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct measured {
    ons_device_context *device_context;
    ons_profile_program program;
} measured;

static measured build(const run *r, uint32_t micro_batches) {
    measured m = {0};
    ons_device *device;
    const ons_profile_program_options options = {.model = r->model,
                                                 .config = r->config,
                                                 .pipeline = {&ons_generator_one_f_one_b, 1, micro_batches, 0},
                                                 .rows = r->trainer->batching.rows,
                                                 .slots = 1};
    must(ons_open_training_data(r->model, r->config, &m.program.dataset_graphs.dataset));
    must(ons_profile_program_build(&options, &m.program));
    must(ons_cpu_device_new(0, false, &device));
    must(ons_device_context_new(device, r->model->registry, 1, &m.device_context));
    must(ons_profile_program_add(&options, m.device_context, &m.program));
    return m;
}

static const ons_node *node_at(const ons_program *program, uint32_t position) {
    return ons_graph_node(ons_program_graph(program), ons_program_execution_order(program)->nodes[position]);
}

static void expect_same_order(const ons_program *is, const ons_program *should) {
    const ons_execution_order *a = ons_program_execution_order(is), *b = ons_program_execution_order(should);
    cr_assert_eq(a->count, b->count, "%u nodes, not %u", a->count, b->count);
    for (int part = 0; part < ONS_PART_KINDS; ++part) cr_expect_eq(a->end[part], b->end[part], "part %d", part);
    for (uint32_t i = 0; i < a->count; ++i) {
        cr_assert_str_eq(node_at(is, i)->name, node_at(should, i)->name);
        cr_assert_eq(node_at(is, i)->op, node_at(should, i)->op, "'%s'", node_at(is, i)->name);
        cr_assert_eq(ons_program_runs(is, a->nodes[i]), ons_program_runs(should, b->nodes[i]), "'%s'",
                     node_at(is, i)->name);
    }
}

static uint32_t idle_count(const ons_program *program) {
    const ons_graph *graph = ons_program_graph(program);
    uint32_t count = 0;
    for (ons_node_id id = 0; id < graph->nodes.count; ++id)
        count += !ons_is_view(ons_graph_node(graph, id)->op) && !ons_program_runs(program, id);
    return count;
}

/* `options`: pairs, NULL ends them. */
static void expect_trained(const char *model, uint32_t micro_batches, bool idles, const char *const *options) {
    run r = run_golden(model);
    set(&r, "optimizer", "adamw");
    set_number(&r, "micro-batches", micro_batches);
    for (; *options != NULL; options += 2) set(&r, options[0], options[1]);
    run_open(&r);
    cr_assert_eq(r.trainer->batching.micro_batches, micro_batches);
    measured m = build(&r, micro_batches);
    const ons_program *trained =
        ons_local_stages_get(r.trainer->local_stages, 0)->training.programs[ONS_WHOLE].stage.program;
    expect_same_order(m.program.trained.programs[ONS_WHOLE].stage.program, trained);
    cr_expect_eq(idle_count(trained) > 0, idles, "%u nodes idle", idle_count(trained));
    cr_expect_eq(idle_count(ons_profile_program_complete(&m.program)), 0, "a node is not measured");
    ons_device_context_free(m.device_context);
    ons_profile_program_free(&m.program);
    run_close(&r);
}

Test(profile, is_of_the_step_that_is_trained, .timeout = 300) {
    char log[PATH_BYTES];
    scratch_path(log, "log");
    expect_trained("gpt_tied", 1, true, OPTIONS("batch", "4"));
    expect_trained("gpt_tied", 1, false, OPTIONS("batch", "4", "log-json", log));
    expect_trained("gpt_tied", 1, false, OPTIONS("batch", "4", "clip-norm", "0.5"));
    expect_trained("gpt_tied", 2, true, OPTIONS("batch", "8"));
    expect_trained("cnn_dynamic", 1, true, OPTIONS("batch", "4"));
    expect_trained("mlp", 4, true, OPTIONS("batch", "16"));
    unlink(log);
}
