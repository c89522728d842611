package profile

import "iter"

// frames are the calls on a stack, innermost first. They are named as they are
// asked for: to name all of every stack would take longer than all the rest of a
// result, and what is near the end of a stack decides most questions.
type frames = iter.Seq[*frame]

// kernelSide is the part of a stack that is in the kernel.
type kernelSide struct {
	in    bool // the sample was taken there
	named bool // its functions are known, not hidden
	rules set  // that know them
}

var table = newMatcher(rules)

// classify says what the time of a sample was spent on.
func classify(k kernelSide, user frames) Class {
	if !k.in {
		return userClass(user)
	}
	what, known := table.kernel(k.rules)
	if !known && !k.named {
		what, known = guessKernel(user)
	}
	switch {
	case !known:
		return Kernel
	case what == PageFaults:
		return PageFaults
	}
	// A system call is the program's own, or part of what the runtime does: a
	// lock, returning memory.
	if c := userClass(user); c != Program && c != Other && c != Unnamed {
		return c
	}
	return Syscalls
}

// guessKernel says what the kernel does by who called it: a function that does
// not enter the kernel can only have been sent there by a fault, or by an
// interrupt, which is short.
func guessKernel(user frames) (Class, bool) {
	for f := range user {
		switch {
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
func userClass(user frames) Class {
	var rules union
	var first, inner *frame // inner has a name
	for f := range user {
		if first == nil {
			first = f
		}
		t := f.traits()
		if !t.below {
			break
		}
		if f.name != "" && f.origin != fromKernelPage {
			rules.add(t.rules)
			if inner == nil {
				inner = f
			}
		}
	}
	if c, ok := table.user(&rules); ok {
		return c
	}
	switch {
	case inner != nil && inner.ofRuntime():
		return Other
	case first == nil || first.origin == fromBroken || first.origin == fromNowhere:
		// It may be the runtime of a Go program: say nothing about it.
		return Unnamed
	}
	return Program
}

// site returns the frame that a cost is to be charged to: the innermost of the
// program's own. What the standard library does unasked is charged to it. nil if
// only the runtime is on the stack.
func site(user frames) *frame {
	var found *frame
	for f := range user {
		t := f.traits()
		if t.own {
			return f
		}
		if found == nil && t.library {
			found = f
		}
	}
	return found
}
