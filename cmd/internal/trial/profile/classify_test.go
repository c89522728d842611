package profile

import (
	"strings"
	"testing"
)

// user makes frames of names, innermost first. Those of the runtime come from
// the runtime, others from the program; "C:" is code that is not Go's, "?" is
// unknown.
func user(names ...string) []frame {
	var stack []frame
	for _, n := range names {
		f := frame{name: n, file: "/home/me/x.go", line: 1, origin: fromGo}
		switch pkg := packagePath(n); {
		case n == "?":
			f = frame{}
		case n == "[vdso]":
			f = frame{name: n, origin: fromKernelPage}
		case n == "broken":
			f = frame{origin: fromBroken}
		case strings.HasPrefix(n, "C:"):
			f = frame{name: n[2:], origin: fromNative}
		case pkg == "" || isRuntime(pkg):
			f.file = "/usr/local/go/src/runtime/x.go"
		}
		stack = append(stack, f)
	}
	return stack
}

func TestClassify(t *testing.T) {
	fault := []string{"clear_page_erms", "handle_mm_fault", "exc_page_fault", "asm_exc_page_fault"}
	call := []string{"futex_wake", "__x64_sys_futex", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"}
	interrupt := []string{"irqentry_exit_to_user_mode", "asm_sysvec_reschedule_ipi"}
	goroutine := []string{"main.work", "main.main", "runtime.main", "runtime.goexit"}
	below := func(names ...string) []frame { return user(append(names, goroutine...)...) }
	worker := func(names ...string) []frame {
		return user(append(names, "runtime.gcDrain", "runtime.gcBgMarkWorker.func2", "runtime.systemstack",
			"runtime.gcBgMarkWorker", "runtime.goexit")...)
	}
	for _, c := range []struct {
		name   string
		kernel []string // of a sample in the kernel
		user   []frame
		want   Class
	}{
		{"own work", nil, below(), Program},
		{"own work in a worker's name", nil, user("main.gcDrain", "runtime.goexit"), Program},
		{"copying", nil, below("runtime.memmove"), Program},
		{"copying of a growing slice", nil, below("runtime.memmove", "runtime.growslice"), Growth},
		{"allocating for a growing slice", nil, below("runtime.mallocgc", "runtime.growslice"), Growth},
		{"growing through reflection", nil, below("runtime.memmove", "runtime.growslice", "reflect.growslice", "reflect.Value.Grow"), Growth},
		{"zeroing", nil, below("runtime.memclrNoHeapPointers", "runtime.mallocgcSmallScanNoHeaderSC3"), Zeroing},
		{"zeroing in pieces", nil, below("runtime.memclrNoHeapPointers", "runtime.memclrNoHeapPointersChunked",
			"runtime.mallocgcLarge", "runtime.mallocgc", "runtime.makeslice"), Zeroing},
		{"clearing", nil, below("runtime.memclrNoHeapPointers"), Program},
		{"clearing in marking", nil, worker("runtime.memclrNoHeapPointers"), GCMark},
		{"allocating", nil, below("runtime.nextFreeFast", "runtime.mallocgcSmallNoscan", "runtime.mallocgc", "runtime.newobject"), Allocation},
		{"allocating in a standard package", nil, below("runtime.mallocgc", "runtime.newobject", "bytes.NewBuffer"), Allocation},
		{"allocating a string", nil, below("runtime.mallocgc", "runtime.rawstring", "runtime.concatstrings"), Allocation},
		{"making a string", nil, below("runtime.memmove", "runtime.concatstrings", "runtime.concatstring2"), Program},
		{"sweeping to allocate", nil, below("runtime.(*sweepLocked).sweep", "runtime.(*mcentral).cacheSpan",
			"runtime.(*mcache).refill", "runtime.mallocgc"), GCSweep},
		{"assisting to allocate", nil, below("runtime.scanobject", "runtime.gcDrainN", "runtime.gcAssistAlloc1",
			"runtime.gcAssistAlloc.func2", "runtime.systemstack", "runtime.gcAssistAlloc", "runtime.mallocgc"), GCAssist},
		{"marking", nil, worker("runtime.greyobject", "runtime.scanobject"), GCMark},
		{"marking packed spans", nil, worker("internal/runtime/gc/scan.scanSpanPackedAVX512", "runtime.scanSpan"), GCMark},
		{"scanning a stack", nil, worker("runtime.pcvalue", "runtime.scanframeworker", "runtime.scanstack"), GCMark},
		{"shrinking a stack", nil, worker("runtime.memmove", "runtime.copystack", "runtime.shrinkstack", "runtime.scanstack"), GCMark},
		{"a mark worker gives up its processor", nil,
			user("runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall", "runtime.gopark",
				"runtime.gcBgMarkWorker", "runtime.goexit"), Scheduler},
		{"starting a collection to allocate", nil,
			below("runtime.preemptall", "runtime.stopTheWorldWithSema", "runtime.gcStart.func2", "runtime.systemstack",
				"runtime.gcStart", "runtime.mallocgc"), GCMark},
		{"write barrier", nil, below("runtime.gcWriteBarrier2"), WriteBarrier},
		{"flushing the write barrier", nil, below("runtime.findObject", "runtime.wbBufFlush1",
			"runtime.wbBufFlush.func1", "runtime.systemstack", "runtime.wbBufFlush"), WriteBarrier},
		{"write barrier of a copy", nil, below("runtime.bulkBarrierPreWrite", "runtime.typedslicecopy"), WriteBarrier},
		{"returning memory to the OS", nil, user("runtime.madvise", "runtime.sysUnusedOS",
			"runtime.(*pageAlloc).scavengeOne", "runtime.(*pageAlloc).scavenge", "runtime.bgscavenge", "runtime.goexit"), GCSweep},
		{"growing a map", nil, below("internal/runtime/maps.(*table).uncheckedPutSlot",
			"internal/runtime/maps.(*table).grow", "internal/runtime/maps.(*table).rehash", "runtime.mapassign_fast64"), Growth},
		{"growing a map before Go 1.24", nil, below("runtime.evacuate_fast64", "runtime.growWork_fast64", "runtime.mapassign_fast64"), Growth},
		{"writing to a map", nil, below("internal/runtime/maps.ctrlGroup.matchH2", "runtime.mapassign_fast64"), Program},
		{"growing a stack", nil, below("runtime.adjustframe", "runtime.copystack", "runtime.newstack", "runtime.morestack"), Growth},
		{"being preempted", nil, user("runtime.schedule", "runtime.gopreempt_m", "runtime.newstack", "runtime.morestack"), Scheduler},
		{"sending", nil, below("runtime.lock2", "runtime.chansend", "runtime.chansend1"), Scheduler},
		{"waiting for a mutex", nil, below("runtime.procyield", "sync.runtime_doSpin", "sync.(*Mutex).lockSlow"), Scheduler},
		{"entering a system call", nil, below("runtime.reentersyscall", "runtime.entersyscall", "syscall.Syscall",
			"syscall.read", "os.(*File).Read"), Syscalls},
		{"asking for the time", nil, below("[vdso]", "runtime.nanotime1", "runtime.nanotime", "time.Now"), Program},
		{"profiling itself", nil, worker("runtime.sigprof", "runtime.sighandler"), Program},
		{"C", nil, user("C:malloc", "C:work", "runtime.asmcgocall", "main.work"), Program},
		{"generated code", nil, user("?", "?"), Unnamed},
		{"a file that cannot be read", nil, user("broken", "broken"), Unnamed},
		{"no stack", nil, nil, Unnamed},
		{"assembly of another package", nil, user("crypto/internal/fips140/sha256.blockAVX2", "main.main"), Program},
		{"what the runtime may do one day", nil, below("runtime.notYetThere"), Other},

		{"fault", fault, below(), PageFaults},
		{"fault while zeroing", fault, below("runtime.memclrNoHeapPointers", "runtime.mallocgcLarge", "runtime.mallocgc"), PageFaults},
		{"fault in a system call", append(append([]string{}, fault...), call...), below("syscall.Syscall"), PageFaults},
		{"system call", call, below("internal/runtime/syscall/linux.Syscall6", "syscall.RawSyscall6", "syscall.Syscall",
			"syscall.write", "os.(*File).Write"), Syscalls},
		{"system call of C", call, user("C:write"), Syscalls},
		{"lock", call, below("runtime.futex", "runtime.futexsleep", "runtime.lock2", "runtime.chansend"), Scheduler},
		{"memory from the kernel", call, below("runtime.sysMmap", "runtime.sysMapOS", "runtime.(*mheap).grow", "runtime.mallocgc"), Allocation},
		{"interrupt", interrupt, below("runtime.mallocgc"), Kernel},

		{"fault, hidden", []string{}, below("runtime.memclrNoHeapPointers", "runtime.mallocgc"), PageFaults},
		{"fault of the program, hidden", []string{}, below(), PageFaults},
		{"system call, hidden", []string{}, below("internal/runtime/syscall.Syscall6", "syscall.Syscall"), Syscalls},
		{"lock, hidden", []string{}, below("runtime.futex", "runtime.futexsleep", "runtime.lock2"), Scheduler},
		{"C, hidden", []string{}, user("C:write"), Kernel},
		{"nothing known, hidden", []string{}, nil, Kernel},
	} {
		got := classify(kernelSide{in: c.kernel != nil, named: len(c.kernel) > 0, rules: table.all(c.kernel)}, each(c.user))
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func each(user []frame) frames {
	return func(yield func(*frame) bool) {
		for i := range user {
			if !yield(&user[i]) {
				return
			}
		}
	}
}

func TestSite(t *testing.T) {
	std := func(name, file string) frame { return frame{name: name, file: file, origin: fromGo} }
	for _, c := range []struct {
		name  string
		stack []frame
		want  string
	}{
		{"own code", user("runtime.mallocgc", "main.work", "main.main"), "main.work"},
		{"a module", user("runtime.mallocgc", "example.com/a/b.(*T).Work", "main.main"), "example.com/a/b.(*T).Work"},
		{"generic", user("runtime.mallocgc", "example.com/a.F[...]", "main.main"), "example.com/a.F[...]"},
		{"below the standard library", append(append(user("runtime.growslice"),
			std("bytes.growSlice", "/usr/local/go/src/bytes/buffer.go"),
			std("bytes.(*Buffer).Write", "/usr/local/go/src/bytes/buffer.go")), user("main.work")...), "main.work"},
		{"a package that has the name of a standard one", user("runtime.mallocgc", "log/own.F", "main.main"), "log/own.F"},
		{"a program of Go itself", append(user("runtime.mallocgc"),
			std("cmd/compile/internal/ssa.F", "/usr/local/go/src/cmd/compile/internal/ssa/x.go")), "cmd/compile/internal/ssa.F"},
		{"only the standard library", append(append(user("runtime.mallocgc"), std("bufio.NewReader", "bufio/bufio.go"),
			std("net/http.(*conn).serve", "net/http/server.go")), user("runtime.goexit")...), "bufio.NewReader"},
		{"a name that the runtime gave", append(append(user("runtime.mallocgc"),
			std("internal/runtime/maps.newarray", "/usr/local/go/src/runtime/malloc.go"),
			std("runtime.mapassign", "/usr/local/go/src/internal/runtime/maps/runtime.go")), user("main.work")...), "main.work"},
		{"a worker", user("runtime.greyobject", "runtime.gcBgMarkWorker", "runtime.goexit"), ""},
		{"C", user("C:malloc", "main._Cfunc_work", "main.main"), "main._Cfunc_work"},
	} {
		got := ""
		if f := site(each(c.stack)); f != nil {
			got = f.name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPackagePath(t *testing.T) {
	for name, want := range map[string]string{
		"main.main": "main", "runtime.(*mheap).alloc": "runtime", "internal/runtime/maps.(*Map).Put": "internal/runtime/maps",
		"example.com/a.b/c.F.func1": "example.com/a.b/c", "a/b.F[go.shape.struct { c/d.x }]": "a/b", "memeqbody": "",
		"type:.eq.main.T": "", "": "",
		"golang.org/x/sys/unix.Syscall": "golang.org/x/sys/unix",
	} {
		if got := packagePath(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestRulesAreWellFormed(t *testing.T) {
	known := make(map[Class]bool)
	for _, c := range Classes {
		known[c.Class] = true
	}
	for i, r := range rules {
		if !known[r.class] {
			t.Errorf("rule %d: class %q is not in Classes", i, r.class)
		}
		seen := make(map[string]bool)
		for _, n := range r.names {
			// Only a star at the end means something; others are receivers.
			if inner := strings.TrimSuffix(n, "*"); strings.Contains(strings.ReplaceAll(inner, "(*", ""), "*") || inner == "" || seen[n] {
				t.Errorf("rule %d (%s): pattern %q", i, r.class, n)
			}
			seen[n] = true
		}
	}
}
