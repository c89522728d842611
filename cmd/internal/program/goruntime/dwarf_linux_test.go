package goruntime

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"os"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// reference finds the places of a program with package debug/dwarf.
func reference(t *testing.T, path string) map[string]place {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	types := make(map[string]dwarf.Type)
	for r := info.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if off, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok && e.Tag == dwarf.TagVariable &&
			(name == "runtime.memstats" || name == "runtime.gcController") {
			if types[name], err = info.Type(off); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := make(map[string]place)
	for _, s := range symbols {
		if typ := types[s.Name]; typ != nil {
			collectFields(out, s.Name, plainType(typ), s.Value)
		}
	}
	return out
}

func plainType(t dwarf.Type) dwarf.Type {
	for {
		d, ok := t.(*dwarf.TypedefType)
		if !ok {
			return t
		}
		t = d.Type
	}
}

func collectFields(out map[string]place, name string, t dwarf.Type, at uint64) {
	for _, f := range t.(*dwarf.StructType).Field {
		where := at + uint64(f.ByteOffset)
		switch ft := plainType(f.Type).(type) {
		case *dwarf.IntType, *dwarf.UintType:
			out[name+"."+f.Name] = place{where, int(ft.Size())}
		case *dwarf.StructType:
			for _, inner := range ft.Field {
				switch it := plainType(inner.Type).(type) {
				case *dwarf.IntType, *dwarf.UintType:
					if inner.Name == "value" {
						out[name+"."+f.Name] = place{where + uint64(inner.ByteOffset), int(it.Size())}
					}
				}
			}
		}
	}
}

// TestLayoutAgreesWithDebugDwarf compares what is read of programs of several
// versions, processors and linkers with what package debug/dwarf makes of them.
func TestLayoutAgreesWithDebugDwarf(t *testing.T) {
	testenv.Long(t)
	source, err := os.ReadFile("testdata/prog/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  []string
		args []string
	}{
		{"plain", nil, nil},
		{"not compressed", nil, []string{"-ldflags=-compressdwarf=false"}},
		{"386", []string{"GOARCH=386"}, nil},
		{"arm64", []string{"GOARCH=arm64"}, nil},
		{"s390x", []string{"GOARCH=s390x"}, nil},
		{"system linker", []string{"CGO_ENABLED=1"}, []string{"-ldflags=-linkmode=external"}},
		// Go 1.18 still has sections that begin with "ZLIB". The index of packages of Go
		// 1.19 does not work in the module cache.
		{"go1.18.10", []string{"GOTOOLCHAIN=go1.18.10"}, nil},
		{"go1.19.13", []string{"GOTOOLCHAIN=go1.19.13", "GODEBUG=goindex=0"}, nil},
		{"go1.22.12", []string{"GOTOOLCHAIN=go1.22.12"}, nil},
		{"go1.27.4", []string{"GOTOOLCHAIN=go1.27.4"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "plain" && c.name != "go1.27.4" {
				testenv.FullOnly(t)
			}
			path, err := testenv.Build{Source: testenv.Module(string(source)), Args: c.args,
				Env: append([]string{"CGO_ENABLED=0"}, c.env...)}.Try(t)
			if err != nil {
				testenv.Missing(t, "%v", err)
			}
			want := reference(t, path)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			l, err := ReadLayout(f, info.Size())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range variables {
				for _, field := range v.fields {
					name := v.name + "." + field.name
					if got := *field.in(l); got != want[name] || got.size == 0 && c.name != "go1.18.10" {
						t.Errorf("%s: got %+v, want %+v", name, got, want[name])
					}
				}
			}
		})
	}
}

// units makes .debug_info of so many units that each have a table of abbreviations of
// their own, as far as the two have room.
func units(n, abbrevs int) []byte {
	var out []byte
	for i := range n {
		out = binary.LittleEndian.AppendUint32(out, 7+9)
		out = binary.LittleEndian.AppendUint16(out, 4)
		out = binary.LittleEndian.AppendUint32(out, uint32(i%abbrevs))
		out = append(out, 8)
		out = append(out, "runtime\x00\x01"...)
	}
	return out
}

// TestManyUnits is about .debug_info that consists of headers, each with another table
// of abbreviations: a table for each would be terabytes.
func TestManyUnits(t *testing.T) {
	abbrev := make([]byte, 64<<10)
	for i := range abbrev {
		abbrev[i] = byte(1 + i%100)
	}
	d := newDebugInfo(binary.LittleEndian, units(1<<20, len(abbrev)), abbrev)
	if len(d.units) > 1<<18 {
		t.Errorf("%d units are kept", len(d.units))
	}
	if got := d.variables("runtime.memstats"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestEndlessTypes is about types that lead to themselves, and entries that lie within
// each other as deep as the section is long.
func TestEndlessTypes(t *testing.T) {
	abbrev := []byte{
		1, tagTypedef, 0, attrType, formRef4, 0, 0,
		2, tagStruct, 1, 0, 0,
		3, tagMember, 0, attrName, formString, attrType, formRef4, 0, 0,
		4, tagStruct, 1, 0, 0,
		0,
	}
	body := []byte{1}                       // at 11: a name for itself
	body = append(body, 11, 0, 0, 0, 2)     // at 16: a struct
	body = append(body, "\x03value\x00"...) // whose value is the struct
	body = append(body, 16, 0, 0, 0, 0)
	for range 1 << 20 {
		body = append(body, 4)
	}
	data := binary.LittleEndian.AppendUint32(nil, uint32(7+len(body)))
	data = append(data, 4, 0, 0, 0, 0, 0, 8)
	d := newDebugInfo(binary.LittleEndian, append(data, body...), abbrev)
	if len(d.units) != 1 || d.units[0].entries != 11 {
		t.Fatalf("%+v", d.units)
	}
	for _, typ := range []uint64{11, 16, 32, 1 << 40} {
		if p, ok := d.number(typ, "value"); ok {
			t.Errorf("%d: %+v", typ, p)
		}
	}
	deep := 0
	d.walk(d.units[0], 32, func(depth int, _ *entry) bool { deep = max(deep, depth); return true })
	if deep < 1<<19 {
		t.Errorf("the test does not test: %d deep", deep)
	}
}

func FuzzDebugInfo(f *testing.F) {
	f.Add(units(3, 3), []byte{1, 0x11, 1, attrName, formString, 0, 0, 0}, uint64(11))
	f.Fuzz(func(t *testing.T, data, abbrev []byte, typ uint64) {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			d := newDebugInfo(order, data, abbrev)
			types := d.variables("runtime.memstats", "a")
			types["x"] = typ
			for _, at := range types {
				_, _ = d.number(at, "numgc")
				_, _ = d.number(at, "a")
			}
		}
	})
}
