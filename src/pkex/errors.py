"""What pkex raises besides ValueError and TypeError."""

__all__ = ["AdditivityError"]


class AdditivityError(RuntimeError):
    """Values and base value do not add up to the prediction: an error of pkex or of a kernel."""
