package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// StopSignals are those that ask for a soft stop. Under nohup a terminal that goes does not.
func StopSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}
