"""Networks for images, audio and other signals: small sizes, real structure. torchvision's own code where it can be
made small, the usual construction written out where it cannot."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torchvision import models
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.densenet import DenseNet
from torchvision.models.efficientnet import EfficientNet, FusedMBConvConfig, MBConvConfig
from torchvision.models.googlenet import Inception
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3
from torchvision.models.regnet import BlockParams, RegNet
from torchvision.models.segmentation.deeplabv3 import ASPP
from torchvision.models.shufflenetv2 import ShuffleNetV2


def relu_without_place(module):
    """ReLU in place does not survive every exporter and every double backward."""
    for child in module.modules():
        if hasattr(child, "inplace"):
            child.inplace = False
    return module


def set_dropout(module, ratio=0.0):
    for child in module.modules():
        if isinstance(child, nn.Dropout):
            child.p = ratio
        if type(child).__name__ in ("StochasticDepth", "DropPath"):
            child.p = ratio
    return module


def plain(module):
    return set_dropout(relu_without_place(module))


class Bottleneck(nn.Module):
    """ResNet's bottleneck with grouped convolution (ResNeXt)."""

    def __init__(self, fan_in, width, fan_out, stride, groups=1):
        super().__init__()
        self.conv1 = nn.Conv2d(fan_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, fan_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(fan_out)
        self.shortcut = nn.Sequential(nn.Conv2d(fan_in, fan_out, 1, stride, bias=False), nn.BatchNorm2d(fan_out))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.shortcut(x))


class ResNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Bottleneck(16, 8, 24, 1, 4), Bottleneck(24, 16, 40, 2, 4))
        self.head = nn.Linear(40, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def mobilenet_v2():
    setting = [[1, 8, 1, 1], [4, 12, 2, 2], [4, 16, 1, 1]]
    return plain(models.MobileNetV2(num_classes=10, width_mult=1.0, inverted_residual_setting=setting, round_nearest=4))


def mobilenet_v3():
    """Depthwise, squeeze-and-excite with HardSigmoid, HardSwish."""
    setting = [
        InvertedResidualConfig(8, 3, 16, 8, True, "RE", 2, 1, 1.0),
        InvertedResidualConfig(8, 5, 24, 12, True, "HS", 1, 1, 1.0),
        InvertedResidualConfig(12, 3, 24, 12, False, "HS", 1, 1, 1.0),
    ]
    return plain(MobileNetV3(setting, last_channel=32, num_classes=10))


def efficientnet():
    """Squeeze-and-excite with SiLU."""
    setting = [FusedMBConvConfig(1, 3, 1, 8, 8, 1), MBConvConfig(4, 3, 2, 8, 12, 2), MBConvConfig(4, 5, 1, 12, 16, 1)]
    return plain(EfficientNet(setting, dropout=0.0, stochastic_depth_prob=0.0, num_classes=10, last_channel=32))


def densenet():
    return plain(DenseNet(growth_rate=6, block_config=(2, 3), num_init_features=12, bn_size=2, num_classes=10))


class InceptionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 12, 3, 1, 1), nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2, ceil_mode=True))
        self.a = Inception(12, 4, 4, 6, 2, 4, 4)
        self.b = Inception(18, 6, 4, 8, 2, 4, 6)
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        x = F.max_pool2d(self.a(self.stem(x)), 3, 2, ceil_mode=True)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.b(x), 1), 1))


class SqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        fire = models.squeezenet.Fire
        self.features = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), fire(12, 6, 8, 8), fire(16, 6, 12, 12)
        )
        self.head = nn.Conv2d(24, 10, 1)

    def forward(self, x):
        return torch.flatten(F.adaptive_avg_pool2d(F.relu(self.head(self.features(x))), 1), 1)


class Siamese(nn.Module):
    """Two pictures, one behind the other in the channels, through the same filters. No layer has a multiple of 16 channels:
    a filter's layout may be padded, and its two gradients are added up."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 5, padding=2)
        self.body = nn.Conv2d(6, 20, 3)
        self.head = nn.Linear(20, 10)

    def branch(self, x):
        return self.body(F.relu(self.stem(x)))

    def forward(self, x):
        one, other = x.chunk(2, 1)
        return self.head(F.relu(self.branch(one) + self.branch(other)).mean((2, 3)))


def shufflenet():
    return plain(ShuffleNetV2([2, 2, 2], [8, 16, 24, 32, 32], num_classes=10))


def regnet():
    parameters = BlockParams([1, 2], [16, 24], [8, 8], [1.0, 1.0], [2, 2], se_ratio=0.25)
    return plain(RegNet(parameters, num_classes=10, stem_width=8))


class Up(nn.Module):
    def __init__(self, fan_in, fan_out, transposed):
        super().__init__()
        self.up = nn.ConvTranspose2d(fan_in, fan_out, 2, 2) if transposed else nn.Conv2d(fan_in, fan_out, 1)
        self.transposed = transposed
        self.conv = nn.Conv2d(2 * fan_out, fan_out, 3, padding=1)

    def forward(self, x, skip):
        x = self.up(x)
        if not self.transposed:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return F.relu(self.conv(torch.cat([skip, x], 1)))


class UNet(nn.Module):
    """Segmentation: [N, 3, 16, 16] -> [N, 5, 16, 16]."""

    def __init__(self, transposed):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.c = nn.Sequential(nn.Conv2d(16, 24, 3, padding=1), nn.ReLU())
        self.up2, self.up1 = Up(24, 16, transposed), Up(16, 8, transposed)
        self.head = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        return self.head(self.up1(self.up2(c, b), a))


class DeepLab(nn.Module):
    """Dilated convolutions, a pooled branch resized, and the result resized: [N, 3, 24, 24] -> [N, 4, 24, 24]."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU()
        )
        self.aspp = set_dropout(ASPP(16, [2, 3], 12))
        self.head = nn.Conv2d(12, 4, 1)

    def forward(self, x):
        y = self.head(self.aspp(self.backbone(x)))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


def vit():
    return set_dropout(models.VisionTransformer(image_size=16, patch_size=4, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=10))


class StandardisedConv(nn.Conv2d):
    """As NFNets have it: each kernel is standardised, then scaled by a gain, which is fixed here."""

    def __init__(self, channels, filters):
        super().__init__(channels, filters, 3, padding=1)
        self.register_buffer("gain", 1 + torch.arange(filters).view(-1, 1, 1, 1) / filters)

    def forward(self, x):
        kernels = self.weight.reshape(1, self.out_channels, -1)
        scale = (self.gain * self.weight[0].numel() ** -0.5).view(-1)
        kernels = F.batch_norm(kernels, None, None, weight=scale, training=True, momentum=0.0, eps=1e-6).reshape_as(self.weight)
        return F.conv2d(x, kernels, self.bias, padding=1)


class StandardisedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.conv1, self.conv2 = StandardisedConv(32, 32), StandardisedConv(32, 40)
        self.fc = nn.Linear(40, 10)

    def forward(self, image):
        x = F.relu(self.stem(image))
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.fc(x.mean((2, 3)))


def swin():
    return set_dropout(models.SwinTransformer([2, 2], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10))


def convnext():
    setting = [CNBlockConfig(12, 24, 2), CNBlockConfig(24, None, 2)]
    return set_dropout(models.ConvNeXt(setting, stochastic_depth_prob=0.0, layer_scale=0.5, num_classes=10))


class AudioNet(nn.Module):
    """One-dimensional convolutions on a waveform: [N, 1, 400] -> [N, 6]."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 12, 40, stride=8), nn.BatchNorm1d(12), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(12, 20, 3, dilation=2, padding="same"), nn.GroupNorm(4, 20), nn.PReLU(20), nn.AvgPool1d(2),
            nn.Conv1d(20, 24, 3, groups=4, padding=1), nn.InstanceNorm1d(24, affine=True), nn.GELU(),
        )
        self.head = nn.Linear(24, 6)

    def forward(self, x):
        return self.head(self.net(x).mean(-1))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ELU(), nn.Conv2d(8, 12, 3, 2, 1), nn.LeakyReLU(0.1), nn.Flatten(), nn.Linear(12 * 49, 16))
        self.decoder = nn.Sequential(
            nn.Linear(16, 12 * 49), nn.Unflatten(1, (12, 7, 7)), nn.ConvTranspose2d(12, 8, 4, 2, 1), nn.ELU(),
            nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1),
        )

    def forward(self, x):
        return torch.sigmoid(self.decoder(self.encoder(x)))


class TimeBlock(nn.Module):
    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, fan_in), nn.GroupNorm(4, fan_out)
        self.conv1, self.conv2 = nn.Conv2d(fan_in, fan_out, 3, padding=1), nn.Conv2d(fan_out, fan_out, 3, padding=1)
        self.time = nn.Linear(32, fan_out)
        self.skip = nn.Conv2d(fan_in, fan_out, 1) if fan_in != fan_out else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class SpatialAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, 3, c, h * w).unbind(1)
        weights = torch.softmax(torch.einsum("ncq,nck->nqk", q, k) / math.sqrt(c), -1)
        return x + self.out(torch.einsum("nqk,nck->ncq", weights, v).reshape(n, c, h, w))


class DiffusionUNet(nn.Module):
    """Predicts noise from a noisy image and its time: GroupNorm, SiLU, attention at the bottom, nearest resizing."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first = nn.Conv2d(1, 12, 3, padding=1)
        self.down = TimeBlock(12, 12)
        self.shrink = nn.Conv2d(12, 16, 3, 2, 1)
        self.middle, self.attention = TimeBlock(16, 16), SpatialAttention(16)
        self.grow = nn.Conv2d(16, 12, 3, padding=1)
        self.up = TimeBlock(24, 12)
        self.norm, self.last = nn.GroupNorm(4, 12), nn.Conv2d(12, 1, 3, padding=1)
        self.register_buffer("frequencies", torch.exp(-math.log(1e4) * torch.arange(8) / 8), persistent=False)

    def forward(self, x, time):
        angles = time[:, None] * self.frequencies[None]
        t = self.embed(torch.cat([torch.sin(angles), torch.cos(angles)], 1))
        a = self.down(self.first(x), t)
        b = self.attention(self.middle(self.shrink(a), t))
        b = self.grow(F.interpolate(b, scale_factor=2, mode="nearest"))
        return self.last(F.silu(self.norm(self.up(torch.cat([a, b], 1), t))))
