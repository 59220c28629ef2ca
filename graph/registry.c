#include "graph/registry.h"

#include <string.h>

static const char *plain_domain(const char *domain) {
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static bool is_named(const ons_operator *op, const char *domain, const char *name) {
    return strcmp(op->name, name) == 0 && strcmp(op->opset.domain, plain_domain(domain)) == 0;
}

const ons_operator *ons_registry_find(const ons_registry *registry, const char *domain, const char *name,
                                      int64_t opset) {
    for (size_t i = 0; i < registry->count; ++i) {
        const ons_operator *op = registry->operators[i];
        if (is_named(op, domain, name) && opset >= op->opset.first && opset <= op->opset.last) return op;
    }
    return NULL;
}

const ons_operator *ons_registry_find_name(const ons_registry *registry, const char *domain, const char *name) {
    for (size_t i = 0; i < registry->count; ++i)
        if (is_named(registry->operators[i], domain, name)) return registry->operators[i];
    return NULL;
}

static bool fits(const char *pattern, const char *name) {
    size_t length = strlen(pattern);
    bool open = length > 0 && pattern[length - 1] == '*';
    return open ? strncmp(pattern, name, length - 1) == 0 : strcmp(pattern, name) == 0;
}

const ons_unsupported *ons_registry_find_unsupported(const ons_registry *registry, const char *domain,
                                                     const char *name) {
    for (size_t i = 0; i < registry->unsupported_count; ++i) {
        const ons_unsupported *each = &registry->unsupported[i];
        if (strcmp(each->domain, plain_domain(domain)) == 0 && fits(each->name, name)) return each;
    }
    return NULL;
}

const ons_operator *ons_registry_role(const ons_registry *registry, ons_role role) {
    for (size_t i = 0; role != ONS_NO_ROLE && i < registry->count; ++i)
        if (registry->operators[i]->roles.role == role) return registry->operators[i];
    return NULL;
}

int64_t ons_registry_type_bytes(const ons_registry *registry, const ons_type *type) {
    if (type->layout == ONS_LAYOUT_ONNX || registry->layout_bytes == NULL) return ons_type_dense_bytes(type);
    return registry->layout_bytes(type);
}
