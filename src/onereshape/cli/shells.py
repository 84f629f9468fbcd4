"""Scripts for the completion of bash, zsh and fish, written from the words of each command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from onereshape.cli.commands import OVERALL


class Word(Protocol):
    """An option, or what a command takes without one; see `completion`."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def help(self) -> str: ...
    @property
    def takes(self) -> str: ...
    @property
    def words(self) -> tuple[str, ...]: ...


Commands = Mapping[str, str]
CommandWords = Mapping[str, Sequence[Word]]

_BASH = """\
# bash completion of onereshape; made by: onereshape completion bash
_onereshape() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    if [[ $current == "=" ]]; then current=""; fi
    if [[ $previous == "=" ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    COMPREPLY=()
    if [[ $COMP_CWORD -eq 1 ]]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}} $previous" in
{values}
        esac
        if [[ -z $words ]]; then
            if [[ $current != -* ]]; then
                case "${{COMP_WORDS[1]}}" in
{others}
                    *) return ;;
                esac
            else
                case "${{COMP_WORDS[1]}}" in
{options}
                esac
            fi
        fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    compopt +o default 2>/dev/null
}}
complete -o default -F _onereshape onereshape
"""
"""A reply without words is completed as a file; `compopt` is missing before bash 4, where files are offered too."""


def bash(commands: Commands, words: CommandWords) -> str:
    """The completion script for bash."""
    values, options, others = [], [], []
    for name, told in words.items():
        for word in told:
            if not word.names:
                continue
            asked = " | ".join(f'"{name} {option}"' for option in word.names)
            if word.takes == "words":
                values.append(f'            {asked}) words="{" ".join(word.words)}" ;;')
            elif word.takes == "files":
                values.append(f"            {asked}) return ;;")
            elif word.takes == "text":
                values.append(f"            {asked}) compopt +o default 2>/dev/null; return ;;")
        offered = [option for word in told for option in word.names]
        options.append(f'                    {name}) words="{" ".join(offered)}" ;;')
        if plain := [each for word in told if not word.names for each in word.words]:
            others.append(f'                    {name}) words="{" ".join(plain)}" ;;')
    return _BASH.format(
        commands=" ".join([*commands, *OVERALL]),
        values="\n".join(values),
        others="\n".join(others),
        options="\n".join(options),
    )


_ZSH = """\
#compdef onereshape
# zsh completion of onereshape; made by: onereshape completion zsh
_onereshape() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _onereshape "$@"
else
    compdef _onereshape onereshape
fi
"""


def zsh(commands: Commands, words: CommandWords) -> str:
    """The completion script for zsh."""
    cases = []
    for name, told in words.items():
        specs = dict.fromkeys(spec for word in told for spec in _zsh_specs(word))  # two files are said once
        lines = [f"            {_quoted(spec)}" for spec in specs]
        cases.append(f"        {name}) _arguments -S \\\n" + " \\\n".join(lines) + "\n            ;;")
    listed = [f"        {_quoted(f'{name}:{about}')}" for name, about in commands.items()]
    return _ZSH.format(commands="\n".join(listed), cases="\n".join(cases))


def _zsh_specs(word: Word) -> list[str]:
    """What `_arguments` is told of an option; one for each of its names."""
    action = {"files": ":file:_files", "text": ":value: ", "words": f":value:({' '.join(word.words)})"}
    after = action.get(word.takes, "")
    about = word.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    if not word.names:
        return [f"*{after}"]
    return [f"*{name}[{about}]{after}" for name in word.names]


def fish(commands: Commands, words: CommandWords) -> str:
    """The completion script for fish."""
    lines = ["# fish completion of onereshape; made by: onereshape completion fish"]
    lines += ["complete -c onereshape -n __fish_use_subcommand -f"]
    lines += [f"complete -c onereshape -n __fish_use_subcommand -l {option[2:]}" for option in OVERALL]
    for name, about in commands.items():
        lines.append(f"complete -c onereshape -n __fish_use_subcommand -a {name} -d {_fish(about)}")
    for name, told in words.items():
        seen = f"complete -c onereshape -n '__fish_seen_subcommand_from {name}'"
        for word in told:
            options = "".join(f" -l {each[2:]}" if each.startswith("--") else f" -s {each[1:]}" for each in word.names)
            takes = {
                "files": " -r -F" if word.names else " -F",
                "text": " -x" if word.names else " -f",
                "words": f" {'-x' if word.names else '-f'} -a {_fish(' '.join(word.words))}",
            }.get(word.takes, "")
            lines.append(f"{seen}{options}{takes} -d {_fish(word.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Text in the quotes of a shell, in which nothing has a meaning."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    """Text in the quotes of fish, which know two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[str, Callable[[Commands, CommandWords], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
