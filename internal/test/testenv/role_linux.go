package testenv

import (
	"os"
	"os/exec"
	"syscall"
)

// RoleAs returns this test binary as a command in a role, of another user unless uid is 0:
// by a path that this user can follow whoever may see the directory.
func RoleAs(uid int, name string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), env...), RoleEnv+"="+name)
	cmd.Stderr = os.Stderr
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}}
	}
	return cmd
}
