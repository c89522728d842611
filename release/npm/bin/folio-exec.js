#!/usr/bin/env node
"use strict";

// folio-exec COMMAND is folio exec --tree --thp heap -- COMMAND, for scripts in package.json.
require("../lib/run.js").exec(process.argv.slice(2));
