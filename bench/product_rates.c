/* How fast oneDNN multiplies matrices of one shape, and how fast memory is, for scripts of bench/pytorch:
 *     product_rates THREADS
 * says that it is ready and obeys lines on standard input, each answered by a line of JSON:
 *     product BATCH M N K FORM SECONDS    M × K times K × N, BATCH times
 *     stream BYTES FORM SECONDS           arrays of so many bytes together are gone through
 *     pass READ CHANGED WRITTEN ELEMENTS APART FORM SECONDS
 *         so many arrays of ELEMENTS floats each are gone through together, once: some are read, some changed in
 *         place, some written; APART 1: they begin at different places of a page
 * FORM is a number, or -1: all are tried, and the fastest one is measured and named. Products have those of dnnl_sgemm:
 * operands transposed or not, the result transposed or not; several products are shared out between the threads, each
 * one made by one thread. `seconds` is the median of what SECONDS have time for (once at least), `fast` the lower
 * quartile, `least` the least; `bytes`: what a stream reads and writes in that time, which is that of a piece of large
 * arrays; pieces come in turn. A pass has one form; other memory is written before it, so that its arrays are not in
 * the caches. */
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

enum { FORMS = 8, STREAMS = 4, TRIES = 3, SAMPLES = 1000, PASSES_LEAST = 7, ARRAYS_MAX = 8, PAGE = 1024 /* floats */ };
static const double SAMPLE_SECONDS = 1e-4; /* shorter work is timed several times over */

/* What is timed: products, or a stream through arrays of m elements together, or a pass through arrays of m each. */
typedef struct work {
    bool stream, pass;
    long batch, m, n, k;
    float *a, *b, *c;
    int read, changed, written, apart;
    float *arrays[ARRAYS_MAX]; /* of a pass, in this order */
} work;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* --------------------------------------------------------------------------------------------------------- products */

static void multiply_one(const work *w, int form, long which) {
    long m = (form & 4) != 0 ? w->n : w->m, n = (form & 4) != 0 ? w->m : w->n;
    bool left = (form & 1) != 0, right = (form & 2) != 0;
    const float *a = (form & 4) != 0 ? w->b : w->a, *b = (form & 4) != 0 ? w->a : w->b;
    if (dnnl_sgemm(left ? 'T' : 'N', right ? 'T' : 'N', m, n, w->k, 1, a + which * m * w->k, left ? m : w->k,
                   b + which * w->k * n, right ? w->k : n, 0, w->c + which * m * n, n) != dnnl_success)
        exit(1);
}

static void multiply(const work *w, int form) {
    if (w->batch == 1) {
        multiply_one(w, form, 0);
        return;
    }
#pragma omp parallel for schedule(static)
    for (long i = 0; i < w->batch; ++i) multiply_one(w, form, i);
}

/* ---------------------------------------------------------------------------------------------------------- streams */

/* Past the caches, where the processor can. */
static void copy_past_caches(float *to, const float *from, long count) {
    long i = 0;
#ifdef __SSE__
    for (; i + 4 <= count; i += 4) _mm_stream_ps(to + i, _mm_load_ps(from + i));
    _mm_sfence();
#endif
    for (; i < count; ++i) to[i] = from[i];
}

static void pass_through(int form, float *restrict a, const float *restrict b, const float *restrict c, long count) {
    if (form == 0) memcpy(a, b, (size_t)count * sizeof *a);
    if (form == 1) copy_past_caches(a, b, count);
    for (long i = 0; form == 2 && i < count; ++i) a[i] += 0.5f * b[i];
    for (long i = 0; form == 3 && i < count; ++i) a[i] = b[i] + c[i];
}

/* A stream is gone through piece by piece, and a piece is what is timed: short enough to be undisturbed. */
enum { PIECE_BYTES = 4 << 20 };

/* Elements of each array, of two (three in form 3) that have so many bytes together; and of a piece of each. */
static long elements_of(const work *w, int form) { return w->m / (form == 3 ? 3 : 2) / 16 * 16; }

static long piece_of(const work *w, int form) {
    long most = PIECE_BYTES / (form == 3 ? 3 : 2) / (long)sizeof(float) / 16 * 16, all = elements_of(w, form);
    return all < most ? all : most;
}

/* That a piece reads and writes. */
static double moved_bytes(const work *w, int form) {
    return (form < 2 ? 2.0 : 3.0) * (double)piece_of(w, form) * sizeof(float);
}

/* The next piece. */
static void stream(const work *w, int form) {
    static long turn;
    long count = elements_of(w, form), size = piece_of(w, form), pieces = count / size, start = turn++ % pieces * size;
#pragma omp parallel
    {
        long parts = omp_get_num_threads(), part = omp_get_thread_num();
        long first = start + size / 16 * part / parts * 16, end = start + size / 16 * (part + 1) / parts * 16;
        pass_through(form, w->a + first, w->a + count + first, w->a + (form == 3 ? 2 * count : 0) + first, end - first);
    }
}

/* ----------------------------------------------------------------------------------------------------------- passes */

/* A cache line. */
typedef float vector __attribute__((vector_size(64), may_alias));
enum { LINE = sizeof(vector) / sizeof(float), OTHER_BYTES = 128 << 20 };

static volatile float sink;

/* What is changed or written becomes the mean of what is read or changed, which stays what it is, about. */
static void pass(const work *w) {
#pragma omp parallel
    {
        long parts = omp_get_num_threads(), part = omp_get_thread_num(), lines = w->m / LINE;
        long first = lines * part / parts * LINE, end = lines * (part + 1) / parts * LINE;
        int sources = w->read + w->changed, all = sources + w->written;
        float *arrays[ARRAYS_MAX];
        for (int a = 0; a < all; ++a) arrays[a] = w->arrays[a];
        vector sum = {0};
        for (long i = first; i < end; i += LINE) {
            vector mean = {0};
            for (int a = 0; a < sources; ++a) mean += *(const vector *)(arrays[a] + i);
            mean *= 1.0f / (float)(sources > 0 ? sources : 1);
            for (int a = w->read; a < all; ++a) *(vector *)(arrays[a] + i) = mean;
            sum += mean;
        }
#pragma omp atomic write
        sink = sum[0]; /* so that what is only read is read */
    }
}

static double pass_bytes(const work *w) {
    return (double)(w->read + 2 * w->changed + w->written) * (double)w->m * sizeof(float);
}

/* By all threads, so that nothing of the arrays is in their caches, and as much of other data as in a step is still to
 * be written to memory. */
static void write_other(void) {
    static char other[OTHER_BYTES];
#pragma omp parallel for schedule(static)
    for (long i = 0; i < OTHER_BYTES; i += (long)sizeof(vector)) ++other[i];
}

/* ----------------------------------------------------------------------------------------------------------- timing */

static void make(const work *w, int form) {
    if (w->pass)
        pass(w);
    else if (w->stream)
        stream(w, form);
    else
        multiply(w, form);
}

static double seconds_of(const work *w, int form, long times) {
    double start = now();
    for (long i = 0; i < times; ++i) make(w, form);
    return (now() - start) / (double)times;
}

/* How many times over, for a sample to be long enough. */
static long times_for(double seconds) {
    return seconds >= SAMPLE_SECONDS ? 1 : (long)(SAMPLE_SECONDS / (seconds + 1e-9)) + 1;
}

/* Per byte of a stream, since its forms move different amounts. */
static double cost_of(const work *w, int form) {
    double least = seconds_of(w, form, 1);
    long times = times_for(least);
    for (int i = 0; i < TRIES && (i == 0 || least < 0.1); ++i) {
        double seconds = seconds_of(w, form, times);
        if (seconds < least) least = seconds;
    }
    return w->stream ? least / (moved_bytes(w, form) + 1) : least;
}

static int choose_form(const work *w) {
    int best = 0;
    if (w->pass) return 0;
    double least = 1e30;
    for (int form = 0; form < (w->stream ? STREAMS : FORMS); ++form) {
        double cost = cost_of(w, form);
        if (cost >= least) continue;
        least = cost;
        best = form;
    }
    return best;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(const work *w, int form, double seconds) {
    static double samples[SAMPLES];
    int count = 0;
    double once = seconds_of(w, form, 1);
    if (w->pass) write_other();
    long times = w->pass ? 1 : times_for(once), least = w->pass ? PASSES_LEAST : 1;
    double start = now();
    do {
        if (w->pass) write_other();
        samples[count++] = seconds_of(w, form, times);
    } while (count < SAMPLES && (count < least || now() - start < seconds));
    qsort(samples, (size_t)count, sizeof *samples, by_value);
    printf("{\"form\": %d, \"seconds\": %.9g, \"fast\": %.9g, \"least\": %.9g, \"bytes\": %.0f}\n", form,
           samples[count / 2], samples[count / 4], samples[0],
           w->pass     ? pass_bytes(w)
           : w->stream ? moved_bytes(w, form)
                       : 0);
}

/* Pages are touched by the thread that is to use them. */
static float *allocate(long count) {
    float *array = aligned_alloc(64, ((size_t)count * sizeof *array + 63) / 64 * 64);
    if (array == NULL) exit(1);
#pragma omp parallel for schedule(static)
    for (long i = 0; i < count; ++i) array[i] = (float)(i % 17) * 0.01f;
    return array;
}

static void answer(work *w, int form, double seconds) {
    float *wholes[ARRAYS_MAX] = {NULL};
    if (w->pass) {
        for (int a = 0; a < w->read + w->changed + w->written; ++a) {
            wholes[a] = allocate(w->m + PAGE);
            w->arrays[a] = wholes[a] + (w->apart ? PAGE / ARRAYS_MAX * a : 0);
        }
    } else if (w->stream) {
        w->a = allocate(w->m + 64);
    } else {
        w->a = allocate(w->batch * w->m * w->k);
        w->b = allocate(w->batch * w->k * w->n);
        w->c = allocate(w->batch * w->m * w->n);
    }
    measure(w, form < 0 ? choose_form(w) : form, seconds);
    free(w->a);
    free(w->b);
    free(w->c);
    for (int a = 0; a < ARRAYS_MAX; ++a) free(wholes[a]);
}

static bool is_size(long value) { return value > 0 && value < 1L << 32; }

static bool read_work(const char *line, work *w, int *form, double *seconds) {
    *w = (work){.batch = 1, .n = 1, .k = 1};
    if (sscanf(line, "stream %ld %d %lf", &w->m, form, seconds) == 3) {
        w->stream = true;
        w->m /= (long)sizeof(float);
        return w->m >= 64 && is_size(w->m) && *form < STREAMS;
    }
    if (sscanf(line, "pass %d %d %d %ld %d %d %lf", &w->read, &w->changed, &w->written, &w->m, &w->apart, form,
               seconds) == 7) {
        w->pass = true;
        return w->read >= 0 && w->changed >= 0 && w->written >= 0 && w->read + w->changed + w->written > 0 &&
               w->read + w->changed + w->written <= ARRAYS_MAX && w->m >= LINE && is_size(w->m) && *form < 1;
    }
    return sscanf(line, "product %ld %ld %ld %ld %d %lf", &w->batch, &w->m, &w->n, &w->k, form, seconds) == 6 &&
           is_size(w->batch) && is_size(w->m) && is_size(w->n) && is_size(w->k) && *form < FORMS;
}

int main(int count, char **words) {
    int threads = count == 2 ? atoi(words[1]) : 0;
    if (threads < 1) {
        fprintf(stderr, "usage: product_rates THREADS\n");
        return 1;
    }
    omp_set_num_threads(threads);
    printf("{\"ready\": true}\n");
    char line[256];
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin) != NULL) {
        work w;
        int form = -1;
        double seconds = 0;
        if (read_work(line, &w, &form, &seconds))
            answer(&w, form, seconds);
        else
            printf("{\"error\": \"not understood\"}\n");
    }
    return 0;
}
