package pipeline

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
)

// ViewTypeError is returned by [Pipeline.Run] when the stream's view type leaves out an image that a stage cannot work
// without.
type ViewTypeError struct {
	Stage     string // `filter "no_change"`, `sink "orders"`
	Needs     Needs
	ViewType  record.ViewType
	StreamARN string // "" where the record does not say
}

// Error names the stage, what it lacks, and what to change.
func (e *ViewTypeError) Error() string {
	images, want := "new images", record.NewImage
	switch {
	case e.Needs.Old && e.Needs.New:
		images, want = "old and new images", record.NewAndOldImages
	case e.Needs.Old:
		images, want = "old images", record.NewAndOldImages
	case e.ViewType.HasOld():
		want = record.NewAndOldImages
	}
	stream := "the stream"
	if e.StreamARN != "" {
		stream += " " + e.StreamARN
	}
	return fmt.Sprintf("%s needs %s, but %s has the view type %s: enable the table's stream with StreamViewType %s, or remove the %s",
		e.Stage, images, stream, e.ViewType, want, kindOf(e.Stage))
}

func kindOf(stage string) string {
	for i := range len(stage) {
		if stage[i] == ' ' {
			return stage[:i]
		}
	}
	return stage
}

// requirements are the stages that lack something, by view type. They are found once, so that asking costs a record
// nothing.
type requirements [record.NewAndOldImages + 1]*ViewTypeError

// add notes what a stage needs, where it says so. The first stage that lacks an image is the one that is reported.
func (r *requirements) add(stage string, s any) {
	q, ok := s.(Requirer)
	if !ok {
		return
	}
	n := q.Requires()
	for t := record.KeysOnly; t <= record.NewAndOldImages; t++ {
		if r[t] == nil && (n.Old && !t.HasOld() || n.New && !t.HasNew()) {
			r[t] = &ViewTypeError{Stage: stage, Needs: n, ViewType: t}
		}
	}
}

// CheckView is a *ViewTypeError when a stream of that view type leaves out an image that a stage cannot work without:
// known before the first record comes.
func (p *Pipeline) CheckView(t record.ViewType, streamARN string) error {
	return p.needs.check(&record.Change{ViewType: t, StreamARN: streamARN})
}

// check is nil when c's stream shows all that is needed, or does not say what it shows.
func (r *requirements) check(c *record.Change) error {
	if int(c.ViewType) >= len(r) || r[c.ViewType] == nil {
		return nil
	}
	e := *r[c.ViewType]
	e.StreamARN = c.StreamARN
	return &e
}
