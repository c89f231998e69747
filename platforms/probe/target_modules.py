"""Runs in the job's interpreter: where are these modules? Arguments: their names. Only parent packages are imported.

Lines of words with tabs between: `@m interpreter PATH VERSION`, then `@m found MODULE PLACE`, `@m missing MODULE` or
`@m error MODULE WORDS` for each.
"""

import importlib.util
import sys


def line(*words: str) -> None:
    sys.stdout.write("@m\t" + "\t".join(word.replace("\n", " ").replace("\t", " ") for word in words) + "\n")


def main(names: "list[str]") -> None:
    line("interpreter", sys.executable or "", sys.version.split()[0])
    for name in names:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            line("missing", name)
        except BaseException as error:
            line("error", name, f"{type(error).__name__}: {error}")
        else:
            if spec is None:
                line("missing", name)
            else:
                places = list(spec.submodule_search_locations or [])
                line("found", name, spec.origin or (places[0] if places else "built in"))


if __name__ == "__main__":
    main(sys.argv[1:])
