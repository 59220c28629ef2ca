/* Stages run beside the whole graph: the same bits, whatever is swapped or computed again. */
#include <criterion/criterion.h>
#include <stdio.h>

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
