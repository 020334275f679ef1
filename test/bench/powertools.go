package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

const powertoolsVersion = "3.37.0" // the newest version

// powertoolsProgram is the peer: a function in Python, and the code that calls the function with events.
//
//go:embed powertools.py
var powertoolsProgram string

// powertoolsRows measure Lambda events in our function and in a Python function that does the same.
func powertoolsRows() []row {
	r := handlerRows()[0]
	r.id, r.least, r.reaches = "powertools", 50, 0.5
	r.missed = "50 times the peer's rate is about that of decoding alone (row event); of what comes to that, a third is the copy of the event, out of a buffer that aws-lambda-go takes back, a quarter the collection of memory, and the rest the queues that keep keys in order and the function itself"
	r.note = "memory is collected as in the function of template.yaml, by handlers.TuneGC"
	r.peer = "the same in Python: aws-lambda-powertools " + powertoolsVersion + ", its batch processor and data classes"
	r.open = func(ctx context.Context, b *bench) (*contest, error) { return openPowertools(ctx, b, b.usual()) }
	careful := r
	careful.variant, careful.least, careful.input, careful.missed = "careful", 0, false, ""
	careful.peer += ", each image deserialised once"
	careful.open = func(ctx context.Context, b *bench) (*contest, error) {
		return openPowertools(ctx, b, usual(), "careful")
	}
	return []row{r, careful}
}

// openPowertools compares our function with the peer. args are the arguments of the peer.
func openPowertools(ctx context.Context, b *bench, s *shape, args ...string) (*contest, error) {
	c, err := newHandlerContest(b, s)
	if err != nil {
		return nil, err
	}
	python, err := server.PyLibrary(ctx, "aws-lambda-powertools", powertoolsVersion)
	if err != nil {
		return nil, err
	}
	peer, err := startPowertools(ctx, python, c, args)
	if err != nil {
		return nil, err
	}
	out, err := agree(ctx, b, c.records, c.ours, peer.once)
	if err != nil {
		return nil, errors.Join(err, peer.close())
	}
	out.peer = side{run: func(context.Context) (sample, error) { return peer.round(b.span) }}
	undo := collectAsFunction()
	out.note, out.close = "Python "+peer.version, func() error { return errors.Join(undo(), peer.close()) }
	return out, nil
}

// powertoolsProcess is the process of the peer.
type powertoolsProcess struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	answers *json.Decoder
	records int // records of all events
	version string
	want    handlerTally  // what the function finds in all events
	pass    time.Duration // processor time for all events, in the last run
}

// startPowertools starts the peer, and sends it the events.
func startPowertools(ctx context.Context, python string, c *handlerContest, args []string) (*powertoolsProcess, error) {
	p := &powertoolsProcess{command: exec.CommandContext(ctx, python, append([]string{"-c", powertoolsProgram}, args...)...), records: c.records}
	p.command.Stderr = os.Stderr
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(stdout)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	w := bufio.NewWriter(p.stdin)
	fmt.Fprintln(w, len(c.payloads))
	for _, payload := range c.payloads {
		fmt.Fprintf(w, "%d\n%s", len(payload), payload)
	}
	var hello struct{ Version string }
	if err := errors.Join(w.Flush(), p.answers.Decode(&hello)); err != nil {
		return nil, errors.Join(fmt.Errorf("the Python process: %w", err), p.close())
	}
	p.version = hello.Version
	return p, nil
}

// powertoolsAnswer is the answer of the process after its passes.
type powertoolsAnswer struct {
	Nanoseconds                int64 // processor time of all passes
	Changes, Completed, Orders int   // found in the last pass
	Cents                      int64
}

// run lets the peer handle all events in each of several passes.
func (p *powertoolsProcess) run(passes int) (handlerTally, time.Duration, error) {
	if _, err := fmt.Fprintln(p.stdin, passes); err != nil {
		return handlerTally{}, 0, err
	}
	var a powertoolsAnswer
	if err := p.answers.Decode(&a); err != nil {
		return handlerTally{}, 0, fmt.Errorf("the Python process: %w", err)
	}
	p.pass = time.Duration(a.Nanoseconds) / time.Duration(passes)
	return handlerTally{a.Changes, a.Completed, a.Orders, a.Cents}, time.Duration(a.Nanoseconds), nil
}

// once returns what the peer finds in all events. Three passes warm up the process.
func (p *powertoolsProcess) once(context.Context) (handlerTally, error) {
	found, _, err := p.run(3)
	p.want = found
	return found, err
}

// round repeats passes for a span of processor time.
func (p *powertoolsProcess) round(span time.Duration) (sample, error) {
	passes := int(span/max(p.pass, 1)) + 1
	found, took, err := p.run(passes)
	if err == nil && found != p.want {
		err = fmt.Errorf("the peer found %+v, and at first %+v", found, p.want)
	}
	return sample{records: passes * p.records, processor: took}, err
}

func (p *powertoolsProcess) close() error {
	return errors.Join(p.stdin.Close(), p.command.Wait())
}
