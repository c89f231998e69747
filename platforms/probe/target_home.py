"""Runs in the image's python as the job's user: the user's name as programs ask for it, and the home they find.

Lines `@h<TAB>name<TAB>value`. Older torch releases ask for the name while they are imported.
"""

import getpass
import os
import sys


def main() -> None:
    for name, value in (("user", getpass.getuser()), ("home", os.path.expanduser("~"))):
        sys.stdout.write("@h\t{}\t{}\n".format(name, value.replace("\n", " ")))


if __name__ == "__main__":
    main()
