/* In NVRTC's place: sources that are made at run time are compiled by the host's compiler, with the headers of the
 * emulated GPU, and run there. Whoever links this has device/cuda_compiler.h's ons_cuda_compile and its launch from
 * here. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_HOST_COMPILER_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_HOST_COMPILER_H

#include <stdbool.h>
#include <stdint.h>

/* There is none: ons_cuda_compile fails, as without NVRTC. */
extern bool ons_host_compiler_missing;

/* Programs compiled and kernels launched so far. */
extern uint32_t ons_host_compiler_programs, ons_host_compiler_launches;

#endif
