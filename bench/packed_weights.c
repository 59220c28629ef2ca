/* What products of a layer would gain if its weight lay packed, in the layout that oneDNN's matmul likes best:
 *     packed_weights [THREADS] [ROUNDS]
 * prints a page. Each layer of the networks that bench/pytorch/roofline.py has is computed forward (rows × in times the
 * weight) and backward (rows × out times the weight transposed) with the weight as PyTorch's exporters write it,
 * out × in, in the fastest of the plain ways that kernels/common/gemm has, and packed for just that product; packing
 * itself is not counted. Ways take turns, other memory is written before each, and a ratio is the median over the
 * rounds of the packed time over the least of the plain ones in the same round. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/common/onednn/onednn_versions.h"
#include "runtime/measure/median.h"

enum { ROUNDS_MAX = 99, SWEPT_BYTES = 64 << 20, PLAIN_WAYS = 3 };

typedef struct layer {
    const char *network;
    long rows, in, out;
} layer;

static const layer layers[] = {
    {"GPT 6 × 384", 2048, 384, 1152},
    {"GPT 6 × 384", 2048, 384, 384},
    {"GPT 6 × 384", 2048, 384, 1536},
    {"GPT 6 × 384", 2048, 1536, 384},
    {"ViT-S", 1576, 384, 1152},
    {"ViT-S", 1576, 384, 384},
    {"ViT-S", 1576, 384, 1536},
    {"ViT-S", 1576, 1536, 384},
    {"BERT-base, GPT-2", 1024, 768, 768},
    {"BERT-base, GPT-2", 1024, 768, 2304},
    {"BERT-base, GPT-2", 1024, 768, 3072},
    {"BERT-base, GPT-2", 1024, 3072, 768},
};
enum { LAYERS = sizeof layers / sizeof layers[0] };

/* c (m × n) = a (m × k) b (k × n); b lies transposed if `turned`. */
typedef struct product {
    long m, n, k;
    bool turned;
    float *a, *b, *c, *packed, *transposed;
    dnnl_primitive_t plain, with_packed;
    dnnl_memory_t memories[2][3];
} product;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static char *swept;

static void check(dnnl_status_t status) {
    if (status == dnnl_success) return;
    fprintf(stderr, "packed_weights: oneDNN fails with status %d\n", (int)status);
    exit(1);
}

static float *floats(long count) {
    float *data = aligned_alloc(64, (size_t)(count * (long)sizeof *data + 63) / 64 * 64);
    if (data == NULL) exit(1);
    for (long i = 0; i < count; ++i) data[i] = (float)(i * 2654435761 % 1024) / 1024 - 0.5f;
    return data;
}

static ons_onednn_memory matrix(long rows, long columns, bool turned) {
    return (ons_onednn_memory){.rank = 2,
                               .dims = {rows, columns},
                               .type = dnnl_f32,
                               .format = turned ? ONS_ONEDNN_STRIDED : ONS_ONEDNN_ROW_MAJOR,
                               .strides = {1, rows}};
}

/* `memories` get their data, b's from `weight`. */
static dnnl_primitive_t prepare(const product *p, const ons_onednn_memory *b, float *weight,
                                dnnl_memory_t memories[3]) {
    static const int arguments[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    float *data[] = {p->a, weight, p->c};
    ons_onednn_product wanted = {.a = matrix(p->m, p->k, false), .b = *b, .c = matrix(p->m, p->n, false), .alpha = 1};
    dnnl_primitive_attr_t attributes;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t made;
    check(dnnl_primitive_attr_create(&attributes));
    check(ons_onednn_describe_matmul(&wanted, attributes, engine, &description));
    check(dnnl_primitive_create(&made, description));
    for (int i = 0; i < 3; ++i) {
        check(ons_onednn_make_memory(description, arguments[i], engine, &memories[i]));
        check(dnnl_memory_set_data_handle(memories[i], data[i]));
    }
    check(dnnl_primitive_desc_destroy(description));
    check(dnnl_primitive_attr_destroy(attributes));
    return made;
}

static product product_make(long m, long n, long k, bool turned) {
    product p = {.m = m, .n = n, .k = k, .turned = turned, .a = floats(m * k), .b = floats(k * n)};
    p.c = floats(m * n);
    p.transposed = floats(m * n);
    p.packed = floats(2 * (k + 64) * (n + 64)); /* a packed weight may be padded */
    ons_onednn_memory plain = matrix(k, n, turned), packed = {.rank = 2, .dims = {k, n}, .type = dnnl_f32};
    packed.format = ONS_ONEDNN_TAGGED;
    packed.tag = dnnl_format_tag_any;
    p.plain = prepare(&p, &plain, p.b, p.memories[0]);
    p.with_packed = prepare(&p, &packed, p.packed, p.memories[1]);
    return p;
}

static void product_free(product *p) {
    for (int i = 0; i < 6; ++i) check(dnnl_memory_destroy(p->memories[i / 3][i % 3]));
    check(dnnl_primitive_destroy(p->plain));
    check(dnnl_primitive_destroy(p->with_packed));
    float *all[] = {p->a, p->b, p->c, p->packed, p->transposed};
    for (int i = 0; i < 5; ++i) free(all[i]);
}

static void execute(dnnl_primitive_t primitive, const dnnl_memory_t memories[3]) {
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, memories[0]}, {DNNL_ARG_WEIGHTS, memories[1]}, {DNNL_ARG_DST, memories[2]}};
    check(dnnl_primitive_execute(primitive, stream, 3, arguments));
    check(dnnl_stream_wait(stream));
}

/* Ways 0 to PLAIN_WAYS - 1 are plain: oneDNN's matmul, dnnl_sgemm, and that for the result transposed, which is then
 * turned round; PLAIN_WAYS: matmul with the packed weight. */
static void compute(const product *p, int way) {
    char b = p->turned ? 'T' : 'N', b_turned = p->turned ? 'N' : 'T';
    long ldb = p->turned ? p->k : p->n;
    if (way == 0) execute(p->plain, p->memories[0]);
    if (way == 1) check(dnnl_sgemm('N', b, p->m, p->n, p->k, 1, p->a, p->k, p->b, ldb, 0, p->c, p->n));
    if (way == 2) {
        check(dnnl_sgemm(b_turned, 'T', p->n, p->m, p->k, 1, p->b, ldb, p->a, p->k, 0, p->transposed, p->m));
        enum { TILE = 16 };
#pragma omp parallel for schedule(static)
        for (long i = 0; i < p->m; i += TILE)
            for (long j = 0; j < p->n; ++j)
                for (long row = i; row < i + TILE && row < p->m; ++row)
                    p->c[row * p->n + j] = p->transposed[j * p->m + row];
    }
    if (way == PLAIN_WAYS) execute(p->with_packed, p->memories[1]);
}

static double seconds_of(const product *p, int way) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < SWEPT_BYTES; i += 64) ++swept[i];
    double start = ons_clock_seconds();
    compute(p, way);
    return ons_clock_seconds() - start;
}

/* Three cells of a row. */
static void measure(long m, long n, long k, bool turned, int rounds) {
    product p = product_make(m, n, k, turned);
    double plain[ROUNDS_MAX], packed[ROUNDS_MAX], ratio[ROUNDS_MAX];
    for (int way = 0; way <= PLAIN_WAYS; ++way) compute(&p, way);
    for (int r = 0; r < rounds; ++r) {
        plain[r] = 1e30;
        for (int way = 0; way < PLAIN_WAYS; ++way) {
            double seconds = seconds_of(&p, way);
            if (seconds < plain[r]) plain[r] = seconds;
        }
        packed[r] = seconds_of(&p, PLAIN_WAYS);
        ratio[r] = packed[r] / plain[r];
    }
    printf(" %.3g | %.3g | **%.2f** |", 1e3 * ons_median(plain, rounds), 1e3 * ons_median(packed, rounds),
           ons_median(ratio, rounds));
    product_free(&p);
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 15;
    if (threads < 1 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: packed_weights [THREADS] [ROUNDS]\n");
        return 2;
    }
    omp_set_num_threads(threads);
    swept = calloc(1, SWEPT_BYTES);
    if (swept == NULL) return 1;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    char version[ONS_ONEDNN_VERSION_TEXT];
    ons_onednn_version(version);
    printf("## oneDNN %s, %s, %d threads\n\n"
           "| network | rows, in, out | forward, ms | packed | ratio | input gradient, ms | packed | ratio |\n"
           "|---|---|--:|--:|--:|--:|--:|--:|\n",
           version, dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core ? "AVX-512" : "AVX2", threads);
    for (int i = 0; i < LAYERS; ++i) {
        const layer *l = &layers[i];
        printf("| %s | %ld, %ld, %ld |", l->network, l->rows, l->in, l->out);
        measure(l->rows, l->out, l->in, true, rounds);
        measure(l->rows, l->in, l->out, false, rounds);
        printf("\n");
        fflush(stdout);
    }
    free(swept);
    check(dnnl_stream_destroy(stream));
    check(dnnl_engine_destroy(engine));
    return 0;
}
