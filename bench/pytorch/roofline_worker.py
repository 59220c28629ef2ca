"""Times products, convolutions and streams in one library; started by roofline.py, which it obeys as product_rates.c does.

    roofline_worker.py torch|numpy THREADS

Lines, each answered by a line of JSON; FORM -1: all are tried, and the fastest one is measured and named:
    product BATCH M N K FORM SECONDS
    stream BYTES FORM SECONDS                             torch alone, as convolutions
    forward|input|weight N C H W O KH KW SH SW PT PL PB PR DH DW GROUPS FORM SECONDS
A form of a product is bits, as in product_rates.c: 1 left and 2 right operand transposed, 4 the result transposed; 8, where
there is one product, by oneDNN with a weight that lies in its own layout. A form of a convolution: 0 plain, 1 channels_last, 2 oneDNN's own layouts.
"""

import itertools
import json
import os
import statistics
import sys
import time

SAMPLE_SECONDS = 1e-4  # shorter work is timed several times over
TRIES = 3
PIECE_BYTES = 4 << 20  # of a stream, all arrays together


def seconds_of(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def times_for(seconds):
    return 1 if seconds >= SAMPLE_SECONDS else int(SAMPLE_SECONDS / (seconds + 1e-9)) + 1


def least_seconds(run):
    """Of a first run, which counts where it is long, and some more."""
    least = seconds_of(run, 1)
    times = times_for(least)
    for i in range(TRIES):
        if i > 0 and least > 0.1:
            break
        least = min(least, seconds_of(run, times))
    return least


def measure(run, seconds):
    first = seconds_of(run, 1)  # which may have made the kernel
    times, samples, start = times_for(first if first > 0.1 else seconds_of(run, 1)), [], time.perf_counter()
    while not samples or (len(samples) < 1000 and time.perf_counter() - start < seconds):
        samples.append(seconds_of(run, times))
    samples.sort()
    return {"seconds": statistics.median(samples), "fast": samples[len(samples) // 4], "least": samples[0]}


# ---------------------------------------------------------------- numpy


def numpy_product(batch, m, n, k):
    """As all of these: what makes a form ready to be run, by form."""
    import numpy

    shape = lambda *dims: numpy.ones(dims if batch == 1 else (batch, *dims), numpy.float32)
    turn = lambda x: x.swapaxes(-1, -2)

    def make(left, right, result):
        rows, columns = (n, m) if result else (m, n)
        a = turn(shape(k, rows)) if left else shape(rows, k)
        b = turn(shape(columns, k)) if right else shape(k, columns)
        y = shape(rows, columns)
        return lambda: numpy.matmul(a, b, out=y)

    return {form: lambda form=form: make(form & 1, form & 2, form & 4) for form in range(8)}


# ---------------------------------------------------------------- torch


def torch_product(batch, m, n, k):
    import torch

    shape = lambda *dims: torch.ones(dims if batch == 1 else (batch, *dims))
    multiply = torch.mm if batch == 1 else torch.bmm

    def make(left, right, result):
        rows, columns = (n, m) if result else (m, n)
        a = shape(k, rows).transpose(-1, -2) if left else shape(rows, k)
        b = shape(columns, k).transpose(-1, -2) if right else shape(k, columns)
        y = shape(rows, columns)
        return lambda: multiply(a, b, out=y)

    def packed():
        x, w = shape(m, k), torch.ops.mkldnn._reorder_linear_weight(shape(n, k), m)
        return lambda: torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")

    forms = {form: lambda form=form: make(form & 1, form & 2, form & 4) for form in range(8)}
    return forms | ({8: packed} if batch == 1 and torch.backends.mkldnn.is_available() else {})


def torch_convolution(kind, n, c, h, w, o, kh, kw, sh, sw, pt, pl, pb, pr, dh, dw, groups):
    import torch
    import torch.nn.functional as F

    x, weight = torch.ones(n, c, h, w), torch.ones(o, c // groups, kh, kw)
    if (pt, pl) != (pb, pr):
        x, pt, pl = F.pad(x, (pl, pr, pt, pb)), 0, 0
    settings = dict(stride=(sh, sw), padding=(pt, pl), dilation=(dh, dw), groups=groups)
    dy = torch.ones_like(F.conv2d(x, weight, **settings))

    def make(lay):
        lx, lw, ly = lay(x), lay(weight), lay(dy)
        if kind == "forward":
            return lambda: torch.ops.aten.convolution(
                lx, lw, None, (sh, sw), (pt, pl), (dh, dw), False, (0, 0), groups)
        mask = [kind == "input", kind == "weight", False]
        return lambda: torch.ops.aten.convolution_backward(
            ly, lx, lw, None, (sh, sw), (pt, pl), (dh, dw), False, (0, 0), groups, mask)

    plain, last = lambda t: t, lambda t: t.contiguous(memory_format=torch.channels_last)
    forms = {0: lambda: make(plain), 1: lambda: make(last)}
    # backward from tensors of oneDNN's is not to be had
    return forms | ({2: lambda: make(lambda t: t.to_mkldnn())} if kind == "forward" else {})


def piece_elements(size, arrays):
    return min(size, PIECE_BYTES) // 4 // arrays


def torch_stream(size):
    """Gone through piece by piece, as in product_rates.c; a run is the next piece."""
    import torch

    def make(arrays, pass_through):
        count = piece_elements(size, arrays)
        pieces = max(1, size // 4 // arrays // count)
        wholes = [torch.ones(pieces * count) for _ in range(arrays)]
        turn = itertools.cycle([[whole[i * count : (i + 1) * count] for whole in wholes] for i in range(pieces)])
        return lambda: pass_through(*next(turn))

    return {
        0: lambda: make(2, lambda a, b: a.copy_(b)),
        1: lambda: make(2, lambda a, b: a.add_(b, alpha=0.5)),
        2: lambda: make(3, lambda a, b, c: torch.add(b, c, out=a)),
    }


def stream_bytes(size, form):
    """Read and written by a run of that form."""
    return 4 * {0: 2 * piece_elements(size, 2), 1: 3 * piece_elements(size, 2), 2: 3 * piece_elements(size, 3)}[form]


# ---------------------------------------------------------------- lines


def answer(words, product, convolution, stream):
    kind, *numbers, seconds = words
    *sizes, form = map(int, numbers)
    if kind == "stream":
        forms, moved = stream(*sizes), lambda which: stream_bytes(sizes[0], which)
    else:
        forms, moved = product(*sizes) if kind == "product" else convolution(kind, *sizes), lambda which: 0
    if form < 0:  # one at a time: each has its memory to itself
        form = min(forms, key=lambda which: least_seconds(forms[which]()) / (moved(which) or 1))
    return {"form": form, "bytes": moved(form), **measure(forms[form](), float(seconds))}


def main():
    library, threads = sys.argv[1:]
    os.environ["OPENBLAS_NUM_THREADS"] = threads  # before numpy is loaded
    if library == "numpy":
        makers = numpy_product, None, None
    else:
        import torch

        torch.set_num_threads(int(threads))
        torch.set_grad_enabled(False)
        makers = torch_product, torch_convolution, torch_stream
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(line.split(), *makers)), flush=True)


if __name__ == "__main__":
    main()
