#!/usr/bin/env node
"use strict";

require("../lib/run.js").folio(process.argv.slice(2));
