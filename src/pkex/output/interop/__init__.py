"""Results in the forms of other libraries: shap and shapiq."""

__all__: list[str] = []
