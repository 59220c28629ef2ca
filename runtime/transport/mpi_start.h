/* MPI's start waits for every process, for ever and without a word: where it takes long, the user is told why. */
#ifndef ONSTAGE_RUNTIME_TRANSPORT_MPI_START_H
#define ONSTAGE_RUNTIME_TRANSPORT_MPI_START_H

#include <pthread.h>
#include <stdbool.h>

typedef struct ons_mpi_start {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    double seconds;
    bool started, over;
} ons_mpi_start;

/* From here on the start has so many seconds; then ranks 0 and 1 write one line each to standard error: either may be
 * the one that does not come. Without a thread to spare nothing is told. */
void ons_mpi_start_begin(ons_mpi_start *start, double seconds);
/* The processes are there, or will not be. */
void ons_mpi_start_end(ons_mpi_start *start);

#endif
