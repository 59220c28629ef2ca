/* Small graphs of real operators, built in a few lines, for tests of the passes. */
#ifndef ONSTAGE_TESTS_ROOMS_GRAPH_FIXTURE_H
#define ONSTAGE_TESTS_ROOMS_GRAPH_FIXTURE_H

#include "graph/build.h"
#include "graph/registry.h"

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    const ons_registry *registry;
} scene;

/* Fails the test with the status's message. */
void must(ons_status *status);
/* Fails the test unless the status has this code and words in its message; frees it. */
void must_fail(ons_status *status, ons_status_code code, const char *words);

scene *scene_open(void);
void scene_close(scene *s);

/* float32 of these dims; an input is also among the graph's inputs. */
#define SHAPE(...) ons_shape_make(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})
ons_value_id add_input(scene *s, const char *name, ons_shape shape);
ons_value_id add_parameter(scene *s, const char *name, ons_shape shape);
void add_output(scene *s, ons_value_id value);

/* Today's operator of this ONNX name. */
const ons_operator *find_operator(const scene *s, const char *name);
/* A node with one output; fails the test where it cannot be built. */
ons_value_id apply1(scene *s, const char *op, ons_value_id a);
ons_value_id apply2(scene *s, const char *op, ons_value_id a, ons_value_id b);

/* How many nodes are of that operator. */
size_t count_nodes(const ons_graph *graph, const char *op);

/* Reproducible numbers. */
uint64_t next_random(uint64_t *state);

#endif
