/* fork MODEL INPUT TARGET: a program that forks while it trains. The child gets an answer to every call, and trains by
 * itself to the same numbers. Prints a line for each case, and "N passed, N failed". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/onstage.h"

enum { STEPS = 4, SECONDS = 60 };

static int passed, failed;

static void say(const char *name, bool holds) {
    printf("%s %s\n", holds ? "ok     " : "FAILED ", name);
    holds ? ++passed : ++failed;
}

static ons_status *configure(char **arguments, ons_config **config) {
    const char *const options[][2] = {{"input", arguments[2]}, {"target", arguments[3]}, {"loss", "cross_entropy"},
                                      {"batch", "8"},          {"steps", "4"},           {"threads", "2"},
                                      {"stages", "2"}};
    ons_status *status = ons_config_new(config);
    for (size_t i = 0; status == NULL && i < sizeof options / sizeof *options; ++i)
        status = ons_config_set(*config, options[i][0], options[i][1]);
    return status;
}

/* From wherever the trainer is to its last step. *loss: of that. */
static ons_status *train(ons_trainer *trainer, double *loss) {
    ons_step_report report;
    ons_status *status = NULL;
    while (status == NULL && !ons_trainer_done(trainer)) status = ons_trainer_step(trainer, &report);
    if (status == NULL) *loss = report.loss;
    return status;
}

static bool is_refused(ons_status *status) {
    bool refused = ons_status_get_code(status) == ONS_INVALID_ARGUMENT &&
                   strstr(ons_status_get_message(status), "made before a fork") != NULL;
    ons_status_free(status);
    return refused;
}

/* Each bit of the result is a case that holds. */
static int use_in_child(ons_trainer *inherited, ons_model *model, const ons_config *config, double expected) {
    ons_step_report report;
    ons_evaluation evaluation;
    ons_trainer_status found;
    float value;
    bool refused =
        is_refused(ons_trainer_step(inherited, &report)) && is_refused(ons_trainer_evaluate(inherited, &evaluation)) &&
        is_refused(ons_trainer_save(inherited, "x.onnx")) && is_refused(ons_trainer_checkpoint(inherited)) &&
        is_refused(ons_trainer_get_status(inherited, &found)) &&
        is_refused(ons_trainer_read(inherited, "fc1.bias", &value, 1)) && is_refused(ons_trainer_finish(inherited));
    ons_trainer_free(inherited);
    ons_trainer *own;
    double loss = 0;
    ons_status *status = ons_trainer_new(model, config, &own);
    if (status == NULL) status = train(own, &loss);
    if (status != NULL) fprintf(stderr, "%s\n", ons_status_get_message(status));
    return refused | (status == NULL && loss == expected) << 1;
}

int main(int count, char **arguments) {
    ons_config *config;
    ons_model *model;
    ons_trainer *trainer, *other;
    ons_step_report report;
    double whole = 0, rest = 0;
    if (count != 4) return 2;
    ons_status *status = configure(arguments, &config);
    if (status == NULL) status = ons_model_load(arguments[1], config, &model);
    if (status == NULL) status = ons_trainer_new(model, config, &other);
    if (status == NULL) status = train(other, &whole);
    if (status == NULL) status = ons_trainer_new(model, config, &trainer);
    if (status == NULL) status = ons_trainer_step(trainer, &report);
    if (status != NULL) {
        printf("%s\n0 passed, 1 failed\n", ons_status_get_message(status));
        return 1;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS); /* waiting for threads that are not there would not end */
        _exit(use_in_child(trainer, model, config, whole));
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    int cases = WIFEXITED(ended) ? WEXITSTATUS(ended) : 0;
    say("every call of a child with its parent's trainer is refused", (cases & 1) != 0);
    say("a child trains by itself", (cases & 2) != 0);
    status = train(trainer, &rest);
    say("the parent goes on", status == NULL && rest == whole);
    ons_status_free(status);
    ons_trainer_free(trainer);
    ons_trainer_free(other);
    ons_model_free(model);
    ons_config_free(config);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
