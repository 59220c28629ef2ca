#include "kernels/common/elementwise/clamped.h"

#include <string.h>

#include "kernels/operators.h"

enum { LEAST = 1, MOST = 2 }; /* arguments of clamp behind what is clamped */

/* A number that the program gave, which the exporter makes a tensor of ("%scalar_tensor_default"): of a tensor that the
 * program itself gave, PyTorch shares the gradient. */
static bool is_number(const ons_exporter_call *call, uint32_t place, const char *keyword) {
    static const char made[] = "%scalar_tensor";
    ons_exporter_call bound;
    return ons_call_argument(call, place, keyword, &bound) && bound.size >= sizeof made - 1 &&
           memcmp(bound.text, made, sizeof made - 1) == 0;
}

/* Where(beyond(x, bound), bound, x), where a bound itself counts as beyond. */
static ons_status *choose(ons_upgrade *u, const ons_operator *beyond) {
    ons_value_id x = u->inputs.items[0], bound = u->inputs.items[1], is_beyond;
    ONS_TRY(ons_upgrade_insert(u, beyond, NULL, ONS_IN(x, bound).ids, 2, &is_beyond));
    u->op = &ons_op_where;
    u->inputs.items[0] = is_beyond;
    ONS_PUSH(&u->inputs, x);
    return NULL;
}

ons_status *ons_upgrade_max_of_clamp(ons_upgrade *u) {
    bool clamps = u->inputs.count == 2 && u->opset >= 9 && ons_call_is(&u->call, "aten.clamp");
    if (!clamps || !is_number(&u->call, LEAST, "min")) return NULL;
    return choose(u, &ons_op_less_or_equal);
}

ons_status *ons_upgrade_min_of_clamp(ons_upgrade *u) {
    bool clamps = u->inputs.count == 2 && u->opset >= 9 && ons_call_is(&u->call, "aten.clamp");
    if (!clamps || !is_number(&u->call, MOST, "max")) return NULL;
    return choose(u, &ons_op_greater_or_equal);
}
