package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// A guard is a process that removes the cgroups of this one if it is killed before it can. It
// is a shell, with a parent other than this process: what ends the processes that this one
// started does not find it, and it is not this program again.
type guard struct {
	pid   int
	stdin io.WriteCloser // ends with this process
	ended *os.File       // ends with the guard
}

// guardScript waits for the end of its input, in the background. Then it kills what is in the
// cgroups of an owner and removes them, until none is left, for 10 seconds at most. Unless its
// input said otherwise, it also puts back what a stay changed, as [stay.end] does. It says its
// process id first. Its arguments are the owner's process id, what begins the names of its
// cgroups, the leaf and the controllers of the stay, and the directories in which the cgroups are.
const guardScript = `trap '' HUP INT QUIT TERM
exec 3<&0
cd /
{
	read -r done <&3
	owner=$1 name=$2 leaf=$3 enabled=$4
	shift 4
	end() {
		if [ -w "$1/cgroup.kill" ]; then echo 1 >"$1/cgroup.kill"; fi
		for below in "$1"/*/; do
			if [ -d "$below" ]; then end "${below%/}"; fi
		done
		while read -r pid; do
			if [ "$pid" -gt 0 ] && [ "$pid" != "$owner" ]; then kill -9 "$pid"; fi
		done <"$1/cgroup.procs"
		rmdir "$1"
	}
	back() {
		if [ -z "$leaf" ] || [ -n "$done" ]; then exit; fi
		up=${leaf%/*}
		for controller in $enabled; do echo "-$controller" >"$up/cgroup.subtree_control"; done
		echo 0 >"$up/cgroup.procs" # this process
		for try in 1 2 3 4 5 6 7 8 9 10; do
			for pid in $(cat "$leaf/cgroup.procs"); do echo "$pid" >"$up/cgroup.procs"; done
			if rmdir "$leaf"; then exit; fi
			sleep 0.1 || sleep 1
		done
		exit
	}
	for try in 1 2 3 4 5 6 7 8 9 10; do
		for again in 1 2 3 4 5 6 7 8 9 10; do
			left=
			for dir; do
				for group in "$dir/$name"[0-9]*; do
					if [ -d "$group" ]; then left=$group; end "$group"; fi
				done
			done
			if [ -z "$left" ]; then back; fi
			sleep 0.1 || sleep 1
		done
	done
} 2>/dev/null &
echo $!
`

// startGuard starts the guard of a parent, which must have made room for its cgroups: with
// version 2 the guard is where this process is. Where there is no shell there is no guard, and
// the next process that opens a Parent removes what is left.
func (p *Parent) startGuard() {
	g, err := newGuard(p.owner.pid, p.owner.name(p.prefix()), p.stay, p.places)
	if err == nil {
		p.guard = g
	}
}

func newGuard(owner int, name string, st *stay, places []place) (*guard, error) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, err
	}
	if st == nil {
		st = &stay{}
	}
	args := []string{"-c", guardScript, "folio-guard", strconv.Itoa(owner), name, st.leaf, strings.Join(st.enabled, " ")}
	for _, x := range places {
		args = append(args, x.dir)
	}
	theirs, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	ended, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	defer stdout.Close()
	cmd := exec.Command(shell, args...)
	cmd.Stdin, cmd.Stdout = theirs, stdout
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/bin:/bin"}
	cmd.SysProcAttr = ownSession()
	err = cmd.Run() // it leaves the guard behind
	g := &guard{stdin: stdin, ended: ended}
	if err == nil {
		_, err = fmt.Fscanln(ended, &g.pid)
	}
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), ended.Close())
	}
	return g, nil
}

// close ends the guard, and waits for its end: what a stay changed is the caller's to put
// back. A nil one does nothing.
func (g *guard) close() error {
	if g == nil {
		return nil
	}
	_, err := io.WriteString(g.stdin, "done\n")
	err = errors.Join(err, g.stdin.Close())
	_, rerr := io.Copy(io.Discard, g.ended)
	reap(g.pid)
	return errors.Join(err, rerr, g.ended.Close())
}
