package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
)

// explanation is what `explain` says of one change, as JSON has it.
type explanation struct {
	Record   int64         `json:"record"` // 1-based, in the order of the input
	Op       string        `json:"op"`
	Key      item.Key      `json:"key"`
	Sequence string        `json:"sequence"`
	Version  string        `json:"version"`
	Time     *time.Time    `json:"time,omitempty"`
	TTL      bool          `json:"ttl_delete,omitempty"`
	Filters  []filterSaid  `json:"filters,omitempty"`
	Diff     []difference  `json:"diff,omitempty"`
	Events   []eventSeen   `json:"events,omitempty"`
	Sinks    []sinkWould   `json:"sinks,omitempty"`
	Error    *notDecodable `json:"error,omitempty"` // of a record that could not be decoded
}

type filterSaid struct {
	Filter string `json:"filter"`
	Drop   bool   `json:"drop"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
}

type difference struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"` // DynamoDB JSON; absent where the path is
	New  json.RawMessage `json:"new,omitempty"`

	old, new item.Value
}

type eventSeen struct {
	Detector string          `json:"detector"`
	ID       string          `json:"id"`
	Path     string          `json:"path,omitempty"`
	Old      json.RawMessage `json:"old,omitempty"`
	New      json.RawMessage `json:"new,omitempty"`

	old, new item.Value
}

type sinkWould struct {
	Sink    string       `json:"sink"`
	Filters []filterSaid `json:"filters,omitempty"`
	Do      []string     `json:"do,omitempty"`
	Cost    *unitCost    `json:"cost,omitempty"`    // on DynamoDB
	Outcome string       `json:"outcome,omitempty"` // where nothing is written
	Reason  string       `json:"reason,omitempty"`
	Error   string       `json:"error,omitempty"`
	Stops   bool         `json:"stops_pipeline,omitempty"` // the error does
}

// notRouted is the outcome of a change that a sink's own filter drops.
const notRouted = "not routed"

type notDecodable struct {
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func explanationOf(n int64, e pipeline.Explanation) explanation {
	c := e.Change
	x := explanation{
		Record: n, Op: c.Op.String(), Key: c.Key, Sequence: c.Sequence, Version: c.Version.String(),
		TTL: c.TTLDelete(), Filters: filtersOf(e.Filters),
	}
	if !c.Time.IsZero() {
		x.Time = &c.Time
	}
	for _, d := range e.Diff {
		x.Diff = append(x.Diff, difference{d.Path, rawOf(d.Old), rawOf(d.New), d.Old, d.New})
	}
	for _, ev := range e.Events {
		x.Events = append(x.Events, eventSeen{ev.Detector, ev.ID(), ev.Path, rawOf(ev.Old), rawOf(ev.New), ev.Old, ev.New})
	}
	for _, r := range e.Routes {
		w := sinkWould{Sink: r.Name, Filters: filtersOf(r.Filters), Reason: r.Reason, Error: cli.ErrorText(r.Err)}
		for _, op := range r.Ops {
			w.Do = append(w.Do, op.String())
		}
		if r.Err == nil {
			w.Cost = costOf(c, r.Ops)
		}
		switch {
		case !r.Taken:
			w.Outcome = notRouted
		case pipeline.IsFatal(r.Err):
			w.Stops = true
		case r.Err != nil:
			w.Outcome = pipeline.DeadLettered.String()
		case r.Outcome != pipeline.Written:
			w.Outcome = r.Outcome.String()
		}
		x.Sinks = append(x.Sinks, w)
	}
	return x
}

func filtersOf(ts []pipeline.FilterTrace) []filterSaid {
	var said []filterSaid
	for _, t := range ts {
		said = append(said, filterSaid{t.Name, t.Verdict.Drop, t.Verdict.Reason, cli.ErrorText(t.Err)})
	}
	return said
}

func rawOf(v item.Value) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return v.AppendDynamoDBJSON(nil)
}

// write prints the explanation for people.
func (x explanation) write(w io.Writer) {
	fmt.Fprintf(w, "#%d %s %s", x.Record, x.Op, x.Key)
	if x.TTL {
		fmt.Fprint(w, " (expired)")
	}
	if x.Time != nil {
		fmt.Fprintf(w, "  %s", x.Time.Format(time.RFC3339))
	}
	fmt.Fprintf(w, "  sequence %s\n", x.Sequence)
	if x.Error != nil {
		fmt.Fprintf(w, "  error   %s\n", x.Error.Message)
		return
	}
	label := labels(w)
	for _, f := range x.Filters {
		label("filter", f.String())
	}
	for _, d := range x.Diff {
		label("change", fmt.Sprintf("%s: %s -> %s", d.Path, short(d.old), short(d.new)))
	}
	for _, e := range x.Events {
		text := e.Detector
		if e.Path != "" {
			text += fmt.Sprintf("  %s: %s -> %s", e.Path, short(e.old), short(e.new))
		}
		label("event", text)
	}
	for _, s := range x.Sinks {
		for _, line := range s.lines() {
			label("sink", s.Sink+": "+line)
		}
	}
}

// labels prints lines under a label that stands only where it changes.
func labels(w io.Writer) func(label, text string) {
	last := ""
	return func(label, text string) {
		shown := label
		if label == last {
			shown = ""
		}
		last = label
		fmt.Fprintf(w, "  %-7s %s\n", shown, text)
	}
}

func (f filterSaid) String() string {
	switch {
	case f.Error != "":
		return f.Filter + ": fails: " + f.Error
	case f.Drop:
		return f.Filter + ": drops it, counted as " + f.Reason
	}
	return f.Filter + ": keeps it"
}

// lines say what a sink would do, or why it would do nothing.
func (s sinkWould) lines() []string {
	var ls []string
	for _, f := range s.Filters {
		if f.Error == "" { // else the sink's error is the filter's
			ls = append(ls, f.String())
		}
	}
	switch {
	case s.Stops:
		ls = append(ls, "stops the pipeline: "+s.Error)
	case s.Error != "":
		ls = append(ls, "fails, goes to dead letters: "+s.Error)
	case len(s.Do) > 0:
		ls = append(ls, s.Do...)
		if s.Cost != nil {
			ls = append(ls, s.Cost.String())
		}
	case s.Outcome != "" && s.Reason != "":
		ls = append(ls, s.Outcome+" ("+s.Reason+")")
	case s.Outcome == notRouted: // the filter that dropped it has said so
	case s.Outcome != "":
		ls = append(ls, s.Outcome)
	default:
		ls = append(ls, "writes it")
	}
	return ls
}

const shown = 80 // characters of a value that a line shows

// short is a value as plain JSON, cut where it is long.
func short(v item.Value) string {
	if !v.Exists() {
		return "absent"
	}
	b := v.AppendJSON(nil)
	if utf8.RuneCount(b) <= shown {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:shown]), "") + fmt.Sprintf("... (%d bytes)", len(b))
}
