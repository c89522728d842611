package profile

import "strings"

// ClassOf classifies a stack that only the names of its functions are known of,
// innermost first, as other profilers tell them. kernel is nil for a sample in
// the program, and empty for one in a kernel that hides its names; unknown names
// are empty. "[vdso]" is the kernel's code in the program.
//
// Without files, a function that has the name of another package than the
// runtime is taken for the runtime's if a rule knows it.
func ClassOf(kernel, user []string) Class {
	side := kernelSide{in: kernel != nil, named: len(kernel) > 0, rules: table.all(kernel)}
	return classify(side, func(yield func(*frame) bool) {
		for _, name := range user {
			if f := frameOf(name); !yield(&f) {
				return
			}
		}
	})
}

func frameOf(name string) frame {
	pkg := packagePath(name)
	known := name != "" && pkg != "main" && table.find(name).names != 0
	switch {
	case name == "":
		return frame{}
	case name == "[vdso]":
		return frame{name: name, origin: fromKernelPage}
	case known:
		return frame{name: name, file: "runtime/", origin: fromGo}
	case strings.Contains(name, "."):
		return frame{name: name, origin: fromGo}
	}
	return frame{name: name, origin: fromNative}
}
