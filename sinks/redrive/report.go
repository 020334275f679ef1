package redrive

import (
	"maps"

	"github.com/tablewake/tablewake/pipeline"
)

// Report is what a redrive did, and what it left.
type Report struct {
	Sinks       map[string]SinkReport `json:"sinks"`
	Decoded     int                   `json:"decoded"`     // letters that could not be decoded once and can now: letters of each sink since
	Undecodable int                   `json:"undecodable"` // letters that still cannot be decoded
	Moved       int                   `json:"moved"`       // letters of a sink that is gone that became letters of Options.To
	Discarded   int                   `json:"discarded"`   // letters of those that were removed, where Discard was asked for
	Failures    []Failure             `json:"failures"`    // why letters stay: the first of them
}

// SinkReport is one sink's part. Letters = Delivered + Superseded + Discarded + Failed + Waiting,
// but for a dry run, which ends with Letters and Held.
type SinkReport struct {
	Letters    int `json:"letters"`    // found
	Delivered  int `json:"delivered"`  // the sink has them, or they mean nothing to it; removed
	Superseded int `json:"superseded"` // the sink has a newer version of their items; removed
	Discarded  int `json:"discarded"`  // removed, where Discard was asked for
	Failed     int `json:"failed"`     // they failed again and stay
	Waiting    int `json:"waiting"`    // they stay behind a letter that stays
	Released   int `json:"released"`   // keys that were let go
	Held       int `json:"held"`       // keys that stay quarantined
}

// Failure is why a letter stays.
type Failure struct {
	Sink  string       `json:"sink,omitempty"` // "" of a record that cannot be decoded
	Key   pipeline.Key `json:"key,omitempty"`
	ID    string       `json:"id"`
	Class string       `json:"class"`
	Error string       `json:"error"`
}

// maxFailures bounds Report.Failures.
const maxFailures = 20

// Left is how many letters stay.
func (r Report) Left() int {
	n := r.Undecodable
	for _, s := range r.Sinks {
		n += s.Failed + s.Waiting
	}
	return n
}

// Delivered is how many letters were delivered, to all sinks, or overtaken.
func (r Report) Delivered() int {
	n := 0
	for _, s := range r.Sinks {
		n += s.Delivered + s.Superseded
	}
	return n
}

// sink changes one sink's part.
func (r *Report) sink(name string, change func(*SinkReport)) {
	if r.Sinks == nil {
		r.Sinks = map[string]SinkReport{}
	}
	s := r.Sinks[name]
	change(&s)
	r.Sinks[name] = s
}

// begin begins another count of what is there.
func (r *Report) begin() {
	for name := range r.Sinks {
		r.sink(name, func(s *SinkReport) {
			s.Letters, s.Failed, s.Waiting, s.Held = s.Delivered+s.Superseded+s.Discarded, 0, 0, 0
		})
	}
}

func (r *Report) fail(f Failure) {
	if len(r.Failures) < maxFailures {
		r.Failures = append(r.Failures, f)
	}
}

// tell shows how far it is.
func (r *run) tell() {
	if r.Progress != nil {
		now := r.report
		now.Sinks = maps.Clone(now.Sinks)
		r.Progress(now)
	}
}

// Empty reports whether nothing was found.
func (r *Report) Empty() bool {
	return len(r.Sinks) == 0 && r.Decoded+r.Undecodable+r.Discarded+r.Moved == 0
}
