#include "tests/rooms/graph/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

void must_fail(ons_status *status, ons_status_code code, const char *words) {
    const char *message = ons_status_get_message(status);
    cr_assert_eq(ons_status_get_code(status), code, "status %d instead of %d: %s", ons_status_get_code(status), code,
                 message);
    cr_assert_not_null(strstr(message, words), "'%s' is not in '%s'", words, message);
    ons_status_free(status);
}

scene *scene_open(void) {
    scene *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    s->registry = ons_kernels_registry();
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    s->builder = (ons_builder){.graph = s->graph, .registry = s->registry, .phase = ONS_FORWARD, .origin = ONS_NONE};
    return s;
}

void scene_close(scene *s) {
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
    free(s);
}

static ons_value_id add_source(scene *s, const char *name, ons_value_kind kind, ons_shape shape) {
    ons_type type = ons_type_make(ONS_FLOAT32, shape);
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, kind, &type, &id));
    return id;
}

ons_value_id add_input(scene *s, const char *name, ons_shape shape) {
    ons_value_id id = add_source(s, name, ONS_INPUT, shape);
    cr_assert(ons_vector_push(&s->graph->inputs, id));
    return id;
}

ons_value_id add_parameter(scene *s, const char *name, ons_shape shape) {
    return add_source(s, name, ONS_PARAMETER, shape);
}

void add_output(scene *s, ons_value_id value) {
    cr_assert_neq(value, ONS_NONE);
    cr_assert(ons_vector_push(&s->graph->outputs, value));
}

const ons_operator *find_operator(const scene *s, const char *name) {
    const ons_operator *op = ons_registry_find(s->registry, "", name, 17);
    cr_assert_not_null(op, "there is no operator %s", name);
    return op;
}

static ons_value_id finish(scene *s, ons_value_id result) {
    must(ons_builder_finish(&s->builder));
    cr_assert_neq(result, ONS_NONE);
    return result;
}

ons_value_id apply1(scene *s, const char *op, ons_value_id a) {
    return finish(s, ons_build(&s->builder, find_operator(s, op), ONS_IN(a), ONS_DEFAULTS));
}

ons_value_id apply2(scene *s, const char *op, ons_value_id a, ons_value_id b) {
    return finish(s, ons_build(&s->builder, find_operator(s, op), ONS_IN(a, b), ONS_DEFAULTS));
}

size_t count_nodes(const ons_graph *graph, const char *op) {
    size_t count = 0;
    for (size_t i = 0; i < graph->nodes.count; ++i) count += strcmp(graph->nodes.items[i].op->name, op) == 0;
    return count;
}

uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}
