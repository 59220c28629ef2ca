/* In cuDNN's place where a test has none: every operator runs its own kernels. */
#include <stdlib.h>

#include "kernels/common/cudnn/cudnn_graph.h"

bool ons_cudnn_is_there(void) { return false; }

ons_status *ons_cudnn_plan_new(const ons_cudnn_graph *graph, int64_t workspace_limit, ons_cudnn_plan **plan) {
    (void)graph, (void)workspace_limit, (void)plan;
    return ons_status_new(ONS_UNSUPPORTED, "no cuDNN, says the test");
}

/* A node without a plan has nothing of these to ask for. */
void ons_cudnn_plan_free(ons_cudnn_plan *plan) {
    if (plan != NULL) abort();
}

int64_t ons_cudnn_plan_scratch(const ons_cudnn_plan *plan) {
    (void)plan;
    abort();
}

const char *ons_cudnn_plan_name(const ons_cudnn_plan *plan) {
    (void)plan;
    abort();
}

void ons_cudnn_plan_run(ons_cudnn_plan *plan, uintptr_t stream, const void *const *arguments, void *scratch) {
    (void)plan, (void)stream, (void)arguments, (void)scratch;
    abort();
}

void ons_cudnn_plan_for(const char *device_json) { (void)device_json; }
