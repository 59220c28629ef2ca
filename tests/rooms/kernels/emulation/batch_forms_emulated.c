#include "tests/rooms/kernels/batch_forms.h"
#include "tests/rooms/kernels/emulation/emulated.h"

const ons_target *const batch_forms_target = &ons_target_emulated;
