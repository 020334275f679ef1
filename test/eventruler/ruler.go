package eventruler

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/test/server"
)

//go:embed app/pom.xml
var pom []byte

//go:embed app/EventRuler.java
var source []byte

// Engine is a process of the library. It serves any number of [Ruler]s, and is safe for concurrent use. The process
// ends by itself when this process ends.
type Engine struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader

	mu   sync.Mutex // held for a request and its answers
	sets int        // number of rulers so far
}

// Open builds the program if necessary, and starts it. The caller closes the engine.
func Open(ctx context.Context) (*Engine, error) {
	path, err := server.InstallJava(ctx, "event-ruler", pom, "EventRuler.java", source)
	if err != nil {
		return nil, err
	}
	e := &Engine{cmd: exec.Command("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, "EventRuler")}
	e.cmd.Stderr = os.Stderr
	if e.stdin, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.lines = bufio.NewReaderSize(stdout, 1<<16)
	return e, e.cmd.Start()
}

// Close ends the process.
func (e *Engine) Close() error {
	return errors.Join(e.stdin.Close(), e.cmd.Wait())
}

// Ruler has the patterns of one FilterCriteria.
type Ruler struct {
	engine *Engine
	set    string
	own    bool // Close also ends the engine
	all    bool // there are no patterns, so Lambda sends every record
}

// Start starts an [Engine] for these patterns alone. Close ends the engine.
func Start(ctx context.Context, patterns []string) (*Ruler, error) {
	e, err := Open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := e.Ruler(patterns)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	r.own = true
	return r, nil
}

// Ruler returns a ruler of these patterns. Each pattern is the JSON text of a FilterCriteria. A pattern that the
// library refuses is an error.
func (e *Engine) Ruler(patterns []string) (*Ruler, error) {
	e.mu.Lock()
	e.sets++
	r := &Ruler{engine: e, set: fmt.Sprint(e.sets), all: len(patterns) == 0}
	e.mu.Unlock()
	requests := make([]string, 0, len(patterns))
	for _, p := range patterns {
		line, err := oneLine([]byte(p))
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", p, err)
		}
		requests = append(requests, "add "+r.set+" "+line)
	}
	for i, a := range e.ask(requests) {
		if a != "ok" {
			return nil, fmt.Errorf("pattern %s: %s", patterns[i], a)
		}
	}
	return r, nil
}

// Match reports whether Lambda would send the event to the function. The event is one record in Lambda's JSON. Lambda
// sends it if one of the patterns matches, or if there are no patterns.
func (r *Ruler) Match(event []byte) (bool, error) {
	all, err := r.MatchAll([][]byte{event})
	if err != nil {
		return false, err
	}
	return all[0], nil
}

// MatchAll returns the result of [Ruler.Match] for each event, in order.
func (r *Ruler) MatchAll(events [][]byte) ([]bool, error) {
	matches := make([]bool, len(events))
	requests := make([]string, len(events))
	for i, event := range events {
		line, err := oneLine(event)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		requests[i] = "match " + r.set + " " + line
		matches[i] = r.all
	}
	if r.all {
		return matches, nil
	}
	for i, a := range r.engine.ask(requests) {
		switch a {
		case "true", "false":
			matches[i] = a == "true"
		default:
			return nil, fmt.Errorf("event %d: %s", i, a)
		}
	}
	return matches, nil
}

// Close removes the patterns. It ends the engine if the ruler is from [Start].
func (r *Ruler) Close() error {
	if r.own {
		return r.engine.Close()
	}
	if a := r.engine.ask([]string{"drop " + r.set})[0]; a != "ok" {
		return errors.New(a)
	}
	return nil
}

// ask sends requests, and reads an answer to each request. A failure is an answer too.
func (e *Engine) ask(requests []string) []string {
	if len(requests) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	sent := make(chan error, 1)
	go func() { // answers are read meanwhile, because either pipe may be full
		_, err := io.WriteString(e.stdin, strings.Join(requests, "\n")+"\n")
		sent <- err
	}()
	answers := make([]string, 0, len(requests))
	for range requests {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			line = "error the process of event-ruler ended: " + err.Error()
		}
		answers = append(answers, strings.TrimSpace(line))
	}
	if err := <-sent; err != nil && len(answers) > 0 {
		answers[len(answers)-1] = "error " + err.Error()
	}
	return answers
}

// oneLine returns JSON without line breaks.
func oneLine(b []byte) (string, error) {
	var line bytes.Buffer
	err := json.Compact(&line, b)
	return line.String(), err
}
