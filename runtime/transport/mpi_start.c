#include "runtime/transport/mpi_start.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"

static bool is_told(void) {
    static const ons_variable variables[] = {ONS_ENV_OMPI_COMM_WORLD_RANK, ONS_ENV_PMI_RANK, ONS_ENV_SLURM_PROCID};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i)
        if (ons_environment(variables[i]) != NULL) return strtol(ons_environment(variables[i]), NULL, 10) <= 1;
    return true;
}

static void *watch(void *argument) {
    ons_mpi_start *s = argument;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)s->seconds;
    pthread_mutex_lock(&s->lock);
    int error = 0;
    while (!s->over && error == 0) error = pthread_cond_timedwait(&s->ended, &s->lock, &until);
    if (!s->over) {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        fprintf(stderr,
                "onstage: MPI has not started for %g seconds on host %s: another process was stopped or has not begun, "
                "or its host is gone; this one waits, and Ctrl-C ends it\n",
                s->seconds, host);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void ons_mpi_start_begin(ons_mpi_start *s, double seconds) {
    *s = (ons_mpi_start){.seconds = seconds};
    if (!is_told()) return;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are not for this thread */
    s->started = pthread_create(&s->thread, NULL, watch, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ons_mpi_start_end(ons_mpi_start *s) {
    if (!s->started) return;
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_cond_signal(&s->ended);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->ended);
    pthread_mutex_destroy(&s->lock);
}
