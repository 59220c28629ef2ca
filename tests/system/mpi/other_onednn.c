/* Loaded before oneDNN (LD_PRELOAD): it says that it is another version. Its functions are as they were. */
#include <dnnl.h>

const dnnl_version_t *dnnl_version(void) {
    static const dnnl_version_t other = {.major = 2, .minor = 99, .patch = 7, .hash = ""};
    return &other;
}
