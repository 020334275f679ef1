package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// addFunctions adds the functions and their problems.
func (r *Report) addFunctions(obs *Observation) {
	if len(obs.Functions) == 0 {
		return
	}
	r.Functions = slices.Clone(obs.Functions)
	for i := range r.Functions {
		f := &r.Functions[i]
		r.addMappingProblems(f)
		if f.IteratorAge == nil || obs.Kinesis != "" {
			continue
		}
		f.LossInSeconds = awssdk.Float64((obs.Retention - seconds(*f.IteratorAge)).Seconds())
		if r.LossIsNear(f.LossInSeconds) {
			r.addProblem(LossNear, f.Name,
				"the log of the function says what fails or is slow; a record is lost 24 hours after it was written",
				"%s reads records that were written %s ago", f.Name, f.AgeText())
		}
	}
	r.addUnreadStreams(obs)
}

// addUnreadStreams adds a problem for each stream that no function reads.
func (r *Report) addUnreadStreams(obs *Observation) {
	if slices.ContainsFunc(obs.Functions, func(f Function) bool { return f.unread }) {
		return // without mappings, the sources of the functions are unknown
	}
	for _, source := range obs.requiredStreams() {
		isReader := func(f Function) bool { return slices.ContainsFunc(f.Mappings, source.isReadBy) }
		if !slices.ContainsFunc(obs.Functions, isReader) {
			r.addProblem(NoConsumers, source.name,
				"name the function that reads it with --function, too, or create its event source mapping",
				"no event source mapping of %s reads %s", functionNames(obs.Functions), source.name)
		}
	}
}

func (r *Report) addMappingProblems(f *Function) {
	for _, m := range f.Mappings {
		switch {
		case m.Idle():
			r.addProblem(IdleMapping, m.ID, "`aws lambda update-event-source-mapping --uuid "+m.ID+
				" --enabled`; it continues where it stopped, if that is less than 24 hours ago",
				"the event source mapping %s of %s is %s (%s): nothing reads %s for it", m.ID, f.Name, m.State,
				cmp.Or(m.Why, "no reason is given"), m.Source)
		case m.Failing():
			r.addProblem(FailingBatch, m.ID,
				"the log of the function says why; Lambda tries the batch again, and gives it up by the limits of the mapping",
				"the last batch of the event source mapping %s of %s failed: %s", m.ID, f.Name, m.Result)
		}
	}
}

// requiredStream is a stream that functions must read.
type requiredStream struct {
	name     string
	isReadBy func(Mapping) bool
}

func (obs *Observation) requiredStreams() (all []requiredStream) {
	if obs.Kinesis != "" {
		return []requiredStream{{name: obs.Kinesis, isReadBy: func(m Mapping) bool { return m.Source == obs.Kinesis }}}
	}
	for _, table := range obs.Tables {
		all = append(all, requiredStream{name: "the stream of the table " + table, isReadBy: func(m Mapping) bool {
			return strings.Contains(m.Source, ":table/"+table+"/stream/")
		}})
	}
	return all
}

func functionNames(functions []Function) string {
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

func (r Report) writeFunctions(out printer) {
	if len(r.Functions) == 0 {
		return
	}
	rows := [][]string{{"FUNCTION", "ITERATOR AGE", "LOST IN", "MAPPING", "STATE", "LAST BATCH", "GIVEN UP", "SOURCE"}}
	for i := range r.Functions {
		f := &r.Functions[i]
		mappings := f.Mappings
		if len(mappings) == 0 {
			mappings = []Mapping{{ID: "none"}}
		}
		for _, m := range mappings {
			rows = append(rows, []string{f.Name, f.AgeText(), f.LossText(), m.ID, cmp.Or(m.State, "-"), cmp.Or(m.Result, "-"),
				m.Failed.Text(r.At), cmp.Or(m.Source, "-")})
		}
	}
	out.line("")
	out.table(rows)
}

// AgeText describes the IteratorAge, or returns "-" if there is none.
func (f *Function) AgeText() string {
	if f.IteratorAge == nil {
		return "-"
	}
	return FormatAge(seconds(*f.IteratorAge))
}

// LossText describes when the oldest record will be lost, or returns "-" if that is unknown.
func (f *Function) LossText() string { return lossText(f.LossInSeconds) }

// Text describes the number of batches in the bucket at a time, or returns "-" if there is no bucket.
func (b *FailureBucket) Text(at time.Time) string {
	switch {
	case b == nil:
		return "-"
	case b.Batches == 0 && b.Unknown != "":
		return "unknown"
	case b.Batches == 0:
		return "none"
	}
	text := cli.Thousands(int64(b.Batches)) + cli.Choose(b.Batches == 1, " batch", " batches")
	if b.More {
		text = "more than " + text
	}
	if b.Newest != nil {
		text += ", the newest " + FormatAge(max(at.Sub(*b.Newest), 0)) + " ago"
	}
	return text
}
