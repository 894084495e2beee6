package engines

import "syscall"

// dieWithParent makes the kernel end the child when this process dies, however
// it dies.
func dieWithParent(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: cred, Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
