/* Under the address sanitizer a program's memory that holds nothing is poisoned: what is read there is reported. */
#include <criterion/criterion.h>

#include "graph/build.h"
#include "kernels/kernels.h"
#include "runtime/program/device_context.h"
#include "runtime/program/poison.h"

enum { SIZE = 7 }; /* a matrix of 49 floats: 60 bytes short of a multiple of the alignment */

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_value_id x, product, sum;
    ons_device_context *context;
    ons_program *program;
    ons_program_fault fault;
} scene;

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

static void run_program(void *argument, uintptr_t native) {
    (void)native;
    scene *s = argument;
    float *x = ons_program_address(s->program, s->x, NULL);
    for (int i = 0; i < SIZE * SIZE; ++i) x[i] = (float)i;
    ons_step step = {.seed = 1, .step = 1, .counted_targets = 1, .sample_share = 1};
    for (ons_part part = 0; part < ONS_PART_KINDS; ++part)
        ons_program_run(s->program, part, &(ons_run){.step = &step, .fault = &s->fault});
}

/* The sum of x · x, kept; the product dies when it is added up. Runs twice, as what has died lives again. */
static void open_scene(scene *s) {
    *s = (scene){.fault = {.node = ONS_NONE}};
    const ons_registry *registry = ons_kernels_registry();
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){SIZE, SIZE}));
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    must(ons_graph_add_value(s->graph, "x", ONS_INPUT, &type, &s->x));
    cr_assert(ons_vector_push(&s->graph->inputs, s->x));
    ons_builder b = {.graph = s->graph, .registry = registry, .phase = ONS_FORWARD, .origin = ONS_NONE, .name = "n"};
    s->product = ons_build(&b, ons_registry_find(registry, "", "MatMul", 17), ONS_IN(s->x, s->x), ONS_DEFAULTS);
    s->sum = ons_build(&b, ons_registry_role(registry, ONS_ROLE_REDUCE_SUM), ONS_IN(s->product), ONS_DEFAULTS);
    must(ons_builder_finish(&b));
    cr_assert(ons_vector_push(&s->graph->outputs, s->sum));
    ons_device *device;
    must(ons_cpu_device_new(0, false, &device));
    must(ons_device_context_new(device, registry, 1, &s->context));
    ons_program_options options = {.kept = &s->sum, .kept_count = 1};
    must(ons_device_context_add(s->context, s->graph, &options, &s->program));
    must(ons_device_context_start(s->context));
    for (int run = 0; run < 2; ++run) {
        ons_device_context_launch(s->context, run_program, s);
        ons_device_context_wait(s->context);
    }
}

static void close_scene(scene *s) {
    ons_device_context_free(s->context);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

Test(poison, what_is_kept_can_be_read) {
    scene s;
    double expected = 0;
    for (int i = 0; i < SIZE; ++i)
        for (int k = 0; k < SIZE; ++k)
            for (int j = 0; j < SIZE; ++j) expected += (i * SIZE + k) * (k * SIZE + j);
    open_scene(&s);
    cr_expect_eq(*(const float *)ons_program_address(s.program, s.sum, NULL), expected);
    close_scene(&s);
}

#if ONS_POISONS
static void read_at(const char *address) {
    volatile char taken = *(const volatile char *)address;
    (void)taken;
}

Test(poison, a_read_of_a_dead_value_is_reported, .exit_code = 1) {
    scene s;
    open_scene(&s);
    read_at(ons_program_address(s.program, s.product, NULL));
}

Test(poison, a_read_between_two_buffers_is_reported, .exit_code = 1) {
    scene s;
    open_scene(&s);
    read_at((const char *)ons_program_address(s.program, s.sum, NULL) + sizeof(float));
}
#endif
