#include "tests/rooms/kernels/emulation/random_elementwise.h"

#include <criterion/criterion.h>

#include "graph/build.h"
#include "graph/operands.h"
#include "kernels/fused_elementwise/fused.h"
#include "kernels/kernels.h"

enum { INPUTS = 9, NODES = 20, VALUES_MAX = 64 };

static const ons_dtype dtypes[] = {ONS_FLOAT32, ONS_FLOAT32, ONS_FLOAT16, ONS_BFLOAT16, ONS_INT64, ONS_INT32};
/* Of the inputs, behind those of the graph's own type. */
static const ons_dtype others[] = {ONS_BOOL, ONS_FLOAT32, ONS_BFLOAT16, ONS_INT64, ONS_UINT8, ONS_INT32, ONS_FLOAT16};
static const ons_dtype all[] = {ONS_FLOAT32, ONS_BFLOAT16, ONS_FLOAT16, ONS_INT64, ONS_INT32, ONS_BOOL, ONS_UINT8};

uint32_t random_draw(random_numbers *r, uint32_t below) {
    uint64_t x = r->seed + ++r->at * 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) >> 32) % below;
}

void random_check(ons_status *status, uint64_t seed) {
    cr_assert(status == NULL, "%s (ONSTAGE_TEST_SEED=%llu)", ons_status_get_message(status), (unsigned long long)seed);
}

static ons_shape random_shape(random_numbers *r) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 12};
    ons_shape shape = {.rank = (random_draw(r, 9) + 1) / 2};
    for (uint32_t i = 0; i < shape.rank; ++i) shape.dims[i] = sizes[random_draw(r, sizeof sizes / sizeof sizes[0])];
    return shape;
}

/* A shape that broadcasts to it: leading dimensions left out, others of size 1. */
static ons_shape part_of(random_numbers *r, const ons_shape *whole) {
    uint32_t from = random_draw(r, 2) == 0 ? 0 : random_draw(r, whole->rank + 1);
    bool ones = random_draw(r, 4) == 0;
    ons_shape part = {.rank = whole->rank - from};
    for (uint32_t i = 0; i < part.rank; ++i) part.dims[i] = ones && random_draw(r, 2) == 0 ? 1 : whole->dims[from + i];
    return part;
}

static ons_dtype dtype_of(const ons_builder *b, ons_value_id id) { return ons_graph_value(b->graph, id)->type.dtype; }

/* A value that is there, most likely a late one, of a type if there is one (ONS_NO_DTYPE: of any). */
static ons_value_id pick(const ons_builder *b, random_numbers *r, const ons_value_id *values, uint32_t count,
                         ons_dtype dtype) {
    ons_value_id picked = values[0];
    for (int tries = 0; tries < 12; ++tries) {
        picked =
            values[random_draw(r, 3) == 0 ? random_draw(r, count) : count - 1 - random_draw(r, count < 5 ? count : 5)];
        if (dtype == ONS_NO_DTYPE || dtype_of(b, picked) == dtype) break;
    }
    return picked;
}

/* Of one type most often, some left out where the operator can be without; a single number where it wants one. */
static uint32_t pick_inputs(const ons_builder *b, random_numbers *r, const ons_operator *op, const ons_value_id *values,
                            uint32_t count, ons_value_id *inputs) {
    uint32_t least = op->arity.inputs_min, most = op->arity.inputs_max;
    uint32_t wants = least + (most > least ? random_draw(r, most - least < 2 ? 2 : 3) : 0);
    bool chooses = (op->roles.role == ONS_ROLE_SELECT);
    ons_dtype dtype = chooses ? ONS_BOOL : ONS_NO_DTYPE;
    for (uint32_t i = 0; i < wants; ++i) {
        inputs[i] = pick(b, r, values, count, dtype);
        if (i == 0 || (chooses && i == 1)) dtype = chooses && i == 0 ? ONS_NO_DTYPE : dtype_of(b, inputs[i]);
        if (i > 0 && least == 2 && random_draw(r, 4) == 0) inputs[i] = pick(b, r, values, count, ONS_BOOL); /* a mask */
        if (i < least || most > 4) continue;
        inputs[i] = random_draw(r, 3) == 0 ? ONS_NONE : values[0];
        for (uint32_t k = 0; k < count && inputs[i] != ONS_NONE; ++k) /* a bound */
            if (dtype_of(b, values[k]) == dtype && ons_graph_value(b->graph, values[k])->type.shape.rank == 0)
                inputs[i] = values[k];
    }
    return wants;
}

/* Gradients are built by rules, and do not ask whether their operands are of one type. */
static bool are_of_one_type(const ons_builder *b, const ons_operator *op, const ons_value_id *inputs, uint32_t count) {
    const ons_formula *formula = ons_formula_of(op);
    if (formula == NULL || formula->kind == ONS_FORMULA_MIXED || formula->kind == ONS_FORMULA_TYPED) return true;
    for (uint32_t i = 1; i < count; ++i)
        if (dtype_of(b, inputs[i]) != dtype_of(b, inputs[0])) return false;
    return true;
}

/* One node over values that are there; ONS_NONE where they do not fit the operator. */
static ons_value_id add_random_node(ons_builder *b, random_numbers *r, const ons_value_id *values, uint32_t count) {
    const ons_operator *op = ons_formulas[random_draw(r, ons_formula_count)].op;
    if (random_draw(r, 12) == 0)
        op = ons_registry_find_name(b->registry, "", "Softmax"); /* something that cannot be a step */
    ons_value_id inputs[8];
    uint32_t wants = pick_inputs(b, r, op, values, count, inputs);
    bool whole = !ons_dtype_is_float(dtype_of(b, inputs[0]));
    if (!are_of_one_type(b, op, inputs, wants)) return ONS_NONE;
    if (whole && strcmp(op->name, "Div") == 0) return ONS_NONE; /* by 0 it ends the program here, and not on a GPU */
    ons_attribute attributes[8] = {0};
    for (uint32_t i = 0; op->attributes[i].name != NULL; ++i) {
        attributes[i] = op->attributes[i].default_value;
        if (attributes[i].kind == ONS_ATTRIBUTE_FLOAT) attributes[i].f = (1 + random_draw(r, 30)) / 16.0;
        if (op->roles.role == ONS_ROLE_CAST && i == 0)
            attributes[i] = (ons_attribute){.kind = ONS_ATTRIBUTE_INT,
                                            .i = (int64_t)all[random_draw(r, sizeof all / sizeof all[0])]};
    }
    ons_value_id output;
    size_t nodes = b->graph->nodes.count;
    (void)ons_build_node_like(b, op, (ons_inputs){inputs, wants}, attributes, 1, NULL, &output);
    ons_status *failure = ons_builder_finish(b);
    bool built = failure == NULL;
    ons_status_free(failure);
    if (!built) b->graph->nodes.count = nodes;
    return built ? output : ONS_NONE;
}

/* Whether the last node has a CUDA kernel for its types. */
static bool last_runs(const ons_graph *graph) {
    ons_arena *arena = ons_arena_new();
    ons_operands operands;
    random_check(ons_operands_of(graph, (ons_node_id)(graph->nodes.count - 1), arena, &operands), 0);
    ons_prepare p = {.operands = &operands, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel;
    ons_status *status = ons_backend_prepare(ons_backend_find("cuda"), &p, &kernel);
    if (status == NULL && p.destroy != NULL) p.destroy(p.state);
    bool runs = status == NULL;
    ons_status_free(status);
    ons_arena_free(arena);
    return runs;
}

ons_graph *random_elementwise_graph(uint64_t seed, ons_store *store) {
    random_numbers r = {.seed = seed};
    ons_graph *graph;
    random_check(ons_graph_new(store, "random", &graph), seed);
    ons_builder b = {.graph = graph, .registry = ons_kernels_registry(), .phase = ONS_FORWARD, .origin = ONS_NONE};
    ons_value_id values[VALUES_MAX];
    uint32_t count = 0;
    ons_type type = {.dtype = dtypes[random_draw(&r, sizeof dtypes / sizeof dtypes[0])], .shape = random_shape(&r)};
    for (int i = 0; i < INPUTS; ++i) {
        ons_type input = type;
        if (i > 1 && i < INPUTS - 2) input.shape = part_of(&r, &type.shape);
        if (i > 2) input.dtype = others[random_draw(&r, sizeof others / sizeof others[0])];
        if (i == INPUTS - 2) input.dtype = ONS_BOOL;
        if (i == INPUTS - 1) input = (ons_type){.dtype = type.dtype}; /* a single number */
        random_check(ons_graph_add_value(graph, NULL, ONS_INPUT, &input, &values[count]), seed);
        cr_assert(ons_vector_push(&graph->inputs, values[count]));
        ++count;
    }
    for (int tries = 0; tries < 40 * NODES && count < INPUTS + NODES; ++tries) {
        ons_value_id made = add_random_node(&b, &r, values, count);
        if (made == ONS_NONE) continue;
        if (!last_runs(graph)) {
            --graph->nodes.count; /* its value has no producer then, and no reader */
            ons_graph_value(graph, made)->producer = ONS_NONE;
            continue;
        }
        values[count++] = made;
    }
    for (uint32_t i = INPUTS; i < count; ++i)
        if (i + 1 == count || random_draw(&r, 4) == 0) cr_assert(ons_vector_push(&graph->outputs, values[i]));
    return graph;
}
