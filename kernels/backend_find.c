#include <string.h>

#include "kernels/backends.h"

const ons_backend *ons_backend_find(const char *name) {
    for (const ons_backend_choice *each = ons_backends; each->name != NULL; ++each)
        if (strcmp(each->name, name) == 0) return each->choose();
    return NULL;
}
