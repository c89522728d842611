package executable

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"runtime/debug"
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// The form of the build information, as linkers write it since Go 1.18: 16 bytes of
// which the first are the magic and the last has flags, 16 more that are not used, then
// the version and the modules, each with its length before it. What is of the modules
// stands between two marks of 16 bytes.
const (
	buildMagic  = "\xff Go buildinf:"
	buildAlign  = 16
	buildHeader = 32
	buildMark   = 16
	flagInline  = 2
)

// bareBuild reads the build information of a program without section headers. Package
// debug/buildinfo finds it in the first segment that can be written to, up to Go 1.26;
// since 1.27 it goes by sections alone.
func bareBuild(f *elf.File) (Build, error) {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&(elf.PF_X|elf.PF_W) != elf.PF_W {
			continue
		}
		at, ok := findBuild(p)
		if !ok {
			break
		}
		data := make([]byte, min(p.Filesz-at, input.MaxBuild))
		if _, err := p.ReadAt(data, int64(at)); err != nil {
			break
		}
		return parseBuild(data)
	}
	return Build{}, ErrNotGo
}

// findBuild returns where in a segment the build information begins.
func findBuild(p *elf.Prog) (at uint64, ok bool) {
	chunk := make([]byte, 1<<20)
	for from := uint64(0); from < min(p.Filesz, input.MaxBuildSearch); from += uint64(len(chunk)) {
		n, _ := p.ReadAt(chunk, int64(from)) // what is there of it
		for i := 0; i+buildHeader <= n; i += buildAlign {
			if bytes.HasPrefix(chunk[i:n], []byte(buildMagic)) {
				return from + uint64(i), true
			}
		}
		if n < len(chunk) {
			break
		}
	}
	return 0, false
}

func parseBuild(data []byte) (Build, error) {
	if len(data) < buildHeader || data[buildAlign-1]&flagInline == 0 {
		return Build{}, ErrNotGo
	}
	version, rest, ok := text(data[buildHeader:])
	if !ok || version == "" || len(version) > input.MaxVersion {
		return Build{}, ErrNotGo
	}
	b := Build{GoVersion: strings.Clone(version)}
	if modules, _, ok := text(rest); ok && len(modules) > 2*buildMark {
		if info, err := debug.ParseBuildInfo(modules[buildMark : len(modules)-buildMark]); err == nil {
			b.Module = strings.Clone(cut(info.Main.Path))
			for _, s := range info.Settings {
				if s.Key == "-buildmode" {
					b.Mode = strings.Clone(cut(s.Value))
				}
			}
		}
	}
	return b, nil
}

// text returns a string with its length before it, and what follows.
func text(data []byte) (s string, rest []byte, ok bool) {
	n, size := binary.Uvarint(data)
	if size <= 0 || n > uint64(len(data)-size) {
		return "", nil, false
	}
	return string(data[size:][:n]), data[size:][n:], true
}
