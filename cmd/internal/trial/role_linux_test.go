package trial

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// roles are the programs that the tests measure. Each gets its words.
var roles map[string]func(words []string) error

func init() {
	roles = map[string]func(words []string) error{
		"touch": roleTouch, "huge": roleHuge, "pair": rolePair, "faults": roleFaults, "binary": roleBinary, "collect": roleCollect,
		"burn": roleBurn, "headless": roleHeadless, "folio": roleFolio, "serve": roleServe, "load": roleLoad,
		"heap": roleHeap, "unwaited": roleUnwaited, "paced": rolePaced,
		"parent": roleParent, "cycles": roleCycles, "listen": roleListen, "objects": roleObjects, "exit in gc": roleExitInGC, "charged": roleCharged, "advised": roleAdvised,
	}
	if os.Getenv(roleEnv) != "" && len(os.Args) > 1 && os.Args[1] == "headless" {
		runtime.LockOSThread() // in init: main is then on the main thread
	}
}

// roleCycles completes a GC cycle for each line that it reads, and says how many there were
// and for how many ns in all they stopped the world.
func roleCycles([]string) error {
	debug.SetGCPercent(-1)
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		collect(1)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println("collected", m.NumGC, m.PauseTotalNs)
	}
	return nil
}

func alignUp(mem []byte, align uintptr) uintptr {
	// Safety: the address is only looked at.
	return -uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (align - 1)
}

func number(words []string, i int) int {
	n, err := strconv.Atoi(words[i])
	if err != nil {
		panic(err)
	}
	return n
}

// roleTouch (MiB, ms) touches memory, says how large the process was at most,
// and sleeps.
func roleTouch(words []string) error {
	mem, err := touch(number(words, 0), false)
	if err != nil {
		return err
	}
	st, err := procmem.FS{}.Status(0)
	if err != nil {
		return err
	}
	fmt.Println("hwm", *st.VmHWM)
	time.Sleep(time.Duration(number(words, 1)) * time.Millisecond)
	runtime.KeepAlive(mem)
	return nil
}

// roleCharged (MiB) touches memory and says how much of its own the process has.
func roleCharged(words []string) error {
	mem, err := touch(number(words, 0), false)
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "RssAnon:" {
			kib, err := strconv.ParseUint(f[1], 10, 64)
			if err != nil {
				return err
			}
			fmt.Println("anonymous", kib<<10)
		}
	}
	runtime.KeepAlive(mem)
	return nil
}

// roleHuge (MiB, ms) touches memory on huge pages, says how much of it is, and
// whether the process may have them, and sleeps.
func roleHuge(words []string) error {
	mem, err := touch(number(words, 0), true)
	if err != nil {
		return err
	}
	sm, err := procmem.FS{}.SmapsRollup(0)
	if err != nil {
		return err
	}
	if sm.AnonHugePages != nil {
		fmt.Println("huge", *sm.AnonHugePages)
	}
	fmt.Println("enabled", thpEnabled())
	time.Sleep(time.Duration(number(words, 1)) * time.Millisecond)
	runtime.KeepAlive(mem)
	return nil
}

// thpEnabled returns what the kernel says of this process, or "" before Linux 5.0.
func thpEnabled() string {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if v, ok := strings.CutPrefix(line, "THP_enabled:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// rolePair (MiB, ms) starts two processes that touch memory, and has them both
// hold it for a time.
func rolePair(words []string) error {
	for range 2 {
		cmd := roleCmd("touch", words[0], "60000")
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		var b [1]byte
		if _, err := out.Read(b[:]); err != nil { // it has the memory
			return err
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
	}
	time.Sleep(time.Duration(number(words, 1)) * time.Millisecond)
	return nil
}

// roleFaults (MiB, who) has memory touched by a child: one that is waited for,
// or the orphan of a child. It ends when they have.
func roleFaults(words []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := roleCmd("touch", words[0], "0")
	if words[1] == "orphan" {
		cmd.Args = []string{"sh", "-c", roleLine("touch", words[0], "0") + " &"}
		cmd.Path = "/bin/sh"
	}
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.Close()
	if err := cmd.Wait(); err != nil {
		return err
	}
	var b [1]byte
	_, _ = r.Read(b[:]) // the end of the file is the end of the last process
	return nil
}

// roleBinary (seed, bytes) writes random bytes to both outputs, in pieces of all
// sizes.
func roleBinary(words []string) error {
	var all sync.WaitGroup
	for i, f := range []*os.File{os.Stdout, os.Stderr} {
		all.Go(func() {
			data := randomBytes(uint64(number(words, 0)+i), number(words, 1))
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for len(data) > 0 {
				n := min(1+rng.IntN(1<<rng.IntN(18)), len(data))
				if _, err := f.Write(data[:n]); err != nil {
					panic(err)
				}
				data = data[n:]
			}
		})
	}
	all.Wait()
	return nil
}

// randomBytes has all bytes, and many line ends and starts of trace lines.
func randomBytes(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	var b bytes.Buffer
	for b.Len() < n {
		switch rng.IntN(40) {
		case 0:
			b.WriteString("\n")
		case 1:
			b.WriteString("\ngc ")
		case 2:
			b.WriteString("gc 12 @")
		case 3:
			b.WriteString("# example.com/pkg\n")
		default:
			b.WriteByte(byte(rng.Uint32()))
		}
	}
	return b.Bytes()[:n]
}

// roleCollect (goroutines, lines) collects all the time while goroutines write
// lines to standard error. It ends with the number of GC cycles on stdout.
func roleCollect(words []string) error {
	var all sync.WaitGroup
	for g := range number(words, 0) {
		all.Go(func() {
			for i := range number(words, 1) {
				garbage[g].Store(new([64 << 10]byte))
				if _, err := os.Stderr.WriteString(collectLine(g, i)); err != nil {
					panic(err)
				}
			}
		})
	}
	for range 50 {
		runtime.GC()
	}
	all.Wait()
	debug.SetGCPercent(-1) // none may begin after the count
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("collections", m.NumGC)
	return nil
}

// rolePaced (n) collects n times, and prints when each GC cycle ended.
func rolePaced(words []string) error {
	debug.SetGCPercent(-1)
	for range number(words, 0) {
		time.Sleep(7 * time.Millisecond)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println("ended", m.LastGC)
	}
	return nil
}

var garbage [16]atomic.Pointer[[64 << 10]byte]

func collectLine(g, i int) string {
	return fmt.Sprintf("goroutine %d line %d %s\n", g, i, strings.Repeat("x", (g+i)*37%200))
}

// roleBurn (ms) uses that much CPU time.
func roleBurn(words []string) error {
	burn(time.Duration(number(words, 0)) * time.Millisecond)
	return nil
}

func burn(d time.Duration) {
	used := func() time.Duration {
		var ru unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
			panic(err)
		}
		return time.Duration(ru.Utime.Nano())
	}
	for end := used() + d; used() < end; {
		for i := range 100000 {
			sink += i * i
		}
	}
}

var sink int

// roleUnwaited has a child that nobody waits for: the kernel forgets it.
func roleUnwaited([]string) error {
	signal.Ignore(syscall.SIGCHLD)
	for range 3 {
		if _, err := syscall.ForkExec("/bin/true", []string{"true"}, nil); err != nil {
			return err
		}
	}
	time.Sleep(10 * time.Millisecond)
	return nil
}

// roleHeadless (file) ends its main thread and lives on. It makes the file when
// the process looks like a zombie.
func roleHeadless(words []string) error {
	go func() {
		for {
			st, err := procmem.FS{}.Stat(os.Getpid())
			if err == nil && st.State == 'Z' {
				_ = os.WriteFile(words[0], nil, 0o600)
				select {}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, _, errno := syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	return errno
}
