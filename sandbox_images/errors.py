"""The errors of images.

ImageError (exit 3)             an image could not be built or is damaged; says the cure
└── NoTreeError                 this machine has no way to make a root tree
ImageNameError (exit 2)         the operator named an image or a file that is not there
"""

from __future__ import annotations

__all__ = ["ImageError", "ImageNameError", "NoTreeError"]


class ImageError(Exception):
    """An image could not be built, or what is stored of it is damaged."""

    exit_code = 3


class NoTreeError(ImageError):
    """This machine has no way to make a root tree; the message says what would give it one."""


class ImageNameError(Exception):
    """The operator named an image, a Dockerfile or a requirements file that cannot be used."""

    exit_code = 2
