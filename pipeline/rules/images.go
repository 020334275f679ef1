package rules

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// MissingImageError is a change that lacks an image which its operation has, met
// by a stage that compares images. The stage would take the lack for a difference.
type MissingImageError struct {
	Op       record.Operation
	Image    string // old or new
	ViewType record.ViewType
}

var _ redact.Redacted = (*MissingImageError)(nil)

// Error says what is missing, and how to get it.
func (e *MissingImageError) Error() string {
	return fmt.Sprintf("%v without its %s image (view type %v): set the stream's view type to NEW_AND_OLD_IMAGES", e.Op, e.Image, e.ViewType)
}

// Redacted is the whole text: it shows nothing of the item.
func (e *MissingImageError) Redacted() string { return e.Error() }

// Describe is its class.
func (e *MissingImageError) Describe() (class, field string) { return "missing_image", "" }

// checkImages returns a *MissingImageError if the images of c can't be compared.
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
