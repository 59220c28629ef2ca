/* The verifier lets good graphs pass and finds what is broken in the others. */
#include <criterion/criterion.h>

#include "tests/rooms/graph/fixture.h"

typedef struct chain {
    scene *s;
    ons_value_id x, w, sum, out;
    ons_node_id add, relu;
} chain;

/* out = Relu(x + w) */
static chain open_chain(void) {
    chain c = {.s = scene_open()};
    c.x = add_input(c.s, "x", SHAPE(2, 3));
    c.w = add_parameter(c.s, "w", SHAPE(3));
    c.sum = apply2(c.s, "Add", c.x, c.w);
    c.out = apply1(c.s, "Relu", c.sum);
    add_output(c.s, c.out);
    c.add = ons_graph_value(c.s->graph, c.sum)->producer;
    c.relu = ons_graph_value(c.s->graph, c.out)->producer;
    must(ons_graph_verify(c.s->graph));
    return c;
}

static void expect_broken(chain *c, const char *words) {
    must_fail(ons_graph_verify(c->s->graph), ONS_DEFECT, words);
    scene_close(c->s);
}

Test(verify, wrong_shape) {
    chain c = open_chain();
    ons_graph_value(c.s->graph, c.sum)->type.shape.dims[1] = 4;
    expect_broken(&c, "float32[2,4]");
}

Test(verify, wrong_element_type) {
    chain c = open_chain();
    ons_graph_value(c.s->graph, c.out)->type.dtype = ONS_FLOAT64;
    expect_broken(&c, "float64[2,3]");
}

Test(verify, used_before_it_is_made) {
    chain c = open_chain();
    ons_graph_node(c.s->graph, c.add)->inputs[1] = c.out;
    expect_broken(&c, "made after it is used");
}

Test(verify, depends_on_itself) {
    chain c = open_chain();
    ons_graph_node(c.s->graph, c.relu)->inputs[0] = c.out;
    expect_broken(&c, "made after it is used");
}

Test(verify, no_such_value) {
    chain c = open_chain();
    ons_graph_node(c.s->graph, c.relu)->inputs[0] = 1000;
    expect_broken(&c, "has no value");
}

Test(verify, two_producers) {
    chain c = open_chain();
    ons_graph_value(c.s->graph, c.out)->producer = c.add;
    expect_broken(&c, "two producers");
}

Test(verify, update_in_every_micro_batch) {
    chain c = open_chain();
    ons_graph_node(c.s->graph, c.relu)->phase = ONS_UPDATE;
    expect_broken(&c, "update");
}

Test(verify, origin_is_gone) {
    chain c = open_chain();
    ons_graph_node(c.s->graph, c.relu)->origin = 77;
    expect_broken(&c, "origin");
}

Test(verify, too_few_inputs) {
    chain c = open_chain();
    ons_graph_node(c.s->graph, c.add)->input_count = 1;
    ons_status *status = ons_graph_verify(c.s->graph);
    cr_assert_not_null(status);
    ons_status_free(status);
    scene_close(c.s);
}

Test(verify, output_is_never_made) {
    chain c = open_chain();
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(2));
    ons_value_id ghost;
    must(ons_graph_add_value(c.s->graph, "ghost", ONS_ACTIVATION, &type, &ghost));
    ons_graph_value(c.s->graph, ghost)->producer = 9;
    add_output(c.s, ghost);
    expect_broken(&c, "never made");
}
