"""Checks an apk package as apk does before it installs it, and unpacks it into a root:
two gzip streams, of which .PKGINFO in the first has the SHA-256 of the second."""

import hashlib
import io
import sys
import tarfile
import zlib

package, root = sys.argv[1:]
data = open(package, "rb").read()
streams = []
while data:
    d = zlib.decompressobj(wbits=31)
    text = d.decompress(data)
    streams.append((data[: len(data) - len(d.unused_data)], text))
    data = d.unused_data
control, files = streams[-2:]
# The first is a tar archive without its end, so that apk reads all as one.
info = tarfile.open(fileobj=io.BytesIO(control[1] + bytes(1024))).extractfile(".PKGINFO").read().decode()
fields = dict(line.split(" = ", 1) for line in info.splitlines() if " = " in line)
want, got = fields["datahash"], hashlib.sha256(files[0]).hexdigest()
if want != got:
    sys.exit(f"{package}: datahash is {want}, want {got}")
for field in ("pkgname", "pkgver", "arch", "license", "url"):
    if field not in fields:
        sys.exit(f"{package}: .PKGINFO has no {field}")
with tarfile.open(fileobj=io.BytesIO(files[1])) as t:
    for member in t:
        if member.isreg() and "APK-TOOLS.checksum.SHA1" not in member.pax_headers:
            sys.exit(f"{package}: {member.name} has no checksum")
    t.extractall(root)
