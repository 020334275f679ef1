package rules

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// MissingImageError is the error of a stage that compares images, for a change without an image that its operation has. The
// stage would see the missing image as a difference.
type MissingImageError struct {
	Op       record.Operation
	Image    string // the missing image: old or new
	ViewType record.ViewType
}

var _ redact.Redacted = (*MissingImageError)(nil)

// Error names the missing image and the view type that has it.
func (e *MissingImageError) Error() string {
	return fmt.Sprintf("%v without its %s image (view type %v): set the stream's view type to NEW_AND_OLD_IMAGES", e.Op, e.Image, e.ViewType)
}

// Redacted is Error: it has no data.
func (e *MissingImageError) Redacted() string { return e.Error() }

// Describe returns the class.
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
