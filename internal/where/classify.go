package where

// stack is a sample with names, innermost first.
type stack struct {
	inKernel bool
	kernel   []string // empty where the kernel's names are hidden
	user     []frame
}

var table = newMatcher(rules)

// classify says what the time of a sample was spent on.
func classify(s *stack) Class {
	if !s.inKernel {
		return userClass(s.user)
	}
	what, known := table.kernel(s.kernel)
	if !known && len(s.kernel) == 0 {
		what, known = guessKernel(s.user)
	}
	switch {
	case !known:
		return Kernel
	case what == PageFaults:
		return PageFaults
	}
	// A system call is the program's own, or part of what the runtime does: a
	// lock, returning memory.
	if c := userClass(s.user); c != Program && c != Other {
		return c
	}
	return Syscalls
}

// guessKernel says what the kernel does by who called it: a function that does
// not enter the kernel can only have been sent there by a fault, or by an
// interrupt, which is short.
func guessKernel(user []frame) (Class, bool) {
	for i := range user {
		switch f := &user[i]; {
		case f.origin == fromKernelPage:
			continue
		case f.origin != fromGo || f.name == "":
			return "", false
		case entersKernel(f.name):
			return Syscalls, true
		default:
			return PageFaults, true
		}
	}
	return "", false
}

func entersKernel(name string) bool {
	for _, p := range callNames {
		if matches(p, name) {
			return true
		}
	}
	return false
}

// userClass says what the user's side of a stack is about.
func userClass(user []frame) Class {
	var room [64]string
	names := room[:0]
	var inner *frame // that has a name
	for i := range user {
		f := &user[i]
		if !f.below() {
			break
		}
		if f.name != "" && f.origin != fromKernelPage {
			names = append(names, f.name)
			if inner == nil {
				inner = f
			}
		}
	}
	if c, ok := table.user(names); ok {
		return c
	}
	switch {
	case inner != nil && inner.ofRuntime():
		return Other
	case len(user) > 0 && user[0].origin == fromBroken:
		// What cannot be read may be a Go program: say nothing about it.
		return Other
	}
	return Program
}

// site returns the index of the frame that a cost is to be charged to: the
// innermost of the program's own. What the standard library does unasked is
// charged to it. -1 if only the runtime is on the stack.
func site(user []frame) int {
	found := -1
	for i := range user {
		f := &user[i]
		if f.own() {
			return i
		}
		if found < 0 && f.origin == fromGo && packagePath(f.name) != "" && !f.below() {
			found = i
		}
	}
	return found
}
