package pipeline

// Appeared is a detector that raises an event when the attribute at path exists
// in the new image and did not in the old one: also when the item itself is new.
// An attribute that is NULL exists.
func Appeared(path Path) Detector { return presence{path, true} }

// Disappeared is a detector that raises an event when the attribute at path
// existed in the old image and does not in the new one: also when the item itself
// is removed, by whomever. An attribute that is NULL exists.
func Disappeared(path Path) Detector { return presence{path, false} }

type presence struct {
	path    Path
	appears bool
}

var _ Requirer = presence{}

// Detect looks the attribute up in both images.
func (p presence) Detect(dst []Event, c *Change) ([]Event, error) {
	if c.Op == Snapshot {
		return dst, nil
	}
	if err := checkImages(c); err != nil {
		return dst, err
	}
	old, was := c.Old.At(p.path)
	new, is := c.New.At(p.path)
	if was == is || is != p.appears {
		return dst, nil
	}
	return append(dst, Event{Path: p.path.String(), Old: old, New: new}), nil
}

// Requires both images.
func (presence) Requires() Needs { return Needs{Old: true, New: true} }
