/* Whether the stages of a crew can run together, before they do. */
#ifndef ONSTAGE_ENGINE_CREW_VERIFY_H
#define ONSTAGE_ENGINE_CREW_VERIFY_H

#include "engine/crew.h"

/* Every flight of a run (see runtime/verify/verify_stages.h): of whole steps, of an epoch's last one, of what is left,
 * of validation. `ranks`: the stages of this process, with their programs; with stages in other processes this is a
 * meeting of all. */
ons_status *ons_crew_verify(const ons_crew_options *options, const ons_rank *ranks);

#endif
