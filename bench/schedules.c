/* Systems that choose pipeline schedules beside each other: step, bubbles, memory and search time by model and number
 * of devices, and what their papers publish. Writes docs/results/schedules.md, in some minutes:
 *
 *     ./bazelw run //bench:schedules
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/schedules_page.h"

static vision_work_options unet(void) {
    vision_work_options o = vision_work_vit(4);
    o.blocks = 164;
    o.hidden = 640;
    o.inner = 2560;
    o.heads = 10;
    o.across = true;
    return o;
}

/* FlexPipe's GPT of 5 billion parameters, and its vocabularies. */
static vision_work_options gpt_5b(int64_t samples, int64_t vocabulary) {
    vision_work_options o = vision_work_gpt2(samples);
    o.blocks = 64;
    o.hidden = 2560;
    o.inner = 10240;
    o.heads = 64;
    o.classes = vocabulary;
    return o;
}

static uint32_t make_cases(schedules_case *cases) {
    uint32_t count = 0;
    for (uint32_t devices = 2; devices <= 8; devices *= 2)
        cases[count++] = (schedules_case){"ViT-g/14", "a100-40gb", vision_work_vit(6), devices, 8};
    for (uint32_t devices = 2; devices <= 8; devices *= 2)
        cases[count++] = (schedules_case){"GPT-2 large", "a100-40gb", vision_work_gpt2(2), devices, 8};
    cases[count++] = (schedules_case){"U-Net of transformer blocks", "a100-40gb", unet(), 8, 16};
    for (uint32_t devices = 8; devices <= 16; devices *= 2) {
        cases[count++] = (schedules_case){"GPT, 5 B, 64 Ki words", "a100-80gb", gpt_5b(2, 65536), devices, 2 * devices};
        cases[count++] =
            (schedules_case){"GPT, 5 B, 1 Mi words", "a100-80gb", gpt_5b(2, 1 << 20), devices, 2 * devices};
    }
    return count;
}

static ons_status *measure(schedules_page *page, ons_arena *arena) {
    static schedules_case cases[SCHEDULES_CASES];
    uint32_t count = make_cases(cases);
    ONS_TRY(five_measure(arena, page->five, &page->five_count));
    for (uint32_t i = 0; i < count; ++i) {
        double began = schedules_now();
        ONS_TRY_AT(schedules_measure(&cases[i], arena, &page->results[page->count++]), "%s on %u devices",
                   cases[i].model, cases[i].devices);
        fprintf(stderr, "%s on %u devices: %.1f s\n", cases[i].model, cases[i].devices, schedules_now() - began);
    }
    ONS_TRY(schedules_search_times(arena, page));
    return fit_table_5(arena, &page->fit);
}

static ons_status *write_page(const schedules_page *page) {
    char path[4096];
    const char *folder = getenv("BUILD_WORKSPACE_DIRECTORY");
    if (folder == NULL) {
        schedules_page_print(stdout, page);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/docs/results/schedules.md", folder);
    FILE *out = fopen(path, "w");
    ONS_CHECK(out != NULL, ONS_IO_ERROR, "%s: cannot be written", path);
    schedules_page_print(out, page);
    ONS_CHECK(fclose(out) == 0, ONS_IO_ERROR, "%s: cannot be written", path);
    return NULL;
}

int main(void) {
    static schedules_page page;
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : measure(&page, arena);
    if (status == NULL) status = write_page(&page);
    ons_arena_free(arena);
    if (status == NULL) return 0;
    fprintf(stderr, "schedules: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    return 1;
}
