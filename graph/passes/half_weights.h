/* Mixed precision: updates write the half weights that the next step reads, so that no step casts them.
 *
 * ons_share_weight_casts leaves one cast of a weight, which runs when a step begins: it reads every weight (4 bytes an
 * element) and writes it in the half type. The update of the step before has the same number at hand when it writes
 * it. So the half weight becomes a parameter beside the weight, of which the update writes the next contents
 * (ons_update_half_of); its readers read that, and the cast is gone. Bits stay what they are: it is the same number,
 * rounded in the same way, and an update that changes nothing (a step that is skipped) leaves both as they are.
 *
 *     before   w ─Cast─▶ w' ─▶ readers                after   h ─▶ readers
 *              w, gradient, states ─update─▶ w, states        w, gradient, states, h ─update─▶ w, states, h
 *
 * The graph has no contents for h. Who starts a run makes it of the weight, and again where the weight comes from
 * elsewhere, a checkpoint say (runtime/program/device_context.h); files hold the weight alone. Casts stay where
 * something else than forward and backward nodes reads them, and where no update replaces the weight.
 *
 * Where updates are asynchronous, h has as many versions as w, and every micro-batch would have cast its own. Not where
 * replicas divide updates among themselves and send each other their slices of the weight.
 */
#ifndef ONSTAGE_GRAPH_PASSES_HALF_WEIGHTS_H
#define ONSTAGE_GRAPH_PASSES_HALF_WEIGHTS_H

#include "graph/registry.h"

/* On a complete training graph. The casts, which nobody reads any more, are left for ons_prune. `like`: the graph of
 * the same training, for another number of samples, that has decided already which weights have halves; whoever updates
 * a weight has to bring its half up to date as well. NULL: this is the first. */
ons_status *ons_keep_half_weights(ons_graph *graph, const ons_registry *registry, const ons_graph *like);

#endif
