/* Under the address sanitizer a pipeline's memory that holds nothing is poisoned, whatever was in it: behind the last
 * step every place of every value that the host does not read is, and what is read there is reported. */
#include <criterion/criterion.h>

#include "base/status.h"
#include "engine/stages/local_stages.h"
#include "runtime/program/poison.h"
#include "tests/rooms/pipeline/pipeline_run.h"

#if ONS_POISONS

enum { MICRO_BATCHES = 4 };

static const pipeline_setting plain = {
    .model = "gpt_tied",
    .micro_batches = MICRO_BATCHES,
    .threads = 1,
    .steps = 2,
    .stages = 2,
    .kind = &ons_generator_one_f_one_b,
    .scattered = true,
    .seed = 3,
};

static void run(const pipeline_setting *s, pipeline_record *record) {
    ons_status *status = pipeline_run(s, record);
    cr_assert_null(status, "%s, %s: %s", s->kind->name, pipeline_eviction_name(s->eviction),
                   ons_status_get_message(status));
}

static bool is_needed_behind_the_step(const ons_program *p, ons_value_id value) {
    const ons_liveness *l = ons_program_liveness(p);
    const ons_buffer *buffer = &l->buffers[l->buffer_of_value[value]];
    const ons_execution_order *order = ons_program_execution_order(p);
    return buffer->persistent || buffer->last >= order->count || buffer->first < ons_execution_order_first(order);
}

typedef struct place {
    const char *address;
    int64_t bytes;
} place;

static place place_of(const ons_program *p, ons_value_id value, uint32_t micro_batch) {
    const ons_part_place part_place = {.micro_batch = micro_batch};
    const ons_liveness *l = ons_program_liveness(p);
    return (place){ons_program_address(p, value, &part_place), l->buffers[l->buffer_of_value[value]].bytes};
}

static bool has_place(const ons_program *p, ons_value_id value) { return ons_program_address(p, value, NULL) != NULL; }

/* What is needed behind the step may lie where something lay that died in it. */
static bool is_needed(const ons_program *p, const char *byte) {
    for (ons_value_id id = 0; id < ons_program_graph(p)->values.count; ++id) {
        if (!has_place(p, id) || !is_needed_behind_the_step(p, id)) continue;
        place here = place_of(p, id, 0);
        if (byte >= here.address && byte < here.address + here.bytes) return true;
    }
    return false;
}

/* The places of a program's values that hold nothing, and the first byte of them that is not poisoned; NULL: all are.
 */
static const char *find_readable(const ons_program *p, uint32_t *places) {
    for (ons_value_id id = 0; id < ons_program_graph(p)->values.count; ++id) {
        if (!has_place(p, id) || is_needed_behind_the_step(p, id)) continue;
        for (uint32_t micro_batch = 0; micro_batch < MICRO_BATCHES; ++micro_batch, ++*places) {
            place here = place_of(p, id, micro_batch);
            for (int64_t i = 0; i < here.bytes; i += 8)
                if (!__asan_address_is_poisoned(here.address + i) && !is_needed(p, here.address + i)) {
                    cr_log_error("'%s' of micro-batch %u", ons_graph_value(ons_program_graph(p), id)->name,
                                 micro_batch);
                    return here.address + i;
                }
        }
    }
    return NULL;
}

static void look_for_readable(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const pipeline_setting *s = context;
    for (uint32_t i = 0; i < pipeline->stages * (s->replicas > 1 ? s->replicas : 1); ++i) {
        const ons_local_stage *stage = ons_local_stages_get((ons_local_stages *)local_stages, i);
        const ons_program *program = stage->training.programs[ONS_WHOLE].step_program.program;
        uint32_t places = 0;
        cr_assert(ons_program_poisons(program));
        cr_expect_null(find_readable(program, &places), "stage %u of %s, %s, %u replicas", i, s->kind->name,
                       pipeline_eviction_name(s->eviction), s->replicas);
        cr_expect_gt(places, 5 * MICRO_BATCHES, "stage %u: %u", i, places);
    }
}

static void check(pipeline_setting s) {
    pipeline_record record;
    s.look_back = look_for_readable;
    s.context = &s;
    run(&s, &record);
    pipeline_record_free(&record);
}

Test(poison, all_that_died_in_a_step_is_poisoned) {
    for (pipeline_eviction eviction = 0; eviction < PIPELINE_EVICTIONS; ++eviction) {
        pipeline_setting s = plain;
        s.eviction = eviction;
        check(s);
    }
}

Test(poison, replicas_likewise) {
    pipeline_setting s = plain;
    s.replicas = 2;
    s.kind = &ons_generator_gpipe;
    check(s);
}

/* Of a value that a stage sends; NULL: each of them is needed, or has given its place to what is. */
static const char *find_sent(const ons_share_program *unit) {
    const ons_program *program = unit->step_program.program;
    for (uint32_t i = 0; i < unit->stage.cut->send_count; ++i) {
        ons_value_id value = unit->stage.cut->sends[i].value;
        place here = place_of(program, value, MICRO_BATCHES - 1);
        if (!is_needed_behind_the_step(program, value) && !is_needed(program, here.address)) return here.address;
    }
    return NULL;
}

static void read_what_was_sent(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    (void)context;
    const char *sent = NULL;
    for (uint32_t i = 0; i < pipeline->stages && sent == NULL; ++i)
        sent = find_sent(&ons_local_stages_get((ons_local_stages *)local_stages, i)->training.programs[ONS_WHOLE]);
    cr_assert_not_null(sent);
    volatile char taken = *(const volatile char *)sent;
    (void)taken;
}

Test(poison, a_read_of_what_was_sent_is_reported, .exit_code = 1) {
    pipeline_setting s = plain;
    pipeline_record record;
    s.look_back = read_what_was_sent;
    run(&s, &record);
}

#else

Test(poison, all_that_died_in_a_step_is_poisoned) {
    cr_skip_test("not run: only the address sanitizer poisons memory");
}

#endif
