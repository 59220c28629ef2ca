/* A run that is killed again and again, at any moment, and resumed ends with the same losses, weights and file as one
 * that was left alone.
 *
 * Training happens in child processes, which are killed in two ways: from outside at random times, and by their own
 * hand at every single system call with which a checkpoint is written (this program's fsync, rename and unlink are
 * wrapped). */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

enum { STEPS = 72, EVERY = 3, KILLS = 12, AHEAD = 5 };

/* ----------------------------------------------------------------------------------------------------- system calls */

int __real_fsync(int descriptor);
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
ssize_t __real_write(int descriptor, const void *bytes, size_t size);
int __wrap_fsync(int descriptor);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
ssize_t __wrap_write(int descriptor, const void *bytes, size_t size);

static int calls_to_live; /* half system calls (before, after) until this process kills itself; 0: it never does */

static void maybe_die(void) {
    if (calls_to_live > 0 && --calls_to_live == 0) kill(getpid(), SIGKILL);
}

int __wrap_fsync(int descriptor) {
    maybe_die();
    int result = __real_fsync(descriptor);
    maybe_die();
    return result;
}

int __wrap_rename(const char *from, const char *to) {
    maybe_die();
    int result = __real_rename(from, to);
    maybe_die();
    return result;
}

int __wrap_unlink(const char *path) {
    maybe_die();
    int result = __real_unlink(path);
    maybe_die();
    return result;
}

/* Dies before, in the middle, and after. */
ssize_t __wrap_write(int descriptor, const void *bytes, size_t size) {
    maybe_die();
    if (calls_to_live == 1) (void)!__real_write(descriptor, bytes, size / 2);
    maybe_die();
    return __real_write(descriptor, bytes, size);
}

/* ----------------------------------------------------------------------------------------------------- the children */

typedef struct setting {
    const char *model;
    const char *options[12]; /* names and values in turn */
    int steps;
} setting;

typedef struct place {
    char folder[PATH_BYTES], checkpoint[PATH_BYTES + 16], log[PATH_BYTES + 16], out[PATH_BYTES + 16],
        weights[PATH_BYTES + 16];
} place;

static place make_place(const char *name) {
    place p;
    scratch_path(p.folder, name);
    cr_assert(mkdir(p.folder, 0777) == 0);
    snprintf(p.checkpoint, sizeof p.checkpoint, "%s/checkpoint", p.folder);
    snprintf(p.log, sizeof p.log, "%s/log.jsonl", p.folder);
    snprintf(p.out, sizeof p.out, "%s/out.onnx", p.folder);
    snprintf(p.weights, sizeof p.weights, "%s/weights", p.folder);
    return p;
}

/* What a child tells its parent while it lives. */
typedef struct shared {
    _Atomic int step;
    _Atomic int limit; /* told by the parent: the child waits for its end after so many steps; 0: it never does */
} shared;

static void check(ons_status *status) {
    if (status == NULL) return;
    fprintf(stderr, "%s\n", ons_status_get_message(status));
    _exit(1);
}

/* Trains to the end, or dies on the way. `die_in_step`: calls_to_live is set there. */
static _Noreturn void train(const setting *s, const place *p, shared *progress, int die_in_step, int calls) {
    run r = run_golden(s->model);
    for (int i = 0; s->options[i] != NULL; i += 2) check(ons_config_set(r.config, s->options[i], s->options[i + 1]));
    char number[16];
    snprintf(number, sizeof number, "%d", s->steps);
    check(ons_config_set(r.config, "steps", number));
    check(ons_config_set(r.config, "shuffle", "true"));
    check(ons_config_set(r.config, "checkpoint", p->checkpoint));
    snprintf(number, sizeof number, "%d", EVERY);
    check(ons_config_set(r.config, "checkpoint-every", number));
    check(ons_config_set(r.config, "resume", "true"));
    check(ons_config_set(r.config, "log-json", p->log));
    check(run_try_open(&r));
    while (!ons_trainer_done(r.trainer)) {
        ons_step_report report;
        ons_trainer_status now;
        check(ons_trainer_get_status(r.trainer, &now));
        for (int limit = atomic_load(&progress->limit); limit > 0 && now.step >= limit;) pause();
        calls_to_live = now.step + 1 == die_in_step ? calls : 0;
        check(ons_trainer_step(r.trainer, &report));
        atomic_store(&progress->step, (int)report.step);
    }
    calls_to_live = 0;
    check(ons_trainer_save(r.trainer, p->out));
    check(ons_trainer_finish(r.trainer));
    weights w = read_weights(&r);
    FILE *file = fopen(p->weights, "wb");
    bool written = file != NULL && fwrite(w.values, sizeof *w.values, w.count, file) == w.count && fclose(file) == 0;
    run_close(&r);
    _exit(written ? 0 : 1);
}

static pid_t start(const setting *s, const place *p, shared *progress, int die_in_step, int calls) {
    fflush(NULL);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) train(s, p, progress, die_in_step, calls);
    return child;
}

/* Whether the child was killed; anything else but success fails the test. */
static bool was_killed(pid_t child) {
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed, see its message above");
    return false;
}

/* -------------------------------------------------------------------------------------------------------- the kills */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void wait_microseconds(uint64_t microseconds) {
    struct timespec time = {(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000};
    nanosleep(&time, NULL);
}

/* Waits until the child has done some more steps (sometimes: none, so that it dies while starting) and kills it. */
static bool kill_at_random(pid_t child, shared *progress, int reached, uint64_t *random) {
    int target = reached + (int)(next_random(random) % (AHEAD + 1)), limit = atomic_load(&progress->limit);
    if (target > limit) target = limit;
    while (target > reached && atomic_load(&progress->step) < target) {
        siginfo_t ended = {.si_pid = 0};
        if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0) break;
        wait_microseconds(20);
    }
    wait_microseconds(next_random(random) % (target > reached ? 4000 : 30000));
    kill(child, SIGKILL);
    return was_killed(child);
}

static void remove_place(const place *p) {
    DIR *folder = opendir(p->checkpoint);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[PATH_BYTES * 2];
        snprintf(path, sizeof path, "%s/%s", p->checkpoint, entry->d_name);
        unlink(path);
    }
    if (folder != NULL) closedir(folder);
    rmdir(p->checkpoint);
    unlink(p->log), unlink(p->out), unlink(p->weights);
    rmdir(p->folder);
}

/* What the checkpoint folder holds: nothing half-written may be left in the end. */
static size_t count_leftovers(const place *p) {
    size_t count = 0;
    DIR *folder = opendir(p->checkpoint);
    cr_assert_not_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += strstr(entry->d_name, ".tmp") != NULL;
    closedir(folder);
    return count;
}

static void compare(const setting *s, const place *is, const place *should) {
    cr_assert(same_contents(is->weights, should->weights), "%s: the weights differ", s->model);
    cr_assert(same_contents(is->out, should->out), "%s: the exported files differ", s->model);
    log_lines a = read_log(is->log), b = read_log(should->log);
    cr_assert_eq(b.count, (size_t)s->steps);
    cr_assert_eq(a.count, (size_t)s->steps, "%s: %zu lines in the log", s->model, a.count);
    for (size_t i = 0; i < a.count; ++i) {
        cr_assert_eq(log_number(&a, i, "step"), (double)(i + 1), "%s: line %zu is of step %g", s->model, i + 1,
                     log_number(&a, i, "step"));
        cr_assert_eq(log_number(&a, i, "loss"), log_number(&b, i, "loss"), "%s: loss of step %zu is %.17g, was %.17g",
                     s->model, i + 1, log_number(&a, i, "loss"), log_number(&b, i, "loss"));
        cr_assert_eq(log_number(&a, i, "grad_norm"), log_number(&b, i, "grad_norm"));
        cr_assert_eq(log_number(&a, i, "lr"), log_number(&b, i, "lr"));
    }
    log_free(&a);
    log_free(&b);
    cr_assert_eq(count_leftovers(is), 0, "%s: temporary files are left", s->model);
}

static void kill_and_compare(const setting *s, uint64_t seed) {
    uint64_t random = seed;
    shared *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(progress, MAP_FAILED);
    place whole = make_place("whole"), killed = make_place("killed");
    cr_assert_not(was_killed(start(s, &whole, progress, 0, 0)));
    atomic_store(&progress->step, 0);
    for (int kills = 1; kills <= KILLS; ++kills) {
        int reached = atomic_load(&progress->step);
        /* However slow this process is to kill it, the child is not done before. */
        atomic_store(&progress->limit, s->steps * kills / KILLS - 1);
        bool dead = kill_at_random(start(s, &killed, progress, 0, 0), progress, reached, &random);
        cr_assert(dead, "%s, seed %llu: the run was over before kill %d", s->model, (unsigned long long)seed, kills);
    }
    atomic_store(&progress->limit, 0);
    cr_assert_not(was_killed(start(s, &killed, progress, 0, 0)));
    fprintf(stderr, "%s, seed %llu: killed %d times\n", s->model, (unsigned long long)seed, KILLS);
    compare(s, &killed, &whole);
    remove_place(&whole);
    remove_place(&killed);
    munmap(progress, sizeof *progress);
}

/* Dies at the first, second, third, … call while the second checkpoint is written, until it survives them all. Every
 * death is resumed once without dying. */
static void die_at_every_call(const setting *s) {
    shared *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(progress, MAP_FAILED);
    place whole = make_place("whole");
    cr_assert_not(was_killed(start(s, &whole, progress, 0, 0)));
    int deaths = 0;
    for (bool survived = false; !survived;) {
        place killed = make_place("killed");
        /* The third checkpoint removes the first: that is tried, too. */
        survived = !was_killed(start(s, &killed, progress, 3 * EVERY, deaths + 1));
        deaths += !survived;
        if (!survived) cr_assert_not(was_killed(start(s, &killed, progress, 0, 0)), "after dying at call %d", deaths);
        compare(s, &killed, &whole);
        remove_place(&killed);
    }
    fprintf(stderr, "%s: died at %d places\n", s->model, deaths);
    cr_assert_geq(deaths, 8, "only %d calls were met: the wrapped ones are not those that write checkpoints", deaths);
    remove_place(&whole);
    munmap(progress, sizeof *progress);
}

static const setting sgd = {.model = "mlp",
                            .options = {"optimizer", "sgd", "momentum", "0.9", "lr", "0.05", "lr-schedule", "cosine"},
                            .steps = 20 * STEPS}; /* it is quick: a kill comes up to a hundred steps later */
static const setting adamw = {
    .model = "gpt_tied",
    .options = {"optimizer", "adamw", "dropout", "0.1", "clip-norm", "1", "warmup", "9", "seed", "5"},
    .steps = STEPS};
static const setting batch_normalisation = {
    .model = "cnn_dynamic", .options = {"optimizer", "sgd", "momentum", "0.9", "lr", "0.02"}, .steps = STEPS};
static const setting short_run = {.model = "mlp", .options = {"optimizer", "adamw", "seed", "2"}, .steps = 4 * EVERY};

Test(resume, killed_with_momentum, .timeout = 200) { kill_and_compare(&sgd, 101); }

Test(resume, killed_with_adamw_dropout_and_warm_up, .timeout = 200) { kill_and_compare(&adamw, 102); }

Test(resume, killed_with_batch_normalisation, .timeout = 200) { kill_and_compare(&batch_normalisation, 103); }

Test(resume, killed_at_every_call_of_a_checkpoint, .timeout = 200) { die_at_every_call(&short_run); }
