/* MPI_Init waits for every process without a limit, and prints nothing. Where that takes long, this prints why. */
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

/* Starts a thread that prints one line to standard error unless ons_mpi_start_end is called within so many seconds.
 * Only ranks 0 and 1 do so: one of the two may be the process that is missing. Prints nothing where no thread can be
 * made. */
void ons_mpi_start_begin(ons_mpi_start *start, double seconds);
/* The processes are there, or will not be. */
void ons_mpi_start_end(ons_mpi_start *start);

#endif
