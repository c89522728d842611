"""Writes the wheels of a version: one for each architecture of Linux, whose console script is
the folio program itself, and one for all other systems, whose script says what to use."""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import time
import zipfile

NAME = "foliomem"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
OTHERS = "folio measures on Linux; on macOS and Windows use a container or WSL; the libraries build everywhere"

# The program is static: it runs with the oldest C library that has a tag, and with none.
LIBRARIES = ["manylinux_2_17_{m}", "manylinux2014_{m}", "musllinux_1_1_{m}"]

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: Finds the time that Go programs lose to memory, and gets it back
Project-URL: Homepage, https://github.com/foliomem/folio
License-Expression: Apache-2.0
{licenses}
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Go
Classifier: Topic :: Software Development
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: folio
Root-Is-Purelib: {pure}
{tags}
"""

MODULE = '''\
"""Folio on systems that it does not measure on."""

import platform
import sys


def main():
    if sys.platform == "linux":
        sys.exit("folio needs Linux on x86_64 or aarch64; this is " + platform.machine())
    sys.exit("{others}")
'''


def write(out, version, readme, licenses, platforms, files):
    """Writes a wheel of files: name, content, mode."""
    pure = platforms == ["any"]
    info = f"{NAME}-{version}.dist-info"
    tags = "\n".join(f"Tag: py3-none-{p}" for p in platforms)
    files = files + [(f"{info}/licenses/{l.name}", l.read_bytes(), 0o644) for l in licenses]
    names = "\n".join(f"License-File: {l.name}" for l in licenses)
    files += [
        (f"{info}/METADATA", METADATA.format(name=NAME, version=version, readme=readme, licenses=names).encode(), 0o644),
        (f"{info}/WHEEL", WHEEL.format(pure=str(pure).lower(), tags=tags).encode(), 0o644),
    ]
    if pure:
        files.append((f"{info}/entry_points.txt", f"[console_scripts]\nfolio = {NAME}:main\n".encode(), 0o644))
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data, _ in files)
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    at = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    path = out / f"{NAME}-{version}-py3-none-{'.'.join(platforms)}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, at)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            z.writestr(entry, data)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--version", required=True)
    p.add_argument("--readme", type=pathlib.Path, required=True)
    p.add_argument("--licenses", type=pathlib.Path, required=True, help="directory of LICENSE and THIRD_PARTY_LICENSES")
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("programs", nargs="+", metavar="ARCH=FILE")
    args = p.parse_args()
    version = re.sub(r"-rc\.", "rc", args.version.lstrip("v"))
    readme = args.readme.read_text()
    licenses = [args.licenses / "LICENSE", args.licenses / "THIRD_PARTY_LICENSES"]
    for program in args.programs:
        arch, file = program.split("=", 1)
        platforms = [lib.format(m=MACHINES[arch]) for lib in LIBRARIES]
        binary = pathlib.Path(file).read_bytes()
        write(args.out, version, readme, licenses, platforms, [(f"{NAME}-{version}.data/scripts/folio", binary, 0o755)])
    write(args.out, version, readme, licenses[:1], ["any"], [(f"{NAME}/__init__.py", MODULE.format(others=OTHERS).encode(), 0o644)])


main()
