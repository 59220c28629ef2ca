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
    float *x = ons_program_address_to_write(s->program, s->x, NULL);
    for (int i = 0; i < SIZE * SIZE; ++i) x[i] = (float)i;
    ons_step step = {.seed = 1, .step = 1, .counted_targets = 1, .sample_share = 1};
    for (ons_part part = 0; part < ONS_PART_KINDS; ++part)
        ons_program_run(s->program, part, &(ons_run){.step = &step, .fault = &s->fault});
}

static ons_builder begin_graph(scene *s, const ons_registry *registry) {
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(2, (const int64_t[]){SIZE, SIZE}));
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    must(ons_graph_add_value(s->graph, "x", ONS_INPUT, &type, &s->x));
    cr_assert(ons_vector_push(&s->graph->inputs, s->x));
    return (ons_builder){
        .graph = s->graph, .registry = registry, .phase = ONS_FORWARD, .origin = ONS_NONE, .name = "n"};
}

static void start(scene *s, const ons_registry *registry, uint32_t slots) {
    ons_device *device;
    cr_assert(ons_vector_push(&s->graph->outputs, s->sum));
    must(ons_cpu_device_new(0, false, &device));
    must(ons_device_context_new(device, registry, 1, &s->context));
    ons_program_options options = {.kept = &s->sum, .kept_count = 1, .slots = slots, .micro_batches = slots};
    must(ons_device_context_add(s->context, s->graph, &options, &s->program));
    must(ons_device_context_start(s->context));
}

/* The sum of x · x, kept; the product dies when it is added up. Runs twice, as what has died lives again. */
static void open_scene(scene *s) {
    *s = (scene){.fault = {.node = ONS_NONE}};
    const ons_registry *registry = ons_kernels_registry();
    ons_builder b = begin_graph(s, registry);
    s->product = ons_build(&b, ons_registry_find(registry, "", "MatMul", 17), ONS_IN(s->x, s->x), ONS_DEFAULTS);
    s->sum = ons_build(&b, ons_registry_role(registry, ONS_ROLE_REDUCE_SUM), ONS_IN(s->product), ONS_DEFAULTS);
    must(ons_builder_finish(&b));
    start(s, registry, 1);
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

/* ------------------------------------------------------------------------------------------ micro-batches in flight */

/* Forward: product = x · x, which stays until backward: again = product · x, whose sum is kept. */
typedef struct flight {
    scene s;
    ons_value_id again;
    uint32_t micro_batch;
    ons_part part;
} flight;

static void run_part(void *argument, uintptr_t native) {
    (void)native;
    flight *f = argument;
    const ons_part_place part_place = {.micro_batch = f->micro_batch};
    float *x = f->part == ONS_PART_FORWARD ? ons_program_address_to_write(f->s.program, f->s.x, &part_place) : NULL;
    for (int i = 0; x != NULL && i < SIZE * SIZE; ++i) x[i] = (float)(i % 4 + (int)f->micro_batch);
    ons_step step = {.seed = 1, .step = 1, .counted_targets = 1, .sample_share = 1};
    ons_program_run(f->s.program, f->part, &(ons_run){.step = &step, .part_place = &part_place, .fault = &f->s.fault});
}

static void fly(flight *f, ons_part part, uint32_t micro_batch) {
    f->part = part;
    f->micro_batch = micro_batch;
    ons_device_context_launch(f->s.context, run_part, f);
    ons_device_context_wait(f->s.context);
}

static const float *place(const flight *f, ons_value_id value, uint32_t micro_batch) {
    return ons_program_address(f->s.program, value, &(ons_part_place){.micro_batch = micro_batch});
}

static void open_flight(flight *f) {
    *f = (flight){.s = {.fault = {.node = ONS_NONE}}};
    scene *s = &f->s;
    const ons_registry *registry = ons_kernels_registry();
    ons_builder b = begin_graph(s, registry);
    s->product = ons_build(&b, ons_registry_find(registry, "", "MatMul", 17), ONS_IN(s->x, s->x), ONS_DEFAULTS);
    b.phase = ONS_INPUT_GRADIENT;
    f->again = ons_build(&b, ons_registry_find(registry, "", "MatMul", 17), ONS_IN(s->product, s->x), ONS_DEFAULTS);
    s->sum = ons_build(&b, ons_registry_role(registry, ONS_ROLE_REDUCE_SUM), ONS_IN(f->again), ONS_DEFAULTS);
    must(ons_builder_finish(&b));
    start(s, registry, 2);
    fly(f, ONS_PART_FORWARD, 0);
    fly(f, ONS_PART_FORWARD, 1);
}

static double cubed(int micro_batch) {
    double a[SIZE][SIZE], square[SIZE][SIZE] = {{0}}, sum = 0;
    for (int i = 0; i < SIZE * SIZE; ++i) a[i / SIZE][i % SIZE] = i % 4 + micro_batch;
    for (int i = 0; i < SIZE; ++i)
        for (int j = 0; j < SIZE; ++j)
            for (int k = 0; k < SIZE; ++k) square[i][j] += a[i][k] * a[k][j];
    for (int i = 0; i < SIZE; ++i)
        for (int j = 0; j < SIZE; ++j)
            for (int k = 0; k < SIZE; ++k) sum += square[i][k] * a[k][j];
    return sum;
}

Test(poison, what_a_micro_batch_keeps_for_its_backward_part_can_be_read) {
    flight f;
    open_flight(&f);
    for (uint32_t i = 0; i < 2; ++i) {
        fly(&f, ONS_PART_BACKWARD, i);
        cr_expect_eq(*place(&f, f.s.sum, i), cubed((int)i), "micro-batch %u", i);
    }
    close_scene(&f.s);
}

#if ONS_POISONS
Test(poison, the_backward_part_of_a_micro_batch_ends_what_was_kept_for_it) {
    flight f;
    open_flight(&f);
    fly(&f, ONS_PART_BACKWARD, 0);
    cr_expect(__asan_address_is_poisoned(place(&f, f.s.product, 0)));
    cr_expect_not(__asan_address_is_poisoned(place(&f, f.s.product, 1)));
    fly(&f, ONS_PART_FORWARD, 2); /* in the slot of the first */
    cr_expect_not(__asan_address_is_poisoned(place(&f, f.s.product, 0)));
    fly(&f, ONS_PART_BACKWARD, 1);
    cr_expect(__asan_address_is_poisoned(place(&f, f.s.product, 1)));
    close_scene(&f.s);
}

Test(poison, what_others_say_of_a_value_holds) {
    flight f;
    open_flight(&f);
    const ons_part_place second = {.micro_batch = 1};
    ons_program_bury(f.s.program, f.s.product, &second);
    cr_expect(__asan_address_is_poisoned(place(&f, f.s.product, 1)));
    cr_expect_not(__asan_address_is_poisoned(place(&f, f.s.product, 0)));
    ons_program_revive(f.s.program, f.s.product, &second);
    cr_expect_not(__asan_address_is_poisoned(place(&f, f.s.product, 1)));
    close_scene(&f.s);
}

static void read_at(const char *address) {
    volatile char taken = *(const volatile char *)address;
    (void)taken;
}

Test(poison, a_read_of_a_dead_value_is_reported, .exit_code = 1) {
    scene s;
    open_scene(&s);
    read_at(ons_program_address(s.program, s.product, NULL));
}

Test(poison, a_read_of_what_a_micro_batch_kept_is_reported, .exit_code = 1) {
    flight f;
    open_flight(&f);
    fly(&f, ONS_PART_BACKWARD, 0);
    read_at((const char *)place(&f, f.s.product, 0));
}

Test(poison, a_read_between_two_buffers_is_reported, .exit_code = 1) {
    scene s;
    open_scene(&s);
    read_at((const char *)ons_program_address(s.program, s.sum, NULL) + sizeof(float));
}
#endif
