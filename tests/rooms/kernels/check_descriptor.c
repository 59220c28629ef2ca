#include <stdlib.h>
#include <string.h>

#include "tests/rooms/kernels/harness.h"

enum { DEFAULT_SEED = 20240229 };

uint64_t ons_test_seed(void) {
    const char *text = getenv("ONSTAGE_TEST_SEED");
    return text == NULL || text[0] == '\0' ? DEFAULT_SEED : strtoull(text, NULL, 0);
}

#define REQUIRE(condition, ...) ONS_CHECK(condition, ONS_DEFECT, __VA_ARGS__)

static bool is_text(const char *text) { return text != NULL && text[0] != '\0'; }

static bool is_ours(const ons_operator *op) { return strcmp(op->opset.domain, "") != 0; }

static ons_status *check_attributes(const ons_operator *op) {
    REQUIRE(op->attributes != NULL, "no attribute list; write ONS_NO_ATTRIBUTES");
    for (const ons_attribute_declaration *a = op->attributes; a->name != NULL; ++a) {
        REQUIRE(is_text(a->name) && a->kind != ONS_ATTRIBUTE_ABSENT, "an attribute lacks its name or kind");
        REQUIRE(a->default_value.kind == a->kind || a->default_value.kind == ONS_ATTRIBUTE_ABSENT,
                "the default of attribute '%s' is of another kind", a->name);
        REQUIRE(!a->required || a->default_value.kind == ONS_ATTRIBUTE_ABSENT,
                "attribute '%s' is required and has a default", a->name);
        for (const ons_attribute_declaration *b = op->attributes; b < a; ++b)
            REQUIRE(strcmp(a->name, b->name) != 0, "attribute '%s' is declared twice", a->name);
    }
    return NULL;
}

static ons_status *check_aliases(const ons_operator *op) {
    REQUIRE(op->aliases != NULL, "no alias list; write ONS_NO_ALIASES");
    for (const ons_alias *alias = op->aliases; alias->kind != ONS_ALIAS_END; ++alias)
        REQUIRE(alias->output < op->arity.outputs_max && alias->input < op->arity.inputs_max,
                "an alias names an operand that the operator does not have");
    return NULL;
}

static ons_status *check_gradient_field(const ons_operator *op) {
    if (op->gradient.build == NULL) {
        REQUIRE(is_text(op->gradient.why_not), "not differentiable and no reason for it");
        REQUIRE(op->saved.inputs == 0 && op->saved.outputs == 0, "not differentiable, but saves something");
        REQUIRE(op->gradient.differentiable == 0 || (op->roles.traits & ONS_TRAIT_EXPANDS) != 0,
                "not differentiable, but a gradient can reach an input");
    } else {
        REQUIRE(op->gradient.differentiable != 0 || is_text(op->gradient.why_not),
                "a gradient rule that no input's gradient can come from, and no reason for it");
    }
    return NULL;
}

static ons_status *check_forms(const ons_operator *op) {
    REQUIRE(op->forms.patterns != NULL, "no pattern list; write ONS_NO_PATTERNS");
    for (const ons_pattern *pattern = op->forms.patterns; pattern->form != NULL; ++pattern)
        REQUIRE(pattern->replace != NULL, "pattern '%s' has no replacement", pattern->form);
    REQUIRE(!(op->roles.traits & ONS_TRAIT_EXPANDS) || op->forms.decompose != NULL, "it expands by no function");
    REQUIRE(op->layout.policy != ONS_LAYOUT_CHOOSES || op->layout.choose != NULL, "a layout is chosen by no function");
    return NULL;
}

static ons_status *check_cases(const ons_case *cases) {
    REQUIRE(cases != NULL && cases[0].name != NULL, "the operator has no cases");
    uint32_t tests = 0;
    for (const ons_case *a = cases; a->name != NULL; ++a) {
        tests += !a->benchmark;
        REQUIRE(is_text(a->name), "a case has no name");
        REQUIRE(a->tolerance >= 0 && a->tolerance < 0.1, "case '%s': a tolerance of %g", a->name, a->tolerance);
        for (const ons_case *b = cases; b < a; ++b)
            REQUIRE(strcmp(a->name, b->name) != 0, "two cases are named '%s'", a->name);
    }
    REQUIRE(tests > 0, "every case is a benchmark: nothing tests the operator");
    return NULL;
}

ons_status *ons_check_descriptor(const ons_operator *op, const ons_case *cases) {
    REQUIRE(is_text(op->name), "the operator has no name");
    REQUIRE(op->opset.domain != NULL, "no domain; write ONS_ONNX or ONS_INTERNAL");
    REQUIRE(op->opset.first >= 1 && op->opset.first <= op->opset.last, "opset range %u to %u", op->opset.first,
            op->opset.last);
    REQUIRE(is_ours(op) || op->opset.last <= ONS_NEWEST, "opset range ends at %u, after %d", op->opset.last,
            ONS_NEWEST);
    REQUIRE(op->arity.inputs_min <= op->arity.inputs_max && op->arity.outputs_min <= op->arity.outputs_max &&
                op->arity.outputs_max > 0,
            "impossible arity");
    REQUIRE(op->infer != NULL && op->cost != NULL, "no shape inference or no cost");
    const uint32_t gone = ONS_TRAIT_CONTROL_FLOW | ONS_TRAIT_LOOP | ONS_TRAIT_SCAN | ONS_TRAIT_SEQUENCES |
                          ONS_TRAIT_CONSTANT | ONS_TRAIT_GRADIENT;
    REQUIRE(op->reference != NULL || (op->roles.traits & gone) != 0, "no reference");
    ONS_TRY(check_attributes(op));
    ONS_TRY(check_gradient_field(op));
    ONS_TRY(check_aliases(op));
    ONS_TRY(check_forms(op));
    return check_cases(cases);
}

ons_status *ons_check_kernel_list(const ons_backend *backend, const ons_operator *op) {
    const ons_kernel_list *list = backend->find(backend, op);
    REQUIRE(list->count > 0 || is_text(list->why_not), "no %s kernel and no reason for it", backend->name);
    for (uint32_t i = 0; i < list->count; ++i)
        REQUIRE(list->kernels[i].prepare != NULL && list->kernels[i].run != NULL, "%s kernel %u is half there",
                backend->name, i);
    return NULL;
}

static ons_status *check_pair(const ons_operator *a, const ons_operator *b) {
    bool same_name = strcmp(a->name, b->name) == 0 && strcmp(a->opset.domain, b->opset.domain) == 0;
    REQUIRE(!same_name || a->opset.last < b->opset.first || b->opset.last < a->opset.first,
            "two operators are called %s at the same opset", a->name);
    REQUIRE(a->roles.role == ONS_NO_ROLE || a->roles.role != b->roles.role, "%s and %s have the same role", a->name,
            b->name);
    return NULL;
}

ons_status *ons_check_registry(const ons_registry *registry) {
    REQUIRE(registry->count > 0 && registry->layout_bytes != NULL && registry->layout_name != NULL,
            "the registry is empty");
    for (size_t a = 0; a < registry->count; ++a)
        for (size_t b = 0; b < a; ++b) ONS_TRY(check_pair(registry->operators[a], registry->operators[b]));
    for (ons_role role = ONS_NO_ROLE + 1; role < ONS_ROLE_COUNT; ++role)
        REQUIRE(ons_registry_role(registry, role) != NULL, "no operator has role %d", (int)role);
    return NULL;
}

static ons_status *check_expected_error(ons_status *status, const char *expected) {
    if (status == NULL)
        return ons_status_new(ONS_DEFECT, "shapes were inferred, but an error with '%s' was expected", expected);
    bool found = strstr(ons_status_get_message(status), expected) != NULL;
    if (!found) return ons_status_at(status, "an error with '%s' was expected, but it says", expected);
    ons_status_free(status);
    return NULL;
}

ons_status *ons_check_shapes(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                             uint64_t seed) {
    ons_fixture fixture;
    ons_status *status = ons_fixture_init(&fixture, registry, op, example, seed);
    if (example->error != NULL) {
        status = check_expected_error(status, example->error);
    } else if (status == NULL) {
        ons_cost cost = op->cost(&fixture.operands);
        if (example->flops >= 0 && cost.flops != example->flops)
            status =
                ons_status_new(ONS_DEFECT, "the cost is %.17g flops, the case says %.17g", cost.flops, example->flops);
        else if (!(cost.bytes >= 0 && cost.flops >= 0))
            status = ons_status_new(ONS_DEFECT, "the cost is negative");
    }
    ons_fixture_free(&fixture);
    return status;
}
