#include "kernels/kernels.h"

#include <dnnl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "kernels/backends.h"
#include "kernels/common/onednn/onednn_versions.h"

extern const ons_backend ons_cpu_backend_baseline;
#ifdef __x86_64__
extern const ons_backend ons_cpu_backend_v3, ons_cpu_backend_v4;
#endif

typedef struct variant {
    const ons_backend *backend;
    bool (*runs_here)(void);
    dnnl_cpu_isa_t library; /* what oneDNN may use where the variant was asked for */
} variant;

static bool always(void) { return true; }

#ifdef __x86_64__
/* What the build compiles these variants for: kernels/variants.bzl. */
static bool has_v3(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

static bool has_v4(void) {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* From the weakest to the strongest, each of which runs wherever the next one does: the last that runs here, and is no
 * later than the one that was asked for, is chosen. */
static const variant variants[] = {
#ifdef __x86_64__
    {&ons_cpu_backend_baseline, always, dnnl_cpu_isa_sse41},
    {&ons_cpu_backend_v3, has_v3, dnnl_cpu_isa_avx2},
    {&ons_cpu_backend_v4, has_v4, ONS_ONEDNN_ALL_INSTRUCTIONS},
#else
    {&ons_cpu_backend_baseline, always, ONS_ONEDNN_ALL_INSTRUCTIONS},
#endif
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* The number of the variant that the environment asks for; VARIANTS: of none. */
static size_t find_wish(const char *wish) {
    size_t i = 0;
    while (i < VARIANTS && (wish == NULL || strcmp(variants[i].backend->variant, wish) != 0)) ++i;
    return i;
}

static const ons_backend *chosen;

static void choose(void) {
    size_t wish = find_wish(ons_environment(ONS_ENV_ONSTAGE_CPU)), best = 0;
    for (size_t i = 0; i < VARIANTS && i <= wish; ++i)
        if (variants[i].runs_here()) best = i;
    chosen = variants[best].backend;
    /* Refused where the library has been used before: then it keeps what it has. */
    if (wish < VARIANTS) (void)dnnl_set_max_cpu_isa(variants[wish].library);
}

const ons_backend *ons_choose_cpu_backend(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}

const char *ons_cpu_variant(void) { return ons_backend_find("cpu")->variant; }

ons_status *ons_cpu_variant_choose(void) {
    (void)ons_choose_cpu_backend();
    const char *wish = ons_environment(ONS_ENV_ONSTAGE_CPU);
    if (wish == NULL || wish[0] == '\0' || find_wish(wish) < VARIANTS) return NULL;
    char names[64] = "";
    for (size_t i = 0; i < VARIANTS; ++i) {
        if (i > 0) strcat(names, ", ");
        strcat(names, variants[i].backend->variant);
    }
    return ons_status_new(ONS_INVALID_ARGUMENT, "ONSTAGE_CPU: '%s' is none of %s", wish, names);
}
