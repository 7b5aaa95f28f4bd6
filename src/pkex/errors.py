"""What pkex raises besides ValueError and TypeError."""

__all__ = ["AdditivityError", "UnsupportedModelError"]


class AdditivityError(RuntimeError):
    """Values and base value do not add up to the prediction: an error of pkex or of a kernel."""


class UnsupportedModelError(TypeError):
    """The model is not a kernel expansion with product kernels, or not one that pkex can read."""
