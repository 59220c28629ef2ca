/* Events that wait for each other, and the longest path through them. */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_EVENT_GRAPH_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_EVENT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NO_EVENT = 0xffffffffu };

typedef struct event_graph {
    double *seconds; /* [event] */
    struct event_arrow {
        uint32_t before, after;
        double early;
    } * arrows;
    size_t events, arrow_count, event_space, arrow_space;
} event_graph;

uint32_t event_graph_add(event_graph *g, double seconds);
/* `after` begins when `before` has ended; nothing where either is NO_EVENT. */
void event_graph_wait(event_graph *g, uint32_t after, uint32_t before);
/* So many seconds earlier, while `before` goes on. */
void event_graph_wait_early(event_graph *g, uint32_t after, uint32_t before, double early);
/* The end of the last event; false: some wait for each other. */
bool event_graph_end(const event_graph *g, double *end);
void event_graph_free(event_graph *g);

#endif
