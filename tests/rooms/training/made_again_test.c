/* What one stage whose memory nobody plans makes again, or has handed back, has the bits of the first time: two stages
 * keep it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/training/fixture.h"

/* 64 samples a micro-batch: what goes into Gelu and comes out of it takes 1.1 MiB there, enough to be made again. */
enum { COPIES = 3, SAMPLES = 128 };

/* The rows of a file, several times. */
static array read_repeated(const char *path) {
    array once = read_npy(path), all = once;
    all.bytes = COPIES * once.bytes;
    all.data = malloc(all.bytes);
    cr_assert_not_null(all.data);
    for (int i = 0; i < COPIES; ++i) memcpy((char *)all.data + i * once.bytes, once.data, once.bytes);
    all.dims[0] *= COPIES;
    all.view.data = all.data;
    array_free(&once);
    cr_assert_geq(all.dims[0], SAMPLES);
    return all;
}

static weights train(int stages, int micro_batches) {
    array tokens = read_repeated("tests/agreement/golden/gpt_tied/input.npy");
    array target = read_repeated("tests/agreement/golden/gpt_tied/target.npy");
    tokens.view.dims = tokens.dims;
    target.view.dims = target.dims;
    run r = run_without_data("gpt_tied");
    must(ons_config_array(r.config, "tokens", false, &tokens.view));
    must(ons_config_array(r.config, "target", false, &target.view));
    set_number(&r, "batch", micro_batches * 64LL);
    set_number(&r, "micro-batches", micro_batches);
    set_number(&r, "stages", stages);
    set(&r, "threads", "1"); /* of each stage: another number may have other bits */
    set(&r, "optimizer", "adamw");
    set(&r, "steps", "2");
    run_open(&r);
    for (int i = 0; i < 2; ++i) run_step(&r);
    weights w = read_weights(&r);
    run_close(&r);
    array_free(&tokens);
    array_free(&target);
    return w;
}

Test(made_again, one_stage_has_the_bits_of_two) {
    for (int micro_batches = 1; micro_batches <= 2; ++micro_batches) {
        weights one = train(1, micro_batches), two = train(2, micro_batches);
        cr_expect(weights_equal(&one, &two), "%d micro-batches", micro_batches);
        weights_free(&one);
        weights_free(&two);
    }
}
