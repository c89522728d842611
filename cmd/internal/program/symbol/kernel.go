package symbol

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	kallsyms = "/proc/kallsyms"
	// maxKernelFunction is above the longest function of a kernel. What is
	// farther from a symbol is in something that has none.
	maxKernelFunction = 256 << 10
	// manyHidden is a number of lines after which no address will come any more.
	manyHidden = 1000
)

// KernelTable is the kernel's list of its symbols.
type KernelTable struct {
	list  []kernelSymbol
	cache *cachedTable // in place of list
}

type kernelSymbol struct {
	address uint64
	name    string // "" for data, which ends the function before it
	rank    uint8
}

// Kernel reads the symbols of the running kernel.
func Kernel() (*KernelTable, error) {
	f, err := os.Open(kallsyms)
	if err != nil {
		return nil, fmt.Errorf("symbols of the kernel: %w", err)
	}
	defer f.Close()
	k, err := readKernel(f)
	if err != nil {
		return nil, fmt.Errorf("symbols of the kernel in %s: %w", kallsyms, err)
	}
	return k, nil
}

// errHidden is what an ordinary user gets on most systems.
var errHidden = errors.New("all addresses are hidden: echo 0 > /proc/sys/kernel/kptr_restrict, or run as root")

// readKernel reads lines such as "ffffffff81000000 T name [module]".
func readKernel(r io.Reader) (*KernelTable, error) {
	k := &KernelTable{}
	lines := 0
	hidden := true
	for in := bufio.NewScanner(r); ; {
		if !in.Scan() {
			if err := in.Err(); err != nil {
				return nil, err
			}
			break
		}
		address, rest, _ := strings.Cut(in.Text(), " ")
		kind, name, ok := strings.Cut(rest, " ")
		a, err := strconv.ParseUint(address, 16, 64)
		if err != nil || !ok || len(kind) != 1 {
			return nil, fmt.Errorf("line %d: want \"address type name\"", lines+1)
		}
		lines++
		// The kernel makes the text up as it is read: for a user from whom it hides
		// the addresses, stop soon.
		hidden = hidden && a == 0
		if hidden && lines >= manyHidden {
			return nil, errHidden
		}
		// Addresses near 0 are offsets in the memory of each processor.
		if a >= 1<<20 {
			k.add(a, kind[0], name)
		}
	}
	if lines == 0 {
		return nil, errors.New("it is empty")
	}
	if len(k.list) == 0 {
		return nil, errHidden
	}
	slices.SortStableFunc(k.list, func(a, b kernelSymbol) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.rank, b.rank))
	})
	k.list = slices.CompactFunc(k.list, func(a, b kernelSymbol) bool { return a.address == b.address })
	return k, nil
}

// add adds a symbol. Of several names for one address that of a function is
// the best, and of functions one that others may call; the worst are the marks
// that linker scripts put around groups of functions.
func (k *KernelTable) add(address uint64, kind byte, name string) {
	name, _, _ = strings.Cut(name, "\t") // the module follows a tab
	s := kernelSymbol{address, name, 0}
	switch {
	case !strings.ContainsRune("tTwW", rune(kind)):
		s.name, s.rank = "", 3
	case isMark(name):
		s.rank = 2
	case kind == 't':
		s.rank = 1
	}
	k.list = append(k.list, s)
}

func isMark(name string) bool {
	for _, suffix := range []string{"_start", "_end", "_begin", "_stext", "_text", "_etext"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "__start_") || strings.HasPrefix(name, "__stop_")
}

// Lookup returns the name of the kernel's function at this address, "" if
// unknown.
func (k *KernelTable) Lookup(addr uint64) string {
	if k.cache != nil {
		return k.cache.lookup(addr)
	}
	i, found := slices.BinarySearchFunc(k.list, addr, func(s kernelSymbol, a uint64) int { return cmp.Compare(s.address, a) })
	if !found {
		i--
	}
	if i < 0 || addr-k.list[i].address > maxKernelFunction {
		return ""
	}
	return k.list[i].name
}
