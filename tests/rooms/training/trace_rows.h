/* A run's trace as the rows that a person sees. */
#ifndef ONSTAGE_TESTS_ROOMS_TRAINING_TRACE_ROWS_H
#define ONSTAGE_TESTS_ROOMS_TRAINING_TRACE_ROWS_H

enum { TRACE_ROWS_MOST = 64 };

typedef struct trace_row {
    int stage, thread;
    char name[64];
    double begin, end, busy; /* microseconds: of the first event, of the latest, of all */
    int events, swaps;
    double bytes;
} trace_row;

typedef struct trace_rows {
    trace_row items[TRACE_ROWS_MOST];
    int count;
} trace_rows;

/* Fails the test where an event is lost, or one begins on a row before the event before it ends. */
trace_rows read_trace(const char *path);
/* Fails the test where the stage has no such row. */
const trace_row *find_trace_row(const trace_rows *rows, int stage, const char *name);

#endif
