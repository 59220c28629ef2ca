/* Numbers have a decimal point, and letters ASCII's rules, whatever locale the program around the library has chosen.
 *
 * `ONS_IN_C_LOCALE;` is the first line of every public function that reads or writes text: until it returns, by any
 * path, this thread is in the C locale. The program's own locale, of the process or of the thread, comes back then. */
#ifndef ONSTAGE_BASE_C_LOCALE_H
#define ONSTAGE_BASE_C_LOCALE_H

#include <locale.h>

/* The locale that the thread was in, for ons_leave_c_locale; (locale_t)0 where the change failed. */
locale_t ons_enter_c_locale(void);
void ons_leave_c_locale(const locale_t *previous);

#define ONS_IN_C_LOCALE                                                                                                \
    __attribute__((cleanup(ons_leave_c_locale), unused)) const locale_t ons_previous_locale_ = ons_enter_c_locale()

#endif
