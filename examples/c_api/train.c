/* Trains a network from a C program with nothing but onstage's public header: arrays in memory, progress, evaluation,
 * and the trained model as a file.
 *
 *     ./bazelw run //examples/c_api:train -- MODEL.onnx TRAINED.onnx
 *
 * MODEL.onnx takes x: float32[batch, 20] and gives ten numbers a sample. The task, made up here: which of the first ten
 * inputs is the largest?
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "include/onstage.h"

enum { INPUTS = 20, CLASSES = 10, SAMPLES = 4096, TESTS = 1024 };

static float inputs[SAMPLES + TESTS][INPUTS];
static int64_t labels[SAMPLES + TESTS];

static void make_data(void) {
    srand(1);
    for (int i = 0; i < SAMPLES + TESTS; ++i) {
        for (int k = 0; k < INPUTS; ++k) {
            inputs[i][k] = 2.0f * (float)rand() / (float)RAND_MAX - 1.0f;
            if (k < CLASSES && inputs[i][k] > inputs[i][labels[i]]) labels[i] = k;
        }
    }
}

/* Options have the names that they have at the command line. */
static ons_status *set_options(ons_config *config) {
    static const char *const options[][2] = {
        {"loss", "cross_entropy"}, {"optimizer", "adamw"}, {"lr", "3e-3"}, {"lr-schedule", "cosine"},
        {"batch", "64"},           {"epochs", "30"},       {"seed", "1"},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; ++i) {
        ons_status *status = ons_config_set(config, options[i][0], options[i][1]);
        if (status != NULL) return status;
    }
    return NULL;
}

/* Hands over `count` samples from `first` on. The arrays are not copied: they must live as long as the trainer. */
static ons_status *set_arrays(ons_config *config, bool validation, int first, int64_t count) {
    const int64_t input_dims[] = {count, INPUTS}, target_dims[] = {count};
    const ons_array_view input = {ONS_ELEMENT_FLOAT32, 2, input_dims, inputs[first]};
    const ons_array_view target = {ONS_ELEMENT_INT64, 1, target_dims, &labels[first]};
    ons_status *status = ons_config_array(config, "x", validation, &input);
    return status != NULL ? status : ons_config_array(config, "target", validation, &target);
}

static ons_status *run_steps(ons_trainer *trainer) {
    while (!ons_trainer_done(trainer)) {
        ons_step_report report;
        ons_status *status = ons_trainer_step(trainer, &report);
        if (status != NULL) return status;
        if (report.validated && report.step % 320 == 0) /* validated after every epoch, shown after every fifth */
            printf("step %4lld of %lld: loss %.4f, validation loss %.4f\n", (long long)report.step,
                   (long long)report.steps, report.loss, report.validation_loss);
    }
    return NULL;
}

static ons_status *train(ons_trainer *trainer, const char *path) {
    ons_evaluation evaluation;
    ons_status *status = run_steps(trainer);
    if (status == NULL) status = ons_trainer_evaluate(trainer, &evaluation);
    if (status != NULL) return status;
    printf("accuracy %.1f %% of %lld samples that it has not seen\n", 100 * evaluation.accuracy,
           (long long)evaluation.samples);
    status = ons_trainer_save(trainer, path);
    return status != NULL ? status : ons_trainer_finish(trainer);
}

/* Every call that can fail gives a status; the first one that is not NULL ends the rest. */
int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: train MODEL.onnx TRAINED.onnx\n");
        return 1;
    }
    make_data();
    ons_config *config = NULL;
    ons_model *model = NULL;
    ons_trainer *trainer = NULL;
    ons_status *status = ons_config_new(&config);
    if (status == NULL) status = set_options(config);
    if (status == NULL) status = set_arrays(config, false, 0, SAMPLES);
    if (status == NULL) status = set_arrays(config, true, SAMPLES, TESTS);
    if (status == NULL) status = ons_model_load(argv[1], config, &model);
    if (status == NULL) status = ons_trainer_new(model, config, &trainer);
    if (status == NULL) status = train(trainer, argv[2]);

    int code = (int)ons_status_get_code(status);
    if (status != NULL) fprintf(stderr, "train: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    ons_trainer_free(trainer);
    ons_model_free(model);
    ons_config_free(config);
    return code;
}
