"""AmoebaNet-D as a torch module, after its published cells (Real et al., "Regularized Evolution for Image
Classifier Architecture Search", AAAI 2019; the variant D is the one that GPipe and DawnPiper measure).

A cell combines hidden states, of which 0 and 1 are the outputs of the cell before and of the one before that. Each of
its five steps adds two operations on earlier states and appends the sum to the states; the states of `joined` are
concatenated. Here a step is ((state, operation), (state, operation)).
"""

import torch
from torch import nn

NORMAL = (
    ((1, "conv_1x1"), (1, "max_pool_3x3")),
    ((1, "keep"), (0, "conv_1x7_7x1")),
    ((0, "conv_1x1"), (0, "conv_1x7_7x1")),
    ((2, "max_pool_3x3"), (2, "keep")),
    ((1, "average_pool_3x3"), (5, "conv_1x1")),
)
NORMAL_JOINED = (0, 3, 4, 6)
REDUCTION = (
    ((0, "max_pool_2x2"), (0, "max_pool_3x3")),
    ((2, "keep"), (1, "conv_3x3")),
    ((2, "conv_1x7_7x1"), (2, "max_pool_3x3")),
    ((3, "keep"), (1, "max_pool_2x2")),
    ((2, "average_pool_3x3"), (3, "conv_1x1")),
)
REDUCTION_JOINED = (4, 5, 6)


def convolution(width_in, width_out, kernel, stride=1):
    """ReLU, convolution that keeps the extent (up to its stride), batch normalisation."""
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = tuple(k // 2 for k in kernel)
    return nn.Sequential(nn.ReLU(), nn.Conv2d(width_in, width_out, kernel, stride, padding, bias=False),
                         nn.BatchNorm2d(width_out))


def bottleneck(width, *convolutions):
    """The wide kernels work on a quarter of the channels."""
    inner = width // 4
    return nn.Sequential(convolution(width, inner, 1), *(convolution(inner, inner, k, s) for k, s in convolutions),
                         convolution(inner, width, 1))


class Halve(nn.Module):
    """Half the extent without losing every other pixel: two 1x1 convolutions, on even and on odd pixels."""

    def __init__(self, width_in, width_out):
        super().__init__()
        self.even = nn.Conv2d(width_in, width_out // 2, 1, stride=2, bias=False)
        self.odd = nn.Conv2d(width_in, width_out - width_out // 2, 1, stride=2, bias=False)
        self.shift = nn.ZeroPad2d((-1, 1, -1, 1))
        self.norm = nn.BatchNorm2d(width_out)

    def forward(self, x):
        x = torch.relu(x)
        return self.norm(torch.cat([self.even(x), self.odd(self.shift(x))], dim=1))


def operation(name, width, stride):
    if name == "keep":
        return nn.Identity() if stride == 1 else Halve(width, width)
    if name == "max_pool_2x2":
        return nn.MaxPool2d(2, stride)
    if name == "max_pool_3x3":
        return nn.MaxPool2d(3, stride, padding=1)
    if name == "average_pool_3x3":
        return nn.AvgPool2d(3, stride, padding=1, count_include_pad=False)
    if name == "conv_1x1":
        return convolution(width, width, 1, stride)
    if name == "conv_3x3":
        return bottleneck(width, (3, stride))
    if name == "conv_1x7_7x1":
        return bottleneck(width, ((1, 7), (1, stride)), ((7, 1), (stride, 1)))
    raise ValueError(name)


class Cell(nn.Module):
    """`halved`: the cell before this one halved the extent, so the output of the one before that is twice as large."""

    def __init__(self, width_before, width_in, width, reduces, halved):
        super().__init__()
        steps, self.joined = (REDUCTION, REDUCTION_JOINED) if reduces else (NORMAL, NORMAL_JOINED)
        self.current = convolution(width_in, width, 1)
        if halved:
            self.before = Halve(width_before, width)
        else:
            self.before = nn.Identity() if width_before == width else convolution(width_before, width, 1)
        self.states = [state for step in steps for state, _ in step]
        self.operations = nn.ModuleList(operation(name, width, 2 if reduces and state < 2 else 1)
                                        for step in steps for state, name in step)
        self.width_out = width * len(self.joined)

    def forward(self, before, current):
        states = [self.current(current), self.before(before)]
        for i in range(0, len(self.operations), 2):
            states.append(self.operations[i](states[self.states[i]]) +
                          self.operations[i + 1](states[self.states[i + 1]]))
        return torch.cat([states[i] for i in self.joined], dim=1)


class AmoebaNet(nn.Module):
    """`layers` normal cells in three groups, a reduction cell between the groups, two more behind the stem."""

    def __init__(self, layers=18, filters=208, classes=1000):
        super().__init__()
        width = filters // 4
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(64))
        self.cells = nn.ModuleList()
        before, current, halved = 64, 64, False
        plan = [True, True] + ([False] * (layers // 3) + [True]) * 2 + [False] * (layers // 3)
        for reduces in plan:
            width *= 2 if reduces else 1
            cell = Cell(before, current, width, reduces, halved)
            self.cells.append(cell)
            before, current, halved = current, cell.width_out, reduces
        self.head = nn.Linear(current, classes)

    def forward(self, image):
        before = current = self.stem(image)
        for cell in self.cells:
            before, current = current, cell(before, current)
        return self.head(current.mean(dim=(2, 3)))
