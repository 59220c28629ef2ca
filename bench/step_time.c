/* Times training steps, one by one, for a program that compares them with another trainer's:
 *     step_time MODEL.onnx --OPTION VALUE ...
 * takes the options of `onstage train` (a switch is given as "--shuffle false"). It builds the trainer, says so, and
 * then obeys lines on standard input: "run N" makes N steps and answers with their times, "checkpoint" writes one where
 * the option says, and answers with its time. At the end of the input it stops. Every answer is one line of JSON. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/onstage.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static ons_status *configure(int count, char **words, ons_config *config) {
    for (int i = 2; i + 1 < count; i += 2) {
        ons_status *status = ons_config_set(config, words[i] + strspn(words[i], "-"), words[i + 1]);
        if (status != NULL) return status;
    }
    return NULL;
}

static ons_status *announce(ons_trainer *trainer) {
    ons_trainer_status is;
    ons_status *status = ons_trainer_get_status(trainer, &is);
    if (status != NULL) return status;
    const dnnl_version_t *dnnl = dnnl_version();
    printf("{\"ready\": true, \"threads\": %d, \"arena_bytes\": %lld, \"onednn\": \"%d.%d.%d\"}\n", is.threads,
           (long long)is.arena_bytes, dnnl->major, dnnl->minor, dnnl->patch);
    return NULL;
}

static ons_status *run(ons_trainer *trainer, long steps) {
    ons_step_report report = {0};
    double first_loss = 0;
    printf("{\"seconds\": [");
    for (long i = 0; i < steps; ++i) {
        double start = now();
        ons_status *status = ons_trainer_step(trainer, &report);
        if (status != NULL) return status;
        printf("%s%.9f", i == 0 ? "" : ", ", now() - start);
        first_loss = i == 0 ? report.loss : first_loss;
    }
    printf("], \"first_loss\": %.9g, \"loss\": %.9g}\n", first_loss, report.loss);
    return NULL;
}

static ons_status *write_checkpoint(ons_trainer *trainer) {
    double start = now();
    ons_status *status = ons_trainer_checkpoint(trainer);
    if (status != NULL) return status;
    printf("{\"checkpoint_seconds\": %.9f}\n", now() - start);
    return NULL;
}

static ons_status *serve(int count, char **words, ons_config *config, ons_model **model, ons_trainer **trainer) {
    ons_status *status = configure(count, words, config);
    if (status == NULL) status = ons_model_load(words[1], config, model);
    if (status == NULL) status = ons_trainer_new(*model, config, trainer);
    ons_trim_resident(); /* as the command does */
    if (status == NULL) status = announce(*trainer);
    char line[64];
    while (status == NULL && fflush(stdout) == 0 && fgets(line, sizeof line, stdin) != NULL) {
        long steps = strncmp(line, "run ", 4) == 0 ? strtol(line + 4, NULL, 10) : 0;
        if (steps > 0) status = run(*trainer, steps);
        if (strcmp(line, "checkpoint\n") == 0) status = write_checkpoint(*trainer);
    }
    return status;
}

int main(int count, char **words) {
    ons_shorten_waits(words); /* as the command does */
    if (count < 2 || count % 2 != 0) {
        fprintf(stderr, "usage: step_time MODEL.onnx --OPTION VALUE ...\n");
        return ONS_INVALID_ARGUMENT;
    }
    ons_config *config = NULL;
    ons_model *model = NULL;
    ons_trainer *trainer = NULL;
    ons_status *status = ons_config_new(&config);
    if (status == NULL) status = serve(count, words, config, &model, &trainer);
    ons_status_code code = ons_status_get_code(status);
    if (status != NULL) fprintf(stderr, "step_time: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    ons_trainer_free(trainer);
    ons_model_free(model);
    ons_config_free(config);
    return (int)code;
}
