#include <pthread.h>

#include "base/c_locale.h"
#include "engine/config/plan_libraries.h"
#include "include/onstage.h"

const char *ons_version(void) { return ONSTAGE_VERSION; }

static char text[512];

static void make_text(void) {
    ons_arena *arena = ons_arena_new();
    const char *made = arena == NULL ? NULL : ons_libraries_text(arena);
    snprintf(text, sizeof text, "%s", made == NULL ? "" : made);
    ons_arena_free(arena);
}

const char *ons_kernels_version(void) {
    ONS_IN_C_LOCALE;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_text);
    return text;
}
