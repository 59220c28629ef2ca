#include "bench/autopipe_models.h"

const double autopipe_memory_bandwidth = 936e9;
const double autopipe_link_bandwidth = 12.5e9;
const double autopipe_link_latency = 5e-6;
const int64_t autopipe_capacity = (int64_t)21 << 30;

enum {
    ELEMENT_BYTES = 2,
    SCORE_PASSES = 8,   /* reads and writes of all scores, forward: product, mask and softmax, dropout, product */
    HIDDEN_PASSES = 20, /* of all hidden elements, in each block: normalisation, biases, dropout, residual connection */
    LOGIT_PASSES = 12,  /* of all logits, forward and backward */
};

autopipe_model autopipe_gpt2_345m(int64_t samples) {
    return (autopipe_model){"GPT-2 345M", 24, 1024, 16, 1024, 50304, samples, 21e12, 2, 1};
}
autopipe_model autopipe_gpt2_762m(int64_t samples) {
    return (autopipe_model){"GPT-2 762M", 36, 1280, 20, 1024, 50304, samples, 25e12, 2, 1};
}
autopipe_model autopipe_gpt2_1_3b(int64_t samples) {
    return (autopipe_model){"GPT-2 1.3B", 24, 2048, 16, 1024, 50304, samples, 30e12, 2, 1};
}

autopipe_model autopipe_bert_large(int64_t samples) {
    return (autopipe_model){"BERT-large", 24, 1024, 16, 512, 30522, samples, 21e12, 2, 1};
}

typedef struct maker {
    const autopipe_model *m;
    ons_arena *arena;
    ons_workload *work;
    double elements, scores; /* of a micro-batch: of a hidden tensor, of all attention scores */
} maker;

static double copy_seconds(double elements, int passes) {
    return elements * ELEMENT_BYTES * passes / autopipe_memory_bandwidth;
}

/* Its input is the tensor of the node in front, which it saves. */
static ons_status *add(maker *k, const ons_work_node *node, int64_t parameters, int64_t out_bytes) {
    ons_workload *w = k->work;
    uint32_t number = w->node_count++, *self;
    w->nodes[number] = *node;
    ONS_NEW(self, k->arena, 1);
    *self = number;
    if (number > 0) {
        ons_work_tensor *in = &w->tensors[number - 1];
        in->readers = in->savers = self;
        in->reader_count = in->saver_count = 1;
    }
    w->tensors[w->tensor_count++] =
        (ons_work_tensor){.name = node->name, .bytes = out_bytes, .gradient_bytes = out_bytes, .producer = number};
    if (parameters > 0)
        w->weights[w->weight_count++] =
            (ons_work_weight){node->name, 2 * parameters, 4 * parameters, 14 * parameters, self, 1};
    return NULL;
}

/* The forward part runs twice. */
static ons_status *add_block(maker *k, const char *name, uint32_t layer, double flops, double seconds, int64_t kept,
                             int64_t parameters) {
    double forward = flops / k->m->flops + seconds + copy_seconds(k->elements, HIDDEN_PASSES);
    const ons_work_node node = {.name = name,
                                .kind = "Block",
                                .layer = layer,
                                .forward_seconds = forward,
                                .input_gradient_seconds = 2 * forward,
                                .weight_gradient_seconds = forward,
                                .backward_bytes = kept};
    return add(k, &node, parameters, (int64_t)k->elements * ELEMENT_BYTES);
}

/* What a layer keeps until its gradient: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
 * Models", 2022, equation 1, less the inputs of both blocks. */
static ons_status *add_layer(maker *k, uint32_t layer) {
    double h = (double)k->m->hidden, tokens = k->elements / h;
    int64_t elements = (int64_t)k->elements, scores = (int64_t)k->scores;
    ONS_TRY(add_block(k, "attention", layer, tokens * (8 * h * h + 4 * h * (double)k->m->sequence),
                      copy_seconds(k->scores, SCORE_PASSES), 11 * elements + k->m->score_bytes * scores,
                      4 * k->m->hidden * k->m->hidden));
    return add_block(k, "feed-forward", layer, tokens * 16 * h * h, 0, 19 * elements, 8 * k->m->hidden * k->m->hidden);
}

static ons_status *add_embedding(maker *k) {
    double seconds = copy_seconds(k->elements, 4);
    const ons_work_node node = {
        .name = "embedding", .kind = "Embedding", .forward_seconds = seconds, .weight_gradient_seconds = 2 * seconds};
    return add(k, &node, (k->m->vocabulary + k->m->sequence) * k->m->hidden, (int64_t)k->elements * ELEMENT_BYTES);
}

static ons_status *add_head(maker *k) {
    double tokens = k->elements / (double)k->m->hidden, logits = tokens * (double)k->m->vocabulary;
    double product = 2 * logits * (double)k->m->hidden / k->m->flops, passes = copy_seconds(logits, LOGIT_PASSES);
    int64_t bytes = (int64_t)logits * AUTOPIPE_LOGIT_BYTES, saved = (int64_t)logits * AUTOPIPE_PROBABILITY_BYTES;
    uint32_t *self;
    product *= k->m->head_share;
    passes *= k->m->head_share;
    const ons_work_node node = {.name = "head",
                                .kind = "Head",
                                .layer = k->m->layers + 1,
                                .forward_seconds = product + passes / 3,
                                .input_gradient_seconds = product + passes * 2 / 3,
                                .weight_gradient_seconds = product,
                                .forward_bytes = bytes - saved,
                                .backward_bytes = bytes - saved};
    ONS_TRY(add(k, &node, k->m->vocabulary * k->m->hidden, saved));
    ons_work_tensor *t = &k->work->tensors[k->work->tensor_count - 1];
    ONS_NEW(self, k->arena, 1);
    *self = k->work->node_count - 1;
    t->gradient_bytes = 0;
    t->savers = self;
    t->saver_count = 1;
    return NULL;
}

static ons_status *make_layers(maker *k) {
    ons_workload *w = k->work;
    w->layer_count = k->m->layers + 2;
    ONS_NEW(w->layers, k->arena, w->layer_count);
    for (uint32_t i = 0; i < w->node_count; ++i) {
        ons_work_layer *l = &w->layers[w->nodes[i].layer];
        if (l->count++ == 0) *l = (ons_work_layer){ons_arena_format(k->arena, "layer.%u", w->nodes[i].layer), i, 1};
    }
    return NULL;
}

ons_status *autopipe_model_make(const autopipe_model *m, ons_arena *arena, ons_workload *work) {
    maker k = {.m = m, .arena = arena, .work = work};
    k.elements = (double)(m->samples * m->sequence * m->hidden);
    k.scores = (double)(m->samples * m->heads * m->sequence) * (double)m->sequence;
    size_t nodes = 2 * (size_t)m->layers + 2;
    *work = (ons_workload){.name = m->name, .samples = m->samples};
    ONS_NEW(work->nodes, arena, nodes);
    ONS_NEW(work->tensors, arena, nodes);
    ONS_NEW(work->weights, arena, nodes);
    ONS_TRY(add_embedding(&k));
    for (uint32_t i = 1; i <= m->layers; ++i) ONS_TRY(add_layer(&k, i));
    ONS_TRY(add_head(&k));
    ONS_TRY(make_layers(&k));
    return ons_workload_finish(work, arena);
}

ons_planning_problem autopipe_problem(const ons_workload *work, uint32_t stages, uint32_t micro_batches) {
    return (ons_planning_problem){.work = work,
                                  .pipeline = {&ons_generator_one_f_one_b, stages, micro_batches, stages, 1},
                                  .capacity_bytes = autopipe_capacity,
                                  .link_bandwidth = autopipe_link_bandwidth,
                                  .link_latency = autopipe_link_latency};
}
