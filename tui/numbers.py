"""How figures are written: short, aligned, and never more exact than they are."""


def probability(value: float | None) -> str:
    """A probability in at most four cells: ``.91``, ``1.00``, ``<.01``."""
    if value is None:
        return ""
    if 0 < value < 0.005:
        return "<.01"
    return f"{value:.2f}".removeprefix("0") if value < 0.995 else f"{value:.2f}"


def milliseconds(value: float | None) -> str:
    """A time in at most five cells up to a quarter of an hour: ``0.05``, ``2.90``, ``12.3``, ``4210``."""
    if value is None:
        return ""
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def logits(value: float | None) -> str:
    """A distance of logits: ``0.04``, ``4.2``, ``12.3``."""
    if value is None:
        return ""
    return f"{value:.2f}" if value < 0.095 else f"{value:.1f}"


def factor(value: float | None) -> str:
    """A ratio that is neither a time nor a probability: ``1.63``."""
    return "?" if value is None else f"{value:.2f}"


def seconds(value: float) -> str:
    """A time since the start: ``0.41 s``, ``83.2 s``."""
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
