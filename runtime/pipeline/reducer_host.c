/* Reductions where the host can access the devices' memory: its threads send, receive and add. */
#include <string.h>

#include "runtime/pipeline/reducer_state.h"

enum { BLOCK = 1024 }; /* elements that are added at once */

typedef struct message {
    ons_message_part *items;
    size_t count;
    int64_t bytes;
} message;

/* Buckets that follow each other. */
typedef struct bucket_place {
    ons_reducer *r;
    uint32_t index;
    ons_stream *out, *in;
    ons_channel **to, **from; /* of each replica; NULL: itself */
    char *staging;
    char ***sums;                   /* of each replica, where memory is shared: its reducer's */
    message *weights;               /* of each replica: its slices of the lane's weights */
    ons_event *handed_over, *whole; /* its weights */
} bucket_place;

typedef struct bucket_job {
    ons_reducer *r;
    bucket_place *bucket_place;
    uint32_t bucket;
    message *slices; /* of each replica: its slice of the sums, where they lie */
    message *staged; /* of each replica: what comes from it */
    ons_event *complete, *sent, *added, *summed, *handed_back;
} bucket_job;

/* Of a running mean, whose micro-batches others' come between. */
typedef struct scaling {
    float *values;
    int64_t count;
    float factor;
} scaling;

/* What the reducer has of its own where the host can access the memory. */
struct ons_reducer_host {
    bucket_place bucket_places[ONS_REDUCTION_IN_FLIGHT];
    ons_channel **meet_to, **meet_from; /* of each replica: between kernels */
    bucket_job *jobs;
    scaling *scalings; /* [sum] */
    ons_event *updated;
};

/* --------------------------------------------------------------------------------------------------------- building */

static ons_status *open_channels(const ons_reducer *r, uint32_t number, ons_channel ***to, ons_channel ***from) {
    uint32_t count = r->o.reduction->replicas, own = r->o.ranks[r->o.rank_group.own];
    ONS_NEW(*to, r->arena, count);
    ONS_NEW(*from, r->arena, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (i == r->o.rank_group.own) continue;
        ONS_TRY(r->o.world->open(r->o.world, own, r->o.ranks[i], number, &(*to)[i]));
        ONS_TRY(r->o.world->open(r->o.world, r->o.ranks[i], own, number, &(*from)[i]));
        r->o.world->run_ahead((*to)[i]);
        r->o.world->run_ahead((*from)[i]);
    }
    return NULL;
}

static bucket_place *bucket_place_of(ons_reducer *r, uint32_t bucket) {
    uint32_t in_flight = r->o.reduction->in_flight; /* none where there is no bucket */
    return &r->host->bucket_places[in_flight > 0 ? bucket % in_flight : 0];
}

static const ons_sum_bucket *bucket_of(const bucket_job *job) { return &job->r->o.reduction->buckets[job->bucket]; }

static char *staged(const bucket_job *job, uint32_t replica) {
    return job->bucket_place->staging + ons_reducer_staged_at(job->r, bucket_of(job), replica);
}

static void add_part(message *m, char *data, size_t bytes) {
    m->items[m->count++] = (ons_message_part){data, bytes};
    m->bytes += (int64_t)bytes;
}

/* A slice of a bucket; `place` NULL: where the sums lie. */
static ons_status *list_pieces(const ons_reducer *r, const ons_sum_bucket *bucket, uint32_t slice, char *place,
                               message *m) {
    ONS_NEW(m->items, r->arena, (size_t)(bucket->begin[slice + 1] - bucket->begin[slice]) + 1);
    for (uint32_t i = bucket->begin[slice]; i < bucket->begin[slice + 1]; ++i) {
        const ons_sum_piece *piece = &bucket->pieces[i];
        size_t bytes = (size_t)piece->count * ons_reducer_element_bytes(r, piece);
        add_part(m, place == NULL ? ons_reducer_address(r, piece) : place + m->bytes, bytes);
    }
    return NULL;
}

static ons_status *set_up_messages(bucket_job *job) {
    const ons_reducer *r = job->r;
    ONS_NEW(job->slices, r->arena, r->o.reduction->replicas);
    ONS_NEW(job->staged, r->arena, r->o.reduction->replicas);
    for (uint32_t i = 0; i < r->o.reduction->replicas; ++i) {
        ONS_TRY(list_pieces(r, bucket_of(job), i, NULL, &job->slices[i]));
        if (i != r->o.rank_group.own)
            ONS_TRY(list_pieces(r, bucket_of(job), r->o.rank_group.own, staged(job, i), &job->staged[i]));
    }
    return NULL;
}

/* The slices that each replica owns of the weights of a place for buckets. */
static ons_status *set_up_weights(bucket_place *l) {
    const ons_reducer *r = l->r;
    const ons_reduction *reduction = r->o.reduction;
    ONS_NEW(l->weights, r->arena, reduction->replicas);
    for (uint32_t owner = 0; owner < reduction->replicas; ++owner) {
        ONS_NEW(l->weights[owner].items, r->arena, (size_t)reduction->weight_count + 1);
        for (uint32_t i = l->index; i < reduction->weight_count; i += reduction->in_flight) {
            const ons_divided_weight *w = &reduction->weights[i];
            ons_slice slice = ons_slice_of(w->elements, owner, reduction->replicas);
            int64_t size = (int64_t)ons_dtype_size(w->dtype);
            add_part(&l->weights[owner], r->weights[i] + slice.first * size, (size_t)(slice.count * size));
        }
    }
    return NULL;
}

static ons_status *set_up_bucket_place(ons_reducer *r, uint32_t index) {
    bucket_place *l = &r->host->bucket_places[index];
    l->r = r;
    l->index = index;
    l->staging = ons_reducer_staging(r, index);
    ONS_NEW(l->sums, r->arena, r->o.reduction->replicas);
    ONS_TRY(set_up_weights(l));
    ONS_TRY(open_channels(r, ONS_REDUCER_SUMS + index, &l->to, &l->from));
    ONS_TRY(r->device->stream_new(r->device, "sums out", 1, &l->out));
    ONS_TRY(r->device->stream_new(r->device, "sums in", 1, &l->in));
    ONS_TRY(r->device->event_new(r->device, &l->handed_over));
    return r->device->event_new(r->device, &l->whole);
}

static ons_status *set_up_jobs(ons_reducer *r) {
    ONS_NEW(r->host->jobs, r->arena, (size_t)r->o.reduction->bucket_count + 1);
    for (uint32_t i = 0; i < r->o.reduction->bucket_count; ++i) {
        bucket_job *job = &r->host->jobs[i];
        job->r = r;
        job->bucket_place = bucket_place_of(r, i);
        job->bucket = i;
        ONS_TRY(set_up_messages(job));
        ONS_TRY(r->device->event_new(r->device, &job->complete));
        ONS_TRY(r->device->event_new(r->device, &job->sent));
        ONS_TRY(r->device->event_new(r->device, &job->added));
        ONS_TRY(r->device->event_new(r->device, &job->summed));
        ONS_TRY(r->device->event_new(r->device, &job->handed_back));
    }
    return NULL;
}

static ons_status *set_up_scalings(ons_reducer *r) {
    ONS_NEW(r->host->scalings, r->arena, (size_t)r->o.reduction->sum_count + 1);
    for (uint32_t i = 0; i < r->o.reduction->sum_count; ++i) {
        const ons_sum *sum = &r->o.reduction->sums[i];
        r->host->scalings[i] =
            (scaling){(float *)(void *)r->sums[i], sum->elements, (float)ons_reducer_skipped(r, sum)};
    }
    return NULL;
}

static uint32_t gather(const ons_replicas *replicas, double *all, size_t count);

static ons_status *set_up(ons_reducer *r) {
    ONS_NEW(r->host, r->arena, 1);
    ONS_TRY(r->device->event_new(r->device, &r->host->updated));
    ONS_TRY(set_up_scalings(r));
    for (uint32_t i = 0; i < r->o.reduction->in_flight; ++i) ONS_TRY(set_up_bucket_place(r, i));
    r->replicas = (ons_replicas){.gather = gather, .context = r, .own = r->o.rank_group.own};
    ONS_TRY(open_channels(r, ONS_REDUCER_MEETINGS, &r->host->meet_to, &r->host->meet_from));
    return set_up_jobs(r);
}

static void tear_down(ons_reducer *r) {
    ons_reducer_host *h = r->host;
    if (h == NULL) return;
    for (uint32_t i = 0; i < ONS_REDUCTION_IN_FLIGHT; ++i) {
        r->device->stream_free(h->bucket_places[i].out);
        r->device->stream_free(h->bucket_places[i].in);
        r->device->event_free(h->bucket_places[i].handed_over);
        r->device->event_free(h->bucket_places[i].whole);
    }
    for (uint32_t i = 0; h->jobs != NULL && i < r->o.reduction->bucket_count; ++i) {
        r->device->event_free(h->jobs[i].complete);
        r->device->event_free(h->jobs[i].sent);
        r->device->event_free(h->jobs[i].added);
        r->device->event_free(h->jobs[i].summed);
        r->device->event_free(h->jobs[i].handed_back);
    }
    r->device->event_free(h->updated);
}

/* --------------------------------------------------------------------------------------------------------- messages */

/* That the world has failed is found at the end of the step. */
static void transfer(const ons_reducer *r, ons_channel *channel, char *data, size_t bytes, bool out) {
    ons_transport *w = r->o.world;
    if (atomic_load(r->cut_off)) return;
    if (!(out ? w->send(channel, data, bytes) : w->receive(channel, data, bytes))) atomic_store(r->cut_off, true);
}

static void transfer_parts(const ons_reducer *r, ons_channel *channel, const message *m, bool out) {
    const ons_transport *w = r->o.world;
    if (atomic_load(r->cut_off)) return;
    if (!(out ? w->send_parts : w->receive_parts)(channel, m->items, m->count)) atomic_store(r->cut_off, true);
}

/* The other replica that is `turn`-th to send to, or to receive from: all are busy with each other in every turn. */
static uint32_t peer(const ons_reducer *r, uint32_t turn, bool out) {
    uint32_t count = r->o.reduction->replicas;
    return (r->o.rank_group.own + (out ? turn : count - turn)) % count;
}

static void record(const bucket_place *l, const char *name, int64_t begin, int64_t bytes) {
    const ons_trace_event event = {.name = name,
                                   .category = "reduce",
                                   .begin = begin,
                                   .end = ons_trace_now(),
                                   .step = (int64_t)l->r->step,
                                   .bytes = bytes};
    ons_trace_record(l->r->o.tracks[l->index], &event);
}

/* Where the owner of a slice can read it, it is told where the sums lie: they stay as they are until it hands back. */
static void send_pieces(void *argument, uintptr_t native) {
    (void)native;
    bucket_job *job = argument;
    ons_reducer *r = job->r;
    if (r->o.rank_group.own >= r->work.active) return;
    for (uint32_t turn = 1; turn < r->o.reduction->replicas; ++turn) {
        ons_channel *to = job->bucket_place->to[peer(r, turn, true)];
        if (r->o.world->shares_memory)
            transfer(r, to, (char *)&r->sums, sizeof r->sums, true);
        else
            transfer_parts(r, to, &job->slices[peer(r, turn, true)], true);
    }
}

static void send_sums(void *argument, uintptr_t native) {
    (void)native;
    const bucket_job *job = argument;
    for (uint32_t turn = 1; turn < job->r->o.reduction->replicas; ++turn)
        transfer_parts(job->r, job->bucket_place->to[peer(job->r, turn, true)], &job->slices[job->r->o.rank_group.own],
                       true);
}

static void receive_sums(void *argument, uintptr_t native) {
    (void)native;
    const bucket_job *job = argument;
    int64_t begin = ons_trace_now();
    for (uint32_t turn = 1; turn < job->r->o.reduction->replicas; ++turn) {
        uint32_t from = peer(job->r, turn, false);
        transfer_parts(job->r, job->bucket_place->from[from], &job->slices[from], false);
    }
    record(job->bucket_place, "sums", begin, bucket_of(job)->bytes[job->r->o.rank_group.own]);
}

/* A message that nobody waits for yet would keep the sender: of two, the one with the smaller number sends first. */
static uint32_t gather(const ons_replicas *replicas, double *all, size_t count) {
    const ons_reducer *r = replicas->context;
    uint32_t present = ons_reducer_present(r, replicas->micro_batch);
    char *mine = (char *)(all + replicas->own * count);
    for (uint32_t i = 0; i < present; ++i) {
        if (i == replicas->own) continue;
        char *theirs = (char *)(all + i * count);
        bool first = replicas->own < i;
        if (first) transfer(r, r->host->meet_to[i], mine, count * sizeof *all, true);
        transfer(r, r->host->meet_from[i], theirs, count * sizeof *all, false);
        if (!first) transfer(r, r->host->meet_to[i], mine, count * sizeof *all, true);
    }
    return atomic_load(r->cut_off) ? 0 : present;
}

/* ---------------------------------------------------------------------------------------------------------- weights */

static void send_weights(void *argument, uintptr_t native) {
    (void)native;
    const bucket_place *l = argument;
    for (uint32_t turn = 1; turn < l->r->o.reduction->replicas; ++turn)
        transfer_parts(l->r, l->to[peer(l->r, turn, true)], &l->weights[l->r->o.rank_group.own], true);
}

static void receive_weights(void *argument, uintptr_t native) {
    (void)native;
    const bucket_place *l = argument;
    int64_t begin = ons_trace_now(), bytes = 0;
    for (uint32_t turn = 1; turn < l->r->o.reduction->replicas; ++turn) {
        uint32_t from = peer(l->r, turn, false);
        transfer_parts(l->r, l->from[from], &l->weights[from], false);
        bytes += l->weights[from].bytes;
    }
    record(l, "weights", begin, bytes);
}

/* ----------------------------------------------------------------------------------------------------------- adding */

static void add_floats(float *restrict total, const float *restrict part, int64_t count) {
    for (int64_t i = 0; i < count; ++i) total[i] = total[i] + part[i];
}

static void add_decayed_floats(float *restrict total, const float *restrict part, int64_t count, float factor) {
    for (int64_t i = 0; i < count; ++i) total[i] = total[i] * factor + part[i];
}

static void add_doubles(double *restrict total, const double *restrict part, int64_t count, double factor) {
    for (int64_t i = 0; i < count; ++i) total[i] = total[i] * factor + part[i];
}

static void add_halves(uint16_t *restrict total, const uint16_t *restrict part, int64_t count, float factor) {
    for (int64_t i = 0; i < count; ++i)
        total[i] = ons_float_to_half(ons_half_to_float(total[i]) * factor + ons_half_to_float(part[i]));
}

static void add_bfloats(uint16_t *restrict total, const uint16_t *restrict part, int64_t count, float factor) {
    for (int64_t i = 0; i < count; ++i)
        total[i] = ons_float_to_bfloat16(ons_bfloat16_to_float(total[i]) * factor + ons_bfloat16_to_float(part[i]));
}

/* total = total · factor + part, rounded to the type. */
static void add(ons_dtype dtype, void *total, const void *part, int64_t count, double factor) {
    switch (dtype) {
    case ONS_FLOAT64: add_doubles(total, part, count, factor); break;
    case ONS_FLOAT16: add_halves(total, part, count, (float)factor); break;
    case ONS_BFLOAT16: add_bfloats(total, part, count, (float)factor); break;
    default:
        if (factor == 1)
            add_floats(total, part, count);
        else
            add_decayed_floats(total, part, count, (float)factor);
    }
}

/* The replicas' parts of up to BLOCK elements, in their order. `part` of each lies `offset` bytes behind
 * parts[replica].
 */
static void add_block(const ons_reducer *r, const ons_sum *sum, const char *const *parts, size_t offset, int64_t count,
                      char *result) {
    double block[BLOCK]; /* aligned for any type */
    size_t bytes = (size_t)count * ons_dtype_size(sum->dtype);
    uint32_t first = ons_reducer_first(r, sum), active = r->work.active;
    memcpy(block, parts[first] + offset, bytes);
    for (uint32_t i = 1; i < active && !sum->is_common; ++i) {
        uint32_t replica = (first + i) % active;
        add(sum->dtype, block, parts[replica] + offset, count, ons_reducer_factor(r, sum, replica));
    }
    memcpy(result, block, bytes);
}

static void add_piece(const bucket_job *job, const ons_sum_piece *piece, size_t staged_at) {
    enum { REPLICAS_AT_ONCE = 1024 };
    const ons_reducer *r = job->r;
    const ons_sum *sum = &r->o.reduction->sums[piece->sum];
    size_t size = ons_dtype_size(sum->dtype);
    const char *parts[REPLICAS_AT_ONCE];
    char *own = ons_reducer_address(r, piece);
    for (uint32_t i = 0; i < r->work.active; ++i)
        parts[i] = i == r->o.rank_group.own    ? own
                   : r->o.world->shares_memory ? job->bucket_place->sums[i][piece->sum] + (size_t)piece->first * size
                                               : staged(job, i) + staged_at;
    for (int64_t at = 0; at < piece->count; at += BLOCK) {
        int64_t count = piece->count - at < BLOCK ? piece->count - at : BLOCK;
        add_block(r, sum, parts, (size_t)at * size, count, own + (size_t)at * size);
    }
}

static void receive_pieces(const bucket_job *job) {
    const ons_reducer *r = job->r;
    for (uint32_t turn = 1; turn < r->o.reduction->replicas; ++turn) {
        uint32_t from = peer(r, turn, false);
        if (from >= r->work.active) continue;
        if (r->o.world->shares_memory)
            transfer(r, job->bucket_place->from[from], (char *)&job->bucket_place->sums[from],
                     sizeof job->bucket_place->sums[from], false);
        else
            transfer_parts(r, job->bucket_place->from[from], &job->staged[from], false);
    }
}

static void receive_and_add(void *argument, uintptr_t native) {
    (void)native;
    const bucket_job *job = argument;
    const ons_sum_bucket *bucket = bucket_of(job);
    uint32_t own = job->r->o.rank_group.own;
    size_t staged_at = 0;
    int64_t begin = ons_trace_now();
    receive_pieces(job);
    for (uint32_t i = bucket->begin[own]; i < bucket->begin[own + 1] && !atomic_load(job->r->cut_off); ++i) {
        add_piece(job, &bucket->pieces[i], staged_at);
        staged_at += (size_t)bucket->pieces[i].count * ons_reducer_element_bytes(job->r, &bucket->pieces[i]);
    }
    record(job->bucket_place, "pieces", begin, bucket->bytes[own]);
}

/* -------------------------------------------------------------------------------------------------------- launching */

static ons_status *launch(ons_reducer *r, uint32_t bucket) {
    ons_device *d = r->device;
    bucket_job *job = &r->host->jobs[bucket];
    ons_stream *out = job->bucket_place->out, *in = job->bucket_place->in;
    d->stream_wait(out, job->complete);
    d->stream_wait(in, job->complete);
    d->launch(out, send_pieces, job);
    d->event_record(out, job->sent);
    d->launch(in, receive_and_add, job);
    d->event_record(in, job->added);
    if (bucket_of(job)->stays) {
        d->event_record(out, job->handed_back);
        d->event_record(in, job->summed);
        return NULL;
    }
    d->stream_wait(out, job->added);
    d->launch(out, send_sums, job);
    d->event_record(out, job->handed_back);
    d->stream_wait(in, job->sent); /* others' sums take the place of what was sent to them */
    d->launch(in, receive_sums, job);
    d->event_record(in, job->summed);
    return NULL;
}

static void begin_mean(ons_reducer *r, uint32_t sum, int64_t bytes) { memset(r->sums[sum], 0, (size_t)bytes); }

static void scale(void *argument, uintptr_t native) {
    (void)native;
    const scaling *s = argument;
    for (int64_t i = 0; i < s->count; ++i) s->values[i] *= s->factor;
}

static void skip_turns(ons_reducer *r, uint32_t sum, ons_stream *compute) {
    r->device->launch(compute, scale, &r->host->scalings[sum]);
}

static void complete(ons_reducer *r, uint32_t bucket, ons_stream *compute) {
    r->device->event_record(compute, r->host->jobs[bucket].complete);
}

static ons_status *finish(ons_reducer *r, ons_stream *compute) {
    uint32_t count = r->o.reduction->bucket_count;
    /* Streams run in order, so the others of a place are behind its last bucket. */
    for (uint32_t i = count - r->o.reduction->in_flight; i < count; ++i) {
        r->device->stream_wait(compute, r->host->jobs[i].summed);
        r->device->stream_wait(compute, r->host->jobs[i].handed_back);
    }
    return NULL;
}

static ons_status *hand_over_weights(ons_reducer *r, ons_stream *compute) {
    ons_device *d = r->device;
    d->event_record(compute, r->host->updated);
    for (uint32_t i = 0; i < r->o.reduction->in_flight; ++i) {
        bucket_place *l = &r->host->bucket_places[i];
        d->stream_wait(l->out, r->host->updated);
        d->stream_wait(l->in, r->host->updated);
        d->launch(l->out, send_weights, l);
        d->event_record(l->out, l->handed_over);
        d->launch(l->in, receive_weights, l);
        d->event_record(l->in, l->whole);
        d->stream_wait(compute, l->handed_over);
        d->stream_wait(compute, l->whole);
    }
    return NULL;
}

const ons_reducer_medium ons_reducer_by_host = {
    .set_up = set_up,
    .tear_down = tear_down,
    .begin_mean = begin_mean,
    .skip_turns = skip_turns,
    .complete = complete,
    .launch = launch,
    .finish = finish,
    .hand_over_weights = hand_over_weights,
};
