package node

import (
	"errors"
	"io/fs"
	"os"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// fileID tells the files of programs apart. A file that takes over the number of one that
// was removed has another time of change.
type fileID struct {
	dev, ino uint64
	changed  int64
	size     int64
}

// mostPrograms bounds what is remembered.
const mostPrograms = 1024

// programs remembers which files are programs of Go.
type programs struct {
	known map[fileID]*program
	clock uint64
}

type program struct {
	build executable.Build
	isGo  bool
	used  uint64
}

// look reads what the program of a process says about itself.
func (p *programs) look(path string) (id fileID, found *program, err error) {
	id, err = statProgram(path)
	if err != nil {
		return fileID{}, nil, err
	}
	p.clock++
	if found = p.known[id]; found == nil {
		found = &program{}
		found.build, err = goruntime.ReadBuild(path)
		switch {
		case err == nil:
			found.isGo = true
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			return id, nil, err
		}
		p.add(id, found)
	}
	found.used = p.clock
	return id, found, nil
}

func (p *programs) add(id fileID, one *program) {
	if p.known == nil {
		p.known = make(map[fileID]*program)
	}
	if len(p.known) >= mostPrograms {
		var oldest fileID
		least := p.clock
		for id, o := range p.known {
			if o.used < least {
				oldest, least = id, o.used
			}
		}
		delete(p.known, oldest)
	}
	p.known[id] = one
}

func statProgram(path string) (fileID, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}, err
	}
	return idOf(info), nil
}
