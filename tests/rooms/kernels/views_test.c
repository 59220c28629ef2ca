/* Where a view says that its elements lie is where moving them takes them from: random chains of moves over numbers
 * that count the base's elements. ONSTAGE_TEST_SEED repeats a run. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "kernels/common/layout/axes.h"
#include "kernels/common/layout/views.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"
#include "tests/rooms/kernels/harness.h"

enum { CHAINS = 400, MOVES_MOST = 6 };

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    uint64_t state; /* of the random numbers */
    bool scaled;
} scene;

static int64_t draw(scene *s, int64_t below) {
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((s->state >> 33) % (uint64_t)below);
}

static ons_value_id integer(scene *s, int64_t value) { return ons_build_integers(&s->builder, &value, 1); }

static ons_value_id reshape(scene *s, ons_value_id x, int64_t elements) {
    ons_shape shape = {.rank = 1 + (uint32_t)draw(s, 5)};
    for (uint32_t i = 0; i < shape.rank; ++i) {
        shape.dims[i] = i + 1 == shape.rank ? elements : 1 + draw(s, 6);
        while (elements % shape.dims[i] != 0) --shape.dims[i];
        elements /= shape.dims[i];
    }
    return ons_build_reshape(&s->builder, x, &shape);
}

static ons_value_id transpose(scene *s, ons_value_id x, uint32_t rank) {
    int64_t perm[ONS_RANK_MAX];
    for (uint32_t i = 0; i < rank; ++i) perm[i] = i;
    for (uint32_t i = rank; i > 1; --i) {
        uint32_t k = (uint32_t)draw(s, i);
        int64_t last = perm[i - 1];
        perm[i - 1] = perm[k];
        perm[k] = last;
    }
    return ons_build(&s->builder, &ons_op_transpose, ONS_IN(x), ONS_WITH(ONS_AT_INTS(0, rank, perm)));
}

static ons_value_id slice(scene *s, ons_value_id x, int64_t axis, int64_t size) {
    int64_t begin = draw(s, size), end = begin + 1 + draw(s, size - begin);
    return ons_build(&s->builder, &ons_op_slice, ONS_IN(x, integer(s, begin), integer(s, end), integer(s, axis)),
                     ONS_DEFAULTS);
}

static ons_value_id split(scene *s, ons_value_id x, int64_t axis, int64_t size) {
    int64_t first = 1 + draw(s, size - 1), sizes[2] = {first, size - first};
    ons_value_id pieces[2];
    ons_build_node(&s->builder, &ons_op_split, ONS_IN(x, ons_build_integers(&s->builder, sizes, 2)),
                   ONS_WITH(ONS_AT_INT(0, axis)), 2, NULL, pieces);
    return pieces[draw(s, 2)];
}

static ons_value_id choose(scene *s, ons_value_id x, int64_t axis, int64_t size) {
    ons_type scalar = ons_type_make(ONS_INT64, (ons_shape){0});
    int64_t index = draw(s, 2 * size) - size;
    return ons_build(&s->builder, &ons_op_gather, ONS_IN(x, ons_build_constant(&s->builder, NULL, &scalar, &index)),
                     ONS_WITH(ONS_AT_INT(0, axis)));
}

static ons_value_id move(scene *s, ons_value_id x) {
    ons_type type = ons_builder_type(&s->builder, x);
    int64_t axis = draw(s, type.shape.rank), size = type.shape.dims[axis];
    switch (draw(s, 6)) {
    case 0: return transpose(s, x, type.shape.rank);
    case 1: return slice(s, x, axis, size);
    case 2: return size > 1 ? split(s, x, axis, size) : x;
    case 3: return type.shape.rank > 1 ? choose(s, x, axis, size) : x;
    case 4:
        s->scaled = true;
        return ons_build(&s->builder, &ons_op_mul, ONS_IN(x, ons_build_scalar(&s->builder, ONS_FLOAT32, 2)),
                         ONS_DEFAULTS);
    default: return reshape(s, x, ons_elements(&type));
    }
}

/* Element `number` of the value. */
static int64_t place_of(const ons_view *view, int64_t number) {
    int64_t index[ONS_RANK_MAX], place = view->start;
    ons_unravel(&view->shape, number, index);
    for (uint32_t axis = 0; axis < view->shape.rank; ++axis)
        for (uint32_t i = view->ends[axis]; i-- > (axis == 0 ? 0 : view->ends[axis - 1]);) {
            place += index[axis] % view->parts[i].count * view->parts[i].step;
            index[axis] /= view->parts[i].count;
        }
    return place;
}

/* Whether the chain's result is a view. */
static bool check_chain(uint64_t seed) {
    scene s = {.state = seed};
    must(ons_store_init(&s.store));
    must(ons_graph_new(&s.store, "test", &s.graph));
    s.builder =
        (ons_builder){.graph = s.graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
    ons_type type = ons_type_make(ONS_FLOAT32, ons_shape_make(3, (int64_t[]){4, 6, 12}));
    ons_value_id base, x;
    must(ons_graph_add_value(s.graph, "base", ONS_INPUT, &type, &base));
    cr_assert(ons_vector_push(&s.graph->inputs, base));
    x = base;
    for (int64_t moves = 1 + draw(&s, MOVES_MOST); moves > 0; --moves) x = move(&s, x);
    must(ons_builder_finish(&s.builder));
    cr_assert(ons_vector_push(&s.graph->outputs, x));
    void **words = calloc(s.graph->values.count, sizeof *words);
    double *numbers = malloc((size_t)ons_elements(&type) * sizeof *numbers), scale;
    cr_assert(words != NULL && numbers != NULL);
    for (int64_t i = 0; i < ons_elements(&type); ++i) numbers[i] = (double)i;
    words[base] = numbers;
    must(ons_evaluate(s.graph, &(ons_step){.seed = 1, .step = 1}, words));
    ons_view view;
    bool is_view = ons_view_within(s.graph, base, x, &scale, &view);
    ons_type result = ons_builder_type(&s.builder, x);
    for (int64_t i = 0; is_view && i < ons_elements(&result); ++i)
        cr_assert_eq(((const double *)words[x])[i], scale * (double)place_of(&view, i), "seed %llu, element %lld",
                     (unsigned long long)seed, (long long)i);
    cr_assert(!s.scaled || !ons_view_within(s.graph, base, x, NULL, &view), "seed %llu", (unsigned long long)seed);
    for (size_t i = 0; i < s.graph->values.count; ++i) free(words[i]);
    free(words);
    ons_graph_free(s.graph);
    ons_store_free(&s.store);
    return is_view;
}

Test(views, random_chains_of_moves) {
    int views = 0;
    for (uint64_t i = 0; i < CHAINS; ++i) views += check_chain(ons_test_seed() + i);
    cr_expect(views > CHAINS / 2, "of %d chains only %d give views", CHAINS, views);
}
