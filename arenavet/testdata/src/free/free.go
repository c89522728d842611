package free

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/foliomem/folio/arena"
)

type Node struct{ X int }

var sink *Node

func never() {
	a := arena.NewArena() // want `the arena is never freed`
	arena.New[Node](a).X++
}

func onError() error {
	a := arena.NewArena() // want `the arena is not freed on every return path: not at the return in line 25`
	n := arena.New[Node](a)
	if n.X == 0 {
		return errors.New("zero")
	}
	a.Free()
	return nil
}

func beforeDefer(err error) error {
	a := arena.NewArena() // want `not at the return in line 34`
	if err != nil {
		return err
	}
	defer a.Free()
	arena.New[Node](a).X++
	return nil
}

func deferred() {
	a := arena.NewArena()
	defer a.Free()
	arena.New[Node](a).X++
}

func deferredClosure() {
	a := arena.NewArena()
	defer func() {
		fmt.Println("done")
		a.Free()
	}()
	arena.New[Node](a).X++
}

func conditional(use bool) {
	var a *arena.Arena
	if use {
		a = arena.NewArena()
	}
	fmt.Println("work")
	if a != nil {
		a.Free()
	}
}

func flags(use bool) {
	a := arena.NewArena()
	freed := false
	if use {
		a.Free()
		freed = true
	}
	if !freed {
		a.Free()
	}
}

func fatal(err error) {
	a := arena.NewArena()
	if err != nil {
		log.Fatal(err)
	}
	if arena.New[Node](a).X > 0 {
		os.Exit(1)
	}
	if arena.New[Node](a).X > 0 {
		panic("x")
	}
	a.Free()
}

func returned() *arena.Arena {
	a := arena.NewArena()
	arena.New[Node](a).X++
	return a
}

type holder struct{ a *arena.Arena }

func kept() *holder { return &holder{a: arena.NewArena()} }

func (h *holder) set() { h.a = arena.NewArena() }

func (h *holder) Close() { h.a.Free() }

func passed(f func(*arena.Arena)) {
	a := arena.NewArena()
	f(a)
}

func freedBy() {
	a := arena.NewArena()
	arena.New[Node](a).X++
	end(a)
}

func end(a *arena.Arena) { a.Free() }

func fromOthers() {
	a := returned() // want `the arena is never freed`
	arena.New[Node](a).X++
}

func callsBuild() {
	a := arena.NewArena() // want `the arena is never freed`
	build(a)
}

func build(a *arena.Arena) int { return arena.New[Node](a).X }

func pooled(p *arena.Pool) {
	a := p.Get() // want `the arena is never freed`
	arena.New[Node](a).X++
}

func pooledWell(p *arena.Pool) {
	a := p.Get()
	defer p.Put(a)
	arena.New[Node](a).X++
}

func ofGoroutine() {
	a := arena.NewArena()
	go func() {
		defer a.Free()
		arena.New[Node](a).X++
	}()
}

type cleaner interface{ Cleanup(func()) }

func cleanup(t cleaner) {
	a := arena.NewArena()
	t.Cleanup(a.Free)
	arena.New[Node](a).X++
}

func cleanupClosure(t cleaner) {
	a := arena.NewArena()
	t.Cleanup(func() { a.Free() })
	arena.New[Node](a).X++
}

func twice() {
	a := arena.NewArena()
	a.Free()
	a.Free() // want `Free of an arena after Free in line 167: it panics`
}

func deferredToo(err error) error {
	a := arena.NewArena()
	defer a.Free() // want `the deferred Free comes after Free in line 175: it panics`
	arena.New[Node](a).X++
	a.Free()
	return err
}

func putTwice(p *arena.Pool) {
	a := p.Get()
	p.Put(a)
	a.Free() // want `Free of an arena after Put`
}

func onePath(err error) {
	a := arena.NewArena()
	if err != nil {
		a.Free()
	}
	a.Free() // want `Free of an arena after Free in line 188: it panics`
}

func closureOnce() {
	a := arena.NewArena()
	defer func() {
		if r := recover(); r != nil {
			a.Free()
		}
	}()
	arena.New[Node](a).X++
	a.Free()
}

func inLoop(n int) {
	for range n {
		a := arena.NewArena()
		arena.New[Node](a).X++
		a.Free()
	}
}

func keptInLoop(n int) {
	a := arena.NewArena()
	for i := range n {
		if i%100 == 0 {
			a.Free()
			a = arena.NewArena()
		}
		arena.New[Node](a).X++
	}
	a.Free()
}

func forever(c chan int) {
	a := arena.NewArena()
	for range c {
		arena.New[Node](a).X++
		a.Reset()
	}
	a.Free()
}

func onPurpose() {
	//arenavet:ignore the GC is being tested
	a := arena.NewArena()
	arena.New[Node](a).X++
	b := arena.NewArena() //arenavet:ignore
	arena.New[Node](b).X++
}

func fields(hs []holder) {
	for _, h := range hs {
		h.a.Free()
	}
}

// What leaves keeps its slab, and the arena cannot be freed here.
func outlived() *Node {
	a := arena.NewArena()
	return arena.New[Node](a)
}

func outlivedInside() []*Node {
	a := arena.NewArena()
	return append([]*Node{}, arena.New[Node](a))
}

func outlivedOutside() {
	a := arena.NewArena()
	sink = arena.New[Node](a)
}

func loopNever(n int) {
	for range n {
		a := arena.NewArena() // want `the arena is never freed`
		arena.New[Node](a).X++
	}
}

func inEachRound(n int) {
	a := arena.NewArena()
	for range n {
		arena.New[Node](a).X++
		a.Free() // want `Free of an arena after Free`
	}
}
