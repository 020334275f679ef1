package server

import "syscall"

// ownGroup also asks the kernel to end the server when this program ends without its deferred calls.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
