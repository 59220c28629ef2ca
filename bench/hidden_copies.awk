# Which share of what is copied to the host and back is hidden behind computing, from a trace of `onstage train` or `onstage simulate`:
#     awk -f bench/hidden_copies.awk trace.json         prints: copied (MiB; of a simulation 0), share hidden (0 to 1)
# A copy counts as hidden for the part of its time in which its stage computes, weighted by its bytes; where the trace has none, by
# its time. What begins before the stage's first or ends after its last computation is not left out: it is not hidden.
function field(name,   at, rest) {
    at = index($0, "\"" name "\":")
    if (at == 0) return ""
    rest = substr($0, at + length(name) + 3)
    sub(/^"/, "", rest)
    sub(/[",}].*/, "", rest)
    return rest
}

# Seconds of computing of stage `p` before time `t`, by the intervals [start, end) in order.
function computed(p, t,   low, high, middle) {
    low = 0
    high = count[p]
    while (low < high) {
        middle = int((low + high) / 2)
        if (start[p, middle] < t) low = middle + 1
        else high = middle
    }
    if (low == 0) return 0
    --low
    return before[p, low] + (t < end[p, low] ? t : end[p, low]) - start[p, low]
}

index($0, "\"thread_name\"") { # the name is that of the row
    match($0, /"args":\{"name":"[^"]*"/)
    row[field("pid"), field("tid")] = substr($0, RSTART + 16, RLENGTH - 17)
    next
}

index($0, "\"ph\":\"X\"") {
    p = field("pid")
    kind = row[p, field("tid")]
    from = field("ts") + 0
    long = field("dur") + 0
    if (kind == "compute") {
        n = count[p]++
        start[p, n] = from
        end[p, n] = from + long
        before[p, n] = n == 0 ? 0 : before[p, n - 1] + end[p, n - 1] - start[p, n - 1]
    } else if (kind == "swap out" || kind == "swap in") {
        stage[copies] = p
        copy_start[copies] = from
        copy_time[copies] = long
        bytes[copies++] = field("bytes") + 0
    }
}

END {
    for (i = 0; i < copies; ++i) all += bytes[i]
    for (i = 0; i < copies; ++i) {
        weight = all > 0 ? bytes[i] : copy_time[i]
        total += weight
        if (copy_time[i] <= 0) hidden += weight
        else hidden += weight * (computed(stage[i], copy_start[i] + copy_time[i]) - computed(stage[i], copy_start[i])) / copy_time[i]
    }
    printf "%.1f %.4f\n", all / 1048576, (total > 0 ? hidden / total : 1)
}
