/* The gradient of a norm that adds what is added before or behind it. The emulated GPU, which joins no multiplication
 * with an addition, has the bits of the sum and the gradient in a row in float32. In half types a sum behind is rounded
 * once less, and so it is where processors multiply and add at once, as the CPU's do; nothing else changes. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/bits_target.h"
#include "tests/rooms/kernels/graph_run.h"

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

typedef struct form {
    const ons_operator *gradient;
    int64_t rows, columns;
    ons_dtype dtype;
    bool before, behind; /* what is added to the cotangent, and to x's gradient */
    bool sums;           /* somebody reads the gradients of scale and bias */
} form;

enum { DX, DSCALE, DBIAS, RESULTS };

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    ons_value_id results[RESULTS], own; /* own: x's gradient before anything is added to it */
    uint32_t count;
    void **values;
} scene;

static ons_value_id source(scene *s, const char *name, ons_value_kind kind, ons_dtype dtype, int64_t rows,
                           int64_t columns) {
    ons_type type = ons_type_make(dtype, rows == 0 ? ons_shape_make(1, &columns)
                                                   : ons_shape_make(2, (const int64_t[]){rows, columns}));
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, kind, &type, &id));
    return id;
}

static ons_value_id sum(scene *s, ons_value_id a, ons_value_id b) {
    return ons_build(&s->builder, &ons_op_add, ONS_IN(a, b), ONS_DEFAULTS);
}

static void run(scene *s, const form *f, bool one) {
    memset(s, 0, sizeof *s);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    s->builder = (ons_builder){
        .graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_INPUT_GRADIENT, .origin = ONS_NONE};
    bool centred = f->gradient == &ons_op_layer_normalization_gradient;
    ons_value_id inputs[7], more = ONS_NONE, added = ONS_NONE;
    uint32_t count = 0;
    inputs[count++] = source(s, "dy", ONS_INPUT, f->dtype, f->rows, f->columns);
    inputs[count++] = source(s, "x", ONS_INPUT, f->dtype, f->rows, f->columns);
    inputs[count++] = source(s, "scale", ONS_INPUT, ONS_FLOAT32, 0, f->columns);
    if (centred) inputs[count++] = source(s, "mean", ONS_INPUT, ONS_FLOAT32, f->rows, 1);
    inputs[count++] = source(s, "inverse", ONS_BUFFER, ONS_FLOAT32, f->rows, 1);
    if (f->before) more = source(s, "more", ONS_INPUT, f->dtype, f->rows, f->columns);
    if (f->behind) added = source(s, "added", ONS_INPUT, f->dtype, f->rows, f->columns);
    if (one) {
        inputs[count++] = added;
        inputs[count++] = more;
    } else if (f->before) {
        inputs[0] = sum(s, inputs[0], more);
    }
    s->count = !f->sums ? 1 : centred ? 3 : 2;
    ons_build_node(&s->builder, f->gradient, (ons_inputs){inputs, count}, ONS_DEFAULTS, s->count, NULL, s->results);
    s->own = s->results[DX];
    if (!one && f->behind) s->results[DX] = sum(s, s->own, added);
    must(ons_builder_finish(&s->builder));
    must(ons_graph_run(s->graph, bits_target, &s->values));
}

static void close_scene(scene *s) {
    ons_graph_run_free(s->graph, s->values);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static double number(const scene *s, ons_value_id id, int64_t i) {
    ons_dtype dtype = ons_graph_value(s->graph, id)->type.dtype;
    double word;
    ons_widen(dtype, (const char *)s->values[id] + i * (int64_t)ons_dtype_size(dtype), 1, &word);
    return word;
}

/* Whether the sum behind the gradient takes what has not been rounded yet. */
static bool rounds_less(const form *f) {
    return f->behind && (f->dtype != ONS_FLOAT32 || bits_target == &ons_target_cpu);
}

/* Each of both sums is rounded once, and of the two nodes in a row the summand has been, too. */
static void expect_one_rounding_less(const scene *apart, const scene *one, const form *f) {
    double roundoff = f->dtype == ONS_FLOAT32 ? 0x1p-24 : f->dtype == ONS_FLOAT16 ? 0x1p-11 : 0x1p-8;
    for (int64_t i = 0; i < f->rows * f->columns; ++i) {
        double is = number(one, one->results[DX], i), should = number(apart, apart->results[DX], i);
        double most = 1.02 * roundoff * (fabs(number(apart, apart->own, i)) + 2 * fabs(should));
        if (f->dtype == ONS_FLOAT16) most += 0x1p-24; /* below its smallest normal number */
        cr_assert(fabs(is - should) <= most, "%s, %s, element %lld: %g instead of %g", f->gradient->name,
                  ons_dtype_name(f->dtype), (long long)i, is, should);
    }
}

static void compare(const form *f) {
    scene apart, one;
    run(&apart, f, false);
    run(&one, f, true);
    for (uint32_t i = 0; i < apart.count; ++i) {
        const ons_type *type = &ons_graph_value(apart.graph, apart.results[i])->type;
        cr_assert(ons_type_equal(type, &ons_graph_value(one.graph, one.results[i])->type));
        if (i == DX && rounds_less(f))
            expect_one_rounding_less(&apart, &one, f);
        else
            cr_expect(memcmp(apart.values[apart.results[i]], one.values[one.results[i]],
                             (size_t)ons_type_dense_bytes(type)) == 0,
                      "%s, %lld × %lld, %s, sums before %d, behind %d: result %u of %u", f->gradient->name,
                      (long long)f->rows, (long long)f->columns, ons_dtype_name(f->dtype), f->before, f->behind, i,
                      apart.count);
    }
    close_scene(&apart);
    close_scene(&one);
}

/* Rows of a warp, of a block, that do not come in packs of 16 bytes, and longer than registers hold. */
static void compare_shapes(form f) {
    static const int64_t shapes[][2] = {{5, 7}, {70, 72}, {6, 1024}, {35, 1032}, {301, 100}, {2, 8200}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int kind = 0; kind < 4; ++kind) {
            f.rows = shapes[i][0];
            f.columns = shapes[i][1];
            f.gradient = kind % 2 == 0 ? &ons_op_layer_normalization_gradient : &ons_op_rms_normalization_gradient;
            f.sums = kind < 2;
            compare(&f);
        }
}

Test(norm_gradient_bits, of_a_sum_behind) { compare_shapes((form){.dtype = ONS_FLOAT32, .behind = true}); }

Test(norm_gradient_bits, of_a_sum_before) { compare_shapes((form){.dtype = ONS_FLOAT32, .before = true}); }

Test(norm_gradient_bits, of_both_sums) { compare_shapes((form){.dtype = ONS_FLOAT32, .before = true, .behind = true}); }

Test(norm_gradient_bits, of_half_types) {
    if (bits_target == &ons_target_cpu) cr_skip_test("kernels for half types are a GPU's");
    compare_shapes((form){.dtype = ONS_BFLOAT16, .behind = true});
    compare_shapes((form){.dtype = ONS_FLOAT16, .behind = true});
}
