#include "tests/rooms/kernels/batch_forms.h"

const ons_target *const batch_forms_target = &ons_target_cpu;
