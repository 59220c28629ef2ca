/* What PyTorch's newer exporter leaves at a node: the call that the node was written for, as torch.fx prints it,
 *
 *     %embedding : [num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%w, %i, 0), kwargs =
 * {})
 *
 * Several nodes have the same text where one call became several. */
#ifndef ONSTAGE_GRAPH_EXPORTER_CALL_H
#define ONSTAGE_GRAPH_EXPORTER_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text of the file, not terminated; size 0: the file says nothing. It lives as long as the file. */
typedef struct ons_exporter_call {
    const char *text;
    size_t size;
} ons_exporter_call;

/* Whether the call is of this function in any overload: "aten.embedding" is aten.embedding.default. */
bool ons_call_is(const ons_exporter_call *call, const char *function);

/* The text of an argument by its place, or by its name among the keywords (NULL: it has none); false where the call
 * leaves it out. */
bool ons_call_argument(const ons_exporter_call *call, uint32_t place, const char *keyword, ons_exporter_call *argument);

/* The same where it is a whole number; `value` is left alone elsewhere. */
bool ons_call_integer(const ons_exporter_call *call, uint32_t place, const char *keyword, int64_t *value);

/* The same where it is True. */
bool ons_call_is_true(const ons_exporter_call *call, uint32_t place, const char *keyword);

/* The next value that the text names ("%detach_1" without the sign) at or behind *at, which moves behind it; false at
 * the end. */
bool ons_call_next_name(const ons_exporter_call *text, size_t *at, ons_exporter_call *name);

/* The text of all arguments, keywords included; size 0 where there are none. */
ons_exporter_call ons_call_arguments(const ons_exporter_call *call);

#endif
