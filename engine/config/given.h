/* Arguments of the public functions that must not be NULL. */
#ifndef ONSTAGE_ENGINE_CONFIG_GIVEN_H
#define ONSTAGE_ENGINE_CONFIG_GIVEN_H

#include "base/status.h"

/* Fails with the function's name and what the header calls the argument. */
#define ONS_GIVEN(POINTER, NAME)                                                                                       \
    ONS_CHECK((POINTER) != NULL, ONS_INVALID_ARGUMENT, "%s: the argument '%s' is NULL", __func__, NAME)

#endif
