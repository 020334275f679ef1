package server

import "syscall"

// ownGroup also asks the kernel to end the server when this program dies in a way
// that runs no deferred call.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
