/* BitShift: the bits of a moved to the left or right by b places; those that fall out are lost, zeros come in (from the
 * left, copies of the sign). */
#include "kernels/bit_shift/bit_shift.h"

#include <string.h>

#include "kernels/common/elementwise/binary.h"

static ons_status *bit_shift_infer(ons_operands *o) {
    const char *direction = ons_attribute_string(o, DIRECTION);
    if (!goes_left(o) && strcmp(direction, "RIGHT") != 0)
        return ons_node_error(o, "direction is '%s'; 'LEFT' and 'RIGHT' are possible", direction);
    return ons_infer_broadcast_integers(o);
}

/* By the width of the type and more, or by less than nothing, there is left what fills up. */
static int64_t shifted_word(const ons_operands *o, uint64_t a, uint64_t b) {
    ons_dtype dtype = o->outputs[0].dtype;
    bool outside = b >= 8 * ons_dtype_size(dtype); /* negative numbers are the largest */
    if (goes_left(o)) return outside ? 0 : ons_wrap_to(dtype, (int64_t)(a << b));
    if (dtype == ONS_UINT64) return outside ? 0 : (int64_t)(a >> b);
    int64_t word = (int64_t)a;
    return outside ? (word < 0 ? -1 : 0) : word >> b;
}

ONS_BINARY_REFERENCE(bit_shift, uint64_t, int64_t, shifted_word(o, a, b))

ONS_DEFINE_BINARY(bit_shift, "BitShift", ONS_ONNX(11, ONS_NEWEST),
                  ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("direction", ONS_ATTRIBUTE_STRING)), ONS_INFER(bit_shift_infer),
                  ONS_NOT_DIFFERENTIABLE("the operands are integers"), ONS_SAVES_NOTHING, ONS_ELEMENTWISE_OPERATOR,
                  ONS_ONE_FORM, ONS_REFERENCE(bit_shift_reference));
