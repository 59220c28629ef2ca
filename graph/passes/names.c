#include "graph/passes/names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* "zeros_like", "zeros_like_3" */
static bool is_name_of(const char *name, const char *maker) {
    size_t length = strlen(maker);
    if (strncmp(name, maker, length) != 0) return false;
    if (name[length] == '\0') return true;
    return name[length] == '_' && name[length + 1] != '\0' &&
           name[length + 1 + strspn(name + length + 1, "0123456789")] == '\0';
}

static bool is_name_of_any(const char *name, const char *const *makers, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (is_name_of(name, makers[i])) return true;
    return false;
}

bool ons_is_constant_name(const char *name) {
    if (strcmp(name, "val") != 0 && is_name_of(name, "val")) return true;
    for (const char *at = name; (at = strcasestr(at, "const")) != NULL; ++at)
        if (at == name || !isalpha((unsigned char)at[-1])) return true;
    return false;
}

bool ons_is_filled_name(const char *name) {
    static const char *const makers[] = {"zeros",    "zeros_like", "new_zeros", "ones",    "ones_like",
                                         "new_ones", "full",       "full_like", "new_full"};
    return is_name_of_any(name, makers, sizeof makers / sizeof makers[0]);
}

bool ons_is_result_name(const char *name) {
    /* PyTorch's functions under whose names its newer exporter keeps their results. */
    static const char *const makers[] = {
        "arange",  "linspace", "unsqueeze", "expand",      "view", "reshape", "repeat", "stack", "cat",       "flatten",
        "permute", "meshgrid", "_to_copy",  "masked_fill", "tril", "triu",    "pow",    "exp",   "reciprocal"};
    return ons_is_constant_name(name) || ons_is_filled_name(name) || strstr(name, "::") != NULL || name[0] == '/' ||
           is_name_of_any(name, makers, sizeof makers / sizeof makers[0]);
}
