#include "tests/kernels/batch_forms.h"
#include "tests/kernels/emulation/emulated.h"

const ons_target *const batch_forms_target = &ons_target_emulated;
