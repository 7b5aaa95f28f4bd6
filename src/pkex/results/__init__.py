"""What questions are answered with: one file a kind of result."""

__all__: list[str] = []
