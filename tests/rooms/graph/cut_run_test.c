/* Stages run beside the whole graph: the same bits, whatever is swapped or computed again. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "graph/operator.h"
#include "tests/rooms/graph/cut_case.h"
#include "tests/rooms/graph/cut_check.h"
#include "tests/rooms/graph/cut_run.h"
#include "tests/rooms/graph/fixture.h"

static const cut_model models[] = {
    {"tests/agreement/golden/lenet/model.onnx", 4, "clip-norm", "0.5"},
    {"tests/agreement/golden/resnet18/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/gpt_tied/model.onnx", 2, "clip-norm", "0.5"},
    {"tests/agreement/golden/gpt_decomposed/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/cnn_dynamic/model.onnx", 4, "optimizer", "sgd"},
    {"tests/agreement/families/lstm_stack/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/mobilenet_v2/model.onnx", 2, "momentum", "0.9"},
    {"tests/agreement/families/t5/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/experts/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/keras_lstm/model.onnx", 2, NULL, NULL},
};
enum { MODELS = sizeof models / sizeof *models };

/* Returns how many second versions were compared. */
static size_t try_cut(cut_case *c, uint32_t stages, uint32_t one_in, const char *where) {
    ons_cut_options options = cut_case_options(c, stages);
    ons_cut plain, cut;
    must(ons_cut_make(&options, &plain));
    if (one_in > 0) cut_case_decide(c, &plain, one_in, &options);
    ons_cut_free(&plain);
    must(ons_cut_make(&options, &cut));
    cut_check(&options, &cut, where);
    size_t second = cut_run(&options, &cut, where);
    ons_cut_free(&cut);
    return second;
}

/* Each round another number of stages, shape of cut, and share of decided values. */
static void try_model(const cut_model *model, bool repeats, uint64_t seed, int rounds) {
    static const uint32_t counts[] = {1, 2, 3, 4, 8}, shares[] = {1, 2, 4, 0};
    cut_case c = cut_case_open(model, repeats, seed);
    for (int round = 0; round < rounds; ++round) {
        char where[160];
        uint32_t stages = counts[round % 5], one_in = shares[cut_case_random(&c, 4)];
        snprintf(where, sizeof where, "%s, %u stages, 1 in %u, seed %llu, round %d", model->path, stages, one_in,
                 (unsigned long long)seed, round);
        bool sliced = cut_case_random(&c, 3) > 0;
        if (sliced)
            cut_case_slice(&c, stages);
        else
            cut_case_scatter(&c, stages); /* backward parts may be left without a forward part of their own */
        size_t second = try_cut(&c, stages, one_in, where);
        cr_assert(!sliced || one_in != 1 || second > 0, "%s: nothing came back", where);
    }
    cut_case_close(&c);
}

Test(cut_run, stages_make_the_bits_of_the_whole_graph) {
    for (int i = 0; i < MODELS; ++i)
        for (int repeats = 0; repeats < 2; ++repeats) try_model(&models[i], repeats, (uint64_t)i + 1, 5);
}

/* Decisions to hand back all that gradients can. */
static ons_cut_decision *decide_handed_back(cut_case *c, uint32_t *count) {
    ons_cut_decision *list = ons_arena_allocate(c->arena, c->graph->nodes.count + 1, sizeof *list);
    cr_assert_not_null(list);
    for (ons_node_id id = 0; id < c->graph->nodes.count; ++id) {
        const ons_node *node = ons_graph_node(c->graph, id);
        if ((node->op->roles.traits & ONS_TRAIT_HANDS_BACK) == 0) continue;
        list[(*count)++] = (ons_cut_decision){.eviction = ONS_EVICTION_HAND_BACK,
                                              .value = ons_graph_node(c->graph, node->origin)->outputs[0],
                                              .out_after = ONS_NONE,
                                              .in_before = node->origin,
                                              .by = id,
                                              .gone_before = ONS_NONE};
    }
    return list;
}

/* By the formula with tanh, and exactly; channels last, too. */
Test(cut_run, what_gradients_hand_back_has_the_bits_of_the_first_time) {
    static const cut_model with_gelu[] = {
        {"tests/agreement/golden/gpt_tied/model.onnx", 2, NULL, NULL},
        {"tests/agreement/families/vit/model.onnx", 2, NULL, NULL},
        {"tests/agreement/families/convnext/model.onnx", 2, NULL, NULL},
    };
    for (int i = 0; i < 3; ++i)
        for (int repeats = 0; repeats < 2; ++repeats) {
            cut_case c = cut_case_open(&with_gelu[i], repeats, 1);
            ons_cut_options options = cut_case_options(&c, 1);
            options.decisions = decide_handed_back(&c, &options.decision_count);
            cr_assert_gt(options.decision_count, 0u, "%s", with_gelu[i].path);
            ons_cut cut;
            must(ons_cut_make(&options, &cut));
            cut_check(&options, &cut, with_gelu[i].path);
            cr_expect_geq(cut_run(&options, &cut, with_gelu[i].path), options.decision_count, "%s", with_gelu[i].path);
            ons_cut_free(&cut);
            cut_case_close(&c);
        }
}
