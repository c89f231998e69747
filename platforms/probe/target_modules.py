"""Runs in the job's interpreter: where are these modules? Arguments: names of modules or of distributions, also with
a version (`transformers==4.57.1`). Only parent packages are imported.

Lines of words with tabs between: `@m interpreter PATH VERSION`, then `@m found NAME PLACE`, `@m missing NAME` or
`@m error NAME WORDS` for each.
"""

import importlib.util
import re
import sys

try:
    from importlib import metadata
except ImportError:  # Python 3.7 and older
    metadata = None  # type: ignore[assignment]


def line(*words: str) -> None:
    sys.stdout.write("@m\t" + "\t".join(word.replace("\n", " ").replace("\t", " ") for word in words) + "\n")


def place(module: str) -> str:
    """Where the module is; empty where it cannot be found."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return ""
    if spec is None:
        return ""
    folders = list(spec.submodule_search_locations or [])
    return spec.origin or (folders[0] if folders else "built in")


def modules_of(name: str) -> "list[str]":
    """The modules that go by that name: its own, and those that the distribution of that name says it brings."""
    modules = [name.replace("-", "_")]
    try:
        text = metadata.distribution(name).read_text("top_level.txt") or ""
    except Exception:
        return modules
    return modules + text.split()


def wrong_version(name: str, wanted: str) -> str:
    """Words where an exact version is asked for and another one is installed."""
    try:
        version = metadata.version(name)
    except Exception:
        return "its version is not known"
    return "" if version == wanted else f"version {version} is installed"


def main(names: "list[str]") -> None:
    line("interpreter", sys.executable or "", sys.version.split()[0])
    for asked in names:
        match = re.match(r"\s*([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*(?:==\s*([^\s;,]+))?", asked)
        try:
            if match is None:
                raise ValueError("not a name")
            where = next(filter(None, map(place, modules_of(match.group(1)))), "")
            other = wrong_version(match.group(1), match.group(2)) if where and match.group(2) else ""
        except BaseException as error:
            line("error", asked, f"{type(error).__name__}: {error}")
            continue
        if other:
            line("error", asked, other)
        elif where:
            line("found", asked, where)
        else:
            line("missing", asked)


if __name__ == "__main__":
    main(sys.argv[1:])
