// Package witness starts a program so that every exec and every exit in its tree of
// processes is seen, as a seccomp filter with a listener does (Linux 5.9).
//
// The process that becomes the program installs the filter, and all its descendants
// inherit it. From then on execve, execveat and, where asked for, exit_group wait in the
// kernel until a thread of this process has looked at them, and go on unchanged. At an
// exec the file that will run is known; the caller may have the process stopped when the
// new program is in memory and before its first instruction (ptrace), to change it. The
// process is traced from its execve to that stop only: between two execs nothing is
// attached to it, and no signal is ever intercepted. At an exit_group the process waits
// with all its memory readable.
//
// # If this process dies
//
// A second process, the guard, holds the listener too. Once this process has ended, for
// whatever reason, the guard lets everything go on, first what this process was looking at
// when it died, until the last process of the tree has ended: a daemon that the program
// started runs on. The guard has a twin: each replaces the other when that is killed. Only if all
// three are killed at once does nothing hold the listener. Then every execve of the tree fails
// with ENOSYS, waiting ones too, so no exec hangs. With OnExit, exit_group fails as well:
// most programs then end by a signal (their libc executes an illegal instruction), and those that
// repeat the call have to be killed.
//
// # Privileges
//
// A filter needs CAP_SYS_ADMIN or no_new_privs. As an ordinary user the tree runs with
// no_new_privs: setuid and setgid programs and those with file capabilities run without
// their privileges; [Program.Privileged] says which. They are never stopped, whoever runs
// the tree.
//
// # What is not seen
//
// Processes that end otherwise than by exit_group, by a signal or with the exit of their
// last thread: [Options.OnExit] hears of them later, as not seen. System calls
// of 32-bit programs (and of the x32 ABI), which pass the filter: they, and what they
// execute themselves, are seen at their own exec if a 64-bit program executes them, and no
// more. An exec that the kernel refuses after its file was found good (E2BIG, ETXTBSY) is
// told of unless it was to be stopped.
//
// A process that waits for its execve to be looked at can be stopped (SIGTSTP) as before its
// execve: after vfork this holds up its parent, which otherwise is as short as the way from vfork
// to execve.
//
// The kernel allows one listener for a process: within a tree that has one, another Folio
// gets [ErrNested], and the outer one serves.
package witness
