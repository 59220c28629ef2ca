/* What is linked without the operator that sleeps does not know it: the registry of the command, for one. */
#include <criterion/criterion.h>

#include "graph/registry.h"
#include "kernels/kernels.h"
#include "tests/rooms/timing/sleep_costs.h"

Test(sleep, is_in_no_other_registry) {
    const ons_registry *registry = ons_kernels_registry();
    cr_assert_null(ons_registry_find_name(registry, SLEEP_DOMAIN, "Sleep"));
    for (size_t i = 0; i < registry->count; ++i) cr_assert_str_neq(registry->operators[i]->opset.domain, SLEEP_DOMAIN);
}
