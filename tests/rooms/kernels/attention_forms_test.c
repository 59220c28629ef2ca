/* The decomposed forms of attention and of rotary embedding: each becomes one node, gives the same results and
 * gradients, and keeps fewer bytes for backward. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/evaluate.h"
#include "graph/passes/autograd.h"
#include "graph/passes/fuse.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"
#include "kernels/operators.h"

enum { OPERANDS = 4 };

static void must(ons_status *status) { cr_assert(status == NULL, "%s", ons_status_get_message(status)); }

/* A graph over four operands, and what comes of it: results[0] is y, then the operands' gradients. */
typedef struct scene {
    ons_store store;
    ons_graph *graph;
    ons_builder builder;
    ons_value_id in[OPERANDS];
    double *results[1 + OPERANDS];
    int64_t counts[1 + OPERANDS];
    int64_t saved; /* bytes of activations that backward reads */
} scene;

#define SHAPE(...) ons_shape_make(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static ons_value_id add_value(scene *s, const char *name, ons_value_kind kind, ons_shape shape) {
    ons_type type = ons_type_make(ONS_FLOAT32, shape);
    ons_value_id id;
    must(ons_graph_add_value(s->graph, name, kind, &type, &id));
    return id;
}

static void open_scene(scene *s, const ons_shape *shapes) {
    static const char *const names[OPERANDS] = {"query", "key", "value", "mask"};
    memset(s, 0, sizeof *s);
    must(ons_store_init(&s->store));
    must(ons_graph_new(&s->store, "test", &s->graph));
    for (int i = 0; i < OPERANDS; ++i) {
        s->in[i] = shapes[i].rank == 0 ? ONS_NONE : add_value(s, names[i], ONS_INPUT, shapes[i]);
        if (s->in[i] != ONS_NONE) cr_assert(ons_vector_push(&s->graph->inputs, s->in[i]));
    }
    s->builder =
        (ons_builder){.graph = s->graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
}

static void close_scene(scene *s) {
    for (int i = 0; i <= OPERANDS; ++i) free(s->results[i]);
    ons_graph_free(s->graph);
    ons_store_free(&s->store);
}

static ons_value_id one(scene *s, const ons_operator *op, ons_value_id a) {
    return ons_build(&s->builder, op, ONS_IN(a), ONS_DEFAULTS);
}
static ons_value_id two(scene *s, const ons_operator *op, ons_value_id a, ons_value_id b) {
    return ons_build(&s->builder, op, ONS_IN(a, b), ONS_DEFAULTS);
}
static ons_value_id number(scene *s, double value) { return ons_build_scalar(&s->builder, ONS_FLOAT32, value); }
static ons_value_id transpose(scene *s, ons_value_id x, uint32_t rank, const int64_t *perm) {
    return ons_build(&s->builder, &ons_op_transpose, ONS_IN(x), ONS_WITH(ONS_AT_INTS(0, rank, perm)));
}
static ons_value_id reshape(scene *s, ons_value_id x, ons_shape shape) {
    return two(s, &ons_op_reshape, x, ons_build_integers(&s->builder, shape.dims, shape.rank));
}

static double *copy(const void *words, int64_t count) {
    double *result = malloc(((size_t)count + 1) * sizeof *result);
    cr_assert(result != NULL);
    memcpy(result, words, (size_t)count * sizeof *result);
    return result;
}

/* Numbers that every scene draws alike, by value and element. */
static double *draw(int id, int64_t count) {
    double *words = malloc(((size_t)count + 1) * sizeof *words);
    cr_assert(words != NULL);
    for (int64_t i = 0; i < count; ++i) words[i] = sin((double)(id * 1000 + i) * 1.7);
    return words;
}

static int64_t saved_bytes(const ons_graph *graph, size_t forward_nodes) {
    int64_t bytes = 0;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(graph, id);
        bool forward = value->producer != ONS_NONE && value->producer < forward_nodes, read = false;
        if (!forward && value->kind != ONS_INPUT) continue;
        for (size_t n = forward_nodes; n < graph->nodes.count; ++n)
            for (uint32_t i = 0; i < graph->nodes.items[n].input_count; ++i)
                read |= graph->nodes.items[n].inputs[i] == id;
        if (read) bytes += ons_type_dense_bytes(&value->type);
    }
    return bytes;
}

static void keep_results(scene *s, ons_value_id y, const ons_value_id *parameters, uint32_t count,
                         const ons_parameter_gradient *gradients, void **words) {
    s->counts[0] = ons_elements(&ons_graph_value(s->graph, y)->type);
    s->results[0] = copy(words[y], s->counts[0]);
    for (uint32_t i = 0; i < count; ++i) {
        s->counts[1 + i] = ons_elements(&ons_graph_value(s->graph, parameters[i])->type);
        cr_assert(gradients[i].use_count > 0, "operand %u has no gradient", i);
        s->results[1 + i] = copy(words[gradients[i].uses[0]], s->counts[1 + i]);
        for (uint32_t use = 1; use < gradients[i].use_count; ++use)
            for (int64_t k = 0; k < s->counts[1 + i]; ++k)
                s->results[1 + i][k] += ((const double *)words[gradients[i].uses[use]])[k];
    }
}

/* Differentiates Σ cotangent × y by the first `count` operands and evaluates everything. */
static void compute(scene *s, uint32_t count) {
    static const char *const names[OPERANDS] = {"query", "key", "value", "mask"};
    ons_value_id y = s->graph->outputs.items[0], parameters[OPERANDS];
    ons_type type = ons_graph_value(s->graph, y)->type;
    size_t forward_nodes = s->graph->nodes.count;
    ons_value_id cotangent = add_value(s, "cotangent", ONS_STATE, type.shape);
    for (uint32_t i = 0; i < count; ++i) parameters[i] = ons_graph_find_value(s->graph, names[i]);
    ons_parameter_gradient gradients[OPERANDS];
    must(ons_differentiate(s->graph, ons_kernels_registry(), y, cotangent, parameters, count, NULL, gradients));
    s->saved = saved_bytes(s->graph, forward_nodes);
    void **words = calloc(s->graph->values.count + 1, sizeof *words);
    cr_assert(words != NULL);
    for (int i = 0; i < OPERANDS; ++i) {
        ons_value_id id = ons_graph_find_value(s->graph, names[i]);
        if (id != ONS_NONE) words[id] = draw(i, ons_elements(&ons_graph_value(s->graph, id)->type));
    }
    words[cotangent] = draw(7, ons_elements(&type));
    ons_step step = {.seed = 1, .step = 1};
    must(ons_evaluate(s->graph, &step, words));
    keep_results(s, y, parameters, count, gradients, words);
    for (size_t i = 0; i < s->graph->values.count; ++i) free(words[i]);
    free(words);
}

static size_t count_of(const scene *s, const char *op) {
    size_t found = 0;
    for (size_t i = 0; i < s->graph->nodes.count; ++i) found += strcmp(s->graph->nodes.items[i].op->name, op) == 0;
    return found;
}

typedef ons_value_id build_function(scene *s, int spelling);

/* Builds twice, fuses one, and compares. `decomposed`: an operator of which none may be left. */
static void check(const ons_shape *shapes, build_function *build, int spelling, const char *op, const char *decomposed,
                  uint32_t count, int64_t *before, int64_t *after) {
    scene scenes[2];
    for (int i = 0; i < 2; ++i) {
        open_scene(&scenes[i], shapes);
        ons_value_id y = build(&scenes[i], spelling);
        must(ons_builder_finish(&scenes[i].builder));
        cr_assert(y != ONS_NONE && ons_vector_push(&scenes[i].graph->outputs, y));
        if (i == 1) must(ons_fuse(&scenes[1].graph, ons_kernels_registry()));
        if (i == 1) must(ons_graph_verify(scenes[1].graph));
    }
    cr_assert_eq(count_of(&scenes[1], op), 1, "spelling %d has %zu nodes %s", spelling, count_of(&scenes[1], op), op);
    cr_assert_eq(count_of(&scenes[1], decomposed), 0, "spelling %d keeps %s", spelling, decomposed);
    for (int i = 0; i < 2; ++i) compute(&scenes[i], count);
    for (uint32_t i = 0; i <= count; ++i)
        for (int64_t k = 0; k < scenes[0].counts[i]; ++k) {
            double wanted = scenes[0].results[i][k], got = scenes[1].results[i][k];
            cr_assert(fabs(wanted - got) <= 1e-6 * fmax(1, fabs(wanted)),
                      "spelling %d, result %u, element %lld: %g is now %g", spelling, i, (long long)k, wanted, got);
        }
    *before = scenes[0].saved;
    *after = scenes[1].saved;
    close_scene(&scenes[0]);
    close_scene(&scenes[1]);
}

/* -------------------------------------------------------------------------------------------------------- attention */

enum { PLAIN, ADDED, LEARNED, ADDED_TWICE, CHOSEN, HIDDEN, MASKS };

/* What the masks of one spelling do to the scores; `mask` is [2,1,1,9] (or, learned, [3,9,9]). */
static ons_value_id put_masks(scene *s, ons_value_id scores, int spelling) {
    ons_value_id mask = s->in[3];
    switch (spelling) {
    case ADDED:
    case LEARNED: return two(s, &ons_op_add, scores, mask);
    case ADDED_TWICE: return two(s, &ons_op_add, mask, two(s, &ons_op_add, scores, mask));
    case CHOSEN:
    case HIDDEN: {
        ons_value_id hidden = number(s, -1e9), condition = two(s, &ons_op_greater, mask, number(s, 0));
        return ons_build(&s->builder, &ons_op_where,
                         ONS_IN(condition, spelling == CHOSEN ? scores : hidden, spelling == CHOSEN ? hidden : scores),
                         ONS_DEFAULTS);
    }
    default: return scores;
    }
}

static ons_value_id build_attention(scene *s, int spelling) {
    static const int64_t last_two[4] = {0, 1, 3, 2};
    ons_value_id scores = two(s, &ons_op_matmul, s->in[0], transpose(s, s->in[1], 4, last_two));
    scores = put_masks(s, two(s, &ons_op_div, scores, number(s, 2)), spelling);
    return two(s, &ons_op_matmul, one(s, &ons_op_softmax, scores), s->in[2]);
}

Test(attention_forms, masks_of_the_data_and_learned_ones) {
    for (int spelling = 0; spelling < MASKS; ++spelling) {
        ons_shape heads = SHAPE(2, 3, 9, 4), mask = spelling == LEARNED ? SHAPE(3, 9, 9) : SHAPE(2, 1, 1, 9);
        const ons_shape shapes[OPERANDS] = {heads, heads, heads, spelling == PLAIN ? (ons_shape){0} : mask};
        int64_t before, after;
        check(shapes, build_attention, spelling, "Attention", "Softmax",
              spelling == PLAIN || spelling >= CHOSEN ? 3 : 4, &before, &after);
        cr_expect(after < before, "spelling %d: %lld bytes are saved, were %lld", spelling, (long long)after,
                  (long long)before);
    }
}

/* bmm: batch and heads are one axis, the mask by addition or as -inf of a condition, and the scale at the queries. */
static ons_value_id build_flat_attention(scene *s, int spelling) {
    static const int64_t last_two[3] = {0, 2, 1}, exchanged[3] = {1, 0, 2};
    ons_value_id query = spelling & 1 ? transpose(s, reshape(s, s->in[0], SHAPE(9, 6, 4)), 3, exchanged) : s->in[0];
    ons_value_id scores =
        two(s, &ons_op_matmul, two(s, &ons_op_mul, query, number(s, 0.5)), transpose(s, s->in[1], 3, last_two));
    if (spelling & 2) scores = two(s, &ons_op_add, s->in[3], scores);
    return two(s, &ons_op_matmul, one(s, &ons_op_softmax, scores), s->in[2]);
}

Test(attention_forms, heads_without_a_batch_axis) {
    for (int spelling = 0; spelling < 4; ++spelling) {
        ons_shape heads = SHAPE(6, 9, 4);
        const ons_shape shapes[OPERANDS] = {spelling & 1 ? SHAPE(9, 24) : heads, heads, heads,
                                            spelling & 2 ? SHAPE(6, 1, 9) : (ons_shape){0}};
        int64_t before, after;
        check(shapes, build_flat_attention, spelling, "Attention", "Softmax", spelling & 2 ? 4 : 3, &before, &after);
        cr_expect(after < before, "spelling %d", spelling);
    }
}

/* Queries, keys and values as one layer makes all three, [2, 9, 36] or, time first, [9, 2, 36], and how exporters take
 * them apart. */
enum {
    SPLIT_AT_ONCE,   /* GPT */
    ENTRIES,         /* ViT: an axis of three comes first, of which Gather takes entries */
    PIECES,          /* an axis of three comes first, which Split and Squeeze take apart */
    SLICES,          /* an axis of three comes first, which Slice and Squeeze take apart */
    PIECES_BETWEEN,  /* Split where the axis lies */
    TIME_FIRST,      /* MultiheadAttention: batch and heads become one axis and are parted again */
    TIME_FIRST_FLAT, /* or stay one */
    PACKED_FORMS,
    EXCHANGED = PACKED_FORMS, /* keys before queries: this the node cannot read as it is */
};

static ons_value_id squeeze(scene *s, ons_value_id x, int64_t axis) {
    return two(s, &ons_op_squeeze, x, ons_build_integers(&s->builder, &axis, 1));
}

static ons_value_id entry(scene *s, ons_value_id x, int64_t index) {
    ons_type type = ons_type_make(ONS_INT64, (ons_shape){0});
    return two(s, &ons_op_gather, x, ons_build_constant(&s->builder, NULL, &type, &index));
}

static ons_value_id slice(scene *s, ons_value_id x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
    return ons_build(&s->builder, &ons_op_slice,
                     ONS_IN(x, ons_build_integers(&s->builder, &begin, 1), ons_build_integers(&s->builder, &end, 1),
                            ons_build_integers(&s->builder, &axis, 1), ons_build_integers(&s->builder, &step, 1)),
                     ONS_DEFAULTS);
}

/* parts: [2, 3, 9, 4], or [6, 9, 4] where batch and heads are one axis. */
static void take_apart(scene *s, int spelling, ons_value_id parts[3]) {
    static const int64_t heads_first[4] = {0, 2, 1, 3}, three_first[5] = {2, 0, 3, 1, 4},
                         unsqueezed[5] = {3, 1, 2, 0, 4}, exchanged[3] = {1, 0, 2};
    ons_value_id x = s->in[0], whole = x, pieces[3];
    bool time_first = spelling == TIME_FIRST || spelling == TIME_FIRST_FLAT;
    bool at_once = spelling == SPLIT_AT_ONCE || spelling == EXCHANGED;
    if (time_first)
        whole = squeeze(s, transpose(s, reshape(s, x, SHAPE(1, 9, 2, 3, 12)), 5, unsqueezed), 3);
    else if (!at_once)
        whole = reshape(s, x, SHAPE(2, 9, 3, 3, 4));
    if (spelling == ENTRIES || spelling == PIECES || spelling == SLICES) whole = transpose(s, whole, 5, three_first);
    int64_t axis = spelling == PIECES ? 0 : spelling == PIECES_BETWEEN ? 2 : -1;
    if (axis >= 0 || at_once)
        ons_build_node(&s->builder, &ons_op_split, ONS_IN(whole), ONS_WITH(ONS_AT_INT(0, axis)), 3, NULL, pieces);
    for (int i = 0; i < 3; ++i) {
        if (spelling == ENTRIES) parts[i] = entry(s, whole, i);
        if (spelling == SLICES) parts[i] = squeeze(s, slice(s, whole, 0, i, i + 1, 1), 0);
        if (spelling == PIECES) parts[i] = squeeze(s, pieces[i], 0);
        if (spelling == PIECES_BETWEEN) parts[i] = transpose(s, squeeze(s, pieces[i], 2), 4, heads_first);
        if (at_once) parts[i] = transpose(s, reshape(s, pieces[i], SHAPE(2, 9, 3, 4)), 4, heads_first);
        if (time_first) parts[i] = transpose(s, reshape(s, entry(s, whole, i), SHAPE(9, 6, 4)), 3, exchanged);
        if (spelling == TIME_FIRST) parts[i] = reshape(s, parts[i], SHAPE(2, 3, 9, 4));
    }
}

static ons_value_id build_packed(scene *s, int spelling) {
    static const int64_t heads_first[4] = {0, 2, 1, 3}, last_two[4] = {0, 1, 3, 2}, outer[4] = {2, 0, 1, 3},
                         exchanged[3] = {1, 0, 2}, last_of_three[3] = {0, 2, 1};
    ons_value_id parts[3], y;
    take_apart(s, spelling, parts);
    bool flat = spelling == TIME_FIRST_FLAT, first = spelling == EXCHANGED;
    ons_value_id query = two(s, &ons_op_mul, parts[first ? 1 : 0], number(s, 0.5)), keys = parts[first ? 0 : 1];
    ons_value_id scores =
        two(s, &ons_op_matmul, query, flat ? transpose(s, keys, 3, last_of_three) : transpose(s, keys, 4, last_two));
    if (s->in[1] != ONS_NONE) scores = two(s, &ons_op_add, scores, s->in[1]);
    y = two(s, &ons_op_matmul, one(s, &ons_op_softmax, scores), parts[2]);
    if (flat)
        y = transpose(s, y, 3, exchanged);
    else
        y = transpose(s, y, 4, spelling == TIME_FIRST ? outer : heads_first);
    return spelling == TIME_FIRST || flat ? reshape(s, y, SHAPE(18, 12)) : reshape(s, y, SHAPE(2, 9, 12));
}

/* float32[2,9,36] is 2592 bytes: that and a number a row, once. Nothing else moves an element. */
static void check_packed(int spelling, const char *moves) {
    ons_shape shapes[OPERANDS] = {spelling >= TIME_FIRST && spelling < PACKED_FORMS ? SHAPE(9, 2, 36)
                                                                                    : SHAPE(2, 9, 36)};
    int64_t before, after;
    check(shapes, build_packed, spelling, "Attention", moves, 1, &before, &after);
    cr_expect_eq(after, 2592 + 216, "spelling %d: %lld", spelling, (long long)after);
}

Test(attention_forms, operands_of_one_layer) {
    static const char *const moves[] = {"Split", "Transpose", "Slice", "Gather", "Mul"};
    for (int spelling = 0; spelling < PACKED_FORMS; ++spelling)
        for (size_t i = 0; i < sizeof moves / sizeof moves[0]; ++i) check_packed(spelling, moves[i]);
}

/* A bias that is learned, for every head, has its gradient; one of every head of every sample where these are one axis
 * keeps its shape. */
Test(attention_forms, operands_of_one_layer_under_a_mask) {
    for (int spelling = 0; spelling < PACKED_FORMS; ++spelling) {
        bool time_first = spelling >= TIME_FIRST;
        ons_shape shapes[OPERANDS] = {time_first ? SHAPE(9, 2, 36) : SHAPE(2, 9, 36)};
        shapes[1] = spelling == TIME_FIRST_FLAT ? SHAPE(6, 1, 9) : SHAPE(3, 9, 9);
        int64_t before, after;
        check(shapes, build_packed, spelling, "Attention", "Transpose", 2, &before, &after);
        cr_expect(after < before, "spelling %d", spelling);
    }
}

Test(attention_forms, operands_of_one_layer_in_another_order) {
    const ons_shape shapes[OPERANDS] = {SHAPE(2, 9, 36)};
    int64_t before, after;
    check(shapes, build_packed, EXCHANGED, "Attention", "Softmax", 1, &before, &after);
}

/* Keys transposed as the dynamo exporter does it: through one axis for batch and heads. */
static ons_value_id build_flat_keys(scene *s, int spelling) {
    static const int64_t last_two[3] = {0, 2, 1};
    (void)spelling;
    ons_value_id keys = transpose(s, reshape(s, s->in[1], SHAPE(6, 9, 4)), 3, last_two);
    ons_value_id scores = two(s, &ons_op_matmul, s->in[0], reshape(s, keys, SHAPE(2, 3, 4, 9)));
    return two(s, &ons_op_matmul, one(s, &ons_op_softmax, scores), s->in[2]);
}

Test(attention_forms, keys_transposed_through_one_axis) {
    ons_shape heads = SHAPE(2, 3, 9, 4);
    const ons_shape shapes[OPERANDS] = {heads, heads, heads};
    int64_t before, after;
    check(shapes, build_flat_keys, 0, "Attention", "Transpose", 3, &before, &after);
    /* float32[2,3,9,4] is 864 bytes. Decomposed: queries, keys as they are multiplied, values and [2,3,9,9] of the
     * softmax. Then queries, keys, values and a number a row. */
    cr_expect_eq(before, 3 * 864 + 1944, "%lld", (long long)before);
    cr_expect_eq(after, 3 * 864 + 216, "%lld", (long long)after);
}

/* x [2 samples, 9 positions, 12] is turned time first for its layer ([12, 36], or transposed) and attention of 3 heads,
 * whose result goes through a second layer [12, 12] and is turned back. */
enum { BY_MATMUL, BY_BIAS, BY_GEMM, BY_TRANSPOSED, BY_SAMPLES_BIAS, TURNED_FORMS };

static ons_value_id turned_layer(scene *s, ons_value_id x, ons_value_id w, int64_t columns, int spelling) {
    ons_shape rows = SHAPE(18, 12), tokens = SHAPE(9, 2, columns);
    ons_value_id bias = reshape(s,
                                ons_build(&s->builder, &ons_op_slice,
                                          ONS_IN(s->in[3], ons_build_integers(&s->builder, (const int64_t[]){0}, 1),
                                                 ons_build_integers(&s->builder, &columns, 1)),
                                          ONS_DEFAULTS),
                                SHAPE(columns));
    switch (spelling) {
    case BY_MATMUL: return two(s, &ons_op_matmul, x, w);
    case BY_BIAS: return two(s, &ons_op_add, two(s, &ons_op_matmul, x, w), bias);
    case BY_TRANSPOSED:
        return two(s, &ons_op_add, bias, two(s, &ons_op_matmul, x, transpose(s, w, 2, (int64_t[]){1, 0})));
    case BY_SAMPLES_BIAS:
        bias = two(s, &ons_op_matmul, reshape(s, x, rows), w); /* fall through: a row of its own each */
    default: break;
    }
    ons_value_id made = ons_build(&s->builder, &ons_op_gemm, ONS_IN(reshape(s, x, rows), w, bias), ONS_DEFAULTS);
    return reshape(s, made, tokens);
}

/* [9 positions, 2 samples, 3 heads, 4] of what one layer made of all, in any shape. */
static ons_value_id attend_time_first(scene *s, ons_value_id made) {
    ons_value_id packed = reshape(s, made, SHAPE(9, 2, 3, 3, 4)), parts[3];
    static const int64_t heads_first[4] = {1, 2, 0, 3}, keys_last[4] = {1, 2, 3, 0}, back[4] = {2, 0, 1, 3};
    for (int i = 0; i < 3; ++i) {
        parts[i] = reshape(s, slice(s, packed, 2, i, i + 1, 1), SHAPE(9, 2, 3, 4));
        parts[i] = transpose(s, parts[i], 4, i == 1 ? keys_last : heads_first);
    }
    ons_value_id scores = one(s, &ons_op_softmax, two(s, &ons_op_matmul, parts[0], parts[1]));
    return transpose(s, two(s, &ons_op_matmul, scores, parts[2]), 4, back);
}

static ons_value_id build_turned(scene *s, int spelling) {
    static const int64_t turn[3] = {1, 0, 2};
    ons_value_id x = transpose(s, s->in[0], 3, turn);
    ons_value_id y = attend_time_first(s, turned_layer(s, x, s->in[1], 36, spelling));
    y = turned_layer(s, reshape(s, y, SHAPE(9, 2, 12)), s->in[2], 12, spelling);
    return transpose(s, y, 3, turn);
}

Test(attention_forms, samples_first_around_layers_with_time_first) {
    for (int spelling = 0; spelling < TURNED_FORMS; ++spelling) {
        bool across = spelling == BY_TRANSPOSED;
        const ons_shape shapes[OPERANDS] = {SHAPE(2, 9, 12), across ? SHAPE(36, 12) : SHAPE(12, 36), SHAPE(12, 12),
                                            SHAPE(36)};
        int64_t before, after;
        /* A Gemm whose third operand has a row for each row stays as it is, with its Transposes. */
        check(shapes, build_turned, spelling, "Attention", spelling == BY_SAMPLES_BIAS ? "Softmax" : "Transpose",
              spelling == BY_MATMUL || spelling == BY_SAMPLES_BIAS ? 3 : 4, &before, &after);
    }
}

/* A layer behind attention that reads each head, or each position of all samples, as a row: it is over other rows than
 * the Transpose moves, and stays as it is. */
static ons_value_id build_turned_otherwise(scene *s, int spelling) {
    static const int64_t turn[3] = {1, 0, 2};
    ons_value_id x = transpose(s, s->in[0], 3, turn);
    if (spelling == 2) x = reshape(s, x, SHAPE(36, 6)); /* in front: rows of half a token */
    ons_value_id y = attend_time_first(s, two(s, &ons_op_matmul, x, s->in[1]));
    const ons_shape rows[3] = {SHAPE(54, 4), SHAPE(9, 24), SHAPE(18, 12)};
    y = ons_build(&s->builder, &ons_op_gemm, ONS_IN(reshape(s, y, rows[spelling]), s->in[2], s->in[3]), ONS_DEFAULTS);
    return transpose(s, reshape(s, y, SHAPE(9, 2, 12)), 3, turn);
}

Test(attention_forms, layers_over_other_rows) {
    const ons_shape sizes[3] = {SHAPE(4, 4), SHAPE(24, 24), SHAPE(12, 12)};
    for (int spelling = 0; spelling < 3; ++spelling) {
        const ons_shape shapes[OPERANDS] = {SHAPE(2, 9, 12), spelling == 2 ? SHAPE(6, 18) : SHAPE(12, 36),
                                            sizes[spelling], SHAPE(sizes[spelling].dims[1])};
        int64_t before, after;
        check(shapes, build_turned_otherwise, spelling, "Attention", "Softmax", 4, &before, &after);
    }
}

/* Dropout between the softmax and the values, here of nothing, as what is dropped is drawn by node. */
static ons_value_id build_dropping(scene *s, int spelling) {
    static const int64_t last_two[4] = {0, 1, 3, 2};
    ons_value_id scores = two(s, &ons_op_matmul, s->in[0], transpose(s, s->in[1], 4, last_two));
    ons_value_id p = one(s, &ons_op_softmax, two(s, &ons_op_add, scores, s->in[3]));
    if (spelling == 1)
        p = ons_build(&s->builder, &ons_op_where, ONS_IN(one(s, &ons_op_is_nan, p), number(s, 0), p), ONS_DEFAULTS);
    p = ons_build(&s->builder, &ons_op_dropout_training, ONS_IN(p), ONS_WITH(ONS_AT_FLOAT(0, 0)));
    return two(s, &ons_op_matmul, p, s->in[2]);
}

Test(attention_forms, dropout_of_probabilities) {
    ons_shape heads = SHAPE(2, 3, 9, 4);
    const ons_shape shapes[OPERANDS] = {heads, heads, heads, SHAPE(2, 1, 1, 9)};
    for (int spelling = 0; spelling < 2; ++spelling) {
        int64_t before, after;
        check(shapes, build_dropping, spelling, "Attention", "DropoutTraining", 4, &before, &after);
        cr_expect(after < before, "spelling %d: %lld bytes are saved, were %lld", spelling, (long long)after,
                  (long long)before);
    }
}

/* A sum that is no mask: it does not broadcast to the scores by keys. */
Test(attention_forms, other_sums_stay) {
    ons_shape heads = SHAPE(2, 3, 9, 4);
    scene s;
    open_scene(&s, (const ons_shape[OPERANDS]){heads, heads, heads, SHAPE(9, 1)});
    ons_value_id y = build_attention(&s, ADDED);
    must(ons_builder_finish(&s.builder));
    cr_assert(ons_vector_push(&s.graph->outputs, y));
    must(ons_fuse(&s.graph, ons_kernels_registry()));
    cr_expect_eq(count_of(&s, "Attention"), 0);
    close_scene(&s);
}

/* --------------------------------------------------------------------------------------------------------- rotation */

static ons_value_id join(scene *s, ons_value_id a, ons_value_id b) {
    return ons_build(&s->builder, &ons_op_concat, ONS_IN(a, b), ONS_WITH(ONS_AT_INT(0, -1)));
}

/* x · cos + concat(-x₂, x₁) · sin */
static ons_value_id by_half_turn(scene *s, ons_value_id x, int64_t size, int spelling) {
    ons_value_id first = slice(s, x, -1, 0, size / 2, 1),
                 second = slice(s, x, -1, size / 2, spelling & 1 ? INT64_MAX : size, 1);
    ons_value_id turned = join(s, one(s, &ons_op_neg, second), first);
    ons_value_id a = two(s, &ons_op_mul, x, s->in[1]), b = two(s, &ons_op_mul, turned, s->in[2]);
    return spelling & 2 ? two(s, &ons_op_add, b, a) : two(s, &ons_op_add, a, b);
}

enum { HALF_TURN = 4, HALVES, NEIGHBOURS, PART, ROTATIONS };

static ons_value_id build_rotation(scene *s, int spelling) {
    ons_value_id x = s->in[0], cosines = s->in[1], sines = s->in[2];
    static const int64_t last = -1;
    if (spelling < HALF_TURN) return by_half_turn(s, x, 8, spelling);
    if (spelling == PART) return join(s, by_half_turn(s, slice(s, x, -1, 0, 4, 1), 4, 0), slice(s, x, -1, 4, 8, 1));
    bool near = spelling == NEIGHBOURS;
    ons_value_id first = slice(s, x, -1, 0, near ? 8 : 4, near ? 2 : 1),
                 second = slice(s, x, -1, near ? 1 : 4, 8, near ? 2 : 1);
    ons_value_id a = two(s, &ons_op_sub, two(s, &ons_op_mul, first, cosines), two(s, &ons_op_mul, second, sines));
    ons_value_id b = two(s, &ons_op_add, two(s, &ons_op_mul, second, cosines), two(s, &ons_op_mul, first, sines));
    if (!near) return join(s, a, b);
    ons_value_id axis = ons_build_integers(&s->builder, &last, 1);
    return reshape(s, join(s, two(s, &ons_op_unsqueeze, a, axis), two(s, &ons_op_unsqueeze, b, axis)),
                   SHAPE(2, 3, 5, 8));
}

Test(attention_forms, rotary_embedding) {
    for (int spelling = 0; spelling < ROTATIONS; ++spelling) {
        int64_t numbers = spelling < HALF_TURN ? 8 : 4, before, after;
        const ons_shape shapes[OPERANDS] = {SHAPE(2, 3, 5, 8), SHAPE(5, numbers), SHAPE(5, numbers)};
        check(shapes, build_rotation, spelling, "Rotation", "Concat", 1, &before, &after);
        cr_expect(after <= before, "spelling %d: %lld bytes are saved, were %lld", spelling, (long long)after,
                  (long long)before);
        check(shapes, build_rotation, spelling, "Rotation", "Concat", 3, &before, &after);
        cr_expect(after <= before, "spelling %d with gradients of the tables: %lld bytes are saved, were %lld",
                  spelling, (long long)after, (long long)before);
    }
}
