package perf

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"
)

// record builds a record. Strings become their bytes and zeros up to 8 bytes,
// other values take their size.
func record(kind uint32, misc uint16, values ...any) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = append(b, 0, 0)
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b = append(b, v...)
			b = append(b, make([]byte, 8-len(v)%8)...)
		case uint32:
			b = binary.NativeEndian.AppendUint32(b, v)
		case int:
			b = binary.NativeEndian.AppendUint64(b, uint64(v))
		case uint64:
			b = binary.NativeEndian.AppendUint64(b, v)
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	binary.NativeEndian.PutUint16(b[6:], uint16(len(b)))
	return b
}

func u(v int) uint32 { return uint32(int32(v)) }

// trailer is what all but samples end with.
func trailer(time any) []any { return []any{u(7), u(8), time, u(1), u(0), 100} }

func ended(kind uint32, misc uint16, time any, values ...any) []byte {
	return record(kind, misc, append(values, trailer(time)...)...)
}

const cpuID, faultID = 100, 101

// cpuSample and faultSample build samples up to the call chain.
func cpuSample(time int, chain ...any) []any {
	return append([]any{cpuID, 0x1111, u(7), u(8), time, 0, u(1), u(0), 1003009, len(chain)}, chain...)
}

func faultSample(time int, chain ...any) []any {
	return append([]any{faultID, 0x1111, u(7), u(8), time, 0xdead000, u(1), u(0), len(chain)}, chain...)
}

func newDecoder(l layout) *decoder {
	return &decoder{layout: l, kinds: map[uint64]Kind{cpuID: CPU, faultID: Fault}, threads: map[int]map[int]bool{}}
}

// story tells what a handler was told.
func story(told *[]string) *Handler {
	add := func(format string, args ...any) { *told = append(*told, fmt.Sprintf(format, args...)) }
	return &Handler{
		Sample: func(s *Sample) {
			add("%v %d/%d cpu%d t=%d period=%d addr=%x kernel=%v %x %x ret=%x", s.Kind, s.PID, s.TID, s.CPU, s.Time,
				s.Period, s.Addr, s.InKernel, s.Kernel, s.User, s.Return)
		},
		Mmap: func(m *Mapping) { add("mmap %+v", *m) },
		Exec: func(pid int, comm string) { add("exec %d %s", pid, comm) },
		Fork: func(pid, parent int) { add("fork %d %d", pid, parent) },
		Exit: func(pid int) { add("exit %d", pid) },
	}
}

func TestDecode(t *testing.T) {
	stack, regs := layout{stack: true}, layout{regs: 1}
	for _, c := range []struct {
		name   string
		layout layout
		recs   [][]byte
		want   []string
	}{
		{name: "user", recs: [][]byte{record(recordSample, 2, cpuSample(5, contextUser, 0x10, 0x20)...)},
			want: []string{"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=false [] [10 20] ret=0"}},
		{name: "kernel and user", recs: [][]byte{record(recordSample, 1, cpuSample(5, contextKernel, 0x90, 0xa0, contextUser, 0x10)...)},
			want: []string{"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=true [90 a0] [10] ret=0"}},
		{name: "unknown and guest markers hide what follows them",
			recs: [][]byte{record(recordSample, 1,
				cpuSample(5, contextKernel, 0x90, ^uint64(0x880)+1, 0x11, ^uint64(640)+1, 0x12, contextUser, 0x10)...)},
			want: []string{"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=true [90] [10] ret=0"}},
		{name: "no chain", recs: [][]byte{record(recordSample, 2, cpuSample(5)...), record(recordSample, 1, cpuSample(6)...)},
			want: []string{"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=false [] [1111] ret=0",
				"cpu 7/8 cpu1 t=6 period=1003009 addr=0 kernel=true [1111] [] ret=0"}},
		{name: "fault", recs: [][]byte{record(recordSample, 2, faultSample(5, contextUser, 0x10)...)},
			want: []string{"fault 7/8 cpu1 t=5 period=31 addr=dead000 kernel=false [] [10] ret=0"}},
		{name: "top of the stack", layout: stack, recs: [][]byte{
			record(recordSample, 2, append(cpuSample(5, contextUser, 0x10), 8, 0x77, 8)...),
			record(recordSample, 2, append(cpuSample(6, contextUser, 0x10), 16, 0x78, 0, 8)...),
			record(recordSample, 2, append(cpuSample(7, contextUser, 0x10), 8, 0x79, 0)...), // unreadable
			record(recordSample, 1, append(cpuSample(8, contextKernel, 0x10), 0)...),
		}, want: []string{
			"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=false [] [10] ret=77",
			"cpu 7/8 cpu1 t=6 period=1003009 addr=0 kernel=false [] [10] ret=78",
			"cpu 7/8 cpu1 t=7 period=1003009 addr=0 kernel=false [] [10] ret=0",
			"cpu 7/8 cpu1 t=8 period=1003009 addr=0 kernel=true [10] [] ret=0",
		}},
		{name: "link register", layout: regs, recs: [][]byte{
			record(recordSample, 2, append(cpuSample(5, contextUser, 0x10), 2, 0x77)...),
			record(recordSample, 1, append(cpuSample(6, contextKernel, 0x10), 0)...),
		}, want: []string{
			"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=false [] [10] ret=77",
			"cpu 7/8 cpu1 t=6 period=1003009 addr=0 kernel=true [10] [] ret=0",
		}},
		{name: "mappings", recs: [][]byte{
			ended(recordMmap2, 2, 5, u(7), u(8), 0x1000, 0x2000, 0x3000, u(254), u(1), 42, 0, u(5), u(2), "/bin/true"),
			ended(recordMmap2, 2, 6, u(7), u(8), 0x1000, 0x2000, 0, u(0), u(0), 0, 0, u(7), u(2), "//anon"),
			ended(recordMmap2, 2, 7, u(7), u(8), 0x1000, 0x2000, 0, u(0), u(0), 0, 0, u(1), u(2), "/lib/12345678"),
			ended(recordMmap, 2, 8, u(7), u(8), 0x1000, 0x2000, 0x3000, "[vdso]"),
		}, want: []string{
			"mmap {PID:7 Addr:4096 Len:8192 Offset:12288 Path:/bin/true Exec:true Major:254 Minor:1 Inode:42}",
			"mmap {PID:7 Addr:4096 Len:8192 Offset:0 Path: Exec:true Major:0 Minor:0 Inode:0}",
			"mmap {PID:7 Addr:4096 Len:8192 Offset:0 Path:/lib/12345678 Exec:false Major:0 Minor:0 Inode:0}",
			"mmap {PID:7 Addr:4096 Len:8192 Offset:12288 Path:[vdso] Exec:true Major:0 Minor:0 Inode:0}",
		}},
		{name: "a process, its threads, and a new name", recs: [][]byte{
			ended(recordFork, 0, 1, u(20), u(7), u(20), u(8), 1),
			ended(recordComm, miscCommExec, 2, u(20), u(20), "sleep"),
			ended(recordFork, 0, 3, u(20), u(20), u(21), u(20), 3),
			ended(recordComm, 0, 4, u(20), u(21), "worker"),
			ended(recordExit, 0, 5, u(20), u(7), u(20), u(7), 5),
			ended(recordExit, 0, 6, u(20), u(7), u(21), u(7), 6),
		}, want: []string{"fork 20 7", "exec 20 sleep", "exit 20"}},
		{name: "an exec ends the other threads", recs: [][]byte{
			ended(recordFork, 0, 1, u(20), u(7), u(20), u(8), 1),
			ended(recordFork, 0, 1, u(20), u(20), u(21), u(20), 1),
			ended(recordComm, miscCommExec, 2, u(20), u(20), "sleep"),
			ended(recordExit, 0, 5, u(20), u(7), u(20), u(7), 5),
		}, want: []string{"fork 20 7", "exec 20 sleep", "exit 20"}},
		{name: "with records lost the first thread stands for the process", recs: [][]byte{
			ended(recordFork, 0, 1, u(20), u(7), u(20), u(8), 1),
			ended(recordFork, 0, 1, u(20), u(20), u(21), u(20), 1),
			ended(recordLost, 0, 2, cpuID, 3),
			ended(recordExit, 0, 5, u(20), u(7), u(20), u(7), 5),
			ended(recordExit, 0, 6, u(20), u(7), u(21), u(7), 6),
			ended(recordExit, 0, 6, u(30), u(7), u(30), u(7), 6),
			ended(recordExit, 0, 6, u(40), u(7), u(41), u(7), 6),
		}, want: []string{"fork 20 7", "exit 20", "exit 30"}},
	} {
		var told []string
		d := newDecoder(c.layout)
		for _, rec := range c.recs {
			if _, _, size := split(rec); size != len(rec) {
				t.Fatalf("%s: size %d of a record of %d bytes", c.name, size, len(rec))
			}
			d.decode(rec, story(&told))
		}
		if !reflect.DeepEqual(told, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, told, c.want)
		}
		if d.corrupt != 0 {
			t.Errorf("%s: %d sound records count as corrupt", c.name, d.corrupt)
		}
		silent := newDecoder(c.layout)
		for _, rec := range c.recs {
			silent.decode(rec, &Handler{}) // nobody needs to listen
		}
	}
}

func TestDecodeCounts(t *testing.T) {
	d := newDecoder(layout{})
	var told []string
	h := story(&told)
	for _, rec := range [][]byte{
		ended(recordLost, 0, 1, cpuID, 3),
		ended(recordLostSamples, 0, 1, 4),
		ended(recordThrottle, 0, 1, 1, cpuID, cpuID),
		ended(recordLost, 0, 1, cpuID, ^uint64(0)),                 // nonsense
		record(recordSample, 2, cpuSample(5, contextUser)[:10]...), // a chain that is cut off
		ended(recordComm, miscCommExec, 1),                         // no process
		ended(99, 0, 1),                                            // something newer
	} {
		d.decode(rec, h)
	}
	unknown := cpuSample(5, contextUser, 0x10)
	unknown[0] = 999
	d.decode(record(recordSample, 2, unknown...), h)
	if d.lost != 7 || d.throttled != 1 || d.corrupt != 4 || len(told) != 0 {
		t.Errorf("lost %d, throttled %d, corrupt %d, told %q: want 7, 1, 4, nothing", d.lost, d.throttled, d.corrupt, told)
	}
}

// A thread that has its events twice, as those may that started while their
// process was attached to, is told of once.
func TestDecodeTwice(t *testing.T) {
	d := newDecoder(layout{})
	d.kinds[200] = CPU
	d.owners = map[owner]uint64{}
	var told []string
	h := story(&told)
	second := func(s []any) []byte {
		s[0] = 200
		return record(recordSample, 2, s...)
	}
	for _, rec := range [][]byte{
		ended(recordFork, 0, 1, u(20), u(7), u(20), u(8), 1),
		ended(recordFork, 0, 1, u(20), u(7), u(20), u(8), 2),
		ended(recordFork, 0, 1, u(20), u(20), u(21), u(20), 1),
		record(recordSample, 2, cpuSample(5, contextUser, 0x10)...),
		second(cpuSample(6, contextUser, 0x10)),
		record(recordSample, 2, faultSample(7, contextUser, 0x10)...),
		ended(recordExit, 0, 8, u(7), u(1), u(8), u(1), 8),
		second(cpuSample(9, contextUser, 0x10)), // another thread by that number
		ended(recordExit, 0, 10, u(20), u(7), u(20), u(7), 5),
		ended(recordExit, 0, 10, u(20), u(7), u(20), u(7), 5),
		ended(recordExit, 0, 11, u(20), u(7), u(21), u(7), 6),
		ended(recordExit, 0, 11, u(20), u(7), u(21), u(7), 6),
	} {
		d.decode(rec, h)
	}
	want := []string{
		"fork 20 7",
		"cpu 7/8 cpu1 t=5 period=1003009 addr=0 kernel=false [] [10] ret=0",
		"fault 7/8 cpu1 t=7 period=31 addr=dead000 kernel=false [] [10] ret=0",
		"cpu 7/8 cpu1 t=9 period=1003009 addr=0 kernel=false [] [10] ret=0",
		"exit 20",
	}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("\n got %q\nwant %q", told, want)
	}
}

func TestSplit(t *testing.T) {
	sample := record(recordSample, 2, cpuSample(55, contextUser, 0x10)...)
	comm := ended(recordComm, 0, 66, u(7), u(8), "sh")
	if kind, time, size := split(append(sample, comm...)); kind != recordSample || time != 55 || size != len(sample) {
		t.Errorf("sample: kind %d, time %d, size %d", kind, time, size)
	}
	if kind, time, size := split(comm); kind != recordComm || time != 66 || size != len(comm) {
		t.Errorf("comm: kind %d, time %d, size %d", kind, time, size)
	}
	for n := range len(comm) {
		if _, _, size := split(comm[:n]); size != 0 {
			t.Errorf("the first %d bytes are a record", n)
		}
	}
}

// FuzzDecode decodes what may be in a ring. The first byte is the layout.
func FuzzDecode(f *testing.F) {
	for _, b := range [][]byte{
		record(recordSample, 1, append(cpuSample(5, contextKernel, 0x90, contextUser, 0x10), 8, 0x77, 8)...),
		record(recordSample, 2, append(faultSample(5, contextUser, 0x10), 2, 0x77)...),
		ended(recordMmap2, 2, 5, u(7), u(8), 0x1000, 0x2000, 0x3000, u(254), u(1), 42, 0, u(5), u(2), "/bin/true"),
		ended(recordMmap, 2, 8, u(7), u(8), 0x1000, 0x2000, 0x3000, "[vdso]"),
		ended(recordComm, miscCommExec, 2, u(20), u(20), "sleep"),
		ended(recordFork, 0, 1, u(20), u(7), u(20), u(8), 1),
		ended(recordExit, 0, 5, u(20), u(7), u(20), u(7), 5),
		ended(recordLost, 0, 1, cpuID, 3),
		ended(recordLostSamples, 0, 1, 4),
		ended(recordThrottle, 0, 1, 1, cpuID, cpuID),
	} {
		for l := range 4 {
			f.Add(append([]byte{byte(l)}, b...))
			f.Add(append(append([]byte{byte(l)}, b...), b...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		d := newDecoder(layout{regs: int(b[0] & 1), stack: b[0]&2 != 0})
		told := 0
		h := &Handler{
			Sample: func(s *Sample) {
				told++
				if n := len(s.Kernel) + len(s.User); n > len(b)/8 {
					t.Errorf("a call chain of %d addresses from %d bytes", n, len(b))
				}
				for _, pc := range append(s.Kernel[:len(s.Kernel):len(s.Kernel)], s.User...) {
					if pc >= contextMax && len(s.Kernel)+len(s.User) > 1 {
						t.Errorf("the marker %#x is left in a call chain", pc)
					}
				}
			},
			Mmap: func(*Mapping) { told++ },
			Exec: func(int, string) { told++ },
			Fork: func(int, int) { told++ },
			Exit: func(int) { told++ },
		}
		records := 0
		for rest := b[1:]; ; records++ {
			_, _, size := split(rest)
			if size == 0 {
				break
			}
			d.decode(rest[:size], h)
			rest = rest[size:]
		}
		if told > records || d.corrupt > uint64(records) {
			t.Errorf("%d records: told %d, corrupt %d", records, told, d.corrupt)
		}
	})
}
