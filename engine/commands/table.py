"""The commands that need no screen, by name, each with the module and the name in it under which it is found.

Nothing of a command is loaded before it is asked for: see ``engine.cli``.
"""

COMMANDS = {
    "record": "engine.commands.record:record",
    "stats": "engine.commands.stats:stats",
    "audit": "engine.commands.audit:audit",
    "check": "engine.commands.check:check",
    "diff": "engine.commands.diff:diff",
    "show": "engine.commands.show:show",
    "conditions": "engine.commands.conditions:conditions",
    "probe": "engine.commands.probe:probe",
    "import": "engine.commands.import_:import_",
    "export": "engine.commands.export:export",
    "info": "engine.commands.info:info",
    "faults": "engine.commands.faults:faults",
    "engine": "engine.commands.engine:engine",
    "watch": "engine.commands.watch:watch",
    "whatif": "engine.commands.whatif:whatif",
    "trace": "engine.commands.trace:app",
    "models": "engine.commands.models:app",
}
"""A function is one command, an ``app`` a group of them."""

COMPLETION = frozenset(("--install-completion", "--show-completion"))
"""The first words beside these that are for the commands, not for the screen."""
