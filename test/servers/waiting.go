package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

// names are the servers that have not started yet.
type names struct {
	mu  sync.Mutex
	all []string
}

func newNames(kinds []*server.Kind) *names {
	n := &names{}
	for _, k := range kinds {
		n.all = append(n.all, k.Name)
	}
	return n
}

func (n *names) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = slices.DeleteFunc(n.all, func(s string) bool { return s == name })
}

func (n *names) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// waitingInterval is the time between two lines of sayWaiting.
const waitingInterval = 10 * time.Second

// sayWaiting calls what and prints the names that it returns, every waitingInterval, until stop is called.
func sayWaiting(w io.Writer, what func() []string) (stop func()) {
	begun, ended := time.Now(), make(chan struct{})
	var printer sync.WaitGroup
	printer.Go(func() {
		ticks := time.NewTicker(waitingInterval)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticks.C:
				fmt.Fprintf(w, "servers: waiting for %s, %s so far; what is missing in the cache folder is downloaded first\n",
					strings.Join(what(), ", "), time.Since(begun).Round(time.Second))
			}
		}
	})
	return func() {
		close(ended)
		printer.Wait()
	}
}
