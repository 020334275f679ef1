package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/view/dynamo"
)

// explanation is an element of `explain -o json`.
type explanation struct {
	Record   int64              `json:"record"` // number of the record, from 1, in the order of the input
	Op       string             `json:"op"`
	Key      item.Key           `json:"key"`
	Sequence string             `json:"sequence"`
	Version  string             `json:"version"`
	Time     *time.Time         `json:"time,omitempty"`
	TTL      bool               `json:"ttl_delete,omitempty"`
	Entity   *entityJSON        `json:"entity,omitempty"` // nil if the file has no entities
	Filters  []filterResultJSON `json:"filters,omitempty"`
	Diff     []differenceJSON   `json:"diff,omitempty"`
	Events   []eventJSON        `json:"events,omitempty"`
	Sinks    []sinkPlanJSON     `json:"sinks,omitempty"`
	Error    *decodeErrorJSON   `json:"error,omitempty"` // error of a record that could not be decoded
}

// entityJSON is the entity of an item.
type entityJSON struct {
	Name  string `json:"name"` // "": the item belongs to no entity
	Error string `json:"error,omitempty"`
}

// String returns the entity for people.
func (e *entityJSON) String() string {
	switch {
	case e.Error != "":
		return "fails: " + e.Error
	case e.Name == "":
		return "none"
	}
	return e.Name
}

type filterResultJSON struct {
	Filter string `json:"filter"`
	Drop   bool   `json:"drop"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
}

type differenceJSON struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"` // DynamoDB JSON; omitted if the path is absent
	New  json.RawMessage `json:"new,omitempty"`

	old, new item.Value
}

type eventJSON struct {
	Detector string          `json:"detector"`
	ID       string          `json:"id"`
	Path     string          `json:"path,omitempty"`
	Old      json.RawMessage `json:"old,omitempty"`
	New      json.RawMessage `json:"new,omitempty"`

	old, new item.Value
}

type sinkPlanJSON struct {
	Sink    string             `json:"sink"`
	Filters []filterResultJSON `json:"filters,omitempty"`
	Do      []string           `json:"do,omitempty"`
	Cost    *unitCostJSON      `json:"cost,omitempty"`    // on DynamoDB
	Outcome string             `json:"outcome,omitempty"` // result if nothing is written
	Reason  string             `json:"reason,omitempty"`
	Error   string             `json:"error,omitempty"`
	Stops   bool               `json:"stops_pipeline,omitempty"` // the error stops the pipeline
}

// notRouted is the outcome of a change that a sink's own filter drops.
const notRouted = "not routed"

type decodeErrorJSON struct {
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// newExplanation returns the explanation of a change. number is the number of its record.
func newExplanation(number int64, e pipeline.Explanation) explanation {
	c := e.Change
	x := explanation{
		Record: number, Op: c.Op.String(), Key: c.Key, Sequence: c.Sequence, Version: c.Version.String(),
		TTL: c.TTLDelete(), Filters: filterResults(e.Filters),
	}
	if !c.Time.IsZero() {
		x.Time = &c.Time
	}
	for _, d := range e.Diff {
		x.Diff = append(x.Diff, differenceJSON{d.Path, dynamoDBJSON(d.Old), dynamoDBJSON(d.New), d.Old, d.New})
	}
	for _, ev := range e.Events {
		x.Events = append(x.Events, eventJSON{ev.Detector, ev.ID(), ev.Path, dynamoDBJSON(ev.Old), dynamoDBJSON(ev.New),
			ev.Old, ev.New})
	}
	for _, route := range e.Routes {
		x.Sinks = append(x.Sinks, newSinkPlan(c, route))
	}
	return x
}

// newSinkPlan returns what a sink does with a change.
func newSinkPlan(c *record.Change, route pipeline.RouteTrace) sinkPlanJSON {
	plan := sinkPlanJSON{Sink: route.Name, Filters: filterResults(route.Filters), Reason: route.Reason,
		Error: cli.ErrorText(route.Err)}
	for _, op := range route.Ops {
		plan.Do = append(plan.Do, op.String())
	}
	if cost, ok := dynamo.CostOf(c, route.Ops); ok && route.Err == nil {
		plan.Cost = &unitCostJSON{cost.WriteUnits, cost.ReadUnits, cost.Why}
	}
	switch {
	case !route.Taken:
		plan.Outcome = notRouted
	case pipeline.IsFatal(route.Err):
		plan.Stops = true
	case route.Err != nil:
		plan.Outcome = pipeline.DeadLettered.String()
	case route.Outcome != pipeline.Written:
		plan.Outcome = route.Outcome.String()
	}
	return plan
}

func filterResults(traces []pipeline.FilterTrace) []filterResultJSON {
	var results []filterResultJSON
	for _, t := range traces {
		results = append(results, filterResultJSON{t.Name, t.Verdict.Drop, t.Verdict.Reason, cli.ErrorText(t.Err)})
	}
	return results
}

func dynamoDBJSON(v item.Value) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return v.AppendDynamoDBJSON(nil)
}

// write prints the explanation for people.
func (x explanation) write(w io.Writer) {
	fmt.Fprintln(w, x.title())
	if x.Error != nil {
		fmt.Fprintf(w, "  error   %s\n", x.Error.Message)
		return
	}
	lines := labelledLines{w: w}
	if x.Entity != nil {
		lines.print("entity", x.Entity.String())
	}
	for _, f := range x.Filters {
		lines.print("filter", f.String())
	}
	for _, d := range x.Diff {
		lines.print("change", fmt.Sprintf("%s: %s -> %s", d.Path, truncatedJSON(d.old), truncatedJSON(d.new)))
	}
	for _, e := range x.Events {
		text := e.Detector
		if e.Path != "" {
			text += fmt.Sprintf("  %s: %s -> %s", e.Path, truncatedJSON(e.old), truncatedJSON(e.new))
		}
		lines.print("event", text)
	}
	for _, s := range x.Sinks {
		for _, line := range s.lines() {
			lines.print("sink", s.Sink+": "+line)
		}
	}
}

// title returns the line that names the change.
func (x explanation) title() string {
	text := fmt.Sprintf("#%d %s %s", x.Record, x.Op, x.Key)
	if x.TTL {
		text += " (expired)"
	}
	if x.Time != nil {
		text += "  " + x.Time.Format(time.RFC3339)
	}
	return text + "  sequence " + x.Sequence
}

// labelledLines prints lines with labels. It prints a label only once for consecutive lines.
type labelledLines struct {
	w         io.Writer
	lastLabel string
}

func (l *labelledLines) print(label, text string) {
	fmt.Fprintf(l.w, "  %-7s %s\n", cli.Choose(label == l.lastLabel, "", label), text)
	l.lastLabel = label
}

func (f filterResultJSON) String() string {
	switch {
	case f.Error != "":
		return f.Filter + ": fails: " + f.Error
	case f.Drop:
		return f.Filter + ": drops it, counted as " + f.Reason
	}
	return f.Filter + ": keeps it"
}

// lines returns the writes of a sink as text, or the reason why it writes nothing.
func (s sinkPlanJSON) lines() []string {
	var lines []string
	for _, f := range s.Filters {
		if f.Error == "" { // the error of a filter is also the sink's error, which is printed below
			lines = append(lines, f.String())
		}
	}
	switch {
	case s.Stops:
		lines = append(lines, "stops the pipeline: "+s.Error)
	case s.Error != "":
		lines = append(lines, "fails, goes to dead letters: "+s.Error)
	case len(s.Do) > 0:
		lines = append(lines, s.Do...)
		if s.Cost != nil {
			lines = append(lines, s.Cost.String())
		}
	case s.Outcome != "" && s.Reason != "":
		lines = append(lines, s.Outcome+" ("+s.Reason+")")
	case s.Outcome == notRouted: // the filter's line has the reason
	case s.Outcome != "":
		lines = append(lines, s.Outcome)
	default:
		lines = append(lines, "writes it")
	}
	return lines
}

const maxShown = 80 // characters

// truncatedJSON returns a value as plain JSON, truncated to maxShown.
func truncatedJSON(v item.Value) string {
	if !v.Exists() {
		return "absent"
	}
	text := []rune(string(v.AppendJSON(nil)))
	if len(text) <= maxShown {
		return string(text)
	}
	return fmt.Sprintf("%s... (%d bytes)", string(text[:maxShown]), len(string(text)))
}
