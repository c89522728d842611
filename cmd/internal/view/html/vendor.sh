#!/bin/sh
# Fetches the chart library, the modules of D3 that pages use, from the npm
# registry, and puts them into lib: d3.min.js (the files that the modules
# publish, joined, in the order of what needs what), LICENSE and VERSIONS.
#
#   cmd/internal/view/html/vendor.sh
#
# A new version: change it here, run this, run the tests, look at the pages.
set -eu
cd "$(dirname "$0")/lib"
modules="
d3-array@3.2.5
d3-color@3.1.1
d3-format@3.1.3
d3-interpolate@3.0.2
d3-time@3.1.1
d3-time-format@4.1.1
d3-scale@4.0.3
d3-path@3.1.1
d3-shape@3.2.1
d3-selection@3.0.1
d3-axis@3.0.1
"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: >"$tmp/d3.min.js"
: >"$tmp/LICENSE"
: >"$tmp/VERSIONS"
for m in $modules; do
	tgz=$(npm pack --silent --pack-destination "$tmp" "$m")
	mkdir "$tmp/$m"
	tar -xzf "$tmp/$tgz" -C "$tmp/$m" --strip-components 1
	name=${m%@*}
	cat "$tmp/$m/dist/$name.min.js" >>"$tmp/d3.min.js"
	printf '\n' >>"$tmp/d3.min.js"
	printf '%s\n\n' "$m" >>"$tmp/LICENSE"
	cat "$tmp/$m/LICENSE" >>"$tmp/LICENSE"
	printf '\n' >>"$tmp/LICENSE"
	printf '%s sha256:%s\n' "$m" "$(sha256sum "$tmp/$tgz" | cut -d' ' -f1)" >>"$tmp/VERSIONS"
done
# Every page is a copy of the library: its license goes with it.
{
	printf '/*!\n'
	cat "$tmp/LICENSE"
	printf '*/\n'
	cat "$tmp/d3.min.js"
} >"$tmp/with-license.js"
mv "$tmp/with-license.js" d3.min.js
mv "$tmp/LICENSE" "$tmp/VERSIONS" .
