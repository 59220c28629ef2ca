#include "bench/stage_graph_models.h"

const uint32_t model_devices[MODEL_DEVICE_COUNTS] = {4, 8, 16, 32};

const model models[MODELS] = {
    {"MMT", model_multi_modal, {2, 4}, {"2 branches", "4 branches"}, {64, 128, 256, 512}, {.12, .76, 3.00, 10.11}},
    {"DLRM",
     model_dlrm,
     {4, 7},
     {"4 + 4 branches", "7 + 7 branches"},
     {256, 512, 1024, 2048},
     {.33, 2.73, 13.28, 54.6}},
    {"CANDLE-Uno",
     model_candle,
     {8, 7},
     {"8 branches", "7 branches"},
     {4096, 8192, 16384, 32768},
     {.19, 1.43, 6.14, 22.37}},
};

enum {
    WORD = 4,       /* bytes: fp32 */
    SEQUENCE = 256, /* tokens */
    HIDDEN = 1024,
    FEED_FORWARD = 4096,
    HEADS = 16,
    LAYERS = 8,  /* of a branch */
    WIDE = 4096, /* features of DLRM and CANDLE-Uno */
    DENSE_LAYERS = 4,
    BAG = 100,
    BAG_HIDDEN = 64,
    TABLE_ROWS = 1000000,
    UPDATE_WORDS = 7, /* that Adam reads and writes for each weight */
    GPUS_OF_A_NODE = 4,
    GRAPH_ROOM = 1024,
};

/* ------------------------------------------------------------------------------------------------------------ nodes */

/* What a node computes for a sample. */
typedef struct model_work {
    const char *name;
    uint32_t products;               /* matrix products */
    uint32_t kernels;                /* others, which move bytes */
    double flops;                    /* of the products */
    double moved;                    /* bytes of the others */
    int64_t weights, outputs, inner; /* words; the last two of a sample */
} model_work;

static double matrix_rate(const model_machine *m) { return m->profile.matrix_flops * m->profile.matrix.share; }
static double memory_rate(const model_machine *m) { return m->profile.memory_bandwidth * m->profile.memory.share; }

static ons_status *add(const model_machine *m, branch_graph *g, const model_work *w, uint32_t *inputs,
                       uint32_t input_count, uint32_t *number) {
    const branch_node node = {
        .name = ons_arena_format(g->arena, "%s.%u", w->name, g->count),
        .fixed_seconds =
            (w->products + w->kernels) * m->profile.launch_seconds + w->products * m->half / matrix_rate(m),
        .seconds = w->flops / matrix_rate(m) + w->moved / memory_rate(m),
        .backward = 2,
        .update_seconds = (double)(UPDATE_WORDS * WORD * w->weights) / memory_rate(m),
        .weight_bytes = WORD * w->weights,
        .output_bytes = WORD * w->outputs,
        .inner_bytes = WORD * w->inner,
        .inputs = inputs,
        .input_count = input_count,
    };
    return branch_graph_add(g, &node, number);
}

/* A node that reads the one before. `number`: in and out; `first`: it reads data. */
static ons_status *append(const model_machine *m, branch_graph *g, const model_work *w, bool first, uint32_t *number) {
    uint32_t input = *number;
    return add(m, g, w, &input, !first, number);
}

static model_work linear(const char *name, int64_t rows, int64_t in, int64_t out) {
    return (model_work){.name = name,
                        .products = 1,
                        .flops = 2.0 * (double)(rows * in * out),
                        .weights = in * out,
                        .outputs = rows * out};
}

static model_work elementwise(const char *name, int64_t words, int64_t reads) {
    return (model_work){.name = name, .kernels = 1, .moved = (double)(WORD * words * (reads + 1)), .outputs = words};
}

/* ----------------------------------------------------------------------------------------------------- Transformers */

static model_work attention(void) {
    int64_t s = SEQUENCE, h = HIDDEN;
    return (model_work){
        .name = "attention",
        .products = 6, /* queries, keys, values, scores, context, projection */
        .kernels = 1,  /* softmax */
        .flops = (double)(8 * s * h * h + 4 * s * s * h),
        .moved = (double)(2 * WORD * HEADS * s * s),
        .weights = 4 * h * h,
        .outputs = s * h,
        .inner = 4 * s * h + HEADS * s * s, /* queries, keys, values, context; what softmax makes */
    };
}

static ons_status *add_layer(const model_machine *m, branch_graph *g, bool first, uint32_t *number) {
    int64_t values = (int64_t)SEQUENCE * HIDDEN;
    uint32_t residual = *number, pair[2];
    model_work self = attention(), sum = elementwise("add", values, 2), norm = elementwise("norm", values, 1),
               wide = linear("linear1", SEQUENCE, HIDDEN, FEED_FORWARD),
               narrow = linear("linear2", SEQUENCE, FEED_FORWARD, HIDDEN);
    wide.kernels = 1; /* its activation function */
    wide.moved = 2.0 * WORD * SEQUENCE * FEED_FORWARD;
    wide.inner = (int64_t)SEQUENCE * FEED_FORWARD;
    ONS_TRY(append(m, g, &self, first, number));
    pair[0] = first ? *number : residual; /* the first layer's data come from outside */
    pair[1] = *number;
    ONS_TRY(add(m, g, &sum, first ? pair + 1 : pair, first ? 1 : 2, number));
    ONS_TRY(append(m, g, &norm, false, number));
    pair[0] = *number;
    ONS_TRY(append(m, g, &wide, false, number));
    ONS_TRY(append(m, g, &narrow, false, number));
    pair[1] = *number;
    ONS_TRY(add(m, g, &sum, pair, 2, number));
    return append(m, g, &norm, false, number);
}

static ons_status *add_concatenation(const model_machine *m, branch_graph *g, int64_t words, uint32_t *ends,
                                     uint32_t count, uint32_t *number) {
    model_work w = elementwise("concat", words, 1);
    return add(m, g, &w, ends, count, number);
}

ons_status *model_multi_modal(const model_machine *m, uint32_t branches, ons_arena *arena, branch_graph *g) {
    uint32_t *ends, number = 0;
    ONS_TRY(branch_graph_new("MMT", GRAPH_ROOM, arena, g));
    ONS_NEW(ends, arena, branches);
    for (uint32_t i = 0; i < branches; ++i) {
        for (uint32_t layer = 0; layer < LAYERS; ++layer) ONS_TRY(add_layer(m, g, layer == 0, &number));
        ends[i] = number;
    }
    return add_concatenation(m, g, (int64_t)branches * SEQUENCE * HIDDEN, ends, branches, &number);
}

ons_status *model_sequential(const model_machine *m, uint32_t branches, ons_arena *arena, branch_graph *g) {
    uint32_t number = 0;
    ONS_TRY(branch_graph_new("sequential Transformer", GRAPH_ROOM, arena, g));
    for (uint32_t i = 0; i < branches * LAYERS; ++i) ONS_TRY(add_layer(m, g, i == 0, &number));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- case study */

enum { STUDY_LAYERS = 4 };

ons_status *model_case_study(const model_machine *m, uint32_t branches, ons_arena *arena, branch_graph *g) {
    uint32_t ends[2], number = 0;
    const model_work layer[] = {attention(), linear("linear1", SEQUENCE, HIDDEN, FEED_FORWARD),
                                linear("linear2", SEQUENCE, FEED_FORWARD, HIDDEN)};
    ONS_CHECK(branches == 2, ONS_INVALID_ARGUMENT, "section 7.5 has two branches");
    ONS_TRY(branch_graph_new("case study", GRAPH_ROOM, arena, g));
    for (uint32_t i = 0; i < 2; ++i) {
        for (uint32_t k = 0; k < 3 * STUDY_LAYERS; ++k) ONS_TRY(append(m, g, &layer[k % 3], k == 0, &number));
        ends[i] = number;
    }
    return add_concatenation(m, g, 2 * (int64_t)SEQUENCE * HIDDEN, ends, 2, &number);
}

/* (4 c + d) / (2 c + d) = ratio, with c the seconds of a sample and d what a micro-batch costs beside them. */
void model_calibrate(model_machine *m, double ratio) {
    const model_work layer[] = {attention(), linear("", SEQUENCE, HIDDEN, FEED_FORWARD),
                                linear("", SEQUENCE, FEED_FORWARD, HIDDEN)};
    double each = 0, launches = 0, products = 0;
    for (uint32_t i = 0; i < 3; ++i) {
        each += layer[i].flops / matrix_rate(m) + layer[i].moved / memory_rate(m);
        launches += (layer[i].products + layer[i].kernels) * m->profile.launch_seconds;
        products += layer[i].products;
    }
    double beside = each * (4 - 2 * ratio) / (ratio - 1);
    m->half = beside > launches ? (beside - launches) / products * matrix_rate(m) : 0;
}

/* ------------------------------------------------------------------------------------------------- DLRM, CANDLE-Uno */

static ons_status *add_dense_branch(const model_machine *m, branch_graph *g, uint32_t *number) {
    const model_work layer = linear("linear", 1, WIDE, WIDE), relu = elementwise("relu", WIDE, 1);
    for (uint32_t i = 0; i < DENSE_LAYERS; ++i) {
        ONS_TRY(append(m, g, &layer, i == 0, number));
        ONS_TRY(append(m, g, &relu, false, number));
    }
    return NULL;
}

ons_status *model_dlrm(const model_machine *m, uint32_t branches, ons_arena *arena, branch_graph *g) {
    uint32_t *ends, number = 0;
    int64_t bag = (int64_t)BAG * BAG_HIDDEN, features = branches * (WIDE + bag);
    model_work table = elementwise("embedding", bag, 1);
    table.weights = (int64_t)TABLE_ROWS * BAG_HIDDEN;
    const model_work top[] = {linear("top", 1, features, WIDE), elementwise("relu", WIDE, 1),
                              linear("top", 1, WIDE, WIDE), elementwise("relu", WIDE, 1), linear("top", 1, WIDE, 1)};
    ONS_TRY(branch_graph_new("DLRM", GRAPH_ROOM, arena, g));
    ONS_NEW(ends, arena, 2 * (size_t)branches);
    for (uint32_t i = 0; i < branches; ++i) {
        ONS_TRY(add_dense_branch(m, g, &number));
        ends[i] = number;
    }
    for (uint32_t i = 0; i < branches; ++i) {
        ONS_TRY(append(m, g, &table, true, &number));
        ends[branches + i] = number;
    }
    ONS_TRY(add_concatenation(m, g, features, ends, 2 * branches, &number));
    for (size_t i = 0; i < sizeof top / sizeof *top; ++i) ONS_TRY(append(m, g, &top[i], false, &number));
    return NULL;
}

ons_status *model_candle(const model_machine *m, uint32_t branches, ons_arena *arena, branch_graph *g) {
    uint32_t *ends, number = 0;
    ONS_TRY(branch_graph_new("CANDLE-Uno", GRAPH_ROOM, arena, g));
    ONS_NEW(ends, arena, branches);
    for (uint32_t i = 0; i < branches; ++i) {
        ONS_TRY(add_dense_branch(m, g, &number));
        ends[i] = number;
    }
    ONS_TRY(add_concatenation(m, g, (int64_t)branches * WIDE, ends, branches, &number));
    const model_work head = linear("head", 1, (int64_t)branches * WIDE, 1);
    return append(m, g, &head, false, &number);
}

/* --------------------------------------------------------------------------------------------------------- problems */

/* Of a node's 100 Gb/s as much arrives as the profile assumes of its own link. */
static const double NODE_LINK = 12.5e9, ARRIVES = 0.8;

ons_status *model_problem(const model_machine *m, const branch_graph *g, uint32_t devices, int64_t batch,
                          ons_planning_problem *links, ons_graph_problem *problem) {
    uint32_t sizes = 1;
    while ((int64_t)1 << (sizes - 1) < batch) ++sizes;
    *links = (ons_planning_problem){
        .capacity_bytes = m->profile.memory_bytes - m->profile.reserve_bytes,
        .link_bandwidth = devices <= GPUS_OF_A_NODE ? m->profile.link_bandwidth : ARRIVES * NODE_LINK / m->share,
        .link_latency = m->profile.link_latency,
    };
    *problem = (ons_graph_problem){.sizes = sizes, .batch = batch, .devices = devices, .hardware = links};
    return branch_graph_works(g, sizes, &problem->work);
}
