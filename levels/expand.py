"""`extends` and `like` of the level YAML, expanded on plain data. What a level or phase means never belongs here.

A level with `extends: N` starts from level N of the same file: `criteria`, `variants`, `limitations` and `requirements`
are added to (an entry with a known id replaces it), what `drops` names by id is left out, everything else replaces.
A phase with `like: ID` starts from that phase: `env` is merged, `overrides` are appended, everything else replaces.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from levels.errors import ConfigError

_ADDED: Final = ("criteria", "variants", "limitations", "requirements")

Plain = dict[str, Any]


def expand(data: object, *, path: str) -> object:
    """`data` with every level and phase written out; what has another shape is left for the type check to refuse.

    Raises:
        ConfigError: for a base that does not come earlier in the file.

    """
    if not isinstance(data, dict) or not isinstance(data.get("levels"), list):
        return data
    done: dict[int, Plain] = {}
    levels: list[object] = []
    for index, level in enumerate(data["levels"]):
        if not isinstance(level, dict):
            levels.append(level)
            continue
        whole = _level(level, done, path=path, key=f"levels[{index}]")
        levels.append(whole)
        if isinstance(number := whole.get("number"), int):
            done[number] = whole
    return {**data, "levels": levels}


def _level(level: Plain, done: Mapping[int, Plain], *, path: str, key: str) -> Plain:
    own = {name: value for name, value in level.items() if name not in ("extends", "drops")}
    base: Plain = {}
    if "extends" in level:
        base = _found(done, level["extends"], path=path, key=f"{key}.extends", of="levels")
    drops = level.get("drops") or {}
    whole = {**base, **own}
    for name in _ADDED:
        if name in base or name in own:
            whole[name] = _added(
                base.get(name, []), own.get(name, []), drops.get(name, []), path, f"{key}.drops.{name}"
            )
    before = {phase["id"]: phase for phase in base.get("phases", []) if isinstance(phase, dict) and "id" in phase}
    if "phases" in own:
        whole["phases"] = _phases(own["phases"], before, path=path, key=f"{key}.phases")
    known = {phase["id"]: phase for phase in whole.get("phases", []) if isinstance(phase, dict) and "id" in phase}
    whole["variants"] = [
        _variant(item, known, path=path, key=f"{key}.variants[{index}]")
        for index, item in enumerate(_list(whole.get("variants")))
    ]
    return whole


def _variant(variant: object, known: Mapping[str, Plain], *, path: str, key: str) -> object:
    if not isinstance(variant, dict):
        return variant
    more = {
        name: _phases(variant[name], known, path=path, key=f"{key}.{name}")
        for name in ("phases", "extra_phases")
        if name in variant
    }
    return {**variant, **more}


def _phases(phases: object, known: Mapping[str, Plain], *, path: str, key: str) -> list[object]:
    seen = dict(known)
    done: list[object] = []
    for index, phase in enumerate(_list(phases)):
        whole = phase
        if isinstance(phase, dict):
            whole = {name: value for name, value in phase.items() if name != "like"}
            if "like" in phase:
                base = _found(seen, phase["like"], path=path, key=f"{key}[{index}].like", of="phases")
                whole = {**base, **whole, "env": {**base.get("env", {}), **(whole.get("env") or {})}}
                whole["overrides"] = [*base.get("overrides", []), *(phase.get("overrides") or [])]
            if isinstance(whole.get("id"), str):
                seen[whole["id"]] = whole
        done.append(whole)
    return done


def _added(base: object, own: object, drops: object, path: str, key: str) -> list[object]:
    """Entries of `base` by id, less `drops`, with those of `own` in place of theirs or behind them."""
    kept = {_id(item, index): item for index, item in enumerate(_list(base))}
    for name in _list(drops):
        if name not in kept:
            raise _unknown(name, kept, path=path, key=key)
        del kept[name]
    more = _list(own)
    replaced = {_id(item, -1): item for item in more}
    rest = [replaced.get(name, item) for name, item in kept.items()]
    return [*rest, *(item for item in more if _id(item, -1) not in kept)]


def _id(item: object, index: int) -> object:
    """The entry's id; limitations have none and are never replaced."""
    return item["id"] if isinstance(item, dict) and "id" in item else index


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _found(known: Mapping[Any, Plain], name: object, *, path: str, key: str, of: str) -> Plain:
    if isinstance(name, (str, int)) and name in known:
        return known[name]
    raise _unknown(name, known, path=path, key=key, of=of)


def _unknown(name: object, known: Iterable[object], *, path: str, key: str, of: str = "entries") -> ConfigError:
    return ConfigError(
        path=path,
        key=key,
        found=repr(name),
        expected=f"one of the {of} that come before it: {', '.join(map(str, known)) or 'none'}",
        next_step="correct the name, or move the entry below what it starts from",
    )
