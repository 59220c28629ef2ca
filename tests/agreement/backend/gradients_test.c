/* No gradient of an official node case may disagree with finite differences. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/agreement/backend/gradient.h"
#include "tests/agreement/backend/suite.h"

Test(gradients, agree_with_finite_differences, .timeout = 800) {
    suite s;
    cr_assert_null(suite_find(suite_packaged(), &s));
    int checked = 0;
    for (size_t i = 0; i < s.cases.count; ++i) {
        gradient_result r;
        if (strcmp(s.cases.items[i].set, "node") != 0) continue;
        backend_gradient_apart(s.cases.items[i].folder, &r);
        cr_expect(r.agrees, "%s: %s", s.cases.items[i].name, r.reason);
        checked += r.differentiable;
    }
    cr_expect_gt(checked, 600, "only %d cases have a gradient", checked);
    suite_free(&s);
}
