/* The matrix products of a training step of recurrent layers, and nothing else, as fast as oneDNN makes them:
 *     recurrent_products GATES STEPS BATCH INPUTS HIDDEN LAYERS CLASSES THREADS
 * GATES: 4 LSTM, 3 GRU. Every product is tried in all forms that dnnl_sgemm has (operands transposed or not, the result
 * transposed or not); the fastest counts, as if bringing the operands into that form cost nothing. It says that it is
 * ready and what it counts, and then obeys "run N" as step_time does: N times all products. */
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRODUCTS = 7, FORMS = 8, TRIES = 3, RUN_MAX = 10000 };

/* m × k times k × n, `times` a step. */
typedef struct product {
    long m, n, k, times;
    int form; /* bits: left transposed, right transposed, result transposed */
} product;

static float *matrices[3];

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void multiply(const product *p, int form) {
    long m = (form & 4) != 0 ? p->n : p->m, n = (form & 4) != 0 ? p->m : p->n;
    bool left = (form & 1) != 0, right = (form & 2) != 0;
    if (dnnl_sgemm(left ? 'T' : 'N', right ? 'T' : 'N', m, n, p->k, 1, matrices[0], left ? m : p->k, matrices[1],
                   right ? p->k : n, 0, matrices[2], n) != dnnl_success)
        exit(1);
}

/* By one thread's processor time, which other programs disturb least. */
static void choose_form(product *p) {
    double least = 1e9;
    for (int form = 0; form < FORMS; ++form)
        for (int i = 0; i < TRIES; ++i) {
            double start = now(CLOCK_PROCESS_CPUTIME_ID);
            multiply(p, form);
            double seconds = now(CLOCK_PROCESS_CPUTIME_ID) - start;
            if (seconds >= least) continue;
            least = seconds;
            p->form = form;
        }
}

static double run_all(const product *products) {
    double start = now(CLOCK_MONOTONIC);
    for (int i = 0; i < PRODUCTS; ++i)
        for (long k = 0; k < products[i].times; ++k) multiply(&products[i], products[i].form);
    return now(CLOCK_MONOTONIC) - start;
}

static bool allocate(const product *products) {
    long most = 0;
    for (int i = 0; i < PRODUCTS; ++i) {
        long sizes[3] = {products[i].m * products[i].k, products[i].k * products[i].n, products[i].m * products[i].n};
        for (int j = 0; j < 3; ++j) most = sizes[j] > most ? sizes[j] : most;
    }
    for (int j = 0; j < 3; ++j) {
        matrices[j] = aligned_alloc(64, ((size_t)most * sizeof(float) + 63) / 64 * 64);
        if (matrices[j] == NULL) return false;
        for (long i = 0; i < most; ++i) matrices[j][i] = (float)(i % 17) * 0.01f;
    }
    return true;
}

static void obey(const product *products) {
    char line[64];
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin) != NULL) {
        long count = strncmp(line, "run ", 4) == 0 ? strtol(line + 4, NULL, 10) : 0;
        if (count < 1 || count > RUN_MAX) continue;
        printf("{\"seconds\": [");
        for (long i = 0; i < count; ++i) printf("%s%.9f", i == 0 ? "" : ", ", run_all(products));
        printf("]}\n");
    }
}

int main(int count, char **words) {
    long v[9] = {0};
    for (int i = 1; i < 9; ++i) v[i] = i < count ? strtol(words[i], NULL, 10) : 0;
    for (int i = 1; i < 9; ++i)
        if (v[i] < 1 || v[i] > 65536) {
            fprintf(stderr, "usage: recurrent_products GATES STEPS BATCH INPUTS HIDDEN LAYERS CLASSES THREADS\n");
            return 1;
        }
    long samples = v[2] * v[3], batch = v[3], inputs = v[4], hidden = v[5], rows = v[1] * hidden, layers = v[6];
    product products[PRODUCTS] = {
        {.m = samples, .n = rows, .k = inputs, .times = layers},      /* X Wᵀ */
        {.m = batch, .n = rows, .k = hidden, .times = layers * v[2]}, /* h Rᵀ, step by step */
        {.m = batch, .n = hidden, .k = rows, .times = layers * v[2]}, /* back through R, step by step */
        {.m = samples, .n = inputs, .k = rows, .times = layers},      /* dX */
        {.m = rows, .n = inputs, .k = samples, .times = layers},      /* dW */
        {.m = rows, .n = hidden, .k = samples, .times = layers},      /* dR */
        {.m = samples, .n = v[7], .k = hidden, .times = 3},           /* the linear layer: forward and two backward */
    };
    omp_set_num_threads(1);
    if (!allocate(products)) return 1;
    double operations = 0;
    for (int i = 0; i < PRODUCTS; ++i) {
        choose_form(&products[i]);
        operations +=
            2.0 * (double)products[i].times * (double)products[i].m * (double)products[i].n * (double)products[i].k;
    }
    omp_set_num_threads((int)v[8]);
    printf("{\"ready\": true, \"operations\": %.0f}\n", operations);
    obey(products);
    for (int j = 0; j < 3; ++j) free(matrices[j]);
    return 0;
}
