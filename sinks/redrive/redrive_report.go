package redrive

import "github.com/tablewake/tablewake/pipeline/item"

// Report is the result of a redrive. Its letters are dead letters.
type Report struct {
	Sinks map[string]SinkReport `json:"sinks"`
	// Decoded counts the letters of undecodable records that can be decoded now. Each of them became one letter for
	// each sink.
	Decoded     int       `json:"decoded"`
	Undecodable int       `json:"undecodable"` // letters that still cannot be decoded
	Moved       int       `json:"moved"`       // letters that Options.To took over
	Discarded   int       `json:"discarded"`   // letters of undecodable records that Options.Discard removed
	Discardable int       `json:"-"`           // letters of undecodable records that a dry run did not remove
	Failures    []Failure `json:"failures"`    // reasons why letters stay: the first 20
}

// SinkReport is the part of a Report about one sink. Letters = Delivered + Superseded + Discarded + Failed + Waiting.
// After a dry run only Letters and Held are set.
type SinkReport struct {
	Letters    int `json:"letters"`    // letters that were found
	Delivered  int `json:"delivered"`  // letters that the sink has or ignores; they are removed
	Superseded int `json:"superseded"` // letters of items that the sink has in a newer version; they are removed
	Discarded  int `json:"discarded"`  // letters that Options.Discard removed
	Failed     int `json:"failed"`     // letters that failed again and stay
	Waiting    int `json:"waiting"`    // letters that stay because an earlier letter of the key stays
	Released   int `json:"released"`   // keys whose quarantine ended
	Held       int `json:"held"`       // keys that stay quarantined
}

// Failure says why a letter stays.
type Failure struct {
	Sink  string   `json:"sink,omitempty"` // "" for an undecodable record
	Key   item.Key `json:"key,omitempty"`
	ID    string   `json:"id"`
	Class string   `json:"class"`
	Error string   `json:"error"`
}

// maxFailures is the largest length of Report.Failures.
const maxFailures = 20

// Left returns the number of letters that stay.
func (r Report) Left() int {
	n := r.Undecodable
	for _, s := range r.Sinks {
		n += s.Failed + s.Waiting
	}
	return n
}

// Delivered returns the number of letters that sinks have, including superseded ones.
func (r Report) Delivered() int {
	n := 0
	for _, s := range r.Sinks {
		n += s.Delivered + s.Superseded
	}
	return n
}

// sink returns the counts of one sink, which the caller may change.
func (r *run) sink(name string) *SinkReport {
	if r.sinks[name] == nil {
		r.sinks[name] = &SinkReport{}
	}
	return r.sinks[name]
}

// startPass resets the counts of letters that stay, for another pass.
func (r *run) startPass() {
	for _, s := range r.sinks {
		s.Letters, s.Failed, s.Waiting, s.Held = s.Delivered+s.Superseded+s.Discarded, 0, 0, 0
	}
}

// result returns the report with the present counts of the sinks.
func (r *run) result() Report {
	report := r.report
	report.Sinks = map[string]SinkReport{}
	for name, s := range r.sinks {
		report.Sinks[name] = *s
	}
	return report
}

// addFailure adds the failure of a letter that stays to the report, unless an earlier pass did.
func (r *run) addFailure(f Failure) {
	if r.failed[f.ID] {
		return
	}
	r.failed[f.ID] = true
	if len(r.report.Failures) < maxFailures {
		r.report.Failures = append(r.report.Failures, f)
	}
}

// reportProgress calls Options.Progress.
func (r *run) reportProgress() {
	if r.Progress != nil {
		r.Progress(r.result())
	}
}

// Empty reports whether the redrive found neither letters nor quarantined keys.
func (r *Report) Empty() bool {
	return len(r.Sinks) == 0 && r.Decoded+r.Undecodable+r.Discarded+r.Discardable+r.Moved == 0
}
