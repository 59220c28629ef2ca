/* Which initialisers are weights, and which ones only look like it. Each kind is here with its counterpart: what holds
 * the same and is read otherwise, what is read the same and holds something else. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/passes/classify.h"
#include "onnx_import/import.h"
#include "tests/rooms/graph/fixture.h"
#include "tests/rooms/onnx_import/model_writer.h"

enum { FLOAT = ONS_FLOAT32, ELEMENTS_MAX = 512, DIMS_MAX = 4 };

typedef struct imported {
    bytes file_bytes;
    ons_model_file *file;
    ons_store store;
    ons_graph *graph;
    scene *scene; /* for the registry */
} imported;

static void import_graph(imported *m, bytes graph) {
    *m = (imported){.file_bytes = model(graph, 17), .scene = scene_open()};
    must(ons_model_file_open_memory(m->file_bytes.data, m->file_bytes.count, &m->file));
    must(ons_store_init(&m->store));
    must(ons_import(m->file, m->scene->registry, NULL, &m->store, NULL, &m->graph));
}

static void close_imported(imported *m) {
    ons_graph_free(m->graph);
    ons_store_free(&m->store);
    ons_model_file_close(m->file);
    bytes_free(&m->file_bytes);
    scene_close(m->scene);
}

/* sin and cos of row · 0.7^column, `columns` of each. */
static void sinusoids(int rows, int columns, float *sines, float *cosines) {
    for (int i = 0; i < rows * columns; ++i) {
        int row = i / columns;
        double angle = row * pow(0.7, i % columns);
        sines[i] = (float)sin(angle);
        cosines[i] = (float)cos(angle);
    }
}

Test(classify, sines_and_fills_are_not_weights) {
    enum { ROWS = 5, COLUMNS = 4 };
    float sines[ROWS * COLUMNS], cosines[ROWS * COLUMNS], both[2 * ROWS * COLUMNS];
    sinusoids(ROWS, COLUMNS, sines, cosines);
    for (int i = 0; i < 2 * ROWS * COLUMNS; ++i) both[i] = i % 2 ? cosines[i / 2] : sines[i / 2];
    const float ones[] = {1, 1, 1, 1}, zeros[] = {0, 0, 0, 0};
    double wide[2 * ROWS * COLUMNS];
    for (int i = 0; i < 2 * ROWS * COLUMNS; ++i) wide[i] = both[i];
    bytes g = {0};
    put_message(&g, GRAPH_INITIALIZER,
                raw_tensor("both_in_double", ONS_FLOAT64, DIMS(ROWS, 2 * COLUMNS), wide, sizeof wide));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("sines", DIMS(ROWS, COLUMNS), sines, ROWS * COLUMNS));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("cosines", DIMS(ROWS, COLUMNS), cosines, ROWS * COLUMNS));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("both", DIMS(ROWS, 2 * COLUMNS), both, 2 * ROWS * COLUMNS));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("scale", DIMS(4), ones, 4));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("shift", DIMS(4), zeros, 4));
    put_message(&g, GRAPH_INITIALIZER, float_tensor("zeros_like_1", DIMS(4), zeros, 4));
    put_message(&g, GRAPH_NODE, node("Mul", "scaled", "x,scale", "s"));
    put_message(&g, GRAPH_NODE, node("Add", "shifted", "s,shift", "t"));
    put_message(&g, GRAPH_NODE, node("Add", "again", "t,zeros_like_1", "y"));
    /* What no output depends on is no weight anyway. */
    put_message(&g, GRAPH_NODE, node("Add", "pair", "sines,cosines", "u"));
    put_message(&g, GRAPH_NODE, node("Neg", "one", "both", "v"));
    put_message(&g, GRAPH_NODE, node("Neg", "double", "both_in_double", "w"));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,4"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "2,4"));
    put_message(&g, GRAPH_OUTPUT, value_info("u", FLOAT, "5,4"));
    put_message(&g, GRAPH_OUTPUT, value_info("v", FLOAT, "5,8"));
    put_message(&g, GRAPH_OUTPUT, value_info("w", ONS_FLOAT64, "5,8"));
    put_text(&g, GRAPH_NAME, "main");
    imported m;
    import_graph(&m, g);
    must(ons_classify(m.graph, NULL));
    static const struct {
        const char *name;
        ons_value_kind kind;
    } expected[] = {{"sines", ONS_CONSTANT},          {"cosines", ONS_CONSTANT},      {"both", ONS_CONSTANT},
                    {"both_in_double", ONS_CONSTANT}, {"zeros_like_1", ONS_CONSTANT}, {"scale", ONS_PARAMETER},
                    {"shift", ONS_PARAMETER}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        ons_value_id id = ons_graph_find_value(m.graph, expected[i].name);
        cr_expect_eq(ons_graph_value(m.graph, id)->kind, expected[i].kind, "%s", expected[i].name);
    }
    close_imported(&m);
}

Test(classify, a_single_number_with_a_shape_is_a_weight) {
    static const struct {
        const char *name;
        ons_value_kind kind;
        ons_role_reason reason;
    } expected[] = {
        {"temperature", ONS_PARAMETER, ONS_WEIGHT},
        {"bias", ONS_PARAMETER, ONS_WEIGHT},
        {"slope", ONS_PARAMETER, ONS_WEIGHT},
        {"reconstruction", ONS_PARAMETER, ONS_WEIGHT},
        {"/Constant_1_output_0", ONS_CONSTANT, ONS_SCALAR},
        {"Const__7", ONS_PARAMETER, ONS_WEIGHT},
        {"val_72", ONS_CONSTANT, ONS_SCALAR},
        {"val_loss", ONS_PARAMETER, ONS_WEIGHT},
        {"rank0", ONS_CONSTANT, ONS_SCALAR},
        {"const_fold_opt__78", ONS_CONSTANT, ONS_SCALAR}, /* an epsilon */
        {"const_fold_opt__79", ONS_PARAMETER, ONS_WEIGHT},
    };
    bytes g = {0};
    const float one[] = {1};
    put_message(&g, GRAPH_NODE, node("Mul", "scaled", "x,temperature", "a"));
    put_message(&g, GRAPH_NODE, node("Add", "shifted", "a,bias", "b"));
    put_message(&g, GRAPH_NODE, node("PRelu", "bent", "b,slope", "c"));
    put_message(&g, GRAPH_NODE, node("Div", "divided", "c,reconstruction", "d"));
    put_message(&g, GRAPH_NODE, node("Mul", "by_constant", "d,/Constant_1_output_0", "e"));
    put_message(&g, GRAPH_NODE, node("PRelu", "bent_again", "e,Const__7", "f"));
    put_message(&g, GRAPH_NODE, node("Mul", "by_scalar", "f,rank0", "g"));
    put_message(&g, GRAPH_NODE, node("Mul", "by_value", "g,val_72", "h"));
    put_message(&g, GRAPH_NODE, node("Mul", "by_loss", "h,val_loss", "i"));
    put_message(&g, GRAPH_NODE, node("Add", "above_zero", "i,const_fold_opt__78", "j"));
    put_message(&g, GRAPH_NODE, node("Sqrt", "root", "j", "k"));
    put_message(&g, GRAPH_NODE, node("Add", "shifted_again", "k,const_fold_opt__79", "y"));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i)
        put_message(
            &g, GRAPH_INITIALIZER,
            float_tensor(expected[i].name, strcmp(expected[i].name, "rank0") == 0 ? SCALAR_DIMS : DIMS(1), one, 1));
    put_message(&g, GRAPH_INPUT, value_info("x", FLOAT, "2,3"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", FLOAT, "2,3"));
    put_text(&g, GRAPH_NAME, "main");
    imported m;
    import_graph(&m, g);
    must(ons_classify(m.graph, NULL));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
        const ons_value *value = ons_graph_value(m.graph, ons_graph_find_value(m.graph, expected[i].name));
        cr_expect_eq(value->kind, expected[i].kind, "%s", expected[i].name);
        cr_expect_eq(value->reason, expected[i].reason, "%s", expected[i].name);
    }
    close_imported(&m);
}

/* ----------------------------------------------------------------------------------------------------------- tables */

/* What the elements are, by index; `dims` end with 0. */
typedef float element_function(int64_t k, const int64_t *dims);

static float zero(int64_t k, const int64_t *dims) {
    (void)k, (void)dims;
    return 0;
}
static float one(int64_t k, const int64_t *dims) {
    (void)k, (void)dims;
    return 1;
}
static float noise(int64_t k, const int64_t *dims) {
    (void)dims;
    return (float)sin(12.9898 * (double)(k + 1)) * 0.1f;
}
static float counting(int64_t k, const int64_t *dims) {
    (void)dims;
    return (float)k;
}
static float counting_once_wrong(int64_t k, const int64_t *dims) {
    (void)dims;
    return k == 5 ? 5.01f : (float)k;
}
/* torch.linspace(-1, 1, n) */
static float even(int64_t k, const int64_t *dims) { return (float)(-1 + 2.0 / (double)(dims[0] - 1) * (double)k); }
/* [rows, columns]: the column. */
static float column(int64_t k, const int64_t *dims) { return (float)(k % dims[1]); }
static float column_by_pi(int64_t k, const int64_t *dims) { return (float)(3.14159265 * (double)(k % dims[1])); }
/* [1, rows, columns, 2]: cell centres of -1 to 1, x and y. */
static float centres(int64_t k, const int64_t *dims) {
    int64_t places = k % 2 == 0 ? dims[2] : dims[1], place = k % 2 == 0 ? k / 2 % dims[2] : k / 2 / dims[2];
    return (float)((2.0 * (double)place + 1) / (double)places - 1);
}
static float causal(int64_t k, const int64_t *dims) { return k % dims[1] > k / dims[1] ? -1e9f : 0.0f; }
static float windows(int64_t k, const int64_t *dims) { return (k + k / dims[1]) % 3 == 0 ? -100.0f : 0.0f; }
static float subtracted(int64_t k, const int64_t *dims) { return -1e-5f * causal(k, dims); }
static float slightly(int64_t k, const int64_t *dims) { return causal(k, dims) != 0 ? -1.0f : 0.0f; }
static float lower(int64_t k, const int64_t *dims) { return k % dims[1] <= k / dims[1]; }
static float diagonal(int64_t k, const int64_t *dims) { return k % dims[1] == k / dims[1]; }
static float geometric(int64_t k, const int64_t *dims) { return (float)pow(10000, -(double)k / (double)dims[0]); }

/* An initialiser and its readers: "Add(x,%) …", the name for each %. */
typedef struct table {
    const char *name;
    int64_t dims[DIMS_MAX + 1];
    element_function *element;
    const char *readers;
    ons_role_reason reason;
} table;

static size_t count_elements(const table *t) {
    size_t count = 1;
    for (int i = 0; t->dims[i] != 0; ++i) count *= (size_t)t->dims[i];
    return count;
}

static void put_table(bytes *g, const table *t) {
    static float values[ELEMENTS_MAX];
    int64_t dims[DIMS_MAX + 1];
    size_t count = count_elements(t), rank = 0;
    cr_assert(count <= ELEMENTS_MAX);
    for (size_t k = 0; k < count; ++k) values[k] = t->element((int64_t)k, t->dims);
    for (; t->dims[rank] != 0; ++rank) dims[rank] = t->dims[rank];
    dims[rank] = -1;
    put_message(g, GRAPH_INITIALIZER, float_tensor(t->name, dims, values, count));
}

/* "Add(x,%)" becomes a node whose result, named by `number`, is an output; "Expand(%,shape):e" names its own. */
static void put_reader(bytes *g, const char *text, const char *name, int number) {
    char op[32], inputs[256] = "", output[32], outer[64];
    int length = 0;
    cr_assert(sscanf(text, "%31[A-Za-z](%n", op, &length) == 1);
    const char *at = text + length;
    for (; *at != ')'; ++at) {
        size_t used = strlen(inputs);
        snprintf(inputs + used, sizeof inputs - used, "%.*s", *at == '%' ? (int)strlen(name) : 1,
                 *at == '%' ? name : at);
    }
    bool named = at[1] == ':';
    if (named)
        cr_assert(sscanf(at + 2, "%31s", output) == 1);
    else
        snprintf(output, sizeof output, "output_%d", number);
    snprintf(outer, sizeof outer, "node_%d", number);
    put_message(g, GRAPH_NODE, node(op, outer, inputs, output));
    if (!named) put_message(g, GRAPH_OUTPUT, value_info(output, FLOAT, ""));
}

static bool insists_on(const void *context, const char *name) { return strcmp(context, name) == 0; }

static void expect_reason(const table *t, bool insisted) {
    bytes g = {0};
    imported m;
    int number = 0;
    put_table(&g, t);
    for (const char *at = t->readers; at != NULL; at = strchr(at + 1, ' '))
        put_reader(&g, at + (*at == ' '), t->name, number++);
    const char *const inputs[] = {"x", "w", "r", "shape"};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; ++i)
        put_message(&g, GRAPH_INPUT, value_info(inputs[i], i == 3 ? ONS_INT64 : FLOAT, "2,4"));
    put_text(&g, GRAPH_NAME, "main");
    import_graph(&m, g);
    ons_insistence insistence = {insists_on, t->name};
    must(ons_classify(m.graph, insisted ? &insistence : NULL));
    const ons_value *value = ons_graph_value(m.graph, ons_graph_find_value(m.graph, t->name));
    ons_role_reason reason = insisted ? ONS_WEIGHT : t->reason;
    cr_expect(value->reason == reason, "'%s' read by %s: reason %d, not %d", t->name, t->readers, (int)value->reason,
              (int)reason);
    cr_expect_eq(value->kind, reason == ONS_WEIGHT ? ONS_PARAMETER : ONS_CONSTANT, "'%s'", t->name);
    close_imported(&m);
}

/* Each must also stay a weight where the user says so. */
static void expect_reasons(const table *tables, size_t count) {
    for (size_t i = 0; i < count; ++i)
        for (int insisted = 0; insisted < 2; ++insisted) expect_reason(&tables[i], insisted == 1);
}
#define EXPECT_REASONS(...)                                                                                            \
    expect_reasons((const table[]){__VA_ARGS__}, sizeof((const table[]){__VA_ARGS__}) / sizeof(table))

Test(classify, zeros_that_a_recurrence_starts_from) {
    EXPECT_REASONS({"val_16", {1, 4, 8}, zero, "GRU(x,w,r,,,%)", ONS_FIRST_STATE},
                   {"val_17", {1, 4, 8}, zero, "LSTM(x,w,r,,,%,%)", ONS_FIRST_STATE},
                   {"onnx::RNN_3", {1, 1, 8}, zero, "Expand(%,shape):e RNN(x,w,r,,,e)", ONS_FIRST_STATE},
                   {"h0", {1, 1, 8}, zero, "GRU(x,w,r,,,%)", ONS_WEIGHT}, /* a module's own, not trained yet */
                   {"val_16", {1, 4, 8}, noise, "GRU(x,w,r,,,%)", ONS_WEIGHT},
                   {"val_16", {1, 48}, zero, "GRU(x,w,r,%)", ONS_WEIGHT},
                   {"val_16", {1, 4, 8}, zero, "GRU(x,w,r,,,%) Add(x,%)", ONS_WEIGHT});
}

Test(classify, masks) {
    EXPECT_REASONS(
        {"mask", {6, 6}, causal, "Add(x,%)", ONS_MASK},
        {"layers.attn_mask", {8, 16}, windows, "Unsqueeze(%,shape):u Add(x,u)", ONS_MASK},
        {"mask", {6, 6}, causal, "Slice(%,shape,shape):s Where(x,s,x)", ONS_MASK},
        {"mul_3", {6, 6}, subtracted, "Sub(x,%)", ONS_MASK}, {"mask", {6, 6}, slightly, "Add(x,%)", ONS_WEIGHT},
        {"mask", {6, 6}, causal, "MatMul(x,%)", ONS_WEIGHT},
        {"mask", {6, 6}, causal, "Add(x,%) MatMul(x,%)", ONS_WEIGHT}, {"tril", {6, 6}, lower, "Mul(x,%)", ONS_MASK},
        {"tril", {6, 6}, lower, "MatMul(x,%)", ONS_WEIGHT}, {"transform", {6, 6}, diagonal, "Mul(x,%)", ONS_WEIGHT});
}

Test(classify, coordinates) {
    EXPECT_REASONS(
        {"arange", {8}, counting, "Mul(x,%)", ONS_COORDINATES}, {"project", {8}, counting, "Mul(x,%)", ONS_COORDINATES},
        {"bias", {8}, counting, "Add(x,%)", ONS_WEIGHT}, {"project", {8}, counting_once_wrong, "Mul(x,%)", ONS_WEIGHT},
        {"linear.weight", {8}, counting, "MatMul(x,%)", ONS_WEIGHT},
        {"linspace_1", {9}, even, "Add(x,%)", ONS_COORDINATES},
        {"centres", {9}, even, "Sub(x,%)", ONS_WEIGHT}, /* of radial functions, which may be learned */
        {"pixels", {5, 6}, column, "Add(x,%)", ONS_COORDINATES}, {"pixels", {5, 6}, column, "MatMul(x,%)", ONS_WEIGHT},
        {"A_imag", {5, 6}, column_by_pi, "Mul(x,%)", ONS_WEIGHT}, /* what state space models start from */
        {"grid", {1, 5, 6, 2}, centres, "GridSample(x,%)", ONS_COORDINATES},
        {"grid", {1, 5, 6, 2}, centres, "Mul(x,%)", ONS_COORDINATES},
        {"offsets", {1, 5, 6, 2}, noise, "GridSample(x,%)", ONS_WEIGHT},
        {"toy", {3, 4}, counting, "Mul(x,%)", ONS_WEIGHT});
}

Test(classify, frequencies) {
    EXPECT_REASONS(
        {"unsqueeze_1", {1, 8}, noise, "Mul(x,%)", ONS_WEIGHT}, {"val_3", {8}, geometric, "Mul(x,%)", ONS_FREQUENCIES},
        {"decay", {8}, geometric, "Mul(x,%)", ONS_WEIGHT}, {"val_3", {8}, geometric, "Add(x,%)", ONS_WEIGHT});
}

/* What layers start from stays theirs, whoever names it. */
Test(classify, fresh_weights_are_weights) {
    static const char *const names[] = {"norm.weight", "val_7", "onnx::Mul_9", "const_fold_opt__3"};
    static const char *const readers[] = {"Mul(x,%)", "Add(x,%)", "MatMul(x,%)", "LayerNormalization(x,%)"};
    static element_function *const elements[] = {zero, one, noise};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n)
        for (size_t r = 0; r < sizeof readers / sizeof readers[0]; ++r)
            for (size_t e = 0; e < sizeof elements / sizeof elements[0]; ++e) {
                EXPECT_REASONS({names[n], {12}, elements[e], readers[r], ONS_WEIGHT},
                               {names[n], {4, 6}, elements[e], readers[r], ONS_WEIGHT});
            }
}
