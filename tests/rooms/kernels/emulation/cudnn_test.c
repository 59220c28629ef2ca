/* cuDNN's part of operators with a fake in the library's place: every case of the operators that ask for it, and what
 * is made of the library's offers. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/common/cudnn/cudnn_graph.h"
#include "tests/rooms/kernels/emulation/fake_cudnn.h"
#include "tests/rooms/kernels/emulation/selection.h"

const char *const ons_emulation_only[] = {
    "Conv", "ConvInputGradient", "ConvWeightGradient", "ConvTranspose", "Attention", "AttentionGradient", NULL};

/* y = a x, of four numbers. */
static void describe(ons_cudnn_graph *graph, float factor) {
    const int64_t dims[] = {1, 1, 2, 2};
    memset(graph, 0, sizeof *graph);
    int64_t x = ons_cudnn_argument(graph, 0, ONS_FLOAT32, 4, dims, NULL), a = ons_cudnn_number(graph, factor, 4);
    int64_t y = ons_cudnn_argument(graph, 1, ONS_FLOAT32, 4, dims, NULL);
    ons_cudnn_step_add(graph, ONS_CUDNN_POINTWISE, ONS_CUDNN_TIMES, x, a, -1, y);
}

Test(cudnn, runs_and_frees) {
    static ons_cudnn_graph graph;
    const float x[] = {1, 2, 3, 4};
    float y[4] = {0};
    _Alignas(16) char scratch[1024];
    describe(&graph, 3);
    ons_cudnn_plan *first = NULL, *second = NULL;
    cr_assert_null(ons_cudnn_plan_new(&graph, INT64_MAX, &first));
    int alive = fake_counted.alive;
    cr_assert_null(ons_cudnn_plan_new(&graph, INT64_MAX, &second));
    cr_expect_eq(fake_counted.plans, 1, "the same graph is planned once");
    cr_expect_eq(fake_counted.alive, alive);
    cr_assert_eq(ons_cudnn_plan_scratch(first), 1024);
    for (int i = 0; i < 3; ++i) ons_cudnn_plan_run(first, 0, (const void *const[]){x, y}, scratch);
    cr_expect_eq(y[3], 12);
    cr_expect_eq(fake_counted.alive, alive + 1, "one list of addresses serves all runs with the same ones");
    float z[4] = {0};
    ons_cudnn_plan_run(first, 0, (const void *const[]){x, z}, scratch);
    cr_expect_eq(z[1], 6);
    cr_expect_eq(fake_counted.alive, alive + 1);
    ons_cudnn_plan_free(first);
    ons_cudnn_plan_free(second);
    cr_expect_eq(fake_counted.alive, alive);
    ons_cudnn_plan_for(NULL);
    cr_expect_eq(fake_counted.alive, 0, "%d descriptors are left", fake_counted.alive);
}

/* The engine that a plan has of those that are offered. */
static const char *chosen(int engines, const uint32_t *notes, const int64_t *workspaces, bool exact, int64_t limit) {
    static ons_cudnn_graph graph;
    static char name[64];
    ons_cudnn_plan *plan = NULL;
    fake_offer(engines, notes, workspaces);
    ons_cudnn_plan_for(NULL);
    describe(&graph, 1);
    graph.exact = exact;
    ons_status *status = ons_cudnn_plan_new(&graph, limit, &plan);
    strcpy(name, status != NULL ? "none" : ons_cudnn_plan_name(plan));
    if (status == NULL) ons_cudnn_plan_free(plan);
    ons_status_free(status);
    ons_cudnn_plan_for(NULL);
    cr_expect_eq(fake_counted.alive, 0, "%d descriptors are left", fake_counted.alive);
    return name;
}

#define NOTE(NAME) (1u << CUDNN_NUMERICAL_NOTE_##NAME)

Test(cudnn, engines_with_the_same_bits_every_time) {
    const uint32_t notes[] = {NOTE(NONDETERMINISTIC), NOTE(REDUCED_PRECISION_REDUCTION) | NOTE(TENSOR_CORE),
                              NOTE(TENSOR_CORE) | NOTE(DOWN_CONVERT_INPUTS), NOTE(WINOGRAD), 0};
    const int64_t workspaces[] = {0, 0, 0, 0, 0};
    cr_expect_str_eq(chosen(5, notes, workspaces, false, INT64_MAX), "cuDNN: engine 2");
    cr_expect_str_eq(chosen(5, notes, workspaces, true, INT64_MAX), "cuDNN: engine 4");
    cr_expect_str_eq(chosen(2, notes, workspaces, false, INT64_MAX), "none");
}

Test(cudnn, workspace_within_what_is_granted) {
    const uint32_t notes[] = {0, 0, 0};
    const int64_t workspaces[] = {4096, 1000, 0};
    cr_expect_str_eq(chosen(3, notes, workspaces, false, 4096), "cuDNN: engine 0");
    cr_expect_str_eq(chosen(3, notes, workspaces, false, 4095), "cuDNN: engine 1");
    cr_expect_str_eq(chosen(3, notes, workspaces, false, 999), "cuDNN: engine 2");
    cr_expect_str_eq(chosen(2, notes, workspaces, false, 999), "none");
}

Test(cudnn, can_be_switched_off) {
    const uint32_t notes[] = {0};
    const int64_t workspaces[] = {0};
    setenv("ONSTAGE_CUDNN", "off", 1);
    cr_expect_str_eq(chosen(1, notes, workspaces, false, INT64_MAX), "none");
}
