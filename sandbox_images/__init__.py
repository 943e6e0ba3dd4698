"""WHERE it runs: an image is one root tree, as a folder and as a Docker image (decision 1)."""

from sandbox_images.errors import ImageError, ImageNameError, NoTreeError
from sandbox_images.image import HOST, Image
from sandbox_images.store import Verification, build, find, list_images, prune, remove, tag, verify

__all__ = [
    "HOST",
    "Image",
    "ImageError",
    "ImageNameError",
    "NoTreeError",
    "Verification",
    "build",
    "find",
    "list_images",
    "prune",
    "remove",
    "tag",
    "verify",
]
