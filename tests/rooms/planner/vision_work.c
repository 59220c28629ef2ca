#include "tests/rooms/planner/vision_work.h"

static const double FLOPS = 60e12, BANDWIDTH = 1.5e12, LAUNCH = 5e-6;
enum { BLOCK_NODES = 10, OTHER_NODES = 6, MOST_READS = 3, ELEMENT_BYTES = 4 };

vision_work_options vision_work_vit(int64_t samples) {
    return (vision_work_options){.blocks = 40,
                                 .hidden = 1408,
                                 .inner = 6144,
                                 .heads = 16,
                                 .tokens = 257,
                                 .samples = samples,
                                 .patch = 588,
                                 .classes = 1000};
}

vision_work_options vision_work_gpt2(int64_t samples) {
    return (vision_work_options){.blocks = 36,
                                 .hidden = 1280,
                                 .inner = 5120,
                                 .heads = 20,
                                 .tokens = 512,
                                 .samples = samples,
                                 .patch = 1280,
                                 .classes = 50257,
                                 .every_token = true};
}

typedef struct maker {
    const vision_work_options *o;
    ons_arena *arena;
    ons_workload *work;
    int64_t rows; /* tokens of all samples */
    uint32_t *block_inputs;
    bool frozen; /* what is added is not trained */
} maker;

/* What a node does: rows of `width` numbers; what it reads is saved for the backward part where `saves` says so. */
typedef struct operation {
    const char *kind;
    double flops;
    int64_t elements, weights;
    uint32_t reads[MOST_READS], read_count;
    bool saves;
} operation;

static ons_status *add_tensor(maker *m, const operation *op, uint32_t node) {
    uint32_t *readers, *savers;
    ONS_NEW(readers, m->arena, MOST_READS + 1);
    ONS_NEW(savers, m->arena, MOST_READS + 1);
    int64_t bytes = op->elements * ELEMENT_BYTES;
    m->work->tensors[m->work->tensor_count++] = (ons_work_tensor){.name = op->kind,
                                                                  .bytes = bytes,
                                                                  .gradient_bytes = m->frozen ? 0 : bytes,
                                                                  .producer = node,
                                                                  .readers = readers,
                                                                  .savers = savers};
    return NULL;
}

static ons_status *add_weight(maker *m, const operation *op, uint32_t node) {
    uint32_t *user;
    ONS_NEW(user, m->arena, 1);
    *user = node;
    int64_t bytes = op->weights * ELEMENT_BYTES, trained = m->frozen ? 0 : bytes;
    m->work->weights[m->work->weight_count++] = (ons_work_weight){op->kind, bytes, trained, 2 * trained, user, 1};
    return NULL;
}

static int64_t connect(maker *m, const operation *op, uint32_t node) {
    int64_t bytes = op->elements * ELEMENT_BYTES;
    for (uint32_t i = 0; i < op->read_count; ++i) {
        ons_work_tensor *t = &m->work->tensors[op->reads[i]];
        bytes += t->bytes;
        ((uint32_t *)t->readers)[t->reader_count++] = node;
        if (op->saves && !m->frozen) ((uint32_t *)t->savers)[t->saver_count++] = node;
    }
    return bytes;
}

/* Its output is the tensor of the same number. */
static ons_status *add(maker *m, operation op, uint32_t *output) {
    uint32_t node = m->work->node_count++;
    double moved = (double)connect(m, &op, node) / BANDWIDTH, computed = op.flops / FLOPS;
    double seconds = LAUNCH + (computed > moved ? computed : moved);
    bool twice = op.weights > 0 || op.flops > 0;
    m->work->nodes[node] = (ons_work_node){.name = op.kind,
                                           .kind = op.kind,
                                           .layer = node,
                                           .forward_seconds = seconds,
                                           .input_gradient_seconds = m->frozen        ? 0
                                                                     : op.weights > 0 ? seconds
                                                                                      : (1 + twice) * seconds,
                                           .weight_gradient_seconds = op.weights > 0 && !m->frozen ? seconds : 0,
                                           .recomputable = true};
    *output = node;
    ONS_TRY(add_tensor(m, &op, node));
    return op.weights > 0 ? add_weight(m, &op, node) : NULL;
}

#define ADD(out, ...) ONS_TRY(add(m, (operation){__VA_ARGS__}, &(out)))

static ons_status *product(maker *m, uint32_t x, int64_t rows, int64_t in, int64_t out, uint32_t *y) {
    ADD(*y, .kind = "Linear", .flops = 2.0 * (double)(rows * in) * (double)out, .elements = rows * out,
        .weights = in * out + out, .reads = {x}, .read_count = 1, .saves = true);
    return NULL;
}

static ons_status *normalise(maker *m, uint32_t x, uint32_t *y) {
    ADD(*y, .kind = "LayerNorm", .elements = m->rows * m->o->hidden, .weights = 2 * m->o->hidden, .reads = {x},
        .read_count = 1, .saves = true);
    return NULL;
}

/* With `far`, a tensor of long ago comes in, too. */
static ons_status *join(maker *m, uint32_t x, uint32_t y, const uint32_t *far, uint32_t *sum) {
    ADD(*sum, .kind = "Add", .elements = m->rows * m->o->hidden, .reads = {x, y, far != NULL ? *far : 0},
        .read_count = far != NULL ? 3 : 2);
    return NULL;
}

static ons_status *block(maker *m, uint32_t number, uint32_t *x) {
    const vision_work_options *o = m->o;
    uint32_t y;
    double scores = 4.0 * (double)(m->rows * o->tokens) * (double)o->hidden;
    bool far = o->across && 2 * number >= o->blocks;
    m->block_inputs[number] = *x;
    ONS_TRY(normalise(m, *x, &y));
    ONS_TRY(product(m, y, m->rows, o->hidden, 3 * o->hidden, &y));
    ADD(y, .kind = "Attention", .flops = scores, .elements = m->rows * o->hidden, .reads = {y}, .read_count = 1,
        .saves = true);
    ONS_TRY(product(m, y, m->rows, o->hidden, o->hidden, &y));
    ONS_TRY(join(m, *x, y, far ? &m->block_inputs[o->blocks - 1 - number] : NULL, x));
    ONS_TRY(normalise(m, *x, &y));
    ONS_TRY(product(m, y, m->rows, o->hidden, o->inner, &y));
    ADD(y, .kind = "Gelu", .elements = m->rows * o->inner, .reads = {y}, .read_count = 1, .saves = true);
    ONS_TRY(product(m, y, m->rows, o->inner, o->hidden, &y));
    return join(m, *x, y, NULL, x);
}

static ons_status *model(maker *m) {
    const vision_work_options *o = m->o;
    uint32_t x, y;
    int64_t rows = o->every_token ? m->rows : o->samples;
    m->frozen = o->frozen_blocks > 0;
    ADD(x, .kind = "Patches", .flops = o->every_token ? 0 : 2.0 * (double)(m->rows * o->patch) * (double)o->hidden,
        .elements = m->rows * o->hidden, .weights = (o->every_token ? o->classes : o->patch) * o->hidden);
    ADD(x, .kind = "Positions", .elements = m->rows * o->hidden, .weights = o->tokens * o->hidden, .reads = {x},
        .read_count = 1);
    for (uint32_t i = 0; i < o->blocks; ++i) {
        m->frozen = i < o->frozen_blocks;
        ONS_TRY(block(m, i, &x));
    }
    ONS_TRY(normalise(m, x, &y));
    ADD(y, .kind = "Pool", .elements = rows * o->hidden, .reads = {y}, .read_count = 1);
    ONS_TRY(product(m, y, rows, o->hidden, o->classes, &y));
    ADD(y, .kind = "Loss", .elements = 1, .reads = {y}, .read_count = 1, .saves = true);
    return NULL;
}

static ons_status *make_layers(ons_workload *work, ons_arena *arena) {
    work->layer_count = work->node_count;
    ONS_NEW(work->layers, arena, work->layer_count);
    for (uint32_t i = 0; i < work->node_count; ++i) work->layers[i] = (ons_work_layer){work->nodes[i].kind, i, 1};
    return NULL;
}

static void scale(ons_workload *work, double seconds) {
    double sum = 0;
    for (uint32_t i = 0; i < work->node_count; ++i) {
        const ons_work_node *n = &work->nodes[i];
        sum += n->forward_seconds + n->input_gradient_seconds + n->weight_gradient_seconds;
    }
    for (uint32_t i = 0; i < work->node_count; ++i) {
        work->nodes[i].forward_seconds *= seconds / sum;
        work->nodes[i].input_gradient_seconds *= seconds / sum;
        work->nodes[i].weight_gradient_seconds *= seconds / sum;
    }
}

ons_status *vision_work_make(const vision_work_options *o, ons_arena *arena, ons_workload *work) {
    maker m = {.o = o, .arena = arena, .work = work, .rows = o->samples * o->tokens};
    size_t most = (size_t)o->blocks * BLOCK_NODES + OTHER_NODES;
    *work = (ons_workload){.name = "vision transformer", .samples = o->samples};
    ONS_NEW(work->nodes, arena, most);
    ONS_NEW(work->tensors, arena, most);
    ONS_NEW(work->weights, arena, most);
    ONS_NEW(m.block_inputs, arena, o->blocks);
    ONS_TRY(model(&m));
    ONS_TRY(make_layers(work, arena));
    if (o->seconds > 0) scale(work, o->seconds);
    return ons_workload_finish(work, arena);
}
