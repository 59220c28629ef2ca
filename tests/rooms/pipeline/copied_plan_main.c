/* PLAN RESULT COPIES: see copied_plan.h, for scripts. */
#include <stdio.h>

#include "tests/rooms/pipeline/copied_plan.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "copied_plan PLAN RESULT COPIES\n");
        return 1;
    }
    ons_status *status = copied_plan(argv[1], argv[2], argv[3]);
    if (status != NULL) fprintf(stderr, "copied_plan: %s\n", ons_status_get_message(status));
    int code = status == NULL ? 0 : 1;
    ons_status_free(status);
    return code;
}
