#include "engine/plan/stage_choice.h"

#include "engine/plan/joint_samples.h"
#include "planner/workload/workload_scale.h"

static bool is_equal(ons_word word) { return word.value == ONS_STAGES_EQUAL; }

static bool chooses(const ons_config *c) { return !is_equal(c->stage_sizes) || !is_equal(c->stage_replicas); }

static bool has_barrier(const ons_config *c) { return c->stage_sizes.value == ONS_STAGES_BARRIER; }

/* Whether what the options say can be planned. */
static ons_status *check(const ons_planning *p) {
    const ons_config *c = p->config;
    const char *option = is_equal(c->stage_sizes) ? "stage-replicas free"
                         : has_barrier(c)         ? "stage-sizes barrier"
                                                  : "stage-sizes free";
    ONS_CHECK(p->strategy->search == NULL, ONS_INVALID_ARGUMENT,
              "--%s beside --partition %s, whose stages cannot choose; take --partition graphpipe", option,
              p->strategy->name);
    ONS_CHECK(c->cost_graph == NULL, ONS_INVALID_ARGUMENT,
              "--%s: the micro-batches of a cost graph are what they are; plan a model", option);
    ONS_CHECK(!c->max_batch, ONS_UNSUPPORTED,
              "--%s beside --max-batch, which knows stages that take the same alone; leave one out", option);
    return NULL;
}

/* What the choice is among; `most`: of all of the largest size, NULL where there is one size. */
static ons_status *fill(ons_planning *p, const ons_plan_input *most, uint32_t count) {
    ons_stage_choice *choice;
    const ons_workload **works;
    const ons_config *c = p->config;
    ONS_NEW(choice, p->arena, 1);
    ONS_NEW(works, p->arena, count);
    works[0] = p->problem.work;
    for (uint32_t i = 1; i < count; ++i) {
        ons_workload *work;
        bool same;
        ONS_NEW(work, p->arena, 1);
        ONS_TRY(
            ons_workload_scale(works[0], &most->costs.graph_work.work, works[0]->samples << i, p->arena, work, &same));
        ONS_CHECK(
            same, ONS_UNSUPPORTED,
            "--stage-sizes, --stage-replicas: %u micro-batches at once are another graph than one; leave them out",
            1u << i);
        works[i] = work;
    }
    *choice = (ons_stage_choice){.sizes = !is_equal(c->stage_sizes),
                                 .replicas = !is_equal(c->stage_replicas),
                                 .works = works,
                                 .work_count = count};
    p->problem.choice = choice;
    if (!has_barrier(c) || count == 1) return NULL;
    ONS_TRY(
        ons_joint_samples_find(&p->input.stage, &most->stage, &p->input.costs.graph_work, p->arena, &choice->joint));
    ONS_CHECK(choice->joint != NULL, ONS_INVALID_ARGUMENT,
              "--stage-sizes barrier: nothing in the model compares samples with each other; leave it out");
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
    ONS_CHECK(!has_barrier(p->config) || together == input->micro_batches, ONS_INVALID_ARGUMENT,
              "--stage-sizes barrier: a stage takes 1, 2, 4, … micro-batches at once, and never all %lld; take "
              "--micro-batches %lld",
              (long long)input->micro_batches, (long long)1 << (63 - __builtin_clzll((uint64_t)input->micro_batches)));
    if (count == 1) return fill(p, NULL, 1);
    ONS_CHECK(!__builtin_mul_overflow(input->batch, together, &larger.batch), ONS_INVALID_ARGUMENT,
              "--batch %lld is too large", (long long)input->batch);
    ONS_TRY(ons_plan_input_make(&larger, &most));
    ons_status *status = fill(p, &most, count);
    ons_plan_input_free(&most);
    return status;
}
