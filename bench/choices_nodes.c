#include "bench/choices_nodes.h"

#include <stdio.h>
#include <string.h>

/* `rows` × `in` times `in` × `out`, with a bias. `turned`: the weight is `out` × `in`, as PyTorch has it; exporters
 * that fold constants write it the other way round where there are more than two dims. */
typedef struct layer {
    const char *network;
    int64_t rows, in, out;
    bool turned;
} layer;

static const layer layers[] = {
    {"gpt_char", 2048, 128, 384, false},
    {"gpt_char", 2048, 128, 128, false},
    {"gpt_char", 2048, 128, 512, false},
    {"gpt_char", 2048, 512, 128, false},
    {"gpt_char", 2048, 128, 65, false},
    {"gpt_large", 2048, 384, 1152, false},
    {"gpt_large", 2048, 384, 384, false},
    {"gpt_large", 2048, 384, 1536, false},
    {"gpt_large", 2048, 1536, 384, false},
    {"bert_base, gpt2", 1024, 768, 768, false},
    {"bert_base, gpt2", 1024, 768, 2304, false},
    {"bert_base, gpt2", 1024, 768, 3072, false},
    {"bert_base, gpt2", 1024, 3072, 768, false},
    {"vit_small", 1576, 384, 1152, false},
    {"vit_small", 1576, 384, 384, false},
    {"vit_small", 1576, 384, 1536, false},
    {"vit_small", 1576, 1536, 384, false},
    {"lstm", 2048, 256, 65, false},
    {"gpt_char", 2048, 128, 384, true},
    {"gpt_char", 2048, 128, 128, true},
    {"gpt_char", 2048, 128, 512, true},
    {"gpt_char", 2048, 512, 128, true},
    {"gpt_char", 2048, 128, 65, true},
    {"gpt_large", 2048, 384, 1152, true},
    {"gpt_large", 2048, 384, 384, true},
    {"gpt_large", 2048, 384, 1536, true},
    {"gpt_large", 2048, 1536, 384, true},
    {"bert_base, gpt2", 1024, 768, 768, true},
    {"bert_base, gpt2", 1024, 768, 2304, true},
    {"bert_base, gpt2", 1024, 768, 3072, true},
    {"bert_base, gpt2", 1024, 3072, 768, true},
    {"vit_small", 1576, 384, 1152, true},
    {"vit_small", 1576, 384, 384, true},
    {"vit_small", 1576, 384, 1536, true},
    {"vit_small", 1576, 1536, 384, true},
    {"lstm", 2048, 256, 65, true},
    {"lstm", 2048, 256, 1024, true},
    {"mlp", 128, 784, 1024, true},
    {"mlp", 128, 1024, 1024, true},
    {"mlp", 128, 1024, 10, true},
    {"dlrm", 256, 13, 512, true},
    {"dlrm", 256, 512, 256, true},
    {"dlrm", 256, 256, 32, true},
    {"dlrm", 256, 168, 512, true},
    {"lenet", 64, 400, 120, true},
    {"lenet", 64, 120, 84, true},
    {"resnet18", 32, 512, 1000, true},
    {"mobilenet_v2", 8, 1280, 1000, true},
};

/* Attention as products of its own, and DLRM's pairs. */
typedef struct batch {
    const char *network;
    int64_t count, m, n, k;
    bool transposed_a, transposed_b;
} batch;

static const batch batches[] = {
    {"gpt_char", 128, 64, 64, 32, false, true},    {"gpt_char", 128, 64, 32, 64, false, false},
    {"gpt_char", 128, 64, 32, 64, true, false},    {"gpt_large", 96, 128, 128, 64, false, true},
    {"gpt_large", 96, 128, 64, 128, false, false}, {"gpt_large", 96, 128, 64, 128, true, false},
    {"gpt2", 48, 256, 256, 64, false, true},       {"gpt2", 48, 256, 64, 256, false, false},
    {"gpt2", 48, 256, 64, 256, true, false},       {"dlrm", 256, 17, 17, 32, false, true},
    {"dlrm", 256, 17, 32, 17, false, false},       {"dlrm", 256, 17, 32, 17, true, false},
};

/* `size` × `size` positions. */
typedef struct convolution {
    const char *network;
    int64_t samples, channels, size, outputs, kernel, stride, groups;
} convolution;

static const convolution convolutions[] = {
    {"lenet", 64, 1, 28, 6, 5, 1, 1},
    {"lenet", 64, 6, 14, 16, 5, 1, 1},
    {"resnet18_32", 32, 3, 32, 64, 3, 1, 1},
    {"resnet18_32", 32, 64, 32, 64, 3, 1, 1},
    {"resnet18_32", 32, 128, 16, 128, 3, 1, 1},
    {"resnet18_32", 32, 256, 8, 256, 3, 1, 1},
    {"resnet18_32", 32, 512, 4, 512, 3, 1, 1},
    {"resnet18_224", 16, 3, 224, 64, 7, 2, 1},
    {"resnet18_224", 16, 64, 56, 64, 3, 1, 1},
    {"resnet18_224", 16, 64, 56, 128, 3, 2, 1},
    {"resnet18_224", 16, 128, 28, 128, 3, 1, 1},
    {"resnet18_224", 16, 128, 28, 256, 3, 2, 1},
    {"resnet18_224", 16, 256, 14, 256, 3, 1, 1},
    {"resnet18_224", 16, 256, 14, 512, 3, 2, 1},
    {"resnet18_224", 16, 512, 7, 512, 3, 1, 1},
    {"resnet18_few", 32, 256, 2, 256, 3, 1, 1},
    {"resnet18_few", 32, 256, 2, 512, 3, 2, 1},
    {"resnet18_few", 32, 512, 1, 512, 3, 1, 1},
    {"resnet_small", 8, 8, 32, 8, 3, 1, 1},
    {"resnet_small", 8, 16, 16, 16, 3, 1, 1},
    {"resnet_small", 8, 32, 8, 32, 3, 1, 1},
    {"resnet_small", 8, 64, 4, 64, 3, 1, 1},
    {"resnet20", 32, 16, 32, 16, 3, 1, 1},
    {"resnet20", 32, 32, 16, 32, 3, 1, 1},
    {"one_sample", 1, 64, 56, 64, 3, 1, 1},
    {"one_sample", 1, 256, 14, 256, 3, 1, 1},
    {"one_sample", 1, 512, 7, 512, 3, 1, 1},
    {"mobilenet_v2", 8, 3, 224, 32, 3, 2, 1},
    {"vit_small", 8, 3, 224, 384, 16, 16, 1},
};

typedef struct recurrent {
    const char *network, *op;
    int64_t gates, steps, samples, inputs, hidden;
} recurrent;

static const recurrent recurrents[] = {
    {"lstm", "LSTM", 4, 64, 32, 256, 256},      {"gru", "GRU", 3, 64, 32, 256, 256},
    {"lstm_small", "LSTM", 4, 32, 16, 64, 64},  {"lstm_few", "LSTM", 4, 64, 4, 256, 256},
    {"lstm_wide", "LSTM", 4, 32, 64, 512, 512},
};

enum { COUNT_OF_PASSES = 3 }; /* forward, by the input, by the weight */
#define COUNT(LIST) ((int)(sizeof(LIST) / sizeof(LIST)[0]))

static ons_case_input matrix(int64_t rows, int64_t columns) { return (ons_case_input)ONS_F32(rows, columns); }

static void set_int(ons_choice_node *node, const char *name, int64_t value) {
    int at = 0;
    while (node->example.settings[at].name != NULL) ++at;
    node->example.settings[at] = (ons_case_setting)ONS_SET_INT(name, value);
}

static void set_ints(ons_choice_node *node, const char *name, uint32_t count, const int64_t *values) {
    int at = 0;
    while (node->example.settings[at].name != NULL) ++at;
    node->example.settings[at] = (ons_case_setting){name, {.kind = ONS_ATTRIBUTE_INTS, .count = count, .ints = values}};
}

static void take_layer(const layer *l, int pass, ons_choice_node *node) {
    static const char *const names[] = {"forward", "input gradient", "weight gradient"};
    ons_case_input x = matrix(l->rows, l->in), dy = matrix(l->rows, l->out),
                   w = l->turned ? matrix(l->out, l->in) : matrix(l->in, l->out);
    node->op = "Gemm";
    node->example.inputs[0] = pass == 0 ? x : pass == 1 || l->turned ? dy : x;
    node->example.inputs[1] = pass < 2 ? w : l->turned ? x : dy;
    if (pass == 0) node->example.inputs[2] = (ons_case_input)ONS_F32(l->out);
    set_int(node, "transA", pass == 2);
    set_int(node, "transB", pass == 0 ? l->turned : pass == 1 ? !l->turned : 0);
    snprintf(node->name, sizeof node->name, "%s: %lld x %lld x %lld%s, %s", l->network, (long long)l->rows,
             (long long)l->in, (long long)l->out, l->turned ? " turned" : "", names[pass]);
}

static void take_batch(const batch *b, ons_choice_node *node) {
    int64_t m = b->transposed_a ? b->k : b->m, n = b->transposed_b ? b->n : b->k;
    node->op = "MatMulTransposed";
    node->example.inputs[0] = (ons_case_input)ONS_F32(b->count, m, b->transposed_a ? b->m : b->k);
    node->example.inputs[1] = (ons_case_input)ONS_F32(b->count, n, b->transposed_b ? b->k : b->n);
    set_int(node, "transpose_a", b->transposed_a);
    set_int(node, "transpose_b", b->transposed_b);
    snprintf(node->name, sizeof node->name, "%s: %lld of %lld x %lld x %lld", b->network, (long long)b->count,
             (long long)b->m, (long long)b->k, (long long)b->n);
}

static void take_convolution(const convolution *c, int pass, ons_choice_node *node) {
    static const char *const ops[] = {"Conv", "ConvInputGradient", "ConvWeightGradient"};
    static int64_t pads[4], strides[2], kernel[2], input[4]; /* until the next node */
    int64_t pad = c->kernel == c->stride ? 0 : c->kernel / 2;
    int64_t size = (c->size + 2 * pad - c->kernel) / c->stride + 1;
    ons_case_input x = ONS_F32(c->samples, c->channels, c->size, c->size);
    ons_case_input w = ONS_F32(c->outputs, c->channels / c->groups, c->kernel, c->kernel);
    ons_case_input dy = ONS_F32(c->samples, c->outputs, size, size);
    for (int i = 0; i < 4; ++i) pads[i] = pad;
    for (int i = 0; i < 2; ++i) strides[i] = c->stride, kernel[i] = c->kernel;
    memcpy(input, x.shape.dims, sizeof input);
    node->op = ops[pass];
    node->point = c->groups == 1 ? ONS_CHOICE_FILTER : ONS_CHOICE_CONVOLUTION;
    node->example.inputs[0] = pass == 1 ? dy : x;
    node->example.inputs[1] = pass == 2 ? dy : w;
    set_ints(node, "pads", 4, pads);
    set_ints(node, "strides", 2, strides);
    set_int(node, "group", c->groups);
    if (pass == 1) set_ints(node, "input_shape", 4, input);
    if (pass == 2) set_ints(node, "kernel_shape", 2, kernel);
    snprintf(node->name, sizeof node->name, "%s: %lld of %lld x %lld^2, %lld x %lld^2 / %lld, %s", c->network,
             (long long)c->samples, (long long)c->channels, (long long)c->size, (long long)c->outputs,
             (long long)c->kernel, (long long)c->stride, ops[pass]);
}

/* Pass 0 with all that is saved for pass 1, the gradient. */
static void take_recurrent(const recurrent *r, int pass, ons_choice_node *node) {
    int64_t rows = r->gates * r->hidden, states = r->gates == 4 ? 2 : 1;
    int64_t record = r->samples * r->hidden * (r->steps * (r->gates + states + (r->gates == 3)) + states);
    ons_case *e = &node->example;
    node->point = ONS_CHOICE_RECURRENT;
    node->op = pass == 0 ? r->op : "RecurrentGradient";
    e->inputs[0] = (ons_case_input)ONS_F32(r->steps, r->samples, r->inputs);
    e->inputs[1] = (ons_case_input)ONS_F32_IN(-0.1, 0.1, 1, rows, r->inputs);
    e->inputs[2] = (ons_case_input)ONS_F32_IN(-0.1, 0.1, 1, rows, r->hidden);
    e->inputs[3] = pass == 0 ? (ons_case_input)ONS_F32(1, 2 * rows) : (ons_case_input)ONS_F32_IN(0.1, 0.9, record);
    if (pass == 1) {
        e->inputs[6] = (ons_case_input)ONS_F32(r->steps, 1, r->samples, r->hidden);
        set_int(node, "cell", r->gates);
    }
    e->outputs = pass == 1 ? 6 : r->gates == 4 ? 4 : 3;
    snprintf(node->name, sizeof node->name, "%s: %lld steps of %lld, %lld to %lld, %s", r->network, (long long)r->steps,
             (long long)r->samples, (long long)r->inputs, (long long)r->hidden, node->op);
}

bool ons_choice_node_at(int index, ons_choice_node *node) {
    *node = (ons_choice_node){.point = ONS_CHOICE_PRODUCT};
    if (index < COUNT(layers) * COUNT_OF_PASSES) {
        take_layer(&layers[index / COUNT_OF_PASSES], index % COUNT_OF_PASSES, node);
    } else if ((index -= COUNT(layers) * COUNT_OF_PASSES) < COUNT(batches)) {
        take_batch(&batches[index], node);
    } else if ((index -= COUNT(batches)) < COUNT(convolutions) * COUNT_OF_PASSES) {
        take_convolution(&convolutions[index / COUNT_OF_PASSES], index % COUNT_OF_PASSES, node);
    } else if ((index -= COUNT(convolutions) * COUNT_OF_PASSES) < COUNT(recurrents) * 2) {
        take_recurrent(&recurrents[index / 2], index % 2, node);
    } else {
        return false;
    }
    node->example.name = node->name;
    return true;
}
