package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// peakWatch watches how much memory a process has.
type peakWatch struct {
	stop, done chan struct{}
	most       int64 // bytes
}

// watchPeak begins to watch a process.
func watchPeak(pid int) *peakWatch {
	w := &peakWatch{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			w.most = max(w.most, residentPeak(pid))
			select {
			case <-tick.C:
			case <-w.stop:
				return
			}
		}
	}()
	return w
}

// end is the most that was resident, a moment before the process ended at the latest.
func (w *peakWatch) end() int64 {
	close(w.stop)
	<-w.done
	return w.most
}

// residentPeak is the peak of a process's resident memory so far, according to the kernel; if the kernel does not
// report it, the present resident memory. 0: the process has ended. (The kernel's accounting at its end would not help:
// it includes the memory of the process that started it.)
func residentPeak(pid int) int64 {
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		_, rest, _ := bytes.Cut(b, []byte("VmHWM:"))
		return kilobytes(strings.TrimSuffix(strings.TrimSpace(string(firstLine(rest))), " kB"))
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0
	}
	return kilobytes(strings.TrimSpace(string(out)))
}

func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return line
}

func kilobytes(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // a process that has ended has none
	return n << 10
}
