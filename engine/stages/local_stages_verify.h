/* Verifies that the stages of a run can run together, before they do. */
#ifndef ONSTAGE_ENGINE_STAGES_LOCAL_STAGES_VERIFY_H
#define ONSTAGE_ENGINE_STAGES_LOCAL_STAGES_VERIFY_H

#include "engine/stages/local_stages.h"

/* Verifies every pass of a run (see runtime/verify/verify_stages.h): of whole steps, of an epoch's last one, of what is
 * left, of validation. `stages`: those of this process, with their programs; with stages in other processes this is a
 * meeting of all. */
ons_status *ons_local_stages_verify(const ons_local_stages_options *options, const ons_device_groups *groups,
                                    const ons_local_stage *stages);

#endif
