/* The planner's cost model and the cut agree on what runs again: the model's time for it is the sum of the nodes'
 * times. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "graph/sharing.h"
#include "planner/memory/memory.h"
#include "tests/rooms/graph/cut_case.h"
#include "tests/rooms/graph/fixture.h"

static const cut_model models[] = {
    {"tests/agreement/golden/lenet/model.onnx", 4, NULL, NULL},
    {"tests/agreement/golden/resnet18/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/gpt_tied/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/cnn_dynamic/model.onnx", 4, NULL, NULL},
    {"tests/agreement/families/densenet/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/t5/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/mobilenet_v3/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/lstm_stack/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/unet_resized/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/experts/model.onnx", 2, NULL, NULL},
};
enum { MODELS = sizeof models / sizeof *models };

typedef struct subject {
    cut_case c;
    ons_graph_cost cost;
    ons_graph_work work;
    ons_memory_workspace *workspace;
    ons_tensor_decision *planned; /* of one stage */
    ons_cut_decision *decisions;  /* of all stages, as the cut takes them */
} subject;

/* In place: the workspace points into it. Times of which no two sets have the same sum, but by chance, and that add up
 * without rounding. */
static void open_subject(subject *s, const cut_model *model, uint64_t seed) {
    *s = (subject){.c = cut_case_open(model, true, seed)};
    s->cost = s->c.input.costs.cost;
    for (ons_node_id id = 0; id < s->c.graph->nodes.count; ++id)
        s->cost.seconds[id] = (1 + cut_case_random(&s->c, 1 << 24)) * 0x1p-30;
    ons_graph_work_options options = {
        .graph = s->c.graph, .registry = s->c.model->registry, .cost = &s->cost, .samples = model->rows};
    must(ons_graph_work_make(&options, s->c.arena, &s->work));
    must(ons_memory_workspace_new(&s->work.work, &s->workspace));
    s->planned = ons_arena_allocate(s->c.arena, s->work.work.tensor_count + 1, sizeof *s->planned);
    s->decisions = ons_arena_allocate(s->c.arena, 8 * ((size_t)s->work.work.tensor_count + 1), sizeof *s->decisions);
}

static void close_subject(subject *s) {
    ons_memory_workspace_free(s->workspace);
    cut_case_close(&s->c);
}

/* First and last of the positions [first, end) in an ascending list; whether there is any. */
static bool find_range(const uint32_t *list, uint32_t count, uint32_t first, uint32_t end, uint32_t *last) {
    bool any = false;
    for (uint32_t i = 0; i < count; ++i)
        if (list[i] >= first && list[i] < end) {
            any = true;
            *last = list[i];
        }
    return any;
}

/* Random decisions about a stage; returns how many. */
static uint32_t decide(subject *s, uint32_t first, uint32_t end, ons_cut_decision *list) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < s->work.work.tensor_count; ++t) {
        const ons_work_tensor *tensor = &s->work.work.tensors[t];
        uint32_t last = 0, born = tensor->producer;
        bool made = born != ONS_NO_NODE && born >= first && born < end;
        if (!made && born != ONS_NO_NODE && born >= end) continue;
        if (!find_range(tensor->savers, tensor->saver_count, first, end, &last)) continue;
        if (tensor->bytes == 0 || cut_case_random(&s->c, 3) == 0) continue;
        if (!made) born = first;
        ons_tensor_decision d = {
            .tensor = t,
            .decision = made && cut_case_random(&s->c, 3) > 0 ? ONS_RECOMPUTE : ONS_SWAP,
            .out_after = born + cut_case_random(&s->c, end - born),
            .in_before = last + cut_case_random(&s->c, end - last),
            .gone_before = ONS_NO_NODE,
        };
        s->planned[count] = d;
        list[count++] = (ons_cut_decision){
            .eviction = d.decision == ONS_SWAP ? ONS_EVICTION_SWAP : ONS_EVICTION_RECOMPUTE,
            .value = s->work.value_of_tensor[t],
            .out_after = s->work.node_of_position[d.out_after],
            .in_before = s->work.node_of_position[d.in_before],
            .gone_before = ONS_NONE,
        };
    }
    return count;
}

static double seconds_again(const subject *s, const ons_cut_stage *stage) {
    double sum = 0;
    for (ons_node_id id = 0; id < stage->graph->nodes.count; ++id)
        if (stage->again[id] && !ons_is_view(ons_graph_node(stage->graph, id)->op))
            sum += s->cost.seconds[stage->original[id]];
    return sum;
}

static void compare(subject *s, uint32_t stages, const char *where) {
    uint32_t positions = s->work.work.node_count, ends[8] = {0}, count = 0;
    double expected[8] = {0};
    for (uint32_t i = 0; i < stages; ++i) ends[i] = positions * (i + 1) / stages;
    for (ons_node_id id = 0; id < s->c.graph->nodes.count; ++id) {
        uint32_t stage = 0;
        while (s->work.position_of_node[id] >= ends[stage]) ++stage;
        s->c.stage_of_node[id] = stage;
    }
    for (uint32_t i = 0; i < stages; ++i) {
        ons_stage_problem problem = {
            .work = &s->work.work,
            .first = i == 0 ? 0 : ends[i - 1],
            .end = ends[i],
            .load = {.in_flight = 1},
            .host_bandwidth = 1e10,
        };
        ons_stage_solution solution;
        uint32_t made = decide(s, problem.first, problem.end, s->decisions + count);
        must(ons_memory_evaluate(&problem, s->planned, made, s->workspace, &solution));
        expected[i] = solution.recompute_seconds;
        count += made;
    }
    ons_cut_options options = cut_case_options(&s->c, stages);
    options.decisions = s->decisions;
    options.decision_count = count;
    ons_cut cut;
    must(ons_cut_make(&options, &cut));
    for (uint32_t i = 0; i < stages; ++i)
        cr_assert_eq(seconds_again(s, &cut.stages[i]), expected[i], "%s, stage %u: %.9g seconds, the planner says %.9g",
                     where, i, seconds_again(s, &cut.stages[i]), expected[i]);
    ons_cut_free(&cut);
}

Test(cut_planner, the_same_nodes_run_again) {
    static const uint32_t counts[] = {1, 2, 4};
    for (int i = 0; i < MODELS; ++i) {
        subject s;
        open_subject(&s, &models[i], (uint64_t)i + 1);
        for (int k = 0; k < 9; ++k) {
            char where[160];
            snprintf(where, sizeof where, "%s, %u stages, seed %d, round %d", models[i].path, counts[k % 3], i + 1, k);
            compare(&s, counts[k % 3], where);
        }
        close_subject(&s);
    }
}
