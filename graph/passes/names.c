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

bool ons_is_moving_name(const char *name) {
    static const char *const makers[] = {"t",
                                         "transpose",
                                         "permute",
                                         "movedim",
                                         "swapaxes",
                                         "view",
                                         "_unsafe_view",
                                         "reshape",
                                         "unsqueeze",
                                         "squeeze",
                                         "flatten",
                                         "unflatten",
                                         "expand",
                                         "repeat",
                                         "tile",
                                         "repeat_interleave",
                                         "contiguous",
                                         "clone",
                                         "detach",
                                         "alias",
                                         "lift_fresh_copy",
                                         "_to_copy",
                                         "slice",
                                         "select",
                                         "narrow",
                                         "index",
                                         "index_select",
                                         "embedding",
                                         "gather",
                                         "split",
                                         "split_with_sizes",
                                         "chunk",
                                         "unbind",
                                         "getitem",
                                         "roll",
                                         "flip",
                                         "pad",
                                         "constant_pad_nd",
                                         "pixel_shuffle"};
    return is_name_of_any(name, makers, sizeof makers / sizeof makers[0]);
}

bool ons_is_embedding_name(const char *name) { return is_name_of(name, "embedding"); }

bool ons_is_shifting_name(const char *name) { return is_name_of(name, "add") || is_name_of(name, "sub"); }

bool ons_is_computing_name(const char *name) {
    static const char *const makers[] = {
        "mul",  "div",  "reciprocal", "neg",    "abs",    "pow",         "sqrt",    "rsqrt",
        "exp",  "log",  "sin",        "cos",    "tanh",   "sigmoid",     "softmax", "softplus",
        "relu", "silu", "gelu",       "mean",   "sum",    "var",         "norm",    "matmul",
        "mm",   "bmm",  "addmm",      "linear", "einsum", "convolution", "conv2d",  "layer_norm"};
    return is_name_of_any(name, makers, sizeof makers / sizeof makers[0]);
}

bool ons_is_joining_name(const char *name) { return is_name_of(name, "cat") || is_name_of(name, "stack"); }

static bool is_identifier(const char *text, size_t length) {
    bool word = length > 0;
    for (size_t i = 0; i < length && word; ++i) word = isalnum((unsigned char)text[i]) || text[i] == '_';
    return word;
}

bool ons_is_parameter_name(const char *name) {
    if (ons_is_result_name(name) || ons_is_moving_name(name) || strchr(name, '.') == NULL) return false;
    bool path = true;
    for (const char *at = name; path; ++at) {
        size_t length = strcspn(at, ".");
        path = is_identifier(at, length);
        at += length;
        if (*at == '\0') break;
    }
    return path;
}
