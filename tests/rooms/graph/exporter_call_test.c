/* What the metadata of the newer exporter say, as torch.fx prints calls. */
#include "graph/exporter_call.h"

#include <criterion/criterion.h>
#include <string.h>

static ons_exporter_call call_of(const char *text) { return (ons_exporter_call){text, strlen(text)}; }

static bool is_text(const ons_exporter_call *found, const char *text) {
    return found->size == strlen(text) && memcmp(found->text, text, found->size) == 0;
}

static const char embedding[] = "%embedding : [num_users=1] = call_function[target=torch.ops.aten.embedding.default]"
                                "(args = (%p_e_weight, %i, 7), kwargs = {scale_grad_by_freq: True, padding_idx: 3})";

Test(exporter_call, a_function_is_its_overloads_and_no_other_function) {
    ons_exporter_call call = call_of(embedding), none = {"", 0};
    cr_expect(ons_call_is(&call, "aten.embedding"));
    cr_expect(!ons_call_is(&call, "aten.embed"));
    cr_expect(!ons_call_is(&call, "aten.embedding_bag"));
    cr_expect(!ons_call_is(&none, "aten.embedding"));
    call = call_of("[target=torch.ops.aten.detach_.default](args = ())");
    cr_expect(!ons_call_is(&call, "aten.detach") && ons_call_is(&call, "aten.detach_"));
}

Test(exporter_call, an_argument_is_found_by_its_place_or_its_keyword) {
    ons_exporter_call call = call_of(embedding), text;
    int64_t number = -5;
    cr_expect(ons_call_integer(&call, 2, "padding_idx", &number) && number == 7);
    cr_expect(ons_call_integer(&call, 9, "padding_idx", &number) && number == 3);
    cr_expect(ons_call_is_true(&call, 3, "scale_grad_by_freq"));
    cr_expect(!ons_call_argument(&call, 3, NULL, &text));
    cr_expect(!ons_call_integer(&call, 0, NULL, &number) && number == 3);
    call = call_of("[target=torch.ops.aten.cat.default](args = ([%a, (%b, 1)], -2), kwargs = {})");
    cr_expect(ons_call_argument(&call, 0, NULL, &text) && is_text(&text, "[%a, (%b, 1)]"));
    cr_expect(ons_call_integer(&call, 1, "dim", &number) && number == -2);
}

Test(exporter_call, names_come_in_order_and_without_their_sign) {
    ons_exporter_call call =
        call_of("%x : [target=torch.ops.aten.cat.default](args = ([%a_1, %detach], %b), kwargs = {})");
    ons_exporter_call arguments = ons_call_arguments(&call), name;
    size_t at = 0;
    const char *const wanted[] = {"a_1", "detach", "b"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i)
        cr_expect(ons_call_next_name(&arguments, &at, &name) && is_text(&name, wanted[i]), "%s", wanted[i]);
    cr_expect(!ons_call_next_name(&arguments, &at, &name));
}

Test(exporter_call, a_text_that_is_cut_off_is_no_argument) {
    static const char *const texts[] = {"[target=torch.ops.aten.embedding.default](args = (",
                                        "[target=torch.ops.aten.embedding.default](args = (%a",
                                        "[target=torch.ops.aten.embedding.default](args = (%a, ",
                                        "[target=torch.ops.",
                                        "%",
                                        "](args = ((((",
                                        ", kwargs = {padding_idx:",
                                        ", kwargs = {padding_idx"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        char exact[128]; /* nothing behind the text is read: the sanitizer sees */
        size_t size = strlen(texts[i]);
        memcpy(exact + sizeof exact - size, texts[i], size);
        ons_exporter_call call = {exact + sizeof exact - size, size}, name;
        int64_t number = -5;
        size_t at = 0;
        cr_expect(!ons_call_integer(&call, 2, "padding_idx", &number) && number == -5, "%s", texts[i]);
        while (ons_call_next_name(&call, &at, &name)) cr_expect(at <= size);
    }
}
