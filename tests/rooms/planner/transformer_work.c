#include "tests/rooms/planner/transformer_work.h"
#include "tests/rooms/planner/loads.h"

static const double FLOPS = 60e12, BANDWIDTH = 1.5e12, LAUNCH = 5e-6;
/* Layers, for reports, are counted off in their number of nodes: close enough. */
enum { LAYER_NODES = 51, OTHER_NODES = 16, MOST_READS = 4, ELEMENT_BYTES = 4 };

transformer_work_options transformer_work_bert(int64_t samples) {
    return (transformer_work_options){24, 1024, 16, 512, samples, 30522};
}
transformer_work_options transformer_work_gpt3(int64_t samples) {
    return (transformer_work_options){96, 12288, 96, 2048, samples, 50257};
}

typedef struct maker {
    const transformer_work_options *o;
    ons_arena *arena;
    ons_workload *work;
    int64_t tokens, wide, scores; /* elements: of a token's vector for all tokens, four times that, of the attention */
} maker;

/* What a node does. `reads` are tensors; those in `saves` (bit i: reads[i]) are kept for backward, and the output where
 * `keeps` says so. */
typedef struct operation {
    const char *kind;
    double flops;
    int64_t out_elements, weight_elements;
    uint32_t reads[MOST_READS], read_count, saves;
    bool keeps;
} operation;

static ons_status *add_tensor(maker *m, const operation *op, uint32_t node, uint32_t most_readers) {
    uint32_t *readers, *savers;
    ONS_NEW(readers, m->arena, most_readers);
    ONS_NEW(savers, m->arena, most_readers);
    int64_t bytes = op->out_elements * ELEMENT_BYTES;
    m->work->tensors[m->work->tensor_count] = (ons_work_tensor){.name = op->kind,
                                                                .bytes = bytes,
                                                                .gradient_bytes = bytes,
                                                                .producer = node,
                                                                .readers = readers,
                                                                .savers = savers};
    if (op->keeps) savers[m->work->tensors[m->work->tensor_count].saver_count++] = node;
    ++m->work->tensor_count;
    return NULL;
}

static ons_status *add_weight(maker *m, const operation *op, uint32_t node) {
    uint32_t *user;
    ONS_NEW(user, m->arena, 1);
    *user = node;
    int64_t bytes = op->weight_elements * ELEMENT_BYTES;
    m->work->weights[m->work->weight_count++] = (ons_work_weight){op->kind, bytes, bytes, 2 * bytes, user, 1};
    return NULL;
}

/* Its output is the tensor of the same number. */
static ons_status *add(maker *m, operation op, uint32_t *output) {
    ons_workload *w = m->work;
    uint32_t node = w->node_count++;
    int64_t bytes = op.out_elements * ELEMENT_BYTES;
    for (uint32_t i = 0; i < op.read_count; ++i) {
        ons_work_tensor *t = &w->tensors[op.reads[i]];
        bytes += t->bytes;
        ((uint32_t *)t->readers)[t->reader_count++] = node;
        if (op.saves >> i & 1) ((uint32_t *)t->savers)[t->saver_count++] = node;
    }
    double seconds =
        LAUNCH + (op.flops / FLOPS > (double)bytes / BANDWIDTH ? op.flops / FLOPS : (double)bytes / BANDWIDTH);
    w->nodes[node] = (ons_work_node){.name = op.kind,
                                     .kind = op.kind,
                                     .layer = node / LAYER_NODES,
                                     .forward_seconds = seconds,
                                     .input_gradient_seconds = seconds,
                                     .weight_gradient_seconds = op.weight_elements > 0 ? seconds : 0,
                                     .recomputable = true};
    *output = node;
    ONS_TRY(add_tensor(m, &op, node, node == 0 ? m->o->layers + MOST_READS : MOST_READS));
    return op.weight_elements > 0 ? add_weight(m, &op, node) : NULL;
}

#define ADD(out, ...) ONS_TRY(add(m, (operation){__VA_ARGS__}, &(out)))

/* y = x W + b, as two nodes. */
static ons_status *dense(maker *m, uint32_t x, int64_t in, int64_t out, uint32_t *y) {
    int64_t elements = m->tokens / m->o->hidden * out;
    ADD(*y, .kind = "MatMul", .flops = 2.0 * (double)elements * (double)in, .out_elements = elements,
        .weight_elements = in * out, .reads = {x}, .read_count = 1, .saves = 1);
    ADD(*y, .kind = "Add", .out_elements = elements, .weight_elements = out, .reads = {*y}, .read_count = 1);
    return NULL;
}

/* A dense layer whose result is split by heads: four nodes. */
static ons_status *head(maker *m, uint32_t x, uint32_t *y) {
    ONS_TRY(dense(m, x, m->o->hidden, m->o->hidden, y));
    ADD(*y, .kind = "Reshape", .out_elements = m->tokens, .reads = {*y}, .read_count = 1);
    ADD(*y, .kind = "Transpose", .out_elements = m->tokens, .reads = {*y}, .read_count = 1);
    return NULL;
}

static ons_status *attention(maker *m, uint32_t x, uint32_t mask, uint32_t *y) {
    uint32_t q, k, v;
    int64_t width = m->o->hidden / m->o->heads;
    double flops = 2.0 * (double)m->scores * (double)width;
    ONS_TRY(head(m, x, &q));
    ONS_TRY(head(m, x, &k));
    ONS_TRY(head(m, x, &v));
    ADD(*y, .kind = "MatMul", .flops = flops, .out_elements = m->scores, .reads = {q, k}, .read_count = 2, .saves = 3);
    ADD(*y, .kind = "Div", .out_elements = m->scores, .reads = {*y}, .read_count = 1);
    ADD(*y, .kind = "Add", .out_elements = m->scores, .reads = {*y, mask}, .read_count = 2);
    ADD(*y, .kind = "Softmax", .out_elements = m->scores, .reads = {*y}, .read_count = 1, .keeps = true);
    ADD(*y, .kind = "Dropout", .out_elements = m->scores, .reads = {*y}, .read_count = 1, .keeps = true);
    ADD(*y, .kind = "MatMul", .flops = flops, .out_elements = m->tokens, .reads = {*y, v}, .read_count = 2, .saves = 3);
    ADD(*y, .kind = "Transpose", .out_elements = m->tokens, .reads = {*y}, .read_count = 1);
    ADD(*y, .kind = "Reshape", .out_elements = m->tokens, .reads = {*y}, .read_count = 1);
    return NULL;
}

/* Written out, as exporters do: (x - mean) / deviation * scale + shift. Eight nodes. */
static ons_status *normalise(maker *m, uint32_t x, uint32_t *y) {
    int64_t rows = m->tokens / m->o->hidden;
    uint32_t centred, t;
    ADD(t, .kind = "ReduceMean", .out_elements = rows, .reads = {x}, .read_count = 1);
    ADD(centred, .kind = "Sub", .out_elements = m->tokens, .reads = {x, t}, .read_count = 2);
    ADD(t, .kind = "Mul", .out_elements = m->tokens, .reads = {centred}, .read_count = 1, .saves = 1);
    ADD(t, .kind = "ReduceMean", .out_elements = rows, .reads = {t}, .read_count = 1);
    ADD(t, .kind = "Sqrt", .out_elements = rows, .reads = {t}, .read_count = 1, .keeps = true);
    ADD(t, .kind = "Div", .out_elements = m->tokens, .reads = {centred, t}, .read_count = 2, .saves = 3);
    ADD(t, .kind = "Mul", .out_elements = m->tokens, .weight_elements = m->o->hidden, .reads = {t}, .read_count = 1,
        .saves = 1);
    ADD(*y, .kind = "Add", .out_elements = m->tokens, .weight_elements = m->o->hidden, .reads = {t}, .read_count = 1);
    return NULL;
}

/* Dropout, residual connection and normalisation. */
static ons_status *join(maker *m, uint32_t x, uint32_t residual, uint32_t *y) {
    ADD(*y, .kind = "Dropout", .out_elements = m->tokens, .reads = {x}, .read_count = 1, .keeps = true);
    ADD(*y, .kind = "Add", .out_elements = m->tokens, .reads = {residual, *y}, .read_count = 2);
    return normalise(m, *y, y);
}

static ons_status *layer(maker *m, uint32_t mask, uint32_t *x) {
    uint32_t y, z;
    ONS_TRY(attention(m, *x, mask, &y));
    ONS_TRY(dense(m, y, m->o->hidden, m->o->hidden, &y));
    ONS_TRY(join(m, y, *x, x));
    ONS_TRY(dense(m, *x, m->o->hidden, 4 * m->o->hidden, &y));
    ADD(z, .kind = "Div", .out_elements = m->wide, .reads = {y}, .read_count = 1);
    ADD(z, .kind = "Erf", .out_elements = m->wide, .reads = {z}, .read_count = 1, .saves = 1);
    ADD(z, .kind = "Add", .out_elements = m->wide, .reads = {z}, .read_count = 1);
    ADD(z, .kind = "Mul", .out_elements = m->wide, .reads = {y, z}, .read_count = 2, .saves = 3);
    ADD(z, .kind = "Mul", .out_elements = m->wide, .reads = {z}, .read_count = 1);
    ONS_TRY(dense(m, z, 4 * m->o->hidden, m->o->hidden, &y));
    return join(m, y, *x, x);
}

static ons_status *model(maker *m) {
    uint32_t mask, x;
    const transformer_work_options *o = m->o;
    int64_t logits = o->samples * o->sequence * o->vocabulary;
    ADD(mask, .kind = "Mask", .out_elements = o->samples * o->sequence);
    ADD(x, .kind = "Gather", .out_elements = m->tokens, .weight_elements = o->vocabulary * o->hidden);
    ONS_TRY(normalise(m, x, &x));
    for (uint32_t i = 0; i < o->layers; ++i) ONS_TRY(layer(m, mask, &x));
    ADD(x, .kind = "MatMul", .flops = 2.0 * (double)logits * (double)o->hidden, .out_elements = logits,
        .weight_elements = o->vocabulary * o->hidden, .reads = {x}, .read_count = 1, .saves = 1);
    ADD(x, .kind = "Loss", .out_elements = 1, .reads = {x}, .read_count = 1, .saves = 1);
    return NULL;
}

static ons_status *make_layers(ons_workload *work, ons_arena *arena) {
    work->layer_count = work->nodes[work->node_count - 1].layer + 1;
    ONS_NEW(work->layers, arena, work->layer_count);
    for (uint32_t i = 0; i < work->node_count; ++i) {
        ons_work_layer *l = &work->layers[work->nodes[i].layer];
        if (l->count++ == 0) *l = (ons_work_layer){ons_arena_format(arena, "layer.%u", work->nodes[i].layer), i, 1};
    }
    return NULL;
}

ons_status *transformer_work_make(const transformer_work_options *o, ons_arena *arena, ons_workload *work) {
    int64_t tokens = o->samples * o->sequence * o->hidden;
    maker m = {o, arena, work, tokens, 4 * tokens, o->samples * o->heads * o->sequence * o->sequence};
    size_t most = (size_t)o->layers * LAYER_NODES + OTHER_NODES;
    *work = (ons_workload){.name = "transformer", .samples = o->samples};
    ONS_NEW(work->nodes, arena, most);
    ONS_NEW(work->tensors, arena, most);
    ONS_NEW(work->weights, arena, most);
    ONS_TRY(model(&m));
    ONS_TRY(make_layers(work, arena));
    return ons_workload_finish(work, arena);
}

int64_t transformer_work_capacity(const ons_workload *work, const ons_pipeline *pipeline, double share) {
    int64_t fixed = 0, total = 0;
    for (uint32_t i = 0; i < pipeline->stages; ++i) {
        ons_stage_load load = load_of_stage(pipeline, i);
        ons_stage_memory m;
        uint64_t nodes = work->node_count;
        ons_work_stage_memory(work, (uint32_t)(nodes * i / pipeline->stages),
                              (uint32_t)(nodes * (i + 1) / pipeline->stages), &load, &m);
        int64_t stays = m.weights + m.gradients + m.states + m.versions;
        if (stays > fixed) fixed = stays;
        if (m.total > total) total = m.total;
    }
    return fixed + (int64_t)((double)(total - fixed) * share);
}
