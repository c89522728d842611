package toolchain

import (
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"strings"
)

// A Chooser says how a release becomes that of the module of the current directory.
type Chooser struct {
	local      string // the release of the go command
	setting    string // GOTOOLCHAIN
	work, file string // GOWORK, GOMOD
}

// Chooser asks the go command how it chooses toolchains in the current directory.
func (f *Finder) Chooser(ctx context.Context) (*Chooser, error) {
	out, err := exec.CommandContext(ctx, f.goCommand, "env", "-json", "GOTOOLCHAIN", "GOWORK", "GOMOD").Output()
	var got struct{ GOTOOLCHAIN, GOWORK, GOMOD string }
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	return &Chooser{local: f.local, setting: got.GOTOOLCHAIN, work: got.GOWORK, file: got.GOMOD}, nil
}

// Line returns the command that has a line of go.mod or go.work choose a release. Where only
// GOTOOLCHAIN can, command is "", and why says why: such a line is the least that the go
// command may use, and a workspace has one of its own.
func (c *Chooser) Line(release string) (command, why string) {
	least, switches := c.local, c.setting == "auto" || c.setting == "path"
	if name, how, ok := strings.Cut(c.setting, "+"); ok {
		switches = how == "auto" || how == "path"
		if version.Compare(name, least) > 0 {
			least = name
		}
	}
	switch {
	case !switches:
		return "", "GOTOOLCHAIN=" + c.setting
	case version.Compare(release, least) < 0:
		return "", "the go command is " + least
	case c.work != "" && c.work != "off":
		return "go work edit -toolchain=" + release, ""
	case c.file == "" || c.file == os.DevNull:
		return "", "no go.mod"
	}
	return "go mod edit -toolchain=" + release, ""
}
