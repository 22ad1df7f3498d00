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
from engine.options import Options
from engine.recorder import Recorder
from engine.records import Round
from engine.request import LiveRequest
from engine.stats import Stats, repeated_ngrams

FOLDER = Path(__file__).parent


class Recording(NamedTuple):
    """A recording: its name, what it shows, the run, and whether a finished run does show it."""

    name: str
    shows: str
    request: LiveRequest
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
    return min(means) <= 0.6 and max(means[: low + 1]) >= 1.8 and max(means[low:]) >= 1.5


def recordings() -> list[Recording]:
    """All of them."""
    garden, tower = _story("the garden"), _story("the tower")
    code, prose = held_out("code", 20), held_out("prose", 20)
    return [
        Recording(
            "all-accepted",
            "Every draft is accepted: held-out code on which the base has begun to repeat itself.",
            LiveRequest(prompt=code[CODE].text, options=Options(k=3, max_tokens=80), drafter="mtp"),
            lambda rounds: len(_takes(rounds)) >= 12 and all(r.take == r.drafted for r in rounds),
        ),
        Recording(
            "never-accepted",
            "No draft is accepted: DFlash, which learned from code, on held-out prose.",
            LiveRequest(prompt=prose[PROSE].text, options=Options(k=7, max_tokens=16), drafter="dflash"),
            lambda rounds: len(_takes(rounds)) >= 12 and not any(_takes(rounds)),
        ),
        Recording(
            "flip",
            "The demo: drafting pays on code, collapses on prose, the mean sinks through the bar, plain decode.",
            LiveRequest(
                prompt=garden,
                options=Options(k=5, max_tokens=330, fallback_below=2.0, fallback_window=4),
                drafter="mtp",
            ),
            lambda rounds: 20 < sum(r.reason == "fallback" for r in rounds) < len(rounds) - 10,
        ),
        Recording(
            "two-pass",
            "The two-pass form: a step over the carried token, then a batch of the drafts.",
            LiveRequest(prompt=tower, options=Options(form="two-pass", k=5, max_tokens=120), drafter="mtp"),
            lambda rounds: sum(r.form == "two-pass" for r in rounds) > 20,
        ),
        Recording(
            "recovery",
            "Never falls back: acceptance collapses on the prose and comes back with the code behind it.",
            LiveRequest(prompt=garden, options=Options(k=5, max_tokens=330), drafter="mtp"),
            _recovers,
        ),
    ]


CODE, PROSE = 0, 0
"""Which of the held-out prompts."""


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
        path.unlink(missing_ok=True)
        live = open_live(each.request)
        recorder = Recorder(live, path)
        rounds = []
        while (round_ := recorder.step()) is not None:
            rounds.append(round_)
        recorder.end()
        if not each.holds(rounds):
            raise SystemExit(f"{each.name}: the run does not show what it is there to show: {_takes(rounds)}")
        path.chmod(0o644)
        stats = Stats.of(rounds)
        repeated = repeated_ngrams([token for round_ in rounds for token in round_.emitted or ()])
        options = each.request.options
        rows.append(
            f"| `{each.name}.msgpack` | {each.shows} | {each.request.drafter} | {options.form}, {options.k} "
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
`FORMAT.md` describes the format, `PROTOCOL.md` how to talk to an engine that is a process, and `exporters/` records
from other languages.
"""

if __name__ == "__main__":
    main()
