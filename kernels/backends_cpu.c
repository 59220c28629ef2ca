#include "kernels/backends.h"

const ons_backend_choice ons_backends[] = {{"cpu", ons_choose_cpu_backend}, {NULL, NULL}};
