/* Training graphs of exported models cut into stages: all of the whole graph is there, and nothing twice. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "tests/rooms/graph/cut_case.h"
#include "tests/rooms/graph/cut_check.h"
#include "tests/rooms/graph/fixture.h"

static const cut_model models[] = {
    {"tests/agreement/golden/lenet/model.onnx", 4, "clip-norm", "1"},
    {"tests/agreement/golden/resnet18/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/gpt_tied/model.onnx", 2, "clip-norm", "1"},
    {"tests/agreement/golden/gpt_decomposed/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/cnn_dynamic/model.onnx", 4, NULL, NULL},
};
enum { MODELS = sizeof models / sizeof *models };
static const uint32_t counts[] = {1, 2, 3, 4, 8};
/* Its filters are reordered once a step. */
static const cut_model lenet_on_gpu = {"tests/agreement/golden/lenet/model.onnx", 4, "precision", "tf32"};

static void make_and_check(const ons_cut_options *options, const char *where) {
    ons_cut cut;
    must(ons_cut_make(options, &cut));
    cut_check(options, &cut, where);
    ons_cut_free(&cut);
}

static void try_model(const cut_model *model, bool repeats, uint64_t seed) {
    cut_case c = cut_case_open(model, repeats, seed);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        for (int round = 0; round < 4; ++round) {
            char where[160];
            snprintf(where, sizeof where, "%s, %u stages, seed %llu, round %d", model->path, counts[i],
                     (unsigned long long)seed, round);
            ons_cut_options options = cut_case_options(&c, counts[i]);
            if (round < 2)
                cut_case_slice(&c, counts[i]);
            else
                cut_case_scatter(&c, counts[i]);
            make_and_check(&options, where);
        }
    cut_case_close(&c);
}

Test(cut, every_model_comes_apart_and_nothing_is_lost) {
    for (int i = 0; i < MODELS; ++i)
        for (int repeats = 0; repeats < 2; ++repeats) try_model(&models[i], repeats, (uint64_t)i + 1);
}

/* Every interval of the planner's positions is a stage as it is: saved values and gradients flow one way. */
static void expect_no_move(const char *path, bool repeats) {
    cut_case c =
        cut_case_open(&(cut_model){path, 4, NULL, NULL}, repeats, 1); /* the batch of those that have a fixed one */
    for (uint32_t stages = 3; stages < 10; stages += 3) {
        ons_cut_options options = cut_case_options(&c, stages);
        ons_cut cut;
        cut_case_slice(&c, stages);
        must(ons_cut_make(&options, &cut));
        for (uint32_t s = 0; s < stages; ++s)
            for (ons_node_id id = 0; id < cut.stages[s].graph->nodes.count; ++id) {
                ons_node_id node = cut.stages[s].original[id];
                if (cut_runs_once(c.graph, node))
                    cr_assert_eq(c.stage_of_node[node], s, "%s: '%s' of stage %u is in stage %u of %u", path,
                                 ons_graph_node(c.graph, node)->name, c.stage_of_node[node], s, stages);
            }
        ons_cut_free(&cut);
    }
    cut_case_close(&c);
}

Test(cut, what_the_planner_cuts_runs_where_the_planner_has_it) {
    glob_t found;
    cr_assert_eq(glob("tests/agreement/families/*/model.onnx", 0, NULL, &found), 0);
    cr_assert_gt(found.gl_pathc, 40u);
    for (size_t i = 0; i < found.gl_pathc; ++i) expect_no_move(found.gl_pathv[i], i % 2 == 0);
    globfree(&found);
    for (int i = 0; i < MODELS; ++i)
        for (int repeats = 0; repeats < 2; ++repeats) expect_no_move(models[i].path, repeats);
}

/* Where a node of the whole graph runs in one stage. */
static int part_of(const ons_cut_stage *stage, ons_node_id node) {
    int part = ONS_PART_BEGIN;
    while (node >= stage->end[part]) ++part;
    return part;
}

Test(cut, one_stage_is_the_whole_graph) {
    for (int i = 0; i < MODELS; ++i)
        for (int repeats = 0; repeats < 2; ++repeats) {
            cut_case c = cut_case_open(&models[i], repeats, 1);
            ons_cut_options options = cut_case_options(&c, 1);
            ons_cut cut;
            must(ons_cut_make(&options, &cut));
            const ons_cut_stage *stage = &cut.stages[0];
            cr_assert_eq(stage->graph->nodes.count, c.graph->nodes.count, "%s", c.path);
            cr_assert_eq(stage->graph->values.count, c.graph->values.count, "%s", c.path);
            cr_assert_eq(stage->graph->outputs.count, c.graph->outputs.count, "%s", c.path);
            cr_assert_eq(cut.transfer_count, 0u);
            for (ons_value_id id = 0; id < c.graph->values.count; ++id) cr_assert_eq(stage->value_of[id], id);
            for (ons_node_id id = 0; id < c.graph->nodes.count; ++id) {
                const ons_node *node = ons_graph_node(c.graph, stage->original[id]);
                bool update = node->phase == ONS_UPDATE, start = node->phase == ONS_FORWARD && node->per_step;
                int part = part_of(stage, id);
                bool early = update && !repeats && part == ONS_PART_BACKWARD;
                cr_assert_eq(part == ONS_PART_END, update && !early, "%s: '%s'", c.path, node->name);
                cr_assert_eq(part == ONS_PART_BEGIN, start && repeats, "%s: '%s'", c.path, node->name);
                cr_assert(part != ONS_PART_BACKWARD || node->phase != ONS_FORWARD || start, "%s: '%s'", c.path,
                          node->name);
            }
            ons_cut_free(&cut);
            cut_case_close(&c);
        }
}

/* How many updates of an uncut graph wait for the end of the step, and how many there are. */
static void count_updates(const char *clip_norm, bool repeats, uint32_t *waiting, uint32_t *all) {
    cut_model model = models[0];
    model.option = "clip-norm";
    model.value = clip_norm;
    cut_case c = cut_case_open(&model, repeats, 1);
    ons_cut_options options = cut_case_options(&c, 1);
    ons_cut cut;
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, model.path);
    *waiting = *all = 0;
    for (ons_node_id id = 0; id < cut.stages[0].graph->nodes.count; ++id) {
        if (ons_graph_node(cut.stages[0].graph, id)->phase != ONS_UPDATE) continue;
        ++*all;
        *waiting += part_of(&cut.stages[0], id) == ONS_PART_END;
    }
    ons_cut_free(&cut);
    cut_case_close(&c);
}

Test(cut, an_update_waits_for_nothing_but_its_gradient_where_a_step_is_one_micro_batch) {
    uint32_t waiting, all;
    count_updates("0", false, &waiting, &all);
    cr_assert_gt(all, 4u);
    cr_assert_leq(waiting, all / 4, "%u of %u", waiting, all); /* the first layer's gradients are the last anyway */
    count_updates("0", true, &waiting, &all);
    cr_assert_eq(waiting, all);
    count_updates("1", false, &waiting, &all); /* the norm of all gradients comes first */
    cr_assert_geq(waiting, all / 2);
}

Test(cut, copies_of_a_tied_weight_are_updated_alike) {
    cut_case c = cut_case_open(&models[2], true, 1);
    ons_cut_options options = cut_case_options(&c, 4);
    uint32_t positions = c.input.costs.graph_work.work.node_count;
    for (ons_node_id id = 0; id < c.graph->nodes.count; ++id)
        c.stage_of_node[id] = c.input.costs.graph_work.position_of_node[id] * 4 / positions;
    ons_cut cut;
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, "tied");
    ons_value_id weight = ons_graph_find_value(c.graph, "wte.weight"),
                 sum = ons_graph_find_value(c.graph, "wte.weight/uses");
    cr_assert_neq(weight, ONS_NONE);
    cr_assert_neq(sum, ONS_NONE);
    uint32_t holders = 0, makers = 0;
    for (uint32_t s = 0; s < 4; ++s) {
        const ons_cut_stage *stage = &cut.stages[s];
        if (stage->value_of[weight] == ONS_NONE) continue;
        ++holders;
        makers += ons_graph_value(stage->graph, stage->value_of[sum])->producer != ONS_NONE;
        cr_assert_neq(ons_graph_find_node(stage->graph, "wte.weight/update"), ONS_NONE, "stage %u", s);
        cr_assert_eq(cut_part_of_value(stage, stage->value_of[sum]), ONS_PART_END);
    }
    cr_assert_eq(holders, 2u, "the embedding's stage and the head's");
    cr_assert_eq(makers, 1u, "one sum, sent to the other holder");
    ons_cut_free(&cut);
    cut_case_close(&c);
}

Test(cut, a_stage_that_does_not_exist_is_refused) {
    cut_case c = cut_case_open(&models[0], true, 1);
    ons_cut_options options = cut_case_options(&c, 2);
    ons_cut cut;
    c.stage_of_node[3] = 2;
    must_fail(ons_cut_make(&options, &cut), ONS_INVALID_ARGUMENT, "stage 2 of 2");
    ons_cut_free(&cut);
    options.stages = 0;
    must_fail(ons_cut_make(&options, &cut), ONS_INVALID_ARGUMENT, "no stages");
    cut_case_close(&c);
}

/* Also where there is one micro-batch: the schedule may play any of the device's parts first. */
Test(cut, what_is_made_once_comes_before_all_parts_of_a_device) {
    static const uint32_t device_of[] = {0, 1, 0, 1};
    cut_case c = cut_case_open_for("h200-141gb", &lenet_on_gpu, false, 1);
    cut_case_slice(&c, 4);
    ons_cut_options options = cut_case_options(&c, 4);
    options.device_of = device_of;
    options.devices = 2;
    ons_cut cut;
    must(ons_cut_make(&options, &cut));
    uint32_t found = 0;
    for (uint32_t i = 0; i < cut.stage_count; ++i)
        for (ons_node_id id = 0; id < cut.stages[i].graph->nodes.count; ++id) {
            const ons_node *node = ons_graph_node(cut.stages[i].graph, id);
            if (!node->per_step || node->phase != ONS_FORWARD) continue;
            cr_expect_lt(id, cut.stages[i].end[ONS_PART_BEGIN], "device %u: '%s'", i, node->name);
            ++found;
        }
    cr_assert_gt(found, 0u);
    ons_cut_free(&cut);
    cut_case_close(&c);
}

/* ------------------------------------------------------------------------------------------------ refused decisions */

/* Two stages of LeNet, and one decision. */
static void refuse_in(cut_case c, ons_eviction eviction, const char *value, const char *out_after,
                      const char *in_before, const char *words) {
    ons_cut_options options = cut_case_options(&c, 2);
    uint32_t positions = c.input.costs.graph_work.work.node_count;
    for (ons_node_id id = 0; id < c.graph->nodes.count; ++id)
        c.stage_of_node[id] = c.input.costs.graph_work.position_of_node[id] * 2 / positions;
    ons_cut_decision d = {
        .eviction = eviction,
        .value = ons_graph_find_value(c.graph, value),
        .out_after = ons_graph_find_node(c.graph, out_after),
        .in_before = ons_graph_find_node(c.graph, in_before),
        .gone_before = ONS_NONE,
    };
    cr_assert_neq(d.value, ONS_NONE);
    cr_assert_neq(d.in_before, ONS_NONE);
    options.decisions = &d;
    options.decision_count = 1;
    ons_cut cut;
    must_fail(ons_cut_make(&options, &cut), ONS_INVALID_ARGUMENT, words);
    cr_assert_null(cut.arena);
    /* A graph of other shapes does without. */
    options.lenient = true;
    must(ons_cut_make(&options, &cut));
    for (uint32_t i = 0; i < cut.stage_count; ++i) {
        const ons_cut_stage *stage = &cut.stages[i];
        for (uint32_t k = 0; k < stage->swap_count; ++k)
            cr_expect_geq(stage->swaps[k].out_after, ons_graph_value(stage->graph, stage->swaps[k].value)->producer);
    }
    ons_cut_free(&cut);
    cut_case_close(&c);
}

static void refuse(ons_eviction eviction, const char *value, const char *out_after, const char *in_before,
                   const char *words) {
    refuse_in(cut_case_open(&models[0], true, 1), eviction, value, out_after, in_before, words);
}

Test(cut, a_view_cannot_leave_without_what_it_shows) {
    refuse(ONS_EVICTION_SWAP, "/Flatten_output_0", "/Flatten", "/fc1/Gemm", "/MaxPool_output_0/reorder");
}

Test(cut, weights_are_neither_swapped_nor_computed_again) {
    refuse(ONS_EVICTION_SWAP, "fc1.weight", "/fc1/Gemm", "/fc1/Gemm", "'fc1.weight'");
    refuse_in(cut_case_open_for("h200-141gb", &lenet_on_gpu, true, 1), ONS_EVICTION_RECOMPUTE, "conv2.weight/reorder",
              "/conv2/Conv", "/conv2/Conv", "'conv2.weight/reorder'");
    refuse(ONS_EVICTION_RECOMPUTE, "loss/sum_1", "loss", "loss", "'loss/sum_1'");
}

Test(cut, what_nobody_saves_is_not_worth_a_decision) {
    refuse(ONS_EVICTION_RECOMPUTE, "/conv1/Conv_output_0", "/conv1/Conv", "/conv1/Conv", "nothing to free");
}

Test(cut, a_gradient_is_no_value_of_the_forward_part) {
    refuse(ONS_EVICTION_SWAP, "/Tanh/gradient", "/Tanh", "/Tanh", "'/Tanh/gradient'");
}

Test(cut, data_that_arrive_are_not_computed_again) {
    refuse(ONS_EVICTION_RECOMPUTE, "image", "/conv1/Conv", "/conv1/Conv", "'image'");
}

Test(cut, what_is_in_another_stage_is_not_decided_here) {
    refuse(ONS_EVICTION_SWAP, "/Tanh_output_0", "/Tanh", "/fc3/Gemm", "'/Tanh_output_0'");
}

Test(cut, nothing_is_copied_before_it_is_made) {
    refuse(ONS_EVICTION_SWAP, "/AveragePool_output_0", "/conv1/Conv", "/conv1/Conv", "before it is made");
}
