package feature

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/sys"
)

// advice asks about an madvise. For no bytes at all the kernel still refuses an
// advice that it does not know, and does nothing else.
func advice(advice int) error {
	err := sys.Madvise(0, 0, advice)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return ErrNotSupported
	}
	return err
}

func probeTHP() error           { return advice(unix.MADV_HUGEPAGE) }
func probeFree() error          { return advice(unix.MADV_FREE) }
func probeCold() error          { return advice(unix.MADV_COLD) }
func probePageOut() error       { return advice(unix.MADV_PAGEOUT) }
func probePopulateWrite() error { return advice(unix.MADV_POPULATE_WRITE) }
func probeCollapse() error      { return advice(unix.MADV_COLLAPSE) }

// probePagemapScan scans no bytes.
func probePagemapScan() error {
	p, err := sys.OpenPagemap(0)
	if err != nil {
		return err
	}
	defer p.Close()
	_, _, err = p.Scan(0, 0, make([]sys.Region, 1))
	if err == unix.ENOTTY || err == unix.ENOSYS {
		return ErrNotSupported
	}
	return err
}

// probeAnonName names no bytes. A kernel that knows no names knows no such prctl.
func probeAnonName() error {
	err := sys.SetName(0, 0, "")
	if err == unix.EINVAL || err == unix.ENOSYS {
		return ErrNotSupported
	}
	return err
}

const kernelMM = "/sys/kernel/mm"

// probeHugeTLB looks for a directory that the kernel has with the first pool.
func probeHugeTLB() error { return directory("hugepages") }

func probeTHPSizes() error {
	if err := directory("transparent_hugepage"); err != nil {
		return err
	}
	sizes, err := filepath.Glob(kernelMM + "/transparent_hugepage/hugepages-*kB")
	if err == nil && len(sizes) == 0 {
		err = ErrNotSupported
	}
	return err
}

// directory is conclusive only where /sys shows the kernel's other memory
// settings: a container may hide all of them.
func directory(name string) error {
	_, err := os.Stat(kernelMM + "/" + name)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, dirErr := os.ReadDir(kernelMM)
	if dirErr != nil || len(entries) == 0 {
		return err
	}
	return ErrNotSupported
}

// Running returns the version of the running kernel; ok is false if it does
// not look like one.
func Running() (v Version, ok bool) {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return v, false
	}
	release, _, _ := strings.Cut(string(u.Release[:]), "\x00")
	return ParseVersion(release)
}
