#include "engine/plan/stage_choice.h"

#include "planner/workload/workload_scale.h"

static bool is_free(ons_word word) { return word.value == ONS_STAGES_FREE; }

static bool chooses(const ons_config *c) { return is_free(c->stage_sizes) || is_free(c->stage_replicas); }

/* Whether what the options say can be planned. */
static ons_status *check(const ons_planning *p) {
    const ons_config *c = p->config;
    const char *option = is_free(c->stage_sizes) ? "stage-sizes" : "stage-replicas";
    ONS_CHECK(p->strategy->search == NULL, ONS_INVALID_ARGUMENT,
              "--%s free beside --partition %s, whose stages cannot choose; take --partition graphpipe", option,
              p->strategy->name);
    ONS_CHECK(c->cost_graph == NULL, ONS_INVALID_ARGUMENT,
              "--%s free: the micro-batches of a cost graph are what they are; plan a model", option);
    ONS_CHECK(!c->max_batch, ONS_UNSUPPORTED,
              "--%s free beside --max-batch, which knows stages that take the same alone; leave one out", option);
    return NULL;
}

static ons_status *fill(ons_planning *p, const ons_workload *most, uint32_t count) {
    ons_stage_choice *choice;
    const ons_workload **works;
    ONS_NEW(choice, p->arena, 1);
    ONS_NEW(works, p->arena, count);
    works[0] = p->problem.work;
    for (uint32_t i = 1; i < count; ++i) {
        ons_workload *work;
        bool same;
        ONS_NEW(work, p->arena, 1);
        ONS_TRY(ons_workload_scale(works[0], most, works[0]->samples << i, p->arena, work, &same));
        ONS_CHECK(
            same, ONS_UNSUPPORTED,
            "--stage-sizes, --stage-replicas: %u micro-batches at once are another graph than one; leave them out",
            1u << i);
        works[i] = work;
    }
    *choice = (ons_stage_choice){is_free(p->config->stage_sizes), is_free(p->config->stage_replicas), works, count};
    p->problem.choice = choice;
    return NULL;
}

ons_status *ons_stage_choice_pose(ons_planning *p, const ons_plan_input_options *input) {
    ons_plan_input_options larger = *input;
    ons_plan_input most;
    p->problem.choice = NULL;
    if (!chooses(p->config)) return NULL;
    ONS_TRY(check(p));
    int64_t together = input->micro_batches & -input->micro_batches;
    uint32_t count = 1 + (uint32_t)__builtin_ctzll((uint64_t)together);
    if (count == 1) return fill(p, NULL, 1);
    ONS_CHECK(!__builtin_mul_overflow(input->batch, together, &larger.batch), ONS_INVALID_ARGUMENT,
              "--batch %lld is too large", (long long)input->batch);
    ONS_TRY(ons_plan_input_make(&larger, &most));
    ons_status *status = fill(p, &most.costs.graph_work.work, count);
    ons_plan_input_free(&most);
    return status;
}
