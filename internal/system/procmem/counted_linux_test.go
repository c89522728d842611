package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/sys"
	"github.com/foliomem/folio/internal/test/testenv"
)

// kinds maps memory of each kind that counts in its own way.
func kinds() error {
	page := os.Getpagesize()
	mapped := func(fd, size, prot, flags int) []byte {
		b, err := unix.Mmap(fd, 0, size, prot, flags)
		if err != nil {
			panic(err)
		}
		return b
	}
	touch := func(b []byte, pages ...int) {
		for _, p := range pages {
			b[p*page] = 1
		}
	}
	const rw, own = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS

	base := mapped(-1, 4*mib, rw, own)
	_ = unix.Madvise(base, unix.MADV_NOHUGEPAGE) // no kernel without THP makes them
	touch(base, 0, 1, 2, 9, 100)
	read := byte(0)
	for i := 200; i < 220; i++ {
		read |= base[i*page] // the page of zeros
	}
	huge := mapped(-1, 8*mib, rw, own)
	_ = unix.Madvise(huge, unix.MADV_HUGEPAGE)
	for i := 0; i < len(huge)/2; i += page {
		huge[i] = 1
	}
	zeros := mapped(-1, 8*mib, rw, own)
	_ = unix.Madvise(zeros, unix.MADV_HUGEPAGE)
	read |= zeros[4*mib] // the huge page of zeros, where the kernel has one
	free := mapped(-1, mib, rw, own)
	touch(free, 0, 1, 2, 3)
	_ = unix.Madvise(free[:2*page], unix.MADV_FREE) // in memory until the kernel wants it
	closed := mapped(-1, mib, rw, own)
	touch(closed, 5, 6)
	if err := unix.Mprotect(closed, unix.PROT_NONE); err != nil {
		return err
	}
	shared := mapped(-1, mib, rw, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	touch(shared, 0, 7)

	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer f.Close()
	file := mapped(int(f.Fd()), 64*page, unix.PROT_READ, unix.MAP_SHARED)
	copied := mapped(int(f.Fd()), 64*page, rw, unix.MAP_PRIVATE)
	for i := range 32 {
		read |= file[i*page] | copied[i*page]
	}
	touch(copied, 3, 4, 40)
	fd, err := unix.MemfdCreate("kinds", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.Ftruncate(fd, mib); err != nil {
		return err
	}
	touch(mapped(fd, mib, rw, unix.MAP_SHARED), 0, 1, 2)
	touch(mapped(fd, mib, rw, unix.MAP_PRIVATE), 1, 100)
	if read == 255 {
		fmt.Fprintln(os.Stderr) // it is used
	}
	return nil
}

// needScan skips the test where the kernel cannot do it.
func needScan(t *testing.T) {
	t.Helper()
	p, err := sys.OpenPagemap(0)
	if err == nil {
		defer p.Close()
		_, _, err = p.Scan(0, 0, make([]sys.Region, 1))
	}
	if err != nil {
		testenv.Missing(t, "PAGEMAP_SCAN: %v", err)
	}
}

// stopped starts a child and stops it: it does not change then.
func stopped(t *testing.T, words string) int {
	t.Helper()
	_, pids, _ := start(t, 1, words)
	pid := pids[0]
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGCONT) })
	testenv.Eventually(t, "it is stopped", func() bool {
		s, err := FS{}.Stat(pid)
		return err == nil && s.State == 'T'
	})
	return pid
}

// TestCounted holds page tables against smaps, of each mapping of a process.
func TestCounted(t *testing.T) {
	needScan(t)
	pid := stopped(t, "touch 80 kinds ready wait")
	var f FS
	// khugepaged may change it all the same, so smaps is read before and after.
	for try := range 5 {
		before, err := f.Mappings(pid)
		if err != nil {
			t.Fatal(err)
		}
		got, smaps, err := f.Counted(pid)
		if err != nil || smaps {
			t.Fatalf("smaps %v, %v", smaps, err)
		}
		after, err := f.Mappings(pid)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, after) && try < 4 {
			continue
		}
		if len(got) != len(after) {
			t.Fatalf("%d mappings, smaps has %d", len(got), len(after))
		}
		var rss, files, swap uint64
		for i, m := range after {
			want := Mapping{VMA: m.VMA, Rss: m.Rss, Anonymous: m.Anonymous, Huge: m.Huge, Swap: m.Swap}
			if swap += m.Swap; m.Shared || m.Inode != 0 {
				want.Swap = got[i].Swap // of shared memory only smaps knows
			}
			if got[i] != want {
				t.Errorf("%+v\nsmaps has %+v", got[i], want)
			}
			rss, files = rss+m.Rss, files+m.Rss-m.Anonymous
		}
		if rss < 80*mib || files == 0 || files == rss {
			t.Errorf("RSS %d, of files %d", rss, files)
		}
		break
	}

	// The other way, which is that of older kernels.
	all, smaps, err := f.BySmaps().Counted(pid)
	if want, _ := f.Mappings(pid); err != nil || !smaps || !slices.Equal(all, want) {
		t.Errorf("by smaps: %d mappings, smaps %v, %v", len(all), smaps, err)
	}
}

// Of a process that ended, or that cannot be read, it says what Mappings says.
func TestCountedOfNobody(t *testing.T) {
	if _, _, err := (FS{}).Counted(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	_, pids, stop := start(t, 1, "ready wait")
	p, err := openPages((FS{}).procPath(pids[0], "pagemap"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	vmas, err := (FS{}).Maps(pids[0])
	if err != nil || p.alive(vmas[0].Start) != nil {
		t.Fatalf("%v, %v", err, p.alive(vmas[0].Start))
	}
	stop()
	if err := p.alive(vmas[0].Start); !errors.Is(err, errNotCounted) {
		t.Errorf("its page tables are alive: %v", err)
	}
}

// Where page tables do not tell what RSS counts, smaps does.
func TestCountedInDoubt(t *testing.T) {
	needScan(t)
	const smapsOf = "c000000000-c004000000 rw-p 00000000 00:00 0 \nRss: 4 kB\nAnonymous: 4 kB\n"
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pages  int // RSS of statm
		status string
		smaps  bool
	}{
		"all is well":                     {1 << 30, "Pid:\t7\nHugetlbPages:\t0 kB\n", false},
		"a kernel without a hugetlb pool": {1 << 30, "Pid:\t7\n", false},
		"pages of the hugetlb pool":       {1 << 30, "Pid:\t7\nHugetlbPages:\t2048 kB\n", true},
		"more than the kernel counts":     {1, "Pid:\t7\nHugetlbPages:\t0 kB\n", true},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, "proc/7")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, root, "proc/7/smaps", smapsOf)
		write(t, root, "proc/7/maps", string(maps))
		write(t, root, "proc/7/statm", fmt.Sprintf("%d %d 0 0 0 0 0\n", c.pages, c.pages))
		write(t, root, "proc/7/status", c.status)
		if err := os.Symlink("/proc/self/pagemap", filepath.Join(dir, "pagemap")); err != nil {
			t.Fatal(err)
		}
		keep := make([]byte, 16*mib)
		for i := range keep {
			keep[i] = 1
		}
		all, smaps, err := New(root).Counted(7)
		if err != nil || smaps != c.smaps || smaps != (len(all) == 1) {
			t.Errorf("%s: smaps %v, %d mappings, %v", name, smaps, len(all), err)
		}
		if keep[len(all)] != 1 {
			t.Error("it is used")
		}
	}
}
