#include "tests/rooms/planner/event_graph.h"

#include <stdio.h>
#include <stdlib.h>

static void *grow(void *items, size_t count, size_t *space, size_t size) {
    if (count < *space) return items;
    *space = *space == 0 ? 256 : 2 * *space;
    items = realloc(items, *space * size);
    if (items == NULL) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return items;
}

uint32_t event_graph_add(event_graph *g, double seconds) {
    g->seconds = grow(g->seconds, g->events, &g->event_space, sizeof *g->seconds);
    g->seconds[g->events] = seconds;
    return (uint32_t)g->events++;
}

void event_graph_wait_early(event_graph *g, uint32_t after, uint32_t before, double early) {
    if (after == NO_EVENT || before == NO_EVENT) return;
    g->arrows = grow(g->arrows, g->arrow_count, &g->arrow_space, sizeof *g->arrows);
    g->arrows[g->arrow_count++] = (struct event_arrow){before, after, early};
}

void event_graph_wait(event_graph *g, uint32_t after, uint32_t before) { event_graph_wait_early(g, after, before, 0); }

typedef struct walk {
    const event_graph *g;
    size_t *first;   /* [event]: its arrows in `arrow` */
    size_t *arrow;   /* their numbers, by event */
    uint32_t *waits; /* [event]: for so many that have not ended */
    uint32_t *ready; /* events that wait for nothing any more */
    double *begin;   /* [event] */
} walk;

static void sort_arrows(walk *w) {
    const event_graph *g = w->g;
    for (size_t i = 0; i < g->arrow_count; ++i) {
        ++w->first[g->arrows[i].before + 2];
        ++w->waits[g->arrows[i].after];
    }
    for (size_t i = 2; i <= g->events; ++i) w->first[i] += w->first[i - 1];
    for (size_t i = 0; i < g->arrow_count; ++i) w->arrow[w->first[g->arrows[i].before + 1]++] = i;
}

static bool follow(walk *w, double *end) {
    const event_graph *g = w->g;
    size_t ready = 0, done = 0;
    *end = 0;
    for (size_t i = 0; i < g->events; ++i)
        if (w->waits[i] == 0) w->ready[ready++] = (uint32_t)i;
    for (; done < ready; ++done) {
        uint32_t event = w->ready[done];
        double ended = w->begin[event] + g->seconds[event];
        if (ended > *end) *end = ended;
        for (size_t i = w->first[event]; i < w->first[event + 1]; ++i) {
            const struct event_arrow *arrow = &g->arrows[w->arrow[i]];
            uint32_t after = arrow->after;
            if (ended - arrow->early > w->begin[after]) w->begin[after] = ended - arrow->early;
            if (--w->waits[after] == 0) w->ready[ready++] = after;
        }
    }
    return done == g->events;
}

bool event_graph_end(const event_graph *g, double *end) {
    walk w = {.g = g};
    w.first = calloc(g->events + 3, sizeof *w.first);
    w.arrow = calloc(g->arrow_count + 1, sizeof *w.arrow);
    w.waits = calloc(g->events + 1, sizeof *w.waits);
    w.ready = calloc(g->events + 1, sizeof *w.ready);
    w.begin = calloc(g->events + 1, sizeof *w.begin);
    if (w.first == NULL || w.arrow == NULL || w.waits == NULL || w.ready == NULL || w.begin == NULL) abort();
    sort_arrows(&w);
    bool ends = follow(&w, end);
    free(w.first);
    free(w.arrow);
    free(w.waits);
    free(w.ready);
    free(w.begin);
    return ends;
}

void event_graph_free(event_graph *g) {
    free(g->seconds);
    free(g->arrows);
    *g = (event_graph){0};
}
