#include "kernels/kernels.h"

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <stdio.h>
#include <string.h>

#include "kernels/common/choice/choices.h"
#include "kernels/common/onednn/onednn_versions.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* What oneDNN computes with. It has names for x86 alone. */
static const char *instructions(void) {
#ifdef __x86_64__
    dnnl_cpu_isa_t effective = dnnl_get_effective_cpu_isa();
    if ((int)effective == 0) return "none"; /* isa2str calls it "all" */
    const char *isa = dnnl_cpu_isa2str(effective);
    return strncmp(isa, "cpu_isa_", 8) == 0 ? isa + 8 : isa;
#else
    return "all that the processor has";
#endif
}

void ons_kernel_versions(ons_kernel_version v[static ONS_KERNEL_VERSIONS]) {
    const char *variant = ons_cpu_variant(); /* first: it may cap oneDNN */
    v[0].name = "oneDNN";
    ons_onednn_version(v[0].text);
    v[1].name = "oneDNN's instructions";
    snprintf(v[1].text, sizeof v[1].text, "%s", instructions());
    v[2].name = "compiler";
    snprintf(v[2].text, sizeof v[2].text, "%s", COMPILER);
    v[3].name = "table of choices";
    ons_choice_table_digest(ons_choice_table_used(), variant, v[0].text, v[3].text);
    v[4].name = "onstage's variant";
    snprintf(v[4].text, sizeof v[4].text, "%s", variant);
}
