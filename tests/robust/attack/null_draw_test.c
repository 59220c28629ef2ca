/* NULL for functions that the state with which attack.py compares does not have. */
#include "tests/robust/attack/null.h"

Test(null_draw, replay) {
    refused(ons_replay_draw(NULL, 80, SOME), "ons_replay_draw", "replay");
    refused(ons_replay_draw(SOME, 80, NULL), "ons_replay_draw", "chart");
}
