"use strict";

const { accessSync, constants } = require("node:fs");
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const others = "folio measures on Linux; on macOS and Windows use a container or WSL; the libraries build everywhere";

// binary returns the file of this platform's package, or why there is none.
function binary() {
  const { platform, arch } = process;
  if (platform !== "linux") return { reason: others };
  if (arch !== "x64" && arch !== "arm64") return { reason: `folio needs Linux on x64 or arm64; this is ${arch}` };
  const name = `@foliomem/folio-linux-${arch}`;
  try {
    const file = require.resolve(`${name}/bin/folio`);
    accessSync(file, constants.X_OK);
    return { file };
  } catch (e) {
    const why = e.code === "MODULE_NOT_FOUND" ? "not installed; install optional dependencies also" : e.message;
    return { reason: `folio: ${name}: ${why}` };
  }
}

// become replaces this process by a program where Node.js can, and else stays as its parent
// with its signals and exit code.
function become(file, args, options = {}) {
  if (process.execve && !options.shell && file.startsWith("/")) process.execve(file, [file, ...args], process.env);
  const child = spawn(file, args, { stdio: "inherit", ...options });
  // The terminal sends SIGINT and SIGQUIT to the child itself.
  const terminal = isatty(0);
  for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (!terminal || signal === "SIGTERM" || signal === "SIGHUP") child.kill(signal);
    });
  }
  child.on("error", (e) => {
    console.error(`folio: ${e.message}`);
    process.exit(e.code === "ENOENT" ? 127 : 126);
  });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function folio(args) {
  const { file, reason } = binary();
  if (file) return become(file, args);
  console.error(reason);
  process.exitCode = 1;
}

// exec runs a command with the heaps of its Go programs on huge pages, and unchanged where that
// is not possible, so that a script of package.json works for everyone.
function exec(args) {
  const { file, reason } = binary();
  const flags = args.length === 0 || args[0].startsWith("-");
  if (file) return become(file, ["exec", "--tree", "--thp", "heap", ...(flags ? args : ["--", ...args])]);
  const command = flags ? args.slice(args.indexOf("--") + 1 || args.length) : args;
  console.error(reason);
  if (command.length === 0) process.exitCode = 2;
  else become(command[0], command.slice(1), { shell: process.platform === "win32" });
}

module.exports = { folio, exec };
