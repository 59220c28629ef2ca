#include "base/c_locale.h"

#include <pthread.h>

static locale_t c_locale;
static pthread_once_t made = PTHREAD_ONCE_INIT;

/* For as long as the process lasts: the C locale needs no files and little memory. */
static void make(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

locale_t ons_enter_c_locale(void) {
    pthread_once(&made, make);
    return c_locale == (locale_t)0 ? (locale_t)0 : uselocale(c_locale);
}

void ons_leave_c_locale(const locale_t *previous) {
    if (*previous != (locale_t)0) uselocale(*previous);
}
