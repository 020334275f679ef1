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

// peakWatch watches the resident memory of a process.
type peakWatch struct {
	stop, done chan struct{}
	most       int64 // the most resident bytes so far
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

// end returns the highest value that was observed before the process ended.
func (w *peakWatch) end() int64 {
	close(w.stop)
	<-w.done
	return w.most
}

// residentPeak returns the peak of a process's resident memory so far, according to the kernel. If the kernel does not
// report the peak, it returns the present resident memory, and 0 if the process has ended. (The kernel's accounting at
// the end of the process would not help: it includes the memory of the process that started it.)
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
	n, _ := strconv.ParseInt(text, 10, 64) // there is no number if the process has ended
	return n << 10
}
