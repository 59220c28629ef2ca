/* What a convolution would gain if the ReLU behind it were done inside of oneDNN's primitive:
 *     post_operations [THREADS] [ROUNDS]
 * prints a page. Forward convolutions of networks that have no BatchNorm between the two, with channels last and a
 * packed filter: alone, with ReLU in a pass of its own over the result (in place), and with ReLU as the primitive's
 * post-operation. The three take turns, other memory is written before each, and the ratio is the median over the
 * rounds of the last one over the second. Last it says what that post-operation makes of a NaN. */
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/common/onednn/onednn_versions.h"
#include "runtime/measure/median.h"

enum { ROUNDS_MAX = 99, SWEPT_BYTES = 64 << 20, BATCH = 8, OPERANDS = 4 };

typedef struct layer {
    const char *network;
    long in, out, size, taps; /* channels; pixels and taps along one side */
} layer;

static const layer layers[] = {
    {"SqueezeNet", 16, 64, 55, 1},  {"SqueezeNet", 16, 64, 55, 3},  {"SqueezeNet", 32, 128, 27, 1},
    {"SqueezeNet", 32, 128, 27, 3}, {"SqueezeNet", 64, 256, 13, 3}, {"AlexNet", 192, 384, 13, 3},
    {"VGG-16", 64, 64, 224, 3},     {"VGG-16", 128, 128, 112, 3},   {"VGG-16", 256, 256, 56, 3},
    {"VGG-16", 512, 512, 28, 3},
};
enum { LAYERS = sizeof layers / sizeof layers[0] };

typedef struct convolution {
    long outputs; /* elements */
    float *data[OPERANDS];
    dnnl_primitive_t primitive;
    dnnl_memory_t memories[OPERANDS];
} convolution;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static char *swept;
static const int arguments[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};

static void check(dnnl_status_t status) {
    if (status == dnnl_success) return;
    fprintf(stderr, "post_operations: oneDNN fails with status %d\n", (int)status);
    exit(1);
}

static float *floats(long count) {
    float *data = aligned_alloc(64, (size_t)(count * (long)sizeof *data + 63) / 64 * 64);
    if (data == NULL) exit(1);
    for (long i = 0; i < count; ++i) data[i] = (float)(i * 2654435761 % 1024) / 1024 - 0.5f;
    return data;
}

static ons_onednn_memory tagged(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    ons_onednn_memory made = {.rank = rank, .type = dnnl_f32, .format = ONS_ONEDNN_TAGGED, .tag = tag};
    memcpy(made.dims, dims, sizeof made.dims);
    return made;
}

static dnnl_primitive_attr_t attributes_with(bool relu) {
    dnnl_primitive_attr_t made;
    dnnl_post_ops_t after;
    check(dnnl_primitive_attr_create(&made));
    check(dnnl_post_ops_create(&after));
#if DNNL_VERSION_MAJOR < 3
    if (relu) check(dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0));
#else
    if (relu) check(dnnl_post_ops_append_eltwise(after, dnnl_eltwise_relu, 0, 0));
#endif
    check(dnnl_primitive_attr_set_post_ops(made, after));
    check(dnnl_post_ops_destroy(after));
    return made;
}

static convolution convolution_make(const layer *l, bool relu) {
    long filter = (l->out + 16) * (l->in + 16) * l->taps * l->taps; /* a packed filter may be padded */
    long counts[OPERANDS] = {BATCH * l->in * l->size * l->size, filter, l->out, BATCH * l->out * l->size * l->size};
    convolution c = {.outputs = counts[3]};
    ons_onednn_convolution wanted = {
        .kind = dnnl_forward_training,
        .x = tagged(4, (dnnl_dims_t){BATCH, l->in, l->size, l->size}, dnnl_nhwc),
        .w = tagged(4, (dnnl_dims_t){l->out, l->in, l->taps, l->taps}, dnnl_format_tag_any),
        .y = tagged(4, (dnnl_dims_t){BATCH, l->out, l->size, l->size}, dnnl_nhwc),
        .bias = tagged(1, (dnnl_dims_t){l->out}, dnnl_x),
        .has_bias = true,
        .window = {.kernel = {l->taps, l->taps}, .stride = {1, 1}, .begin = {l->taps / 2, l->taps / 2}},
    };
    memcpy(wanted.window.last, wanted.window.begin, sizeof wanted.window.last);
    dnnl_primitive_attr_t attributes = attributes_with(relu);
    dnnl_primitive_desc_t description;
    check(ons_onednn_describe_convolution(&wanted, 0, attributes, engine, &description));
    check(dnnl_primitive_create(&c.primitive, description));
    for (int i = 0; i < OPERANDS; ++i) {
        c.data[i] = floats(counts[i]);
        check(ons_onednn_make_memory(description, arguments[i], engine, &c.memories[i]));
        check(dnnl_memory_set_data_handle(c.memories[i], c.data[i]));
    }
    check(dnnl_primitive_desc_destroy(description));
    check(dnnl_primitive_attr_destroy(attributes));
    return c;
}

static void convolution_free(convolution *c) {
    for (int i = 0; i < OPERANDS; ++i) {
        check(dnnl_memory_destroy(c->memories[i]));
        free(c->data[i]);
    }
    check(dnnl_primitive_destroy(c->primitive));
}

static void convolve(const convolution *c) {
    dnnl_exec_arg_t all[OPERANDS];
    for (int i = 0; i < OPERANDS; ++i) all[i] = (dnnl_exec_arg_t){arguments[i], c->memories[i]};
    check(dnnl_primitive_execute(c->primitive, stream, OPERANDS, all));
    check(dnnl_stream_wait(stream));
}

static void relu(const convolution *c) {
    float *y = c->data[3];
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < c->outputs; ++i) y[i] = y[i] > 0 ? y[i] : 0;
}

static double seconds_of(const convolution *c, bool behind) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < SWEPT_BYTES; i += 64) ++swept[i];
    double start = ons_clock_seconds();
    convolve(c);
    if (behind) relu(c);
    return ons_clock_seconds() - start;
}

static void measure(const layer *l, int rounds) {
    convolution plain = convolution_make(l, false), inside = convolution_make(l, true);
    double alone[ROUNDS_MAX], behind[ROUNDS_MAX], within[ROUNDS_MAX], ratio[ROUNDS_MAX];
    convolve(&plain);
    convolve(&inside);
    for (int r = 0; r < rounds; ++r) {
        alone[r] = seconds_of(&plain, false);
        behind[r] = seconds_of(&plain, true);
        within[r] = seconds_of(&inside, false);
        ratio[r] = within[r] / behind[r];
    }
    printf("| %s | %ld, %ld, %ld², %ld² | %.3g | %.3g | %.3g | **%.2f** |\n", l->network, l->in, l->out, l->size,
           l->taps, 1e3 * ons_median(alone, rounds), 1e3 * ons_median(behind, rounds), 1e3 * ons_median(within, rounds),
           ons_median(ratio, rounds));
    fflush(stdout);
    convolution_free(&plain);
    convolution_free(&inside);
}

/* One NaN goes in. */
static void try_nan(void) {
    convolution c = convolution_make(&layers[0], true);
    c.data[0][0] = NAN;
    convolve(&c);
    bool found = false;
    for (long i = 0; i < c.outputs; ++i) found |= isnan(c.data[3][i]);
    printf("\nOf a NaN that goes in %s comes out where ReLU is inside.\n", found ? "a NaN" : "none");
    convolution_free(&c);
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 15;
    if (threads < 1 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: post_operations [THREADS] [ROUNDS]\n");
        return 2;
    }
    omp_set_num_threads(threads);
    swept = calloc(1, SWEPT_BYTES);
    if (swept == NULL) return 1;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    char version[ONS_ONEDNN_VERSION_TEXT];
    ons_onednn_version(version);
    printf("## oneDNN %s, %s, %d threads, batch %d\n\n"
           "| network | in, out, size, taps | convolution alone, ms | and ReLU behind it | and ReLU inside | ratio |\n"
           "|---|---|--:|--:|--:|--:|\n",
           version, dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core ? "AVX-512" : "AVX2", threads, BATCH);
    for (int i = 0; i < LAYERS; ++i) measure(&layers[i], rounds);
    try_nan();
    free(swept);
    check(dnnl_stream_destroy(stream));
    check(dnnl_engine_destroy(engine));
    return 0;
}
