"""The commands of the screen that have a name; as in ``engine.commands.table``."""

OWN = {
    "demo": "tui.commands.demo:demo",
    "keys": "tui.commands.keys:keys",
    "serve": "tui.commands.serve:serve",
}
