/* locale EARLY|LATE MODEL INPUT TARGET FOLDER: uses the whole interface in the locale that the environment asks for,
 * set before the first call or between calls, and leaves what it writes in FOLDER. Exits 1 where a call fails. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/onstage.h"

static const char *folder;

static void check(ons_status *status, const char *call) {
    if (status == NULL) return;
    printf("%s: code %d: %s\n", call, ons_status_get_code(status), ons_status_get_message(status));
    exit(1);
}

static void set(ons_config *config, const char *option, const char *value) {
    check(ons_config_set(config, option, value), option);
}

/* FOLDER/NAME, until the next call. */
static const char *in_folder(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void choose_locale(void) {
    if (setlocale(LC_ALL, "") == NULL) puts("this machine lacks the locale"), exit(2);
}

static ons_config *configure(char **arguments, int early) {
    ons_config *config;
    if (early) choose_locale();
    check(ons_config_new(&config), "ons_config_new");
    const char *const options[][2] = {{"input", arguments[3]},
                                      {"target", arguments[4]},
                                      {"loss", "cross_entropy"},
                                      {"batch", "8"},
                                      {"steps", "4"},
                                      {"threads", "1"},
                                      {"lr", "0.0125"},
                                      {"clip-norm", "1.5"},
                                      {"memory", "8.5MiB"},
                                      {"momentum", "0.9"},
                                      {"optimizer", "sgd"},
                                      {"rows", "0:64"},
                                      {"normalize", "x=0.25,1.5"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) set(config, options[i][0], options[i][1]);
    if (!early) choose_locale();
    return config;
}

static void train(ons_model *model, ons_config *config) {
    ons_trainer *trainer;
    ons_trainer_status status;
    ons_step_report report;
    set(config, "log-json", in_folder("log.json"));
    set(config, "checkpoint", in_folder("checkpoint"));
    set(config, "out", in_folder("trained.onnx"));
    check(ons_trainer_new(model, config, &trainer), "ons_trainer_new");
    while (!ons_trainer_done(trainer)) check(ons_trainer_step(trainer, &report), "ons_trainer_step");
    check(ons_trainer_checkpoint(trainer), "ons_trainer_checkpoint");
    check(ons_trainer_get_status(trainer, &status), "ons_trainer_get_status");
    check(ons_trainer_save(trainer, NULL), "ons_trainer_save");
    check(ons_trainer_finish(trainer), "ons_trainer_finish");
    ons_trainer_free(trainer);
}

static void plan(const char *path) {
    ons_config *config;
    ons_planning *planning;
    ons_replay *replay;
    check(ons_config_new(&config), "ons_config_new");
    const char *const options[][2] = {{"loss", "cross_entropy"},
                                      {"batch", "8"},
                                      {"stages", "2"},
                                      {"device-profile", "a100-40gb"},
                                      {"reproducible", "true"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) set(config, options[i][0], options[i][1]);
    check(ons_planning_new(path, config, &planning), "ons_planning_new");
    printf("%s", ons_planning_text(planning));
    check(ons_planning_write(planning, in_folder("plan.json")), "ons_planning_write");
    ons_planning_free(planning);
    check(ons_replay_new(in_folder("plan.json"), config, &replay), "ons_replay_new");
    printf("%s", ons_replay_text(replay));
    ons_replay_free(replay);
    ons_config_free(config);
}

int main(int count, char **arguments) {
    if (count != 6) return 2;
    folder = arguments[5];
    ons_config *config = configure(arguments, strcmp(arguments[1], "EARLY") == 0);
    ons_model *model;
    ons_inspection *inspection;
    ons_evaluation evaluation;
    check(ons_model_load(arguments[2], config, &model), "ons_model_load");
    check(ons_model_inspect(model, config, &inspection), "ons_model_inspect");
    printf("%s%s", inspection->assumptions, inspection->graph_text);
    ons_inspection_free(inspection);
    train(model, config);
    check(ons_model_evaluate(model, config, NULL, NULL, &evaluation), "ons_model_evaluate");
    ons_config_free(config);
    ons_model_free(model);
    plan(arguments[2]);
    /* The program's own locale is as it chose it. */
    const char *now = setlocale(LC_NUMERIC, NULL), *asked = getenv("LC_ALL");
    if (asked != NULL && strcmp(now, asked) != 0) printf("the locale is %s now\n", now);
    fprintf(stderr, "%.17g %.1f\n", evaluation.loss, 1.5);
    return 0;
}
