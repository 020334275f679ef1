package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// NoChange is true for a MODIFY whose images are equal by meaning, apart from their aws:rep:* attributes. So it is also
// true for each change for which [ReplicationEchoes] is true.
func NoChange() pipeline.Condition { return noChange{} }

// noChange is true for a MODIFY whose images are equal apart from aws:rep:* attributes.
type noChange struct {
	echoOnly bool // the aws:rep:* attributes must differ
}

var _ pipeline.Requirer = noChange{}

// Match compares the images.
func (n noChange) Match(c *record.Change) (bool, error) {
	if c.Op != record.Modify {
		return false, nil
	}
	if err := checkImages(c); err != nil {
		return false, err
	}
	if c.Old.Equal(c.New) {
		return !n.echoOnly, nil
	}
	return item.EqualButReplicated(c.Old, c.New), nil
}

// Requires both images.
func (noChange) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }
