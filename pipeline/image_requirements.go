package pipeline

import (
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
)

// ViewTypeError is returned by [Pipeline.Run] if the view type of the stream lacks an image that a stage needs.
type ViewTypeError struct {
	Stage     string // `filter "no_change"`, `sink "orders"`
	Needs     Needs
	ViewType  record.ViewType
	StreamARN string // "" if the record has none
}

// Error reports the stage, the missing images, and what to change.
func (e *ViewTypeError) Error() string {
	images, want := "new images", record.NewImage
	switch {
	case e.Needs.Old && e.Needs.New:
		images, want = "old and new images", record.NewAndOldImages
	case e.Needs.Old:
		images, want = "old images", record.NewAndOldImages
	case e.ViewType.HasOld(): // the stream keeps its old images
		want = record.NewAndOldImages
	}
	stream := "the stream"
	if e.StreamARN != "" {
		stream += " " + e.StreamARN
	}
	kind, _, _ := strings.Cut(e.Stage, " ")
	return fmt.Sprintf(
		"%s needs %s, but %s has the view type %s: enable the table's stream with StreamViewType %s, or remove the %s",
		e.Stage, images, stream, e.ViewType, want, kind)
}

// Redacted returns the text of Error, which holds no data.
func (e *ViewTypeError) Redacted() string { return e.Error() }

// Describe returns the class of the error.
func (e *ViewTypeError) Describe() (class, field string) { return "view_type", "" }

// requirements has for each view type the error of the first stage that lacks an image, or nil if no stage lacks one.
// It is computed once, so that the check of a record is cheap.
type requirements [record.NewAndOldImages + 1]*ViewTypeError

// add adds the needs of a stage.
func (r *requirements) add(stage string, s any) {
	requirer, ok := s.(Requirer)
	if !ok {
		return
	}
	needs := requirer.Requires()
	for viewType := record.KeysOnly; viewType <= record.NewAndOldImages; viewType++ {
		lacksOld := needs.Old && !viewType.HasOld()
		lacksNew := needs.New && !viewType.HasNew()
		if r[viewType] == nil && (lacksOld || lacksNew) {
			r[viewType] = &ViewTypeError{Stage: stage, Needs: needs, ViewType: viewType}
		}
	}
}

// CheckView returns a *ViewTypeError if a stream of that view type lacks an image that a stage needs. A source can call
// it before it reads a record.
func (p *Pipeline) CheckView(t record.ViewType, streamARN string) error {
	return p.needs.check(&record.Change{ViewType: t, StreamARN: streamARN})
}

// check returns nil if the stream of c has all images that are needed, or if its view type is unknown.
func (r *requirements) check(c *record.Change) error {
	if int(c.ViewType) >= len(r) || r[c.ViewType] == nil {
		return nil
	}
	e := *r[c.ViewType]
	e.StreamARN = c.StreamARN
	return &e
}
