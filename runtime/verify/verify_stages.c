#include "runtime/verify/verify_stages.h"

#include <stdlib.h>

#include "runtime/verify/verify_manifest.h"

/* ------------------------------------------------------------------------------------------------------ sync points */

static const char *const kind_names[] = {"sent",        "copied out", "released",  "gone",
                                         "copied back", "awaited",    "used again"};

static ons_part part_of_node(const ons_stage_program *s, ons_node_id node) {
    ons_part part = ONS_PART_BEGIN;
    while (part < ons_part_last(s->cut->chunks) && node >= s->cut->end[part]) ++part;
    return part;
}

/* In which part a sync point belongs; ANY: any. */
enum { ANY = 0xffffffffu };

static ons_part part_of(const ons_stage_program *s, ons_sync_kind kind, uint32_t index) {
    switch (kind) {
    case ONS_SYNC_SEND: return s->cut->sends[index].part;
    case ONS_SYNC_OUT:
    case ONS_SYNC_GONE: return part_of_node(s, s->cut->swaps[index].out_after);
    case ONS_SYNC_IN: return part_of_node(s, s->cut->swaps[index].in_before);
    default: return ANY;
    }
}

static ons_status *check_sync_points_of(const ons_stage_program *s, uint32_t stage, ons_sync_kind kind,
                                        uint32_t count) {
    for (uint32_t index = 0; index < count; ++index) {
        uint32_t found = 0, wrong = 0, sync_point = 0;
        for (ons_part part = ONS_PART_BEGIN; part < ons_part_count(s->cut->chunks); ++part)
            for (; sync_point < s->sync_point_end[part]; ++sync_point) {
                if (s->sync_points[sync_point].kind != kind || s->sync_points[sync_point].index != index) continue;
                ons_part wanted = part_of(s, kind, index);
                ++found;
                wrong += wanted != ANY && wanted != part;
                wrong += s->sync_points[sync_point].position > s->cut->end[part];
            }
        bool several = (kind == ONS_SYNC_RELEASE || kind == ONS_SYNC_AWAIT) &&
                       s->last_part != NULL; /* one of them holds for a micro-batch */
        ONS_CHECK((found == 1 || (several && found > 0)) && wrong == 0, ONS_DEFECT,
                  "stage %u: transfer %u is %s %u times, %u of them elsewhere", stage, index, kind_names[kind], found,
                  wrong);
    }
    return NULL;
}

static ons_status *check_sync_points(const ons_stage_program *s, uint32_t stage) {
    const ons_cut_stage *cut = s->cut;
    uint32_t gone = 0; /* where a copy's place is taken in the part in which it leaves: checked by the play of memory */
    for (uint32_t i = 0; i < s->sync_point_end[ons_part_last(s->cut->chunks)]; ++i)
        gone += s->sync_points[i].kind == ONS_SYNC_GONE;
    ONS_CHECK(s->last_part != NULL || s->sync_point_end[ons_part_last(s->cut->chunks)] ==
                                          cut->send_count + 2 * cut->receive_count + 3 * cut->swap_count + gone,
              ONS_DEFECT, "stage %u has %u marks for %u sends, %u receives and %u swaps", stage,
              s->sync_point_end[ons_part_last(s->cut->chunks)], cut->send_count, cut->receive_count, cut->swap_count);
    ONS_TRY(check_sync_points_of(s, stage, ONS_SYNC_SEND, cut->send_count));
    ONS_TRY(check_sync_points_of(s, stage, ONS_SYNC_AWAIT, cut->receive_count));
    ONS_TRY(check_sync_points_of(s, stage, ONS_SYNC_RELEASE, cut->receive_count));
    ONS_TRY(check_sync_points_of(s, stage, ONS_SYNC_OUT, cut->swap_count));
    ONS_TRY(check_sync_points_of(s, stage, ONS_SYNC_IN, cut->swap_count));
    return check_sync_points_of(s, stage, ONS_SYNC_BACK, cut->swap_count);
}

/* ---------------------------------------------------------------------------------------------------------- actions */

/* What has run of one of the device's stages. */
typedef struct progress {
    uint32_t forwards, inputs, weights, updates;
} progress;

static ons_status *check_action(const ons_verify_options *o, uint32_t stage, const ons_action *a, progress *p) {
    uint32_t m = a->micro_batch, own = ons_verify_share_of(o, stage).micro_batches;
    bool good = true;
    switch ((int)a->kind) {
    case ONS_ACTION_FORWARD: good = m == p->forwards++; break;
    case ONS_ACTION_BACKWARD: good = m == p->inputs++ && m == p->weights++ && m < p->forwards; break;
    case ONS_ACTION_INPUT_GRADIENT: good = m == p->inputs++ && m < p->forwards; break;
    case ONS_ACTION_WEIGHT_GRADIENT: good = m == p->weights++ && m < p->inputs; break;
    default:
        good = (m + 1 == p->weights && m + 1 == p->inputs) || (own == 0 && m == 0);
        ++p->updates;
        break;
    }
    ONS_CHECK(good && (m < own || own == 0), ONS_DEFECT,
              "stage %u: %s of micro-batch %u and stage %u comes twice, out of order, or does not follow what it needs",
              stage, ons_action_name(a->kind), m, a->stage);
    return NULL;
}

/* Each part once for each micro-batch, one after the other, and in ascending order, which decides the bits of sums. */
static ons_status *check_actions(const ons_verify_options *o, uint32_t stage, progress *chunks) {
    const ons_action_list *list = &o->lists[stage];
    const ons_cut_stage *cut = o->programs[stage]->cut;
    uint32_t own = ons_verify_share_of(o, stage).micro_batches;
    for (uint32_t i = 0; i < list->count; ++i) {
        const ons_action *a = &list->items[i];
        uint32_t chunk = ons_cut_chunk(cut, a->stage);
        bool known = a->kind <= ONS_ACTION_UPDATE && chunk < cut->chunks;
        ONS_CHECK(known, ONS_DEFECT, "stage %u: %s of micro-batch %u and stage %u is no action that it can carry out",
                  stage, ons_action_name(a->kind), a->micro_batch, a->stage);
        ONS_TRY(check_action(o, stage, a, &chunks[chunk]));
    }
    for (uint32_t i = 0; i < cut->chunks; ++i) {
        const progress *p = &chunks[i];
        ONS_CHECK(p->forwards == own && p->inputs == own && p->weights == own &&
                      p->updates == (o->asynchronous ? own : 1),
                  ONS_DEFECT, "stage %u: %u forward parts, %u backward parts and %u updates of %u micro-batches", stage,
                  p->forwards, p->inputs, p->updates, own);
    }
    return NULL;
}

static ons_status *check_forward_parts(const ons_verify_options *o, uint32_t stage) {
    const ons_action_list *list = &o->lists[stage];
    const ons_cut_stage *cut = o->programs[stage]->cut;
    uint32_t own = ons_verify_share_of(o, stage).micro_batches;
    bool good = list->count == own * cut->chunks;
    for (uint32_t i = 0; good && i < list->count; ++i)
        good = list->items[i].kind == ONS_ACTION_FORWARD && list->items[i].micro_batch == i / cut->chunks &&
               list->items[i].stage == cut->stages[i % cut->chunks];
    ONS_CHECK(good, ONS_DEFECT, "stage %u: an inference of %u micro-batches is no list of their forward parts", stage,
              own);
    return NULL;
}

ons_verify_share ons_verify_share_of(const ons_verify_options *o, uint32_t stage) {
    uint32_t size = ons_units_size(o->sizes, stage);
    if (o->shares != NULL) return o->shares[stage];
    return (ons_verify_share){
        .micro_batches = o->micro_batches / size, .first_count = o->first_count / size, .group = stage, .copies = 1};
}

ons_device_group ons_verify_group(const ons_verify_options *o, uint32_t number) {
    return o->groups == NULL ? (ons_device_group){number, 1} : o->groups[number];
}

uint32_t ons_verify_updates(const ons_verify_options *o, uint32_t stage) {
    uint32_t updates = 0;
    for (uint32_t i = 0; o->updates && i < o->lists[stage].count; ++i)
        updates += o->lists[stage].items[i].kind == ONS_ACTION_UPDATE;
    return o->asynchronous || updates == 0 ? updates : 1;
}

/* --------------------------------------------------------------------------------------------------------- versions */

/* The places of a stage's weights: after how many updates the weights are that lie there. */
typedef struct places {
    const ons_stage_program *s;
    uint32_t stage, updates;
    uint32_t *after; /* NOTHING: the place was not written yet */
} places;

enum { NOTHING = 0xffffffffu };

static ons_status *expect_weights(const places *p, ons_part_kind kind, uint32_t micro_batch, uint32_t wanted) {
    uint32_t version = ons_stage_program_place(p->s, kind, micro_batch, 0).version;
    ONS_CHECK(version < p->s->versions && p->after[version] == wanted, ONS_DEFECT,
              "stage %u: micro-batch %u wants the weights after %u updates in its %s part, which are not there",
              p->stage, micro_batch, wanted, ons_part_name(kind));
    return NULL;
}

/* A micro-batch may be as many updates behind as there are versions besides the newest. */
static ons_status *play_versions(const ons_action_list *list, places *p) {
    for (uint32_t i = 0; i < list->count; ++i) {
        uint32_t micro_batch = list->items[i].micro_batch, oldest = p->s->versions - 1;
        uint32_t read = micro_batch < oldest ? 0 : micro_batch - oldest;
        switch (list->items[i].kind) {
        case ONS_ACTION_FORWARD: ONS_TRY(expect_weights(p, ONS_PART_FORWARD, micro_batch, read)); break;
        case ONS_ACTION_BACKWARD:
        case ONS_ACTION_INPUT_GRADIENT: ONS_TRY(expect_weights(p, ONS_PART_BACKWARD, micro_batch, read)); break;
        case ONS_ACTION_WEIGHT_GRADIENT: ONS_TRY(expect_weights(p, ONS_PART_WEIGHT, micro_batch, read)); break;
        default:
            ONS_TRY(expect_weights(p, ONS_PART_END, micro_batch, p->updates));
            p->after[ons_stage_program_place(p->s, ONS_PART_END, micro_batch, 0).fresh_version] = ++p->updates;
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

/* -------------------------------------------------------------------------------------------------------------- all */

static ons_status *check_peers(const ons_verify_options *o, const ons_stage_program *s, uint32_t stage) {
    const ons_cut_stage *cut = s->cut;
    for (uint32_t i = 0; i < cut->send_count; ++i)
        ONS_CHECK(cut->sends[i].peer < o->stages && cut->sends[i].peer != ons_verify_share_of(o, stage).group,
                  ONS_DEFECT, "stage %u sends '%s' to stage %u", stage,
                  ons_graph_value(cut->graph, cut->sends[i].value)->name, cut->sends[i].peer);
    for (uint32_t i = 0; i < cut->receive_count; ++i)
        ONS_CHECK(s->rings[i] > 0, ONS_DEFECT, "stage %u has no place for '%s', which it receives", stage,
                  ons_graph_value(cut->graph, cut->receives[i].value)->name);
    return NULL;
}

static ons_status *check_all_actions(const ons_verify_options *o, uint32_t stage) {
    if (o->inference) return check_forward_parts(o, stage);
    progress *chunks = calloc(o->programs[stage]->cut->chunks + 1, sizeof *chunks);
    ons_status *status = chunks == NULL ? ons_status_out_of_memory() : check_actions(o, stage, chunks);
    free(chunks);
    return status;
}

ons_status *ons_verify_stage(const ons_verify_options *o, uint32_t stage, ons_verify_bytes *manifest) {
    ons_verify_steps steps = {0};
    const ons_lineup lineup = ons_verify_lineup(o, stage);
    for (int half = 0; half < 2 && lineup.programs[half] != NULL; ++half) {
        ONS_TRY(check_peers(o, lineup.programs[half], stage));
        ONS_TRY(check_sync_points(lineup.programs[half], stage));
    }
    ONS_TRY(check_all_actions(o, stage));
    ONS_TRY(check_versions(o, stage));
    ons_status *status = ons_verify_list_steps(o, stage, &steps);
    if (status == NULL) status = ons_manifest_write(o, stage, &steps, manifest);
    ons_vector_free(&steps);
    return status;
}

static ons_status *check_manifests(uint32_t stages, const ons_verify_bytes *manifests, size_t *at, ons_manifest *pass) {
    while (at[0] < manifests[0].count) {
        for (uint32_t i = 0; i < stages; ++i)
            ONS_TRY(ons_manifest_read(manifests[i].items, manifests[i].count, &at[i], i, &pass[i]));
        ONS_TRY(ons_manifests_check_pairs(pass, stages));
        ONS_TRY(ons_manifests_simulate(pass, stages));
    }
    for (uint32_t i = 0; i < stages; ++i)
        ONS_CHECK(at[i] == manifests[i].count, ONS_DEFECT, "stage %u tells of more than stage 0", i);
    return NULL;
}

ons_status *ons_verify_manifests(uint32_t stages, const ons_verify_bytes *manifests) {
    size_t *at = calloc(stages + 1, sizeof *at);
    ons_manifest *pass = calloc(stages + 1, sizeof *pass);
    ons_status *status =
        at == NULL || pass == NULL ? ons_status_out_of_memory() : check_manifests(stages, manifests, at, pass);
    free(at);
    free(pass);
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
    ons_verify_bytes *manifests = calloc(o->stages + 1, sizeof *manifests);
    ons_status *status = manifests == NULL ? ons_status_out_of_memory() : NULL;
    for (uint32_t i = 0; status == NULL && i < o->stages; ++i) status = ons_verify_stage(o, i, &manifests[i]);
    if (status == NULL) status = ons_verify_manifests(o->stages, manifests);
    for (uint32_t i = 0; status == NULL && i < o->stages; ++i) status = ons_verify_stage_memory(o, i);
    for (uint32_t i = 0; manifests != NULL && i < o->stages; ++i) ons_vector_free(&manifests[i]);
    free(manifests);
    return status;
}
