#include "engine/config/plan_libraries.h"

#include <string.h>

#include "kernels/kernels.h"

ons_status *ons_plan_libraries_fill(ons_arena *arena, ons_plan_subject *s) {
    ons_kernel_version here[ONS_KERNEL_VERSIONS];
    ons_kernel_versions(here);
    ONS_NEW(s->libraries, arena, ONS_KERNEL_VERSIONS);
    s->library_count = ONS_KERNEL_VERSIONS;
    for (uint32_t i = 0; i < ONS_KERNEL_VERSIONS; ++i) {
        s->libraries[i] = (ons_plan_setting){here[i].name, ons_arena_copy_text(arena, here[i].text)};
        if (s->libraries[i].value == NULL) return ons_status_out_of_memory();
    }
    return NULL;
}

static const char *find_here(const ons_kernel_version here[static ONS_KERNEL_VERSIONS], const char *name) {
    for (int i = 0; i < ONS_KERNEL_VERSIONS; ++i)
        if (strcmp(here[i].name, name) == 0) return here[i].text;
    return NULL;
}

/* The first from `index` on that is another one here; library_count where all agree. */
static uint32_t next_other(const ons_plan_subject *s, const ons_kernel_version here[static ONS_KERNEL_VERSIONS],
                           uint32_t index) {
    for (; index < s->library_count; ++index) {
        const char *text = find_here(here, s->libraries[index].name);
        if (text == NULL || strcmp(text, s->libraries[index].value) != 0) break;
    }
    return index;
}

ons_status *ons_plan_libraries_differ(const ons_plan_subject *s, ons_arena *arena, const char **text) {
    ons_kernel_version here[ONS_KERNEL_VERSIONS];
    ons_kernel_versions(here);
    uint32_t other = s->library_count;
    /* The variant is named last and says most. */
    for (uint32_t i = 0; (i = next_other(s, here, i)) < s->library_count; ++i) other = i;
    *text = "";
    if (other == s->library_count) return NULL;
    const char *mine = find_here(here, s->libraries[other].name);
    *text = ons_arena_format(arena, " (planned with %s %s, here %s)", s->libraries[other].name,
                             s->libraries[other].value, mine == NULL ? "is none" : mine);
    return *text == NULL ? ons_status_out_of_memory() : NULL;
}

void ons_plan_libraries_compare(const ons_plan_subject *s, FILE *out) {
    ons_kernel_version here[ONS_KERNEL_VERSIONS];
    ons_kernel_versions(here);
    bool differs = false;
    for (uint32_t i = 0; (i = next_other(s, here, i)) < s->library_count; ++i) {
        const ons_plan_setting *planned = &s->libraries[i];
        const char *text = find_here(here, planned->name);
        fprintf(out, "note: planned with %s %s, here %s\n", planned->name, planned->value,
                text == NULL ? "is none" : text);
        differs = true;
    }
    if (differs) fputs("note: other kernels may take other times and other scratch memory than the plan says\n", out);
}

const char *ons_libraries_text(ons_arena *arena) {
    ons_kernel_version here[ONS_KERNEL_VERSIONS];
    ons_kernel_versions(here);
    const char *text = "";
    for (int i = 0; text != NULL && i < ONS_KERNEL_VERSIONS; ++i)
        text = ons_arena_format(arena, "%s%s%s %s", text, i == 0 ? "" : ", ", here[i].name, here[i].text);
    return text;
}
