package profile

import "testing"

func TestClassOf(t *testing.T) {
	fault := []string{"clear_page_erms", "handle_mm_fault", "exc_page_fault", "asm_exc_page_fault"}
	call := []string{"futex_wake", "__x64_sys_futex", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"}
	names := func(n ...string) []string { return n }
	for _, c := range []struct {
		kernel, user []string
		want         Class
	}{
		{nil, names("main.work", "main.main"), Program},
		{nil, names("runtime.memmove", "main.work"), Program},
		{nil, names("runtime.memmove", "runtime.growslice", "main.work"), Growth},
		{nil, names("runtime.mallocgcTiny", "runtime.mallocgc", "strconv.Itoa", "main.work"), Allocation},
		{nil, names("main.work", "runtime.mallocgc"), Program}, // what stands above the program is not asked
		{nil, names("runtime.memclrNoHeapPointers", "runtime.mallocgc"), Zeroing},
		{nil, names("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"), GCMark},
		{nil, names("runtime.lock2", "time.runtimeNano", "main.work"), Scheduler},
		{nil, names("reflect.unsafe_New", "main.work"), Allocation},
		{nil, names("[vdso]", "runtime.nanotime1", "main.work"), Program},
		{nil, names("memeqbody", "main.work"), Program},
		{nil, names("runtime.notYetThere", "main.work"), Other},
		{nil, names("malloc", "main._Cfunc_work"), Program},
		{nil, names("", "main.work"), Unnamed},
		{nil, nil, Unnamed},
		{fault, names("runtime.memclrNoHeapPointers", "runtime.mallocgc"), PageFaults},
		{call, names("runtime.futex", "runtime.futexsleep", "runtime.lock2"), Scheduler},
		{call, names("internal/runtime/syscall/linux.Syscall6", "os.(*File).Read"), Syscalls},
		{names("asm_sysvec_reschedule_ipi"), names("main.work"), Kernel},
		{[]string{}, names("main.work"), PageFaults},
		{[]string{}, names("internal/runtime/syscall/linux.Syscall6"), Syscalls},
	} {
		if got := ClassOf(c.kernel, c.user); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.kernel, c.user, got, c.want)
		}
	}
}
