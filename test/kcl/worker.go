package kcl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

//go:embed app/pom.xml
var pom []byte

//go:embed app/KCLApplication.java
var source []byte

// Options say what a worker of the application reads, and how it reads.
type Options struct {
	Endpoint    string   // URL of DynamoDB, and of its streams
	Streams     []string // ARNs; more than one: in the KCL's multi-stream mode
	Application string   // name of the application and of its lease table
	Worker      string   // name; with a new name the worker first waits until old leases have run out
	Every       int      // records of a shard between two checkpoints. Default: 1
	Page        int      // the most records of a read. Default: 1000, the KCL's
	Hasty       bool     // no checkpoint at a stop, so that some records come again. Default: a checkpoint
	Quick       bool     // shorter waits at a start and at a change of owner. Default: the KCL's
	AccessKey   string   // Default: server.AccessKey
	StreamsAt   string   // URL of DynamoDB Streams. Default: Endpoint
	Count       bool     // counts records, without events, and checkpoints every second; see Worker.Measure
	Busy        bool     // a shard is read again at once. Default: a second later, the adapter's pause
	Java        []string // flags of the JVM. Default: those of a small application that starts fast
	// Tell is called with the worker's events, in order, from one goroutine.
	Tell func(Event)
}

// Event is something that a worker did.
type Event struct {
	Event    string `json:"event"` // started, initialized, record, checkpoint, refused (a checkpoint), lost (a lease), measuring, measured, stopped
	Shard    string `json:"shard"`
	Sequence string `json:"sequence"` // sequence number of the record or the checkpoint
	Key      string `json:"key"`      // PK of the record
	At       int64  `json:"at"`       // Unix milliseconds

	Records   int64         `json:"records"`   // number of measured records
	Processor time.Duration `json:"processor"` // processor time that the process took for Records
}

// Worker is a process of the application. It ends by itself when this process ends.
type Worker struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   string // path of the log; its folder belongs to the worker
	done  chan struct{}
	err   error // set before done is closed
}

// Start builds the application if necessary, and starts a worker of the application. The caller stops or kills the
// worker.
func Start(ctx context.Context, o Options) (*Worker, error) {
	path, err := server.InstallJava(ctx, "kcl-application", pom, "KCLApplication.java", source)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "tablewake-kcl-")
	if err != nil {
		return nil, err
	}
	w := &Worker{log: filepath.Join(home, "log"), done: make(chan struct{})}
	if err := w.start(path, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	return w, nil
}

func (w *Worker) start(path string, o Options) error {
	log, err := os.Create(w.log)
	if err != nil {
		return err
	}
	defer log.Close()
	flags := o.Java
	if flags == nil {
		// The worker is idle most of the time, so it gets little memory and a compiler that starts fast.
		flags = []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
	}
	idle := "1000"
	if o.Busy {
		idle = "0"
	}
	w.cmd = exec.Command("java", slices.Concat(flags, []string{
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-cp", path, "KCLApplication",
		"endpoint=" + o.Endpoint, "streams=" + cmp.Or(o.StreamsAt, o.Endpoint), "stream=" + strings.Join(o.Streams, ","), "application=" + o.Application, "worker=" + o.Worker,
		"every=" + strconv.Itoa(cmp.Or(o.Every, 1)), "page=" + strconv.Itoa(cmp.Or(o.Page, 1000)),
		"final=" + strconv.FormatBool(!o.Hasty), "quick=" + strconv.FormatBool(o.Quick), "count=" + strconv.FormatBool(o.Count), "idle=" + idle,
	})...)
	w.cmd.Env = append(os.Environ(), "AWS_REGION="+server.Region, "AWS_ACCESS_KEY_ID="+cmp.Or(o.AccessKey, server.AccessKey), "AWS_SECRET_ACCESS_KEY="+server.SecretKey,
		"AWS_EC2_METADATA_DISABLED=true")
	w.cmd.Stderr = log
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(w.done)
		err := tellAll(stdout, o.Tell)
		w.err = errors.Join(w.cmd.Wait(), err)
	}()
	return nil
}

// tellAll reads all events. An unknown event is an error, but reading continues.
func tellAll(r io.Reader, tell func(Event)) (err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var e Event
		if bad := json.Unmarshal(lines.Bytes(), &e); bad != nil {
			err = fmt.Errorf("stdout has a line that is no event: %q", lines.Text())
			continue
		}
		tell(e)
	}
	return errors.Join(err, lines.Err())
}

// Process returns the id of the worker's process.
func (w *Worker) Process() int { return w.cmd.Process.Pid }

// Measure makes a worker with Options.Count measure what records cost. With 0 records the measurement begins, and the
// worker reports the event "measuring". With n records the worker reports "measured" after n records since then.
func (w *Worker) Measure(records int) error {
	_, err := fmt.Fprintln(w.stdin, records)
	return err
}

// Done returns a channel that is closed when the worker has ended and Tell was called with all its events.
func (w *Worker) Done() <-chan struct{} { return w.done }

// Stop lets the worker stop in order: the worker checkpoints what it has read. Stop returns after Tell was called with
// all events.
func (w *Worker) Stop() error {
	_ = w.stdin.Close() // it is closed if the worker has ended
	select {
	case <-w.done:
	case <-time.After(90 * time.Second):
		_ = w.cmd.Process.Kill()
		<-w.done
	}
	err := w.err
	if err != nil {
		err = fmt.Errorf("the KCL's worker: %w; the end of its log:\n%s", err, w.Log(4000))
	}
	return errors.Join(err, os.RemoveAll(filepath.Dir(w.log)))
}

// Kill ends the worker like a crash.
func (w *Worker) Kill() error {
	_ = w.cmd.Process.Kill() // an error means that the process has ended
	<-w.done
	return os.RemoveAll(filepath.Dir(w.log))
}

// Log returns the last n bytes of the worker's log. Before them it returns the last n bytes of warnings and errors.
func (w *Worker) Log(n int) string {
	b, _ := os.ReadFile(w.log)
	var odd []byte
	for line := range bytes.Lines(b) {
		if bytes.Contains(line, []byte("WARN")) || bytes.Contains(line, []byte("ERROR")) || bytes.Contains(line, []byte("Exception")) {
			odd = append(odd, line...)
		}
	}
	return string(odd[max(0, len(odd)-n):]) + "...\n" + string(b[max(0, len(b)-n):])
}
