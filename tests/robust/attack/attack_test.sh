#!/usr/bin/env bash
# A hundredth of attack.py, and the faults that onstage once had.
set -euo pipefail
exec python3 tests/robust/attack/attack.py --onstage tools/onstage --null-test tests/robust/attack/null_test --fault tests/robust/faults/fault.so --scale 0.01 --jobs 2
