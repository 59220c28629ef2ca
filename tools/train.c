#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/progress.h"
#include "tools/stage_table.h"

static const ons_subcommand subcommand = {
    .name = "onstage train",
    .command = ONS_COMMAND_TRAIN,
    .summary = "Trains a model and writes it back.",
    .epilogue = "Ctrl-C (or SIGUSR1) finishes the step, writes a checkpoint where --checkpoint is given (else, after a "
                "minute of steps, one "
                "beside --out), and ends with exit code 8.\n\n"
                "Example: onstage train net.onnx --input x.npy --target y.npy --loss cross_entropy --epochs 3 --out "
                "trained.onnx",
    .model_optional = false,
};

/* As main has it, from the subcommand on. */
typedef struct command_line {
    int count;
    char *const *words;
} command_line;

static volatile sig_atomic_t interrupted;
static ons_trainer *_Atomic running;

/* The first one ends the run in good order, a second one at once. */
static void interrupt(int number) {
    interrupted = 1;
    signal(number, SIG_DFL);
    /* It stores a flag, and says so in its contract. NOLINTNEXTLINE(bugprone-signal-handler) */
    if (running != NULL) ons_trainer_request_stop(running);
}

/* What mpirun hands on to its processes, and Slurm sends before the time is up. It may come more than once. */
static void handle_stop_signal(int number) {
    interrupt(number);
    signal(number, handle_stop_signal);
}

static ons_status *train(ons_trainer *trainer, bool is_root) {
    while (!ons_trainer_done(trainer) && !ons_trainer_stopping(trainer)) {
        ons_step_report report;
        ons_status *status = ons_trainer_step(trainer, &report);
        if (status != NULL) return status;
        if (is_root) ons_progress_step(&report);
        if (is_root && report.warning != NULL) fprintf(stderr, "onstage: warning: %s\n", report.warning);
    }
    return NULL;
}

/* Which weights these are, where they may be others than the last. */
static void tell_written(const ons_trainer_status *s) {
    printf("wrote %s", s->out);
    if (s->writes_best)
        printf(": the weights of step %" PRId64 ", whose validation loss %.4f is the best", s->best_step, s->best_loss);
    putchar('\n');
}

static void tell_early_end(const ons_trainer_status *s) {
    printf("ended after %" PRId64 " of %" PRId64 " steps: %" PRId64 " validation%s without a smaller loss", s->step,
           s->steps, s->validations_since_best, s->validations_since_best == 1 ? "" : "s");
    if (s->best_step > 0) printf(" than %.4f of step %" PRId64, s->best_loss, s->best_step);
    putchar('\n');
}

/* A word of a command line, in quotes where a shell would read it otherwise. */
static void tell_word(const char *word) {
    if (word[0] != '\0' &&
        word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%")] == '\0') {
        fprintf(stderr, " %s", word);
        return;
    }
    fputs(" '", stderr);
    for (; *word != '\0'; ++word) fprintf(stderr, *word == '\'' ? "'\\''" : "%c", *word);
    fputc('\'', stderr);
}

/* The run ends before its last step, and no checkpoint was asked for. */
static ons_status *tell_interrupted(ons_trainer *trainer, const ons_trainer_status *s, const char *steps,
                                    const command_line *line) {
    const char *kept;
    ons_status *status = ons_trainer_keep(trainer, &kept);
    if (status != NULL || !s->is_root) return status;
    if (kept == NULL) {
        fprintf(stderr, "onstage: stopped after %s%s; with --checkpoint it could go on\n", steps,
                s->out == NULL ? "" : "; the model is not written");
        return NULL;
    }
    fprintf(stderr,
            "onstage: stopped after %s; the weights are kept in %s, and this goes on from here:\n    onstage train",
            steps, kept);
    for (int i = 1; i < line->count; ++i) tell_word(line->words[i]);
    fputs(" --checkpoint", stderr);
    tell_word(kept);
    fputs(" --resume\n", stderr);
    return NULL;
}

/* What is done after the last step, or after Ctrl-C. */
static ons_status *finish(ons_trainer *trainer, const command_line *line) {
    ons_trainer_status s;
    char steps[64];
    ons_status *status = ons_trainer_get_status(trainer, &s);
    if (status != NULL) return status;
    snprintf(steps, sizeof steps, "%" PRId64 " of %" PRId64 " step%s", s.step, s.steps, s.steps == 1 ? "" : "s");
    /* It may have come too late to stop anything; or to another process, which has told this one. */
    interrupted = ons_trainer_stopping(trainer) && !ons_trainer_done(trainer);
    if (s.stops_early && s.step < s.steps && s.is_root) tell_early_end(&s);
    if (interrupted && s.checkpoint != NULL && (status = ons_trainer_checkpoint(trainer)) == NULL && s.is_root)
        fprintf(stderr, "onstage: stopped after %s; --resume goes on from here\n", steps);
    else if (status == NULL && interrupted && s.checkpoint == NULL)
        status = tell_interrupted(trainer, &s, steps, line);
    /* The model first: it is worth more than the end of a log. */
    if (status == NULL && !interrupted && s.out != NULL) {
        status = ons_trainer_save(trainer, NULL);
        if (status == NULL && s.is_root) tell_written(&s);
        if (status == NULL && s.is_root && s.training_form)
            printf("it is in training form, as the model was (BatchNorm, Dropout); --export inference writes the form "
                   "to run\n");
    }
    if (status == NULL && s.is_root) status = ons_stages_end(trainer, &s);
    if (status == NULL && s.is_root) ons_memory_end(&s);
    ons_status *closed = ons_trainer_finish(trainer);
    if (status == NULL) return closed;
    ons_status_free(closed);
    return status;
}

/* A run that diverges has lost its weights, but not those of the best validation. Takes over the failure. */
static ons_status *save_best(ons_trainer *trainer, ons_status *failure) {
    ons_trainer_status s;
    if (failure == NULL || ons_status_get_code(failure) != ONS_DIVERGED) return failure;
    ons_status *status = ons_trainer_get_status(trainer, &s);
    if (status == NULL && s.out != NULL && s.writes_best) {
        status = ons_trainer_save(trainer, NULL);
        if (status == NULL && s.is_root) tell_written(&s);
    }
    ons_status_free(status);
    return failure;
}

/* Options that go into a file, which a caller of the library may do without. True: none was given in vain. */
static bool check_files(const ons_config *config) {
    static const struct {
        const char *option, *one, *other, *needed;
    } all[] = {{"log-grad-norms", "log-json", "tensorboard", "is written into --log-json and --tensorboard; give one"},
               {"export", "out", "out", "is the form of the model that --out writes; give --out FILE"},
               {"cut-outputs", "out", "out", "is about the model that --out writes; give --out FILE"},
               {"best", "out", "checkpoint", "is about the model that --out writes; give --out FILE"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (!ons_config_is_changed(config, all[i].option) || ons_config_is_changed(config, all[i].one) ||
            ons_config_is_changed(config, all[i].other))
            continue;
        fprintf(stderr, "onstage: --%s has no effect here: it %s; or leave it out\n", all[i].option, all[i].needed);
        return false;
    }
    return true;
}

static ons_status *train_and_write(ons_trainer *trainer, const command_line *line) {
    ons_trainer_status s;
    ons_status *status = ons_trainer_get_status(trainer, &s);
    if (status != NULL) return status;
    if (s.is_root) ons_progress_begin(&s);
    if (s.is_root && (status = ons_stages_begin(trainer, &s)) != NULL) return status;
    if (s.is_root && s.out == NULL) printf("no --out: the trained model will not be written\n");
    ons_trim_resident();
    status = train(trainer, s.is_root);
    if (s.is_root) ons_progress_end();
    return status == NULL ? finish(trainer, line) : save_best(trainer, status);
}

int ons_command_train(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *path;
    ons_model *model = NULL;
    ons_trainer *trainer = NULL;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &path);
    ons_catch_stops(interrupt);
    signal(SIGUSR1, handle_stop_signal);
    if (code == 0 && !check_files(config)) code = ONS_INVALID_ARGUMENT;
    if (code == 0) code = ons_report_failure(ons_model_load(path, config, &model));
    if (code == 0) code = ons_report_failure(ons_trainer_new(model, config, &trainer));
    running = trainer;
    if (interrupted && trainer != NULL) ons_trainer_request_stop(trainer);
    if (code == 0) code = ons_report_failure(train_and_write(trainer, &(command_line){argc, argv}));
    running = NULL;
    ons_trainer_free(trainer);
    ons_model_free(model);
    ons_config_free(config);
    return code != 0 ? code : interrupted ? ONS_INTERRUPTED : 0;
}
