#include "kernels/backends.h"

const ons_backend_choice ons_backends[] = {
    {"cpu", ons_choose_cpu_backend}, {"cuda", ons_choose_cuda_backend}, {NULL, NULL}};
