# For bench/attention_builds.sh. Lines: VARIANT ROUND old|new OPERATOR/CASE MICROSECONDS GFLOP/S. Prints rows of a table.

{
    key = $1 " | " $4
    if (!(key in known)) { known[key] = 1; keys[++count] = key }
    time[key, $3, $2] = $5
    rate[key, $3, $2] = $6
    if ($2 >= rounds) rounds = $2 + 1
}

function sort(v, n,    i, j, x) {
    for (i = 2; i <= n; ++i) {
        x = v[i]
        for (j = i; j > 1 && v[j - 1] > x; --j) v[j] = v[j - 1]
        v[j] = x
    }
}

function median(v, n) { sort(v, n); return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }

function median_of(table, key, which,    r) {
    for (r = 0; r < rounds; ++r) values[r + 1] = table[key, which, r]
    return median(values, rounds)
}

END {
    for (c = 1; c <= count; ++c) {
        key = keys[c]
        for (r = 0; r < rounds; ++r) ratio[r + 1] = time[key, "new", r] / time[key, "old", r]
        middle = median(ratio, rounds)
        printf "| %s | %.0f | %.0f | %.2f (%.2f, %.2f) | %.1f | %.1f |\n", key, median_of(time, key, "old"), median_of(time, key, "new"),
            middle, ratio[1], ratio[rounds], median_of(rate, key, "old"), median_of(rate, key, "new")
    }
}
