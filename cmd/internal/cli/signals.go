package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// StopSignals returns the signals that request a soft stop. Under nohup, SIGHUP is ignored and not among them.
func StopSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
