#include "runtime/verify_stages.h"

#include <stdlib.h>

#include "runtime/verify_told.h"

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

static ons_status *check_forward_parts(const ons_verify_options *o, uint32_t stage) {
    const ons_action_list *list = &o->lists[stage];
    bool good = list->count == o->micro_batches;
    for (uint32_t i = 0; good && i < list->count; ++i)
        good = list->items[i].kind == ONS_ACTION_FORWARD && list->items[i].micro_batch == i;
    ONS_CHECK(good, ONS_DEFECT, "stage %u: an inference of %u micro-batches is no list of their forward parts", stage,
              o->micro_batches);
    return NULL;
}

uint32_t ons_verify_updates(const ons_verify_options *o, uint32_t stage) {
    uint32_t updates = 0;
    for (uint32_t i = 0; o->updates && i < o->lists[stage].count; ++i)
        updates += o->lists[stage].items[i].kind == ONS_ACTION_UPDATE;
    return updates;
}

/* ------------------------------------------------------------------------------------------------------------ versions
 */

/* The places of a stage's weights: after how many updates the weights are that lie there. */
typedef struct places {
    const ons_stage_program *s;
    uint32_t stage, updates;
    uint32_t *after; /* NOTHING: the place was not written yet */
} places;

enum { NOTHING = 0xffffffffu };

static ons_status *expect_weights(const places *p, ons_part part, uint32_t micro_batch, uint32_t wanted) {
    uint32_t version = ons_stage_program_turn(p->s, part, micro_batch, 0).version;
    ONS_CHECK(version < p->s->versions && p->after[version] == wanted, ONS_DEFECT,
              "stage %u: micro-batch %u wants the weights after %u updates in its %s part, which are not there",
              p->stage, micro_batch, wanted,
              part == ONS_PART_FORWARD    ? "forward"
              : part == ONS_PART_BACKWARD ? "backward"
                                          : "last");
    return NULL;
}

/* A micro-batch may be as many updates behind as there are versions besides the newest. */
static ons_status *play_versions(const ons_action_list *list, places *p) {
    for (uint32_t i = 0; i < list->count; ++i) {
        uint32_t micro_batch = list->items[i].micro_batch, oldest = p->s->versions - 1;
        uint32_t read = micro_batch < oldest ? 0 : micro_batch - oldest;
        switch (list->items[i].kind) {
        case ONS_ACTION_FORWARD: ONS_TRY(expect_weights(p, ONS_PART_FORWARD, micro_batch, read)); break;
        case ONS_ACTION_BACKWARD: ONS_TRY(expect_weights(p, ONS_PART_BACKWARD, micro_batch, read)); break;
        default:
            ONS_TRY(expect_weights(p, ONS_PART_END, micro_batch, p->updates));
            p->after[ons_stage_program_turn(p->s, ONS_PART_END, micro_batch, 0).fresh_version] = ++p->updates;
        }
    }
    return NULL;
}

static ons_status *check_versions(const ons_verify_options *o, uint32_t stage) {
    places p = {.s = o->programs[stage], .stage = stage};
    const ons_stage_program *second = ons_verify_lineup(o, stage).programs[1];
    if (!o->asynchronous) return NULL;
    ONS_CHECK(second == NULL || second->versions == p.s->versions, ONS_DEFECT,
              "stage %u: programs with %u and %u versions", stage, p.s->versions, second->versions);
    p.after = malloc(p.s->versions * sizeof *p.after);
    if (p.after == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < p.s->versions; ++i) p.after[i] = i == 0 ? 0 : NOTHING;
    ons_status *status = play_versions(&o->lists[stage], &p);
    free(p.after);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- all
 */

static ons_status *check_peers(const ons_verify_options *o, const ons_stage_program *s, uint32_t stage) {
    const ons_cut_stage *cut = s->cut;
    for (uint32_t i = 0; i < cut->send_count; ++i)
        ONS_CHECK(cut->sends[i].peer < o->stages && cut->sends[i].peer != stage, ONS_DEFECT,
                  "stage %u sends '%s' to stage %u", stage, ons_graph_value(cut->graph, cut->sends[i].value)->name,
                  cut->sends[i].peer);
    for (uint32_t i = 0; i < cut->receive_count; ++i)
        ONS_CHECK(s->rings[i] > 0, ONS_DEFECT, "stage %u has no place for '%s', which it receives", stage,
                  ons_graph_value(cut->graph, cut->receives[i].value)->name);
    return NULL;
}

static ons_status *check_all_actions(const ons_verify_options *o, uint32_t stage) {
    if (o->inference) return check_forward_parts(o, stage);
    uint32_t *forward = calloc(o->micro_batches + 1, sizeof *forward);
    ons_status *status = forward == NULL ? ons_status_out_of_memory() : check_actions(o, stage, forward);
    free(forward);
    return status;
}

ons_status *ons_verify_stage(const ons_verify_options *o, uint32_t stage, ons_verify_bytes *told) {
    ons_verify_steps steps = {0};
    const ons_lineup lineup = ons_verify_lineup(o, stage);
    for (int half = 0; half < 2 && lineup.programs[half] != NULL; ++half) {
        ONS_TRY(check_peers(o, lineup.programs[half], stage));
        ONS_TRY(check_marks(lineup.programs[half], stage));
    }
    ONS_TRY(check_all_actions(o, stage));
    ONS_TRY(check_versions(o, stage));
    ons_status *status = ons_verify_list_steps(o, stage, &steps);
    if (status == NULL) status = ons_told_write(o, stage, &steps, told);
    ons_vector_free(&steps);
    return status;
}

static ons_status *check_told(uint32_t stages, const ons_verify_bytes *told, size_t *at, ons_told *flight) {
    while (at[0] < told[0].count) {
        for (uint32_t i = 0; i < stages; ++i)
            ONS_TRY(ons_told_read(told[i].items, told[i].count, &at[i], i, &flight[i]));
        ONS_TRY(ons_told_check_pairs(flight, stages));
        ONS_TRY(ons_told_play(flight, stages));
    }
    for (uint32_t i = 0; i < stages; ++i)
        ONS_CHECK(at[i] == told[i].count, ONS_DEFECT, "stage %u tells of more than stage 0", i);
    return NULL;
}

ons_status *ons_verify_told(uint32_t stages, const ons_verify_bytes *told) {
    size_t *at = calloc(stages + 1, sizeof *at);
    ons_told *flight = calloc(stages + 1, sizeof *flight);
    ons_status *status =
        at == NULL || flight == NULL ? ons_status_out_of_memory() : check_told(stages, told, at, flight);
    free(at);
    free(flight);
    return status;
}

ons_status *ons_verify_stage_memory(const ons_verify_options *o, uint32_t stage) {
    ons_verify_steps steps = {0};
    const ons_lineup lineup = ons_verify_lineup(o, stage);
    ons_status *status = ons_verify_list_steps(o, stage, &steps);
    if (status == NULL) status = ons_verify_memory(&lineup, stage, &steps);
    ons_vector_free(&steps);
    return status;
}

ons_status *ons_verify_stages(const ons_verify_options *o) {
    ons_verify_bytes *told = calloc(o->stages + 1, sizeof *told);
    ons_status *status = told == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; status == NULL && i < o->stages; ++i) status = ons_verify_stage(o, i, &told[i]);
    if (status == NULL) status = ons_verify_told(o->stages, told);
    for (uint32_t i = 0; status == NULL && i < o->stages; ++i) status = ons_verify_stage_memory(o, i);
    for (uint32_t i = 0; told != NULL && i < o->stages; ++i) ons_vector_free(&told[i]);
    free(told);
    return status;
}
