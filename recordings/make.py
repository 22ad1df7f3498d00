"""Make the recordings in this folder, and the page that lists them: ``python -m recordings.make``.

Every one is a real run of the bundled models on this machine's CPU. What a recording is there to show is checked before
it replaces the old one.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from engine.commands.prompts import held_out
from engine.live import open_live
from engine.ngrams import repeated_ngrams
from engine.options import Options
from engine.recorder import Recorder
from engine.records import Round
from engine.request import LiveRequest
from engine.stats import Stats

FOLDER = Path(__file__).parent
TABLE = "TABLE = [\n" + "    0,\n" * 12


class Recording(NamedTuple):
    """A recording: its name, what it shows, and runs of which the first that does show it (``holds``) is kept."""

    name: str
    shows: str
    requests: tuple[LiveRequest, ...]
    holds: Callable[[Sequence[Round]], bool]


def _story(name: str) -> str:
    return next(each.text for each in held_out("story", 7) if each.name == name)


def _takes(rounds: Sequence[Round]) -> list[int]:
    return [round_.take for round_ in rounds if round_.drafted]


def _recovers(rounds: Sequence[Round]) -> bool:
    """Whether a stretch of ten poor rounds has better ones on both sides."""
    takes = _takes(rounds)
    means = [sum(takes[i : i + 10]) / 10 for i in range(len(takes) - 9)]
    low = means.index(min(means))
    return min(means) <= 0.9 and max(means[: low + 1]) >= 1.8 and max(means[low:]) >= 1.5


def _longest_miss(prompt: str) -> LiveRequest:
    """A run over the longest stretch of rounds without an accepted draft in what follows ``prompt``."""
    request = LiveRequest(prompt=prompt, options=Options(k=5, max_tokens=330))
    live = open_live(request)
    rounds = []
    while (round_ := live.step()) is not None:
        rounds.append(round_)
    first = best = length = 0
    for i, round_ in enumerate(rounds):
        if round_.take or not round_.drafted:
            first = i + 1
        elif i + 1 - first > length:
            best, length = first, i + 1 - first
    written = [token for round_ in rounds[:best] for token in round_.emitted or ()]
    text = b"".join(live.piece(token) or b"" for token in written).decode()
    return LiveRequest(prompt=prompt + text, options=Options(k=5, max_tokens=length + 1), drafter="mtp")


def recordings() -> list[Recording]:
    """All of them."""
    flood, tower = _story("the flood"), _story("the tower")
    return [
        Recording(
            "all-accepted",
            "Every draft is accepted: a table of zeros, which base and drafter agree to go on with for ever.",
            (LiveRequest(prompt=TABLE, options=Options(k=3, max_tokens=80), drafter="mtp"),),
            lambda rounds: len(_takes(rounds)) >= 12 and all(r.take == r.drafted for r in rounds),
        ),
        Recording(
            "never-accepted",
            "No draft is accepted: the longest stretch of misses in the prose of the demo's text.",
            (_longest_miss(flood),),
            lambda rounds: len(_takes(rounds)) >= 10 and not any(_takes(rounds)),
        ),
        Recording(
            "flip",
            "The demo: drafting pays on code, collapses on prose, the mean sinks through the bar, plain decode.",
            (
                LiveRequest(
                    prompt=flood,
                    options=Options(k=5, max_tokens=330, fallback_below=1.8, fallback_window=6),
                    drafter="mtp",
                ),
            ),
            lambda rounds: 20 < sum(r.reason == "fallback" for r in rounds) < len(rounds) - 10,
        ),
        Recording(
            "two-pass",
            "The two-pass form: a step over the carried token, then a batch of the drafts.",
            (LiveRequest(prompt=flood, options=Options(form="two-pass", k=5, max_tokens=120), drafter="mtp"),),
            lambda rounds: sum(r.form == "two-pass" for r in rounds) > 20,
        ),
        Recording(
            "recovery",
            "Never falls back: acceptance collapses on the prose and comes back with the code behind it.",
            (LiveRequest(prompt=tower, options=Options(k=5, max_tokens=330), drafter="mtp"),),
            _recovers,
        ),
    ]


def _first_that_holds(recording: Recording, path: Path) -> tuple[LiveRequest, list[Round]]:
    for request in recording.requests:
        path.unlink(missing_ok=True)
        recorder = Recorder(open_live(request), path)
        rounds = []
        while (round_ := recorder.step()) is not None:
            rounds.append(round_)
        recorder.end()
        if recording.holds(rounds):
            return request, rounds
    raise SystemExit(f"{recording.name}: no run shows what it is there to show, the last took {_takes(rounds)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    args = parser.parse_args()
    rows = [
        "| recording | what it shows | drafter | form, k | rounds | tokens a round | repeated 8-grams |",
        "|" + "---|" * 7,
    ]
    for each in recordings():
        path = args.out / f"{each.name}.msgpack"
        request, rounds = _first_that_holds(each, path)
        path.chmod(0o644)
        stats = Stats.of(rounds)
        repeated = repeated_ngrams([token for round_ in rounds for token in round_.emitted or ()])
        options = request.options
        rows.append(
            f"| `{each.name}.msgpack` | {each.shows} | {request.drafter} | {options.form}, {options.k} "
            f"| {len(rounds)} | {stats.tokens_per_round:.2f} | {repeated or 0:.2f} |"
        )
    page = PAGE.replace("@TABLE@", "\n".join(rows))
    (args.out / "README.md").write_text(page, encoding="utf-8")


PAGE = """# Recordings

Real runs of the bundled models on a CPU (the header of each says what ran where), made by
`python -m recordings.make`, which holds the prompt and the options of each. Open one with
`specstep recordings/flip.msgpack`.

@TABLE@

"Tokens a round" is over drafted rounds; the share of repeated 8-grams says how much the text loops, which flatters
acceptance. The prompts of `flip`, `recovery` and `two-pass` open texts that the base knows by heart
(`engine/models/README.md`).

`faults/` holds a short run for each fault of the gallery (`specstep faults`), `screens/` the pictures of the README.
`exporters/README.md` is for whoever brings an engine of their own, `FORMAT.md` describes the format, `AUDIT.md` what
has to hold in a trace, `CHECK.md` how one is held against its model, `CONDITIONS.md` what a breakpoint can ask, and
`PROTOCOL.md` how to talk to an engine that is a process.
"""

if __name__ == "__main__":
    main()
