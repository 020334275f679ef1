package rules

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// MissingImageError is the error of a filter or detector that compares images, for a change that lacks an image that
// its operation has. Without the error, the missing image would count as a difference.
type MissingImageError struct {
	Op       record.Operation
	Image    string // the missing image: old or new
	ViewType record.ViewType
}

var _ redact.Redacted = (*MissingImageError)(nil)

// Error names the missing image, and the view type that includes it.
func (e *MissingImageError) Error() string {
	return fmt.Sprintf("%v without its %s image (view type %v): set the stream's view type to NEW_AND_OLD_IMAGES", e.Op,
		e.Image, e.ViewType)
}

// Redacted returns the text of Error, which holds no data.
func (e *MissingImageError) Redacted() string { return e.Error() }

// Describe returns the class of the error.
func (e *MissingImageError) Describe() (class, field string) { return "missing_image", "" }

// checkImages returns a *MissingImageError if c lacks an image that its operation has.
func checkImages(c *record.Change) error {
	switch {
	case !c.Old.Exists() && (c.Op == record.Modify || c.Op == record.Remove):
		return &MissingImageError{c.Op, "old", c.ViewType}
	case !c.New.Exists() && (c.Op == record.Modify || c.Op == record.Insert):
		return &MissingImageError{c.Op, "new", c.ViewType}
	default:
		return nil
	}
}

// imageDetector is a detector that compares the images of a change.
type imageDetector struct {
	skips  func(c *record.Change) bool // reports whether a change raises no event, whatever its images are
	detect func(dst []pipeline.Event, c *record.Change) []pipeline.Event
}

var _ pipeline.Requirer = imageDetector{}

// Detect compares the images, and fails if one is missing.
func (d imageDetector) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if d.skips(c) {
		return dst, nil
	}
	if err := checkImages(c); err != nil {
		return dst, err
	}
	return d.detect(dst, c), nil
}

// Requires both images.
func (imageDetector) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

func isSnapshot(c *record.Change) bool { return c.Op == record.Snapshot }
