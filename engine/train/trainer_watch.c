/* The logs of a training run. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "engine/train/trainer.h"
#include "planner/search/planner.h"
#include "runtime/checkpoint/removal.h"

int64_t ons_resident_bytes(void) {
    char text[128];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *second = strchr(text, ' ');
    return second == NULL ? 0 : strtoll(second, NULL, 10) * sysconf(_SC_PAGESIZE);
}

static double wall_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

ons_status *ons_trainer_open_logs(ons_trainer *t, bool resumed) {
    const ons_config *c = t->config;
    if (!ons_trainer_leads(t)) return NULL;
    if (c->log_json != NULL)
        ONS_TRY(resumed ? ons_log_json_resume(c->log_json, (uint64_t)t->step, &t->log)
                        : ons_log_json_open(c->log_json, &t->log));
    if (c->tensorboard != NULL)
        ONS_TRY(ons_tensorboard_open(c->tensorboard, wall_time(), resumed, (uint64_t)t->step, &t->board));
    return NULL;
}

/* At the first step of a run. */
static void log_assumptions(const ons_trainer *t, ons_json_writer *w) {
    ons_json_begin_array(w, "assumed");
    for (size_t i = 0; i < t->assumptions.count; ++i) ons_json_put_text(w, NULL, t->assumptions.items[i].what);
    ons_json_end_array(w);
}

static ons_status *log_json(ons_trainer *t, const ons_step_report *r) {
    ons_json_writer *w = ons_log_json_begin(t->log, (uint64_t)r->step);
    ons_json_put_double(w, "loss", r->loss);
    if (t->steps_here == 1 && t->assumptions.count > 0) log_assumptions(t, w);
    ons_json_put_double(w, "lr", r->learning_rate);
    ons_json_put_double(w, "step_seconds", r->step_seconds);
    ons_json_put_double(w, "samples_per_s", r->samples_per_second);
    ons_json_put_int(w, "memory_peak_bytes", r->memory_peak_bytes);
    ons_json_put_int(w, "resident_bytes", r->resident_bytes);
    if (r->free_bytes > 0) ons_json_put_int(w, "device_free_bytes", r->free_bytes);
    if (!isnan(r->grad_norm)) ons_json_put_double(w, "grad_norm", r->grad_norm);
    if (r->loss_scale > 0) {
        ons_json_put_double(w, "loss_scale", r->loss_scale);
        ons_json_put_bool(w, "skipped", r->skipped);
    }
    if (t->config->log_grad_norms && t->training.graphs[ONS_WHOLE].squares != NULL && !r->skipped) {
        const ons_model_graph *stage = &t->training.graphs[ONS_WHOLE];
        ons_json_begin_object(w, "grad_norms");
        for (uint32_t i = 0; i < stage->update.trained_count; ++i) {
            double square;
            ONS_TRY(ons_local_stages_square(t->local_stages, i, &square));
            ons_json_put_double(w, ons_graph_value(stage->graph, stage->update.trained[i].parameter)->name,
                                sqrt(square) / (r->loss_scale > 0 ? r->loss_scale : 1));
        }
        ons_json_end_object(w);
    }
    if (r->validated) {
        ons_json_put_double(w, "val_loss", r->validation_loss);
        if (!isnan(r->validation_accuracy)) ons_json_put_double(w, "val_accuracy", r->validation_accuracy);
    }
    if (r->warning != NULL) ons_json_put_text(w, "warning", r->warning);
    return ons_log_json_end(t->log);
}

static ons_status *log_board(ons_trainer *t, const ons_step_report *r) {
    const struct {
        const char *tag;
        double value;
    } scalars[] = {
        {"loss", r->loss},
        {"lr", r->learning_rate},
        {"grad_norm", r->grad_norm},
        {"loss_scale", r->loss_scale > 0 ? r->loss_scale : NAN},
        {"samples_per_s", r->samples_per_second},
        {"val_loss", r->validated ? r->validation_loss : NAN},
        {"val_accuracy", r->validated ? r->validation_accuracy : NAN},
    };
    double now = wall_time();
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; ++i)
        if (!isnan(scalars[i].value))
            ONS_TRY(ons_tensorboard_scalar(t->board, scalars[i].tag, (uint64_t)r->step, now, scalars[i].value));
    return r->step % 64 == 0 || r->validated ? ons_tensorboard_flush(t->board) : NULL;
}

/* The first failure is kept for the end. */
static void keep_failure(ons_trainer *t, ons_status *failure) {
    if (t->log_failure == NULL)
        t->log_failure = failure;
    else
        ons_status_free(failure);
}

static void give_up_log(ons_trainer *t, ons_status *failure) {
    ons_log_json_close(t->log);
    t->log = NULL;
    keep_failure(t, failure);
}

static void give_up_board(ons_trainer *t, ons_status *failure) {
    ons_status_free(ons_tensorboard_close(t->board));
    t->board = NULL;
    keep_failure(t, failure);
}

void ons_trainer_sync_log(ons_trainer *t) {
    ons_status *status = t->log == NULL ? NULL : ons_log_json_sync(t->log);
    if (status != NULL) give_up_log(t, status);
}

void ons_trainer_log_step(ons_trainer *t, ons_step_report *report) {
    bool logged = t->log != NULL, drawn = t->board != NULL;
    ons_status *status = logged ? log_json(t, report) : NULL;
    if (status != NULL) give_up_log(t, status);
    status = drawn ? log_board(t, report) : NULL;
    if (status != NULL) give_up_board(t, status);
    bool lost = (logged && t->log == NULL) || (drawn && t->board == NULL);
    if (lost)
        report->warning =
            ons_arena_format(t->arena, "%s; the run goes on without it", ons_status_get_message(t->log_failure));
}

void ons_trainer_watch_recordings(ons_trainer *t, ons_step_report *report) {
    for (uint32_t i = 0; t->unkept == NULL && i < ons_local_stages_count(t->local_stages); ++i) {
        size_t kept;
        const char *reason = ons_worker_unkept(ons_local_stages_get(t->local_stages, i)->worker, &kept);
        if (reason == NULL) continue;
        t->unkept = ons_arena_format(
            t->arena,
            kept == 0 ? "steps are not repeated as CUDA graphs, their work is put on the GPU's streams: %s"
                      : "not all steps are repeated as CUDA graphs, the others' work is put on the GPU's "
                        "streams: %s",
            reason);
        report->warning = t->unkept;
    }
}

static bool find_room(const char *folder, uint64_t *room) {
    struct statvfs found;
    if (statvfs(folder, &found) != 0) return false;
    *room = (uint64_t)found.f_bavail * found.f_frsize;
    return true;
}

void ons_trainer_watch_room(ons_trainer *t, ons_step_report *report) {
    bool due = t->config->checkpoint != NULL && ons_trainer_leads(t) && !t->room_told && !ons_trainer_done(t) &&
               (t->step == 1 || report->checkpointed);
    if (!due || report->warning != NULL) return;
    uint64_t bytes = ons_trainer_checkpoint_bytes(t), room;
    bool known = find_room(t->config->checkpoint, &room);
    if (known && room < bytes) {
        ons_removal_wait(); /* of what the last checkpoint removed */
        known = find_room(t->config->checkpoint, &room);
    }
    if (!known || room >= bytes) return;
    char has[ONS_BYTES_TEXT], needs[ONS_BYTES_TEXT];
    t->room_told = true;
    report->warning = ons_arena_format(
        t->arena, "--checkpoint %s: there is room for %s, and the next checkpoint takes %s; make room before it is due",
        t->config->checkpoint, ons_bytes_print((double)room, has), ons_bytes_print((double)bytes, needs));
}

ons_status *ons_trainer_finish(ons_trainer *t) {
    ONS_IN_C_LOCALE;
    ONS_GIVEN(t, "trainer");
    ONS_TRAINER_IS_HERE(t);
    ons_trainer_sync_log(t);
    ons_status *board = ons_tensorboard_close(t->board);
    t->board = NULL;
    ons_status *status = t->trace == NULL ? NULL : ons_trainer_write_trace(t);
    ons_status *all[] = {t->log_failure, status, board};
    t->log_failure = NULL;
    status = NULL;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        if (status == NULL)
            status = all[i];
        else
            ons_status_free(all[i]);
    }
    return status;
}

void ons_trainer_close_logs(ons_trainer *t) {
    ons_log_json_close(t->log);
    ons_status_free(ons_tensorboard_close(t->board));
    ons_trace_free(t->trace);
    ons_status_free(t->log_failure);
    t->log_failure = NULL;
    t->log = NULL;
    t->board = NULL;
    t->trace = NULL;
}
