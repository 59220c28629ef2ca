/* What went wrong, where, and what to do about it.
 *
 * Every function that can fail returns `ons_status *`: NULL on success, otherwise one failure that the caller owns and
 * either forwards (ONS_TRY) or releases (ons_status_free). Nothing in the library exits, prints or aborts.
 * The type and its codes are part of the public contract and are declared in include/onstage.h.
 */
#ifndef ONSTAGE_BASE_STATUS_H
#define ONSTAGE_BASE_STATUS_H

#include <stdarg.h>

#include "include/onstage.h"

/* A new failure with a formatted message. A message says what was wrong, where (file, node, tensor) and the remedy.
 * Control characters, which only texts from outside have, are spelled out ("\x1b"); newlines are as well, unless a
 * blank follows: further lines of a message are indented. Never returns NULL: where memory is short it returns a static
 * out-of-memory failure. */
ons_status *ons_status_new(ons_status_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

/* Puts the place in front of the message: "model.onnx: node 'fc1': …". Takes over `status`; NULL stays NULL. */
ons_status *ons_status_at(ons_status *status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failure that names the system's own reason (strerror of `error_number`). */
ons_status *ons_status_system(int error_number, const char *format, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

ons_status *ons_status_out_of_memory(void) __attribute__((returns_nonnull));

/* Forwards a failure to the caller. */
#define ONS_TRY(expression)                                                                                            \
    do {                                                                                                               \
        ons_status *ons_try_status_ = (expression);                                                                    \
        if (ons_try_status_ != NULL) return ons_try_status_;                                                           \
    } while (0)

/* Forwards a failure with the place in front: ONS_TRY_AT(read(f), "%s", path). */
#define ONS_TRY_AT(expression, ...)                                                                                    \
    do {                                                                                                               \
        ons_status *ons_try_status_ = (expression);                                                                    \
        if (ons_try_status_ != NULL) return ons_status_at(ons_try_status_, __VA_ARGS__);                               \
    } while (0)

/* Fails unless `condition` holds: ONS_CHECK(rank > 0, ONS_INVALID_MODEL, "node '%s': …", name). */
#define ONS_CHECK(condition, code, ...)                                                                                \
    do {                                                                                                               \
        if (!(condition)) return ons_status_new((code), __VA_ARGS__);                                                  \
    } while (0)

#endif
