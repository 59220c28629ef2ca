/* What decides, beside shapes and threads, which kernels a CPU gets, how long they take and how much scratch they want:
 * the libraries' versions, and the instructions that they and our own code were chosen to use on this machine
 * (kernels/variant.h). */
#ifndef ONSTAGE_KERNELS_VERSIONS_H
#define ONSTAGE_KERNELS_VERSIONS_H

enum { ONS_KERNEL_VERSIONS = 4, ONS_KERNEL_VERSION_TEXT = 64 };

typedef struct ons_kernel_version {
    const char *name; /* "oneDNN" */
    char text[ONS_KERNEL_VERSION_TEXT];
} ons_kernel_version;

void ons_kernel_versions(ons_kernel_version versions[static ONS_KERNEL_VERSIONS]);

#endif
