#!/usr/bin/env bash
# Small models that ask for much: hostile.py.
set -euo pipefail
exec python3 tests/robust/hostile/hostile.py --onstage tools/onstage
