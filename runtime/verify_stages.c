#include "runtime/verify_stages.h"

#include <stdlib.h>

#include "runtime/verify_steps.h"

/* --------------------------------------------------------------------------------------------------------------- marks
 */

static const char *const kind_names[] = {"sent",        "copied out", "released",  "gone",
                                         "copied back", "awaited",    "used again"};

/* In which part a mark belongs; ONS_PART_COUNT: any. */
static ons_part part_of(const ons_stage_program *s, ons_mark_kind kind, uint32_t index) {
    switch (kind) {
    case ONS_MARK_SEND: return s->cut->sends[index].part;
    case ONS_MARK_OUT:
    case ONS_MARK_GONE: return ONS_PART_FORWARD;
    case ONS_MARK_IN:
    case ONS_MARK_BACK: return ONS_PART_BACKWARD;
    default: return ONS_PART_COUNT;
    }
}

static ons_status *check_marks_of(const ons_stage_program *s, uint32_t stage, ons_mark_kind kind, uint32_t count) {
    for (uint32_t index = 0; index < count; ++index) {
        uint32_t found = 0, wrong = 0, mark = 0;
        for (ons_part part = ONS_PART_BEGIN; part < ONS_PART_COUNT; ++part)
            for (; mark < s->mark_end[part]; ++mark) {
                if (s->marks[mark].kind != kind || s->marks[mark].index != index) continue;
                ons_part wanted = part_of(s, kind, index);
                ++found;
                wrong += wanted != ONS_PART_COUNT && wanted != part;
                wrong += s->marks[mark].position > s->cut->end[part];
            }
        ONS_CHECK(found == 1 && wrong == 0, ONS_DEFECT, "stage %u: transfer %u is %s %u times, %u of them elsewhere",
                  stage, index, kind_names[kind], found, wrong);
    }
    return NULL;
}

static ons_status *check_marks(const ons_stage_program *s, uint32_t stage) {
    const ons_cut_stage *cut = s->cut;
    uint32_t gone = 0; /* where a copy's place is taken in the part in which it leaves: checked by the play of memory */
    for (uint32_t i = 0; i < s->mark_end[ONS_PART_END]; ++i) gone += s->marks[i].kind == ONS_MARK_GONE;
    ONS_CHECK(s->mark_end[ONS_PART_END] == cut->send_count + 2 * cut->receive_count + 3 * cut->swap_count + gone,
              ONS_DEFECT, "stage %u has %u marks for %u sends, %u receives and %u swaps", stage,
              s->mark_end[ONS_PART_END], cut->send_count, cut->receive_count, cut->swap_count);
    ONS_TRY(check_marks_of(s, stage, ONS_MARK_SEND, cut->send_count));
    ONS_TRY(check_marks_of(s, stage, ONS_MARK_AWAIT, cut->receive_count));
    ONS_TRY(check_marks_of(s, stage, ONS_MARK_RELEASE, cut->receive_count));
    ONS_TRY(check_marks_of(s, stage, ONS_MARK_OUT, cut->swap_count));
    ONS_TRY(check_marks_of(s, stage, ONS_MARK_IN, cut->swap_count));
    return check_marks_of(s, stage, ONS_MARK_BACK, cut->swap_count);
}

/* ------------------------------------------------------------------------------------------------------------- actions
 */

/* Forward and backward parts once for each micro-batch, backward after forward and in ascending order, which decides
 * the bits of sums. */
static ons_status *check_actions(const ons_verify_options *o, uint32_t stage, uint32_t *forward) {
    const ons_action_list *list = &o->lists[stage];
    uint32_t forwards = 0, backwards = 0, updates = 0;
    for (uint32_t i = 0; i < list->count; ++i) {
        const ons_action *action = &list->items[i];
        uint32_t micro_batch = action->micro_batch;
        bool known = action->kind == ONS_ACTION_FORWARD || action->kind == ONS_ACTION_BACKWARD ||
                     action->kind == ONS_ACTION_UPDATE;
        ONS_CHECK(known && action->stage == stage && micro_batch < o->micro_batches, ONS_DEFECT,
                  "stage %u: %s of micro-batch %u and stage %u is no action that it can carry out", stage,
                  ons_action_name(action->kind), micro_batch, action->stage);
        if (action->kind == ONS_ACTION_FORWARD) {
            ONS_CHECK(forward[micro_batch]++ == 0, ONS_DEFECT, "stage %u: two forward parts of micro-batch %u", stage,
                      micro_batch);
            ++forwards;
        } else if (action->kind == ONS_ACTION_BACKWARD) {
            ONS_CHECK(micro_batch == backwards++ && forward[micro_batch] > 0, ONS_DEFECT,
                      "stage %u: the backward part of micro-batch %u comes out of order", stage, micro_batch);
        } else {
            ++updates;
            ONS_CHECK(micro_batch + 1 == backwards, ONS_DEFECT,
                      "stage %u: the update of micro-batch %u does not follow its backward part", stage, micro_batch);
        }
    }
    ONS_CHECK(forwards == o->micro_batches && backwards == o->micro_batches &&
                  updates == (o->asynchronous ? o->micro_batches : 1),
              ONS_DEFECT, "stage %u: %u forward parts, %u backward parts and %u updates of %u micro-batches", stage,
              forwards, backwards, updates, o->micro_batches);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------------- all
 */

static ons_status *verify(const ons_verify_options *o, ons_verify_steps *steps, uint32_t *forward) {
    ONS_TRY(ons_verify_pairs(o));
    for (uint32_t i = 0; i < o->stages; ++i) {
        for (uint32_t k = 0; k < o->micro_batches; ++k) forward[k] = 0;
        ONS_TRY(check_actions(o, i, forward));
        ONS_TRY(check_marks(o->programs[i], i));
        ONS_TRY(ons_verify_list_steps(o, i, &steps[i]));
    }
    ONS_TRY(ons_verify_messages(o, steps));
    for (uint32_t i = 0; i < o->stages; ++i) ONS_TRY(ons_verify_memory(o->programs[i], i, &steps[i]));
    return NULL;
}

ons_status *ons_verify_stages(const ons_verify_options *o) {
    ons_verify_steps *steps = calloc(o->stages + 1, sizeof *steps);
    uint32_t *forward = calloc(o->micro_batches + 1, sizeof *forward);
    ons_status *status = steps == NULL || forward == NULL ? ons_status_out_of_memory() : verify(o, steps, forward);
    for (uint32_t i = 0; steps != NULL && i < o->stages; ++i) ons_vector_free(&steps[i]);
    free(steps);
    free(forward);
    return status;
}
