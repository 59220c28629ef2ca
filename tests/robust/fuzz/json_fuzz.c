/* Any bytes as JSON: what was read prints, and what was printed reads. */
#include "base/json.h"
#include "tests/robust/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    ons_json *json, *again;
    ons_status *status = ons_json_parse(bytes, size, &json);
    if (status == NULL) {
        char *text = NULL;
        if (ons_json_print(json, &text) != NULL || ons_json_parse(text, strlen(text), &again) != NULL) abort();
        ons_json_free(again);
        free(text);
    }
    ons_status_free(status);
    ons_json_free(json);
    return 0;
}
