package rules

import (
	"fmt"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// MissingImageError reports that a change lacks an image that belongs to its operation. An example is a MODIFY without
// an old image. Filters and detectors that compare images return this error. Without the error, the missing image would
// count as a difference.
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

// checkImages returns a *MissingImageError if c lacks an image that belongs to its operation.
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

// OperationIs is a detector that raises an event for each change with one of these operations. The event has no path
// and no values. A snapshot raises no event, because nothing happened to the item.
func OperationIs(ops ...record.Operation) pipeline.Detector {
	return operationIs(Operations(ops...).(operations))
}

type operationIs operations

var _ pipeline.Requirer = operationIs(0)

// Detect compares the operation.
func (o operationIs) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if is, err := operations(o).Match(c); !is || err != nil || c.Op == record.Snapshot {
		return dst, err
	}
	return append(dst, pipeline.Event{}), nil
}

// Requires no image.
func (operationIs) Requires() pipeline.Needs { return pipeline.Needs{} }

// Appeared is a detector that raises an event if the attribute at path exists in the new image and not in the old
// image. It raises the event for a new item too. An attribute that is NULL exists.
func Appeared(path item.Path) pipeline.Detector {
	return presenceDetector(path, func(inOld, inNew bool) bool { return inNew && !inOld })
}

// Disappeared is a detector that raises an event if the attribute at path exists in the old image and not in the new
// image. It raises the event for a removed item too, whether a user or TTL removed it. An attribute that is NULL
// exists.
func Disappeared(path item.Path) pipeline.Detector {
	return presenceDetector(path, func(inOld, inNew bool) bool { return inOld && !inNew })
}

// presenceDetector returns a detector that raises an event if meets returns true. inOld and inNew say whether the
// attribute exists in the old and in the new image.
func presenceDetector(path item.Path, meets func(inOld, inNew bool) bool) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		old, inOld := c.Old.At(path)
		new, inNew := c.New.At(path)
		if !meets(inOld, inNew) {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}

// CrossedBelow is a detector that raises an event if the N at path was at or above limit and is below it now. Numbers
// are compared exactly. It raises no event if the value is not an N in both images. So an INSERT and a REMOVE raise no
// event.
func CrossedBelow(path item.Path, limit decimal.Decimal) pipeline.Detector {
	return threshold(path, limit, -1)
}

// CrossedAbove is a detector that raises an event if the N at path was at or below limit and is above it now. See
// [CrossedBelow] for the rest.
func CrossedAbove(path item.Path, limit decimal.Decimal) pipeline.Detector {
	return threshold(path, limit, 1)
}

// threshold returns a detector that raises an event if a number crosses the limit. side is -1 if the new value must be
// below the limit, and 1 if it must be above.
func threshold(path item.Path, limit decimal.Decimal, side int) pipeline.Detector {
	return imageDetector{isSnapshot, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		old, _ := c.Old.At(path)
		new, _ := c.New.At(path)
		before, ok := old.Number()
		if !ok {
			return dst
		}
		after, ok := new.Number()
		crosses := ok && before.Cmp(limit) != side && after.Cmp(limit) == side
		if !crosses {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}

// Transition is a detector that raises an event if the attribute at path changes from one value to another. from and to
// are the text of an S, an N (in any spelling) or a BOOL (true, false). "" and "*" match everything, even an absent
// attribute and values without a text. The event has the old and the new value.
//
// The values must differ by meaning. An INSERT has an absent old value. So it raises an event if from is "" or "*" and
// the new value matches to. A REMOVE raises no event; see [Disappeared].
func Transition(path item.Path, from, to string) pipeline.Detector {
	wantOld, wantNew := parseExpected(from), parseExpected(to)
	skips := func(c *record.Change) bool { return c.Op == record.Snapshot || c.Removed() }
	return imageDetector{skips, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		new, _ := c.New.At(path)
		if !wantNew.matches(new) {
			return dst
		}
		old, _ := c.Old.At(path)
		if !wantOld.matches(old) || old.Equal(new) {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}

// expected is the expected value of one side of a transition.
type expected struct {
	anything bool
	text     string
	number   decimal.Decimal
	isNumber bool // text is a number
}

func parseExpected(s string) expected {
	d, err := decimal.Parse(s)
	return expected{anything: s == "" || s == "*", text: s, number: d, isNumber: err == nil}
}

func (e expected) matches(v item.Value) bool {
	switch {
	case e.anything:
		return true
	case v.Kind() == item.KindS:
		s, _ := v.Text()
		return s == e.text
	case v.Kind() == item.KindN:
		d, _ := v.Number()
		return e.isNumber && d == e.number
	case v.Kind() == item.KindBOOL:
		b, _ := v.Bool()
		return e.text == strconv.FormatBool(b)
	default:
		return false
	}
}

// When is a detector that raises the events of d for those changes for which c is true. It evaluates c only if d raises
// events.
func When(c pipeline.Condition, d pipeline.Detector) pipeline.Detector { return when{c, d} }

type when struct {
	condition pipeline.Condition
	detector  pipeline.Detector
}

var _ pipeline.Requirer = when{}

// Detect runs the detector, then the condition.
func (w when) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	events, err := w.detector.Detect(dst, c)
	if err != nil || len(events) == len(dst) {
		return dst, err
	}
	if ok, err := w.condition.Match(c); !ok || err != nil {
		return dst, err
	}
	return events, nil
}

// Requires merges the needs of both.
func (w when) Requires() pipeline.Needs {
	return mergeNeeds[any](w.condition, w.detector)
}
