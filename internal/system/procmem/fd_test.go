package procmem

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// tables writes what the kernel has for process 7, of which sockets listen.
func listening(t *testing.T, fds []string, tcp, tcp6 string) FS {
	t.Helper()
	root := t.TempDir()
	for i, link := range fds {
		path := filepath.Join(root, "proc/7/fd", fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link, path); err != nil {
			t.Skip(err)
		}
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	if tcp != "" {
		write(t, root, "proc/7/net/tcp", head+tcp)
	}
	if tcp6 != "" {
		write(t, root, "proc/7/net/tcp6", head+tcp6)
	}
	return New(root)
}

// word is an IPv4 address as this machine's kernel would print it.
func word(a, b, c, d byte) string {
	return fmt.Sprintf("%08X", binary.NativeEndian.Uint32([]byte{a, b, c, d}))
}

func TestListening(t *testing.T) {
	row := func(local, state string, inode int) string {
		return fmt.Sprintf("   0: %s 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %d 1 0000000000000000 100 0 0 10 0\n", local, state, inode)
	}
	loop6 := strings.Repeat(word(0, 0, 0, 0), 3) + word(0, 0, 0, 1)
	any6 := strings.Repeat(word(0, 0, 0, 0), 4)
	fs := listening(t, []string{"/dev/null", "socket:[11]", "pipe:[12]", "socket:[13]", "socket:[14]", "socket:[x]", "socket:[15]"},
		row(word(127, 0, 0, 1)+":1F90", "0A", 11)+row(word(10, 0, 0, 1)+":0050", "0A", 99)+row(word(127, 0, 0, 1)+":1F91", "01", 13),
		row(any6+":01BB", "0A", 14)+row(loop6+":0016", "0A", 15))
	got, err := fs.Listening(7)
	want := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8080"), netip.MustParseAddrPort("[::]:443"),
		netip.MustParseAddrPort("[::1]:22")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if n, ok := fs.Pipe(7, 2); n != 12 || !ok {
		t.Errorf("pipe %d, %v", n, ok)
	}
	for _, fd := range []int{0, 1, 9} {
		if n, ok := fs.Pipe(7, fd); ok {
			t.Errorf("descriptor %d is pipe %d", fd, n)
		}
	}
	if got, err := listening(t, []string{"socket:[1]"}, "", "").Listening(7); got != nil || err != nil {
		t.Errorf("without tables: %v, %v", got, err)
	}
	if _, err := fs.Listening(8); err == nil {
		t.Error("no process, no error")
	}
	for _, bad := range []string{row("7F0000:1F90", "0A", 11), row(word(1, 2, 3, 4)+":1F901", "0A", 11), row(word(1, 2, 3, 4), "0A", 11)} {
		if got, err := listening(t, []string{"socket:[11]"}, bad, "").Listening(7); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestListeningHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	before, err := FS{}.Listening(0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own := l.Addr().(*net.TCPAddr).AddrPort()
	after, err := FS{}.Listening(0)
	if err != nil || len(after) != len(before)+1 || !slices.Contains(after, own) {
		t.Errorf("%v, %v, want %v besides %v", after, err, own, before)
	}
}

func TestPipeAndForkedHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := exec.Command("cat")
	in, _ := cmd.StdinPipe()
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer in.Close()
	ours, ok := FS{}.Pipe(0, int(r.Fd()))
	theirs, ok2 := FS{}.Pipe(cmd.Process.Pid, 2)
	if !ok || !ok2 || ours != theirs {
		t.Errorf("pipe %d (%v), the child has %d (%v)", ours, ok, theirs, ok2)
	}
	if s, err := (FS{}).Stat(cmd.Process.Pid); err != nil || s.Forked {
		t.Errorf("a program that was started: %+v, %v", s, err)
	}
}

func TestStatForked(t *testing.T) {
	for flags, want := range map[string]bool{"0": false, "64": true, "4194368": true, "4194304": false} {
		s, err := parseStat([]byte("5 (y) R 1 2 3 4 5 " + flags + " 7 8 9 10 11 12 13 14 15 16 17 18 19"))
		if err != nil || s.Forked != want {
			t.Errorf("flags %s: %v, %v", flags, s.Forked, err)
		}
	}
}

func TestAppends(t *testing.T) {
	root := t.TempDir()
	for i, c := range []struct {
		text string
		want bool
		ok   bool
	}{
		{"pos:\t6\nflags:\t0102001\nmnt_id:\t26\n", true, true},
		{"pos:\t6\nflags:\t0100001\n", false, true},
		{"pos:\t6\n", false, false},
		{"flags:\t9\n", false, false},
	} {
		write(t, root, fmt.Sprint("proc/7/fdinfo/", i), c.text)
		if got, err := New(root).Appends(7, i); got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %t, %v", c.text, got, err)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := os.OpenFile(filepath.Join(root, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := New("").Appends(os.Getpid(), int(f.Fd())); !got || err != nil {
		t.Errorf("of a log: %t, %v", got, err)
	}
}
