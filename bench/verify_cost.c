/* What it costs to verify a run of several stages before it starts: runtime/verify/verify_stages.h, as the trainer
 * calls it.
 *
 *     ./bazelw run //bench:verify_cost -- MODEL NAME VALUE...      options of `onstage train`, without dashes
 */
#include <stdio.h>

#include "engine/stages/local_stages_verify.h"
#include "engine/train/trainer.h"

enum { ROUNDS = 5 };

static double milliseconds(void) { return (double)ons_trace_now() * 1e-6; }

/* All stages are in this process. */
static ons_status *measure(const ons_trainer *t) {
    const ons_local_stages_options options = {
        .model = t->model,
        .config = t->config,
        .training = &t->training,
        .validation = &t->validation,
        .pipeline = t->lowering.pipeline,
        .schedule = &t->lowering.plan.schedule,
        .batching = t->batching,
        .threads = t->threads,
        .count = t->lowering.pipeline.stages,
        .transports = t->transports,
    };
    double least = 1e30;
    for (int i = 0; i < ROUNDS; ++i) {
        double begin = milliseconds();
        ONS_TRY(ons_local_stages_verify(&options, ons_local_stages_groups(t->local_stages),
                                        ons_local_stages_get(t->local_stages, 0)));
        double took = milliseconds() - begin;
        least = took < least ? took : least;
    }
    printf("%zu nodes, %u stages, %u micro-batches: %.1f ms\n", t->training.graphs[ONS_WHOLE].graph->nodes.count,
           options.pipeline.stages, options.pipeline.micro_batches, least);
    return NULL;
}

static ons_status *run(char **arguments, ons_config *config, ons_model **model, ons_trainer **trainer) {
    for (char **option = arguments + 1; option[0] != NULL && option[1] != NULL; option += 2)
        ONS_TRY(ons_config_set(config, option[0], option[1]));
    ONS_TRY(ons_model_load(arguments[0], config, model));
    double begin = milliseconds();
    ONS_TRY(ons_trainer_new(*model, config, trainer));
    printf("all that comes before the first step: %.0f ms\n", milliseconds() - begin);
    ONS_CHECK((*trainer)->lowering.planned && !(*trainer)->remote, ONS_INVALID_ARGUMENT, "give stages 2 or more");
    return measure(*trainer);
}

int main(int argc, char **argv) {
    ons_config *config = NULL;
    ons_model *model = NULL;
    ons_trainer *trainer = NULL;
    ons_status *status = argc < 2 ? ons_status_new(ONS_INVALID_ARGUMENT, "usage: verify_cost MODEL NAME VALUE...")
                                  : ons_config_new(&config);
    if (status == NULL) status = run(argv + 1, config, &model, &trainer);
    if (status != NULL) fprintf(stderr, "%s\n", ons_status_get_message(status));
    ons_trainer_free(trainer);
    ons_model_free(model);
    ons_config_free(config);
    bool failed = status != NULL;
    ons_status_free(status);
    return failed;
}
