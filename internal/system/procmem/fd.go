package procmem

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// DescriptorPath is the path by which what a descriptor of a process is open on can be opened
// again, even if its file was removed.
func (f FS) DescriptorPath(pid, fd int) string { return f.procPath(pid, "fd/"+strconv.Itoa(fd)) }

// Appends says whether a descriptor of a process writes at the end of its file, wherever
// that is (O_APPEND).
func (f FS) Appends(pid, fd int) (bool, error) {
	return loadBy(os.ReadFile, f.procPath(pid, "fdinfo/"+strconv.Itoa(fd)), parseAppends)
}

// parseAppends reads the flags of /proc/PID/fdinfo/FD.
func parseAppends(data []byte) (bool, error) {
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(text), 8, 64)
			const append = 0o2000 // where Linux runs folio, whatever system reads the file
			return flags&append != 0, err
		}
	}
	return false, errors.New("no flags")
}

// Pipe returns the inode of the pipe that a file descriptor of a process is an
// end of; ok is false if it is none, or cannot be looked at.
func (f FS) Pipe(pid, fd int) (inode uint64, ok bool) {
	return f.descriptor(pid, strconv.Itoa(fd), "pipe")
}

func (f FS) descriptor(pid int, fd, kind string) (inode uint64, ok bool) {
	link, err := os.Readlink(f.procPath(pid, "fd/"+fd))
	if err != nil {
		return 0, false
	}
	text, found := strings.CutPrefix(link, kind+":[")
	if !found {
		return 0, false
	}
	inode, err = strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64)
	return inode, err == nil
}

// mostDescriptors bounds how many descriptors of a process are looked at: a
// server opens its listening sockets before its connections.
const mostDescriptors = 1 << 12

// Listening returns the TCP addresses that a process listens on, each once,
// sorted. It is nil with a nil error if there are none. A process of another user
// needs the right to ptrace it.
func (f FS) Listening(pid int) ([]netip.AddrPort, error) {
	dir, err := os.Open(f.procPath(pid, "fd"))
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(mostDescriptors)
	dir.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	sockets := make(map[uint64]bool)
	for _, name := range names {
		if inode, ok := f.descriptor(pid, name, "socket"); ok {
			sockets[inode] = true
		}
	}
	if len(sockets) == 0 {
		return nil, nil
	}
	var out []netip.AddrPort
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		all, err := loadBy(os.ReadFile, f.procPath(pid, table), parseListening)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6 has one of them
			return nil, err
		}
		for _, l := range all {
			if sockets[l.inode] && !slices.Contains(out, l.addr) {
				out = append(out, l.addr)
			}
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return out, nil
}

type listener struct {
	addr  netip.AddrPort
	inode uint64
}

// parseListening returns the sockets of /proc/net/tcp or tcp6 that listen.
func parseListening(data []byte) (out []listener, err error) {
	const (
		local, state, inode = 1, 3, 9
		listen              = "0A"
	)
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) <= inode || fields[state] != listen {
			continue // the heading, or a connection
		}
		addr, err := parseHexAddr(fields[local])
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(fields[inode], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("inode: %w", err)
		}
		out = append(out, listener{addr, n})
	}
	return out, nil
}

// parseHexAddr reads an address as /proc/net has it: words of the machine's byte
// order in hexadecimal, then the port.
func parseHexAddr(s string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("address %q", s)
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port of %q: %w", s, err)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
