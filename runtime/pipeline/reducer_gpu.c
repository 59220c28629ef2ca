/* Reductions in the memory of GPUs: messages go by a circle (runtime/transport/circle.h), kernels add.
 *
 *   compute   ──B0──────B1──────────B2──(waits)──update──(waits)──
 *   exchange     └─pieces 0─pieces 1─sums 0─pieces 2─sums 1─sums 2─   weights
 *   adding               └──add 0────└──add 1────────└──add 2
 *
 * Every replica puts the same exchanges on its stream in the same order. Pieces of the next bucket go while those of
 * the last one are added up. Where replicas share a GPU an exchange keeps the thread until the others have come to it:
 * there all buckets wait for the end of the backward part, which hides nothing on one GPU.
 *
 * Kernels meet on the compute stream itself, by a circle of its own: what one replica has told is there for the kernel
 * behind it.
 */
#include <string.h>

#include "kernels/kernels.h"
#include "runtime/pipeline/reducer_state.h"

enum { NO_BUCKET = UINT32_MAX };

/* A bucket on its way. */
typedef struct bucket_exchange {
    const ons_reducer *r;
    const ons_sum_bucket *bucket;
    char *staging;
} bucket_exchange;

struct ons_reducer_gpu {
    const ons_backend *backend;
    ons_circle *circle, *meetings; /* meetings NULL: kernels meet nobody */
    ons_stream *exchange, *adding;
    ons_event **complete, **come, **added; /* [bucket] */
    ons_event *updated, *exchanged;
    ons_part_sum *part_sums; /* of a bucket's own slice */
    uint32_t part_sum_count;
    uint32_t unfinished; /* the bucket whose sums are handed back next */
    void *zeros;         /* pinned: what running means begin with */
    int64_t zero_bytes;
};

/* --------------------------------------------------------------------------------------------------------- building */

static const ons_sum_bucket *bucket_of(const ons_reducer *r, uint32_t bucket) {
    return &r->o.reduction->buckets[bucket];
}

static uint32_t piece_count(const ons_sum_bucket *bucket, uint32_t slice) {
    return bucket->begin[slice + 1] - bucket->begin[slice];
}

static ons_status *new_events(const ons_reducer *r, ons_event ***events) {
    ONS_NEW(*events, r->arena, (size_t)r->o.reduction->bucket_count + 1);
    for (uint32_t i = 0; i < r->o.reduction->bucket_count; ++i) ONS_TRY(r->device->event_new(r->device, &(*events)[i]));
    return NULL;
}

static void free_events(const ons_reducer *r, ons_event **events) {
    for (uint32_t i = 0; events != NULL && i < r->o.reduction->bucket_count; ++i) r->device->event_free(events[i]);
}

static ons_status *set_up_zeros(ons_reducer *r) {
    ons_reducer_gpu *g = r->gpu;
    for (uint32_t i = 0; i < r->o.reduction->sum_count; ++i) {
        const ons_sum *sum = &r->o.reduction->sums[i];
        int64_t bytes = sum->elements * (int64_t)ons_dtype_size(sum->dtype);
        if (sum->is_mean && bytes > g->zero_bytes) g->zero_bytes = bytes;
    }
    if (g->zero_bytes == 0) return NULL;
    ONS_TRY(r->device->allocate_host(r->device, g->zero_bytes, &g->zeros));
    memset(g->zeros, 0, (size_t)g->zero_bytes);
    return NULL;
}

static ons_status *check_sums(const ons_reducer *r) {
    ONS_CHECK(r->gpu->backend != NULL && r->gpu->backend->add_parts != NULL, ONS_DEFECT,
              "nothing adds up what replicas on a device of kind '%s' have", r->device->name);
    for (uint32_t i = 0; i < r->o.reduction->sum_count; ++i) {
        ons_dtype dtype = r->o.reduction->sums[i].dtype;
        ONS_CHECK(
            dtype == ONS_FLOAT32 || dtype == ONS_FLOAT16 || dtype == ONS_BFLOAT16, ONS_UNSUPPORTED,
            "--replicas: '%s' is added up in %s, which GPUs' replicas cannot; train with --device cpu, or without "
            "--replicas",
            r->o.reduction->sums[i].name, ons_dtype_name(dtype));
    }
    return NULL;
}

static ons_status *set_up_part_sums(ons_reducer *r) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < r->o.reduction->bucket_count; ++i) {
        uint32_t count = piece_count(bucket_of(r, i), r->o.rank_group.own);
        most = count > most ? count : most;
    }
    ONS_NEW(r->gpu->part_sums, r->arena, (size_t)most + 1);
    return NULL;
}

static ons_status *new_circle(const ons_reducer *r, uint32_t number, ons_stream *stream, ons_circle **circle) {
    const ons_circle_options options = {.world = r->o.world,
                                        .device = r->device,
                                        .nccl = r->o.nccl,
                                        .links = r->o.links,
                                        .ranks = r->o.ranks,
                                        .count = r->o.reduction->replicas,
                                        .own = r->o.rank_group.own,
                                        .number = number,
                                        .stream = stream};
    return ons_circle_new(&options, circle);
}

static uint32_t gather(const ons_replicas *replicas, double *all, size_t count);

static ons_status *set_up_meetings(ons_reducer *r) {
    if (!r->o.reduction->meets) return NULL;
    r->replicas = (ons_replicas){.gather = gather, .context = r, .own = r->o.rank_group.own};
    return new_circle(r, ONS_REDUCER_MEETINGS, ons_device_context_compute(r->o.device_context), &r->gpu->meetings);
}

static ons_status *set_up(ons_reducer *r) {
    ONS_NEW(r->gpu, r->arena, 1);
    ons_reducer_gpu *g = r->gpu;
    g->backend = ons_backend_find(r->device->name);
    g->unfinished = NO_BUCKET;
    ONS_TRY(check_sums(r));
    ONS_TRY(set_up_zeros(r));
    ONS_TRY(set_up_part_sums(r));
    ONS_TRY(r->device->stream_new(r->device, "exchange", 1, &g->exchange));
    ONS_TRY(r->device->stream_new(r->device, "adding", 1, &g->adding));
    ONS_TRY(new_events(r, &g->complete));
    ONS_TRY(new_events(r, &g->come));
    ONS_TRY(new_events(r, &g->added));
    ONS_TRY(r->device->event_new(r->device, &g->updated));
    ONS_TRY(r->device->event_new(r->device, &g->exchanged));
    ONS_TRY(new_circle(r, ONS_REDUCER_SUMS, g->exchange, &g->circle));
    return set_up_meetings(r);
}

static void tear_down(ons_reducer *r) {
    ons_reducer_gpu *g = r->gpu;
    if (g == NULL) return;
    r->device->stream_free(g->exchange);
    r->device->stream_free(g->adding);
    ons_circle_free(g->circle);
    ons_circle_free(g->meetings);
    free_events(r, g->complete);
    free_events(r, g->come);
    free_events(r, g->added);
    r->device->event_free(g->updated);
    r->device->event_free(g->exchanged);
    if (g->zeros != NULL) r->device->release_host(r->device, g->zeros, g->zero_bytes);
}

static void drain(ons_reducer *r) {
    const ons_device *d = r->device;
    d->event_record(r->gpu->exchange, r->gpu->exchanged);
    d->event_synchronize(r->gpu->exchanged);
    d->event_record(r->gpu->adding, r->gpu->updated);
    d->event_synchronize(r->gpu->updated);
}

/* -------------------------------------------------------------------------------------------------------- exchanges */

/* Of a number of things those that go in a round. */
static uint32_t first_of(uint32_t round, uint32_t begin, uint32_t end) {
    uint32_t first = begin + round * ONS_CIRCLE_ROUND;
    return first < end ? first : end;
}

static uint32_t rounds_for(uint32_t count) { return (count + ONS_CIRCLE_ROUND - 1) / ONS_CIRCLE_ROUND; }

/* Rounds that the replica with most pieces of the bucket needs: all take as many. */
static uint32_t rounds_of(const ons_reducer *r, const ons_sum_bucket *bucket) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < r->o.reduction->replicas; ++i)
        if (piece_count(bucket, i) > most) most = piece_count(bucket, i);
    return rounds_for(most);
}

static size_t piece_bytes(const ons_reducer *r, const ons_sum_piece *piece) {
    return (size_t)piece->count * ons_reducer_element_bytes(r, piece);
}

/* Pieces of a slice that lie one behind the other, up to one of them. */
static size_t bytes_before(const ons_reducer *r, const ons_sum_bucket *bucket, uint32_t slice, uint32_t piece) {
    size_t bytes = 0;
    for (uint32_t i = bucket->begin[slice]; i < piece; ++i) bytes += piece_bytes(r, &bucket->pieces[i]);
    return bytes;
}

static void send_slice(const bucket_exchange *x, ons_circle *circle, uint32_t round, uint32_t slice, uint32_t to) {
    uint32_t begin = x->bucket->begin[slice], end = x->bucket->begin[slice + 1];
    for (uint32_t i = first_of(round, begin, end); i < first_of(round + 1, begin, end); ++i) {
        const ons_sum_piece *piece = &x->bucket->pieces[i];
        ons_circle_send(circle, to, ons_reducer_address(x->r, piece), piece_bytes(x->r, piece));
    }
}

/* The others' slices to their owners; those that have not computed anything have none to send. */
static void turn_of_pieces(void *context, ons_circle *circle, uint32_t round, uint32_t to, uint32_t from) {
    const bucket_exchange *x = context;
    const ons_reducer *r = x->r;
    uint32_t own = r->o.rank_group.own, begin = x->bucket->begin[own], end = x->bucket->begin[own + 1];
    if (own < r->work.active) send_slice(x, circle, round, to, to);
    if (from >= r->work.active) return;
    uint32_t first = first_of(round, begin, end);
    char *place = x->staging + ons_reducer_staged_at(r, x->bucket, from) + bytes_before(r, x->bucket, own, first);
    for (uint32_t i = first; i < first_of(round + 1, begin, end); ++i) {
        size_t bytes = piece_bytes(r, &x->bucket->pieces[i]);
        ons_circle_receive(circle, from, place, bytes);
        place += bytes;
    }
}

/* The sum of the own slice to everybody. */
static void turn_of_sums(void *context, ons_circle *circle, uint32_t round, uint32_t to, uint32_t from) {
    const bucket_exchange *x = context;
    uint32_t begin = x->bucket->begin[from], end = x->bucket->begin[from + 1];
    send_slice(x, circle, round, x->r->o.rank_group.own, to);
    for (uint32_t i = first_of(round, begin, end); i < first_of(round + 1, begin, end); ++i) {
        const ons_sum_piece *piece = &x->bucket->pieces[i];
        ons_circle_receive(circle, from, ons_reducer_address(x->r, piece), piece_bytes(x->r, piece));
    }
}

/* Where a replica's slice of a weight lies; *bytes: of it. */
static char *weight_slice(const ons_reducer *r, uint32_t weight, uint32_t owner, size_t *bytes) {
    const ons_divided_weight *w = &r->o.reduction->weights[weight];
    ons_slice slice = ons_slice_of(w->elements, owner, r->o.reduction->replicas);
    size_t size = ons_dtype_size(w->dtype);
    *bytes = (size_t)slice.count * size;
    return r->weights[weight] + (size_t)slice.first * size;
}

/* Of this replica's slices. */
static int64_t bytes_of_weights(const ons_reducer *r) {
    size_t all = 0, bytes;
    for (uint32_t i = 0; i < r->o.reduction->weight_count; ++i, all += bytes)
        weight_slice(r, i, r->o.rank_group.own, &bytes);
    return (int64_t)all;
}

static void turn_of_weights(void *context, ons_circle *circle, uint32_t round, uint32_t to, uint32_t from) {
    const ons_reducer *r = context;
    uint32_t count = r->o.reduction->weight_count, first = first_of(round, 0, count),
             end = first_of(round + 1, 0, count);
    size_t bytes;
    for (uint32_t i = first; i < end; ++i) {
        const char *slice = weight_slice(r, i, r->o.rank_group.own, &bytes);
        if (bytes > 0) ons_circle_send(circle, to, slice, bytes);
    }
    for (uint32_t i = first; i < end; ++i) {
        char *slice = weight_slice(r, i, from, &bytes);
        if (bytes > 0) ons_circle_receive(circle, from, slice, bytes);
    }
}

static bucket_exchange exchange_of(const ons_reducer *r, uint32_t bucket) {
    return (bucket_exchange){r, bucket_of(r, bucket), ons_reducer_staging(r, bucket % r->o.reduction->in_flight)};
}

/* --------------------------------------------------------------------------------------------------------- meetings */

/* Numbers that kernels tell each other. */
typedef struct meeting {
    double *all;
    size_t count;
    uint32_t own, present;
} meeting;

static void turn_of_meeting(void *context, ons_circle *circle, uint32_t round, uint32_t to, uint32_t from) {
    (void)round;
    const meeting *m = context;
    size_t bytes = m->count * sizeof *m->all;
    if (to < m->present) ons_circle_send(circle, to, m->all + m->own * m->count, bytes);
    if (from < m->present) ons_circle_receive(circle, from, m->all + from * m->count, bytes);
}

/* Called where kernels are launched. */
static uint32_t gather(const ons_replicas *replicas, double *all, size_t count) {
    const ons_reducer *r = replicas->context;
    meeting m = {all, count, replicas->own, ons_reducer_present(r, replicas->micro_batch)};
    ons_circle_set_meanwhile(r->gpu->meetings, &r->meanwhile);
    ons_status *failed = ons_circle_exchange(r->gpu->meetings, 1, turn_of_meeting, &m);
    if (failed == NULL) return m.present;
    atomic_store(r->cut_off, true);
    r->o.world->fail(r->o.world, failed);
    ons_status_free(failed);
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------ trace */

enum { EXCHANGES, ADDITIONS }; /* tracks */

static uint32_t begin_span(const ons_reducer *r, ons_stream *stream) {
    return r->clock.begin == NULL ? 0 : r->clock.begin(r->clock.context, stream);
}

static void end_span(const ons_reducer *r, ons_stream *stream, uint32_t begin, int track, const char *name,
                     int64_t bytes) {
    const ons_trace_event event = {.name = name, .category = "reduce", .step = (int64_t)r->step, .bytes = bytes};
    if (r->clock.end != NULL) r->clock.end(r->clock.context, stream, begin, r->o.tracks[track], &event);
}

static ons_status *put_exchange(const ons_reducer *r, const char *name, int64_t bytes, uint32_t rounds,
                                ons_circle_turn *turn, void *context) {
    ons_stream *stream = r->gpu->exchange;
    uint32_t begin = begin_span(r, stream);
    ONS_TRY(ons_circle_exchange(r->gpu->circle, rounds, turn, context));
    end_span(r, stream, begin, EXCHANGES, name, bytes);
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------------- adding */

static ons_part_sum part_sum_of(const bucket_exchange *x, const ons_sum_piece *piece, size_t staged_at) {
    const ons_reducer *r = x->r;
    const ons_sum *sum = &r->o.reduction->sums[piece->sum];
    const uint32_t *micro_batches = r->work.micro_batches;
    uint32_t active = r->work.active, more = 0;
    while (more < active && micro_batches[more] == micro_batches[0]) ++more; /* the others have one fewer */
    return (ons_part_sum){
        .dtype = sum->dtype,
        .parts = sum->is_common ? 1 : active,
        .own = r->o.rank_group.own,
        .result = ons_reducer_address(r, piece),
        .others = x->staging + staged_at,
        .stride = ons_reducer_stride(r, x->bucket),
        .elements = piece->count,
        .more = more,
        .factors = {(float)ons_reducer_factor(r, sum, 0), (float)ons_reducer_factor(r, sum, active - 1)},
    };
}

static void add(void *argument, uintptr_t native) {
    const ons_reducer_gpu *g = ((const ons_reducer *)argument)->gpu;
    g->backend->add_parts(g->part_sums, g->part_sum_count, native);
}

static void put_addition(ons_reducer *r, const bucket_exchange *x) {
    uint32_t own = r->o.rank_group.own;
    size_t staged_at = 0;
    r->gpu->part_sum_count = 0;
    for (uint32_t i = x->bucket->begin[own]; i < x->bucket->begin[own + 1]; ++i) {
        r->gpu->part_sums[r->gpu->part_sum_count++] = part_sum_of(x, &x->bucket->pieces[i], staged_at);
        staged_at += piece_bytes(r, &x->bucket->pieces[i]);
    }
    uint32_t begin = begin_span(r, r->gpu->adding);
    r->device->launch(r->gpu->adding, add, r); /* which reads them at once */
    end_span(r, r->gpu->adding, begin, ADDITIONS, "add", x->bucket->bytes[own]);
}

/* -------------------------------------------------------------------------------------------------------- launching */

static ons_status *hand_back(ons_reducer *r) {
    uint32_t bucket = r->gpu->unfinished;
    r->gpu->unfinished = NO_BUCKET;
    if (bucket == NO_BUCKET) return NULL;
    bucket_exchange x = exchange_of(r, bucket);
    r->device->stream_wait(r->gpu->exchange, r->gpu->added[bucket]);
    if (x.bucket->stays) return NULL;
    return put_exchange(r, "sums", x.bucket->bytes[r->o.rank_group.own], rounds_of(r, x.bucket), turn_of_sums, &x);
}

/* The staging memory of this bucket is free: the additions of all but the last one are awaited on the stream. */
static ons_status *put_bucket(ons_reducer *r, uint32_t bucket) {
    ons_device *d = r->device;
    ons_reducer_gpu *g = r->gpu;
    bucket_exchange x = exchange_of(r, bucket);
    d->stream_wait(g->exchange, g->complete[bucket]);
    ONS_TRY(
        put_exchange(r, "pieces", x.bucket->bytes[r->o.rank_group.own], rounds_of(r, x.bucket), turn_of_pieces, &x));
    d->event_record(g->exchange, g->come[bucket]);
    d->stream_wait(g->adding, g->come[bucket]);
    put_addition(r, &x);
    d->event_record(g->adding, g->added[bucket]);
    ONS_TRY(hand_back(r));
    g->unfinished = bucket;
    return NULL;
}

static ons_status *launch(ons_reducer *r, uint32_t bucket) {
    return ons_circle_meets(r->gpu->circle) ? NULL : put_bucket(r, bucket);
}

static void begin_mean(ons_reducer *r, uint32_t sum, int64_t bytes) {
    r->device->copy(ons_device_context_compute(r->o.device_context), r->sums[sum], r->gpu->zeros, (size_t)bytes);
}

static void complete(ons_reducer *r, uint32_t bucket, ons_stream *compute) {
    r->device->event_record(compute, r->gpu->complete[bucket]);
}

static void await_exchange(ons_reducer *r, ons_stream *compute) {
    r->device->event_record(r->gpu->exchange, r->gpu->exchanged);
    r->device->stream_wait(compute, r->gpu->exchanged);
}

static ons_status *finish(ons_reducer *r, ons_stream *compute) {
    for (uint32_t i = 0; ons_circle_meets(r->gpu->circle) && i < r->o.reduction->bucket_count; ++i)
        ONS_TRY(put_bucket(r, i));
    ONS_TRY(hand_back(r));
    await_exchange(r, compute);
    return NULL;
}

static ons_status *hand_over_weights(ons_reducer *r, ons_stream *compute) {
    r->device->event_record(compute, r->gpu->updated);
    r->device->stream_wait(r->gpu->exchange, r->gpu->updated);
    ONS_TRY(
        put_exchange(r, "weights", bytes_of_weights(r), rounds_for(r->o.reduction->weight_count), turn_of_weights, r));
    await_exchange(r, compute);
    return NULL;
}

const ons_reducer_medium ons_reducer_by_gpu = {
    .set_up = set_up,
    .tear_down = tear_down,
    .drain = drain,
    .begin_mean = begin_mean,
    .complete = complete,
    .launch = launch,
    .finish = finish,
    .hand_over_weights = hand_over_weights,
};
