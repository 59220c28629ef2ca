#include "onnx_import/numbers.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "graph/evaluate.h"
#include "graph/passes/names.h"

static const double SIZE_MAX_LIKELY = 65536; /* of an axis; roots of larger ones are near to any number */

static bool is_near(double a, double b) { return fabs(a - b) <= 4e-7 * fabs(b); }

static bool is_whole(double x) { return x >= 1 && x <= SIZE_MAX_LIKELY && is_near(x, nearbyint(x)); }

/* 1/√64, √64, 64, 1/49. */
static bool comes_from_size(double x) {
    return is_whole(x) || is_whole(1 / x) || is_whole(x * x) || is_whole(1 / (x * x));
}

/* 0.9, 0.99: one less a power of ten, as running means take. */
static bool is_momentum(double x) {
    double rest = 1 - x, power = rest > 0 && rest < 1 ? log10(rest) : 0.5;
    return fabs(power - nearbyint(power)) < 1e-4;
}

static bool is_known(double x) {
    static const double known[] = {0.044715,
                                   0.797884560802865,
                                   1.702,
                                   0.7978845,
                                   0.035677408136300125, /* approximations of GELU */
                                   0.693147180559945,
                                   2.302585092994046,
                                   1.442695040888963,
                                   0.434294481903252,
                                   3.321928094887362,
                                   1.837877066409345,
                                   0.918938533204673,
                                   1.144729885849400, /* logarithms of 2, 10, 2π, π */
                                   3.141592653589793,
                                   6.283185307179586,
                                   1.570796326794897,
                                   0.318309886183791,
                                   0.159154943091895,
                                   2.718281828459045,
                                   2.506628274631,
                                   0.3989422804014327,
                                   1.772453850905516,
                                   0.5641895835477563,
                                   1.1283791670955126,
                                   1.0507009873554805,
                                   1.6732632423543772,
                                   1.7580993408473766,
                                   57.29577951308232,
                                   0.017453292519943295};
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) found |= fabs(x - known[i]) <= 2e-6 * known[i];
    return found;
}

ons_number_kind ons_number_kind_of(const ons_tensor *tensor) {
    double x;
    if (tensor == NULL || tensor->data == NULL || !ons_dtype_is_float(tensor->type.dtype) ||
        ons_shape_elements(&tensor->type.shape) != 1)
        return ONS_NUMBER_COMPUTED;
    ons_widen(tensor->type.dtype, tensor->data, 1, &x);
    x = fabs(x);
    if (!isfinite(x) || x >= SIZE_MAX_LIKELY || (x > 0 && x <= 1e-3)) return ONS_NUMBER_COMPUTED;
    if (x == 0 || x == 0.5 || x == 1 || x == 2) return ONS_NUMBER_ROUND;
    return comes_from_size(x) || is_momentum(x) || is_known(x) ? ONS_NUMBER_COMPUTED : ONS_NUMBER_FREE;
}

/* ------------------------------------------------------------------------------------------------------------ names */

static bool ends_with_number(const char *name) {
    size_t length = strlen(name), digits = 0;
    while (digits < length && isdigit((unsigned char)name[length - 1 - digits])) ++digits;
    return digits > 0 && (digits == length || name[length - 1 - digits] == '_');
}

bool ons_may_name_number(const char *name) {
    if (name[0] == '\0' || isdigit((unsigned char)name[0]) || ons_is_constant_name(name) || ons_is_filled_name(name))
        return false;
    for (const char *at = name; *at != '\0'; ++at)
        if (!isalnum((unsigned char)*at) && *at != '_' && *at != '.') return false;
    size_t length = strlen(name);
    bool function = length >= 8 && strcmp(name + length - 8, "_default") == 0; /* "scalar_tensor_default" */
    return !function && !ends_with_number(name);
}

bool ons_is_spelled_as_parameter(const char *name) {
    static const char *const words[] = {"alpha", "beta", "gamma", "temp",  "temperature", "logit_scale", "logit_bias",
                                        "gate",  "gain", "tau",   "theta", "lambda",      "layer_scale", "weight",
                                        "mix",   "bias", "eta",   "kappa", "rho",         "sharpness",   "slope"};
    const char *dot = strrchr(name, '.'), *leaf = dot == NULL ? name : dot + 1;
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) found |= strcasecmp(leaf, words[i]) == 0;
    return found;
}
