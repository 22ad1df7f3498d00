"""The lines around the panes: what runs and where it stands, why it stopped, what to press."""

from engine.records import Event, RoundSource
from tui.keys import KEYS, Key, shown
from tui.lines import Line, Span, fit, spread, wrap
from tui.marks import Marks, Role
from tui.moment import Phase, phase_name
from tui.numbers import seconds
from tui.placed import placed
from tui.session import Session
from tui.text import safe

_QUIET = 3
"""Seconds without a new round after which a run that is followed is said to be quiet."""
_LINES = 5
"""Lines that a long note takes at most."""
_UNEVEN = ("quantised-rows", "plain-width", "batch-differs")
_REASONS = {
    "max_tokens": "max_tokens is reached",
    "stop": "a stop token came",
    "aborted": "the run was aborted",
    "fault": "a fault ended the run",
    "unknown": "its log does not say why the run ended",
}


def header(session: Session, marks: Marks, width: int) -> Line:
    """One line: the run on the left, the place in it on the right, which is never cut."""
    place = _place(session, marks)
    wanted = _run(session.source, marks)
    warning = placed(session.source.header.device).warning or _uneven(session.source)
    room = width - sum(len(span.text) for span in place) - 3
    parts = [Span("specstep", Role.STRONG)]
    for i, text in enumerate(wanted):
        if sum(len(span.text) for span in parts) + len(text) + 2 <= room:
            parts.append(Span(f"  {text}", Role.DIM if i else Role.TEXT))
        if not i and warning:
            # It may push out what stands behind it, and is cut before it is left out.
            parts.append(Span(f"  {marks.finding} {warning}", Role.WARNING))
    return (Span(" "), *spread(tuple(parts), (*place, Span(" ")), width - 1, marks))


def why(session: Session, busy: str, marks: Marks, width: int, story: str = "", keys: tuple[Key, ...] = KEYS) -> Line:
    """Why the screen stands still, or what it is doing; ``story`` where there is nothing more to say."""
    state, detail = _state(session, busy, keys)
    detail = detail or (story if state == "paused" else "")
    spans = [_named(state)]
    if detail:
        spans.append(Span(f"  {safe(detail, marks)}", Role.TEXT))
    help_ = _help(session, state, keys)
    return (*fit(tuple(spans), width - len(help_), marks), *((Span(help_),) if help_ else ()))


def whole(session: Session, busy: str, marks: Marks, width: int, keys: tuple[Key, ...] = KEYS) -> list[Line]:
    """A note or a fault that ``why`` would have to cut, over several lines; none where it fits.

    What is said of every round is not among them: the panes would move at each.
    """
    state, detail = _state(session, busy, keys)
    if session.count or not detail or not (session.note or state == "fault"):
        return []
    text = f"{safe(detail, marks)}{_help(session, state, keys)}"
    if len(state) + len(text) + 3 <= width:
        return []
    lines = wrap(f"{state} {text}", width - 3)
    rest = "".join(span.text for span in lines[0])[len(state) :]
    lines[0] = (_named(state), Span(f" {rest}"))
    if len(lines) > _LINES:
        lines[_LINES - 1] = (*lines[_LINES - 1], Span(f" {marks.ellipsis}"))
    return [lines[0], *((Span(" "), *line) for line in lines[1:_LINES])]


def _named(state: str) -> Span:
    return Span(f" {state}", Role.FAULT if state == "fault" else Role.STRONG)


def _help(session: Session, state: str, keys: tuple[Key, ...]) -> str:
    lost = getattr(getattr(session.source, "engine", None), "lost", None)
    return f"; {shown('run.restart', keys)} starts it again" if state == "fault" and lost is not None else ""


def pending(session: Session, marks: Marks, width: int) -> Line:
    """The count that the next key will use."""
    if not session.count:
        return ()
    walking = " ".join(session.key(id_) for id_ in ("round.next", "round.previous", "phase.next", "event.next"))
    goto, drop = session.key("goto"), session.key("run.interrupt")
    says = f"  {walking} go so many times, {goto} goes to round {session.count}, {drop} drops it"
    return fit((Span(f" {session.count}", Role.KEY), Span(says, Role.DIM)), width, marks)


def _run(source: RoundSource, marks: Marks) -> list[str]:
    header_ = source.header
    options = header_.options
    drafter = header_.drafter.kind if header_.drafter else "no drafter"
    parts = [f"{header_.base.name} + {drafter}"]
    device = placed(header_.device).ran
    form = f"{options.get('form', '')} k={options.get('k', '?')}".strip()
    parts.append("live" if source.live else "torn" if torn_of(source) else "replay")
    parts.append(f"{device} {marks.dot} {form}" if device else form)
    model = header_.run.get("model")
    if isinstance(model, dict) and isinstance(model.get("layout"), str):
        parts.append(model["layout"])
    return [safe(part, marks) for part in parts]


def _place(session: Session, marks: Marks) -> tuple[Span, ...]:
    index, settled, series = session.moment.index, session.settled, session.series
    if index < 0:
        return (Span("no round yet", Role.DIM),)
    found = session.found.told
    spans = [Span(f"{marks.finding} {found}  ", Role.WARNING)] if found else []
    spans += [Span("round ", Role.DIM), Span(str(index), Role.STRONG), Span(f"/{session.last}", Role.DIM)]
    if session.moment.phase is not Phase.COMMIT and session.current is not None:
        spans.append(Span(f" {phase_name(session.moment.phase, session.current)}", Role.STRONG))
    if settled >= len(series) and series.damage is not None:
        spans.append(Span(f" {marks.dot} not readable", Role.WARNING))
    elif settled < len(series):
        spans += [Span(f" {marks.dot} token ", Role.DIM), Span(str(series.tokens[settled + 1]))]
        if series.clock[-1]:
            spans += [Span(f" {marks.dot} ", Role.DIM), Span(seconds(series.clock[settled + 1] / 1000))]
    else:
        spans.append(Span(f" {marks.dot} reading {100 * len(series) // len(session.source)}%", Role.DIM))
    return tuple(spans)


def _state(session: Session, busy: str, keys: tuple[Key, ...]) -> tuple[str, str]:
    if busy:
        return busy, ""
    if session.following and not session.ended:
        return "following", session.note or _newest(session, keys)
    if session.running or session.owed > 1:
        return "running", f"{session.running or f'{session.owed} more rounds'}, {shown('run.interrupt', keys)} stops"
    if session.playing:
        return "running", session.rate
    if session.at_end and session.ended and not session.note:
        return _end(session.source)
    return "paused", session.note or _pause(session, keys)


def _newest(session: Session, keys: tuple[Key, ...]) -> str:
    if session.quiet >= _QUIET:
        return f"nothing new for {session.quiet} s: the writer is slow, or it died"
    return f"rounds are shown as they come, {shown('run.follow', keys)} pauses"


def torn_of(source: RoundSource) -> str:
    """Where the trace stops making sense; empty where it does not, or is no file."""
    torn = getattr(source, "torn", None)
    return "" if torn is None else f"torn at byte {torn.byte}"


def _end(source: RoundSource) -> tuple[str, str]:
    if source.end is None:
        torn = torn_of(source)
        return "end of trace", torn or "it has no end record: its writer died, or is still writing"
    fault = _fault(source.events()) if source.end.reason == "fault" else None
    if fault is not None:
        return "fault", fault.message
    return "end of run" if source.live else "end of trace", _REASONS.get(source.end.reason, source.end.reason)


def _pause(session: Session, keys: tuple[Key, ...]) -> str:
    n, s, space, question = (shown(name, keys) for name in ("round.next", "phase.next", "run.play", "help"))
    moment, damage = session.moment, session.series.damage
    if damage is not None and moment.index + 1 >= len(session.series):
        return damage
    if moment.index < 0:
        usual = f"at the start: {n} makes a round, {s} steps into it, {space} runs, {question} explains"
        return _warned(session.source) or usual
    if moment.phase is not Phase.COMMIT:
        return f"inside the round: {s} goes on to its next phase, {n} to its end"
    if moment.index == 0 and session.last > 0:
        return f"at the first round: {n} next, {s} into the next, {space} runs, {question} explains"
    if session.at_end and session.source.live:
        return "at the last round made so far" + (
            "" if _made_here(session) else f": {shown('run.follow', keys)} follows"
        )
    return session.here()


def _made_here(session: Session) -> bool:
    return hasattr(session.source, "make")


def _warned(source: RoundSource) -> str:
    """What was said before the first round that one should know."""
    return next((each.message for each in source.events() if each.level == "warning" and each.round is None), "")


def _uneven(source: RoundSource) -> str:
    """Short for what was said at the start of a quantised graph whose rows depend on the width of their pass."""
    model = source.header.run.get("model")
    if not isinstance(model, dict) or not model.get("quantised"):
        return ""
    return "rows differ by width" if any(event.code in _UNEVEN for event in source.events()) else ""


def _fault(events: tuple[Event, ...]) -> Event | None:
    return next((event for event in reversed(events) if event.level == "fault"), None)
