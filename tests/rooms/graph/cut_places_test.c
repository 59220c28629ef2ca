/* An inference graph beside a training graph that is cut anyhow: its stages read what training changes where it is. */
#include <criterion/criterion.h>
#include <glob.h>
#include <string.h>

#include "engine/plan/weight_places.h"
#include "tests/rooms/graph/cut_case.h"
#include "tests/rooms/graph/fixture.h"

static const cut_model models[] = {
    {"tests/agreement/golden/lenet/model.onnx", 4, NULL, NULL},
    {"tests/agreement/golden/resnet18/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/gpt_tied/model.onnx", 2, NULL, NULL},
    {"tests/agreement/golden/cnn_dynamic/model.onnx", 4, "batchnorm", "train"},
    {"tests/agreement/golden/mlp_frozen/model.onnx", 4, "freeze", "encoder.*"},
    {"tests/agreement/families/densenet/model.onnx", 2, "batchnorm", "train"},
    {"tests/agreement/families/t5/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/mobilenet_v3/model.onnx", 2, "batchnorm", "train"},
    {"tests/agreement/families/lstm_stack/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/unet_resized/model.onnx", 2, NULL, NULL},
    {"tests/agreement/families/experts/model.onnx", 2, NULL, NULL},
};
enum { MODELS = sizeof models / sizeof *models, CUTS = 12, STAGES_MOST = 5 };

typedef struct subject {
    cut_case c;
    ons_model_graph inference;
    ons_cut trained;
    ons_weight_places places;
    uint32_t stages;
} subject;

static void open_subject(subject *s, const cut_model *model, uint64_t seed) {
    *s = (subject){.c = cut_case_open(model, seed % 2 == 0, seed)};
    const ons_model_graph_options options = {
        .model = s->c.model, .config = s->c.config, .rows = s->c.input.stage.rows, .fallback = 1};
    must(ons_model_graph_build(&options, &s->inference));
    s->stages = 2 + cut_case_random(&s->c, STAGES_MOST - 1);
    cut_case_slice(&s->c, s->stages);
    const ons_cut_options cut = cut_case_options(&s->c, s->stages);
    must(ons_cut_make(&cut, &s->trained));
    must(ons_weight_places_find(s->c.graph, &s->trained, s->c.arena, &s->places));
}

static void close_subject(subject *s) {
    ons_cut_free(&s->trained);
    ons_model_graph_free(&s->inference);
    cut_case_close(&s->c);
}

/* With the nodes where `stage_of_node` asks for them. */
static ons_status *cut_inference(const subject *s, const uint32_t *stage_of_node) {
    ons_cut cut;
    const ons_cut_options options = {
        .whole = s->inference.graph,
        .registry = s->c.model->registry,
        .stage_of_node = stage_of_node,
        .stages = s->stages,
        .kept = s->inference.kept,
        .kept_count = s->inference.kept_count,
    };
    must(ons_cut_make(&options, &cut));
    ons_status *status = ons_weight_places_check(&s->places, s->inference.graph, &cut);
    ons_cut_free(&cut);
    return status;
}

static uint32_t *new_stages(const subject *s) {
    uint32_t *stages = ons_arena_allocate(s->c.arena, s->inference.graph->nodes.count + 1, sizeof *stages);
    cr_assert_not_null(stages);
    return stages;
}

static void expect_follows(const cut_model *model, uint64_t seed) {
    subject s;
    open_subject(&s, model, seed);
    uint32_t *stages = new_stages(&s);
    for (ons_node_id id = 0; id < s.inference.graph->nodes.count; ++id) {
        uint32_t stage = ons_weight_places_stage(&s.places, s.inference.graph, id);
        stages[id] = stage == ONS_NONE ? 0 : stage;
    }
    ons_status *status = cut_inference(&s, stages);
    cr_assert(status == NULL, "%s, seed %d: %s", model->path, (int)seed,
              status == NULL ? "" : ons_status_get_message(status));
    close_subject(&s);
}

/* Nodes of the inference graph go where training's are, those too that it does not have, or has under another name. */
Test(cut_places, inference_follows_training) {
    for (int i = 0; i < MODELS; ++i)
        for (uint64_t seed = 0; seed < CUTS; ++seed) expect_follows(&models[i], seed);
    glob_t found;
    cr_assert_eq(glob("tests/agreement/families/*/model.onnx", 0, NULL, &found), 0);
    cr_assert_gt(found.gl_pathc, 40u);
    for (size_t i = 0; i < found.gl_pathc; ++i) {
        const cut_model model = {found.gl_pathv[i], 4, NULL, NULL}; /* the batch of those that have a fixed one */
        for (uint64_t seed = 0; seed < 2; ++seed) expect_follows(&model, seed);
    }
    globfree(&found);
}

/* Everything in the last stage: the weights of the others are trained elsewhere. */
Test(cut_places, a_weight_elsewhere_is_named) {
    int refused = 0;
    for (int i = 0; i < MODELS; ++i) {
        subject s;
        open_subject(&s, &models[i], 1);
        uint32_t *stages = new_stages(&s);
        for (ons_node_id id = 0; id < s.inference.graph->nodes.count; ++id) stages[id] = s.stages - 1;
        bool elsewhere = false;
        for (ons_value_id id = 0; id < s.c.graph->values.count; ++id)
            elsewhere |= s.places.changes[id] && ons_graph_value(s.c.graph, id)->kind == ONS_PARAMETER &&
                         s.trained.stages[s.stages - 1].value_of[id] == ONS_NONE;
        ons_status *status = cut_inference(&s, stages);
        cr_assert_eq(status != NULL, elsewhere, "%s", models[i].path);
        if (status != NULL) cr_assert(strstr(ons_status_get_message(status), "is trained in stage") != NULL);
        refused += status != NULL;
        ons_status_free(status);
        close_subject(&s);
    }
    cr_assert_gt(refused, MODELS / 2);
}
