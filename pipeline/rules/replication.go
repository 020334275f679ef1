package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// ReplicationEchoes is true for the extra MODIFY that a legacy global table makes
// of every write: its images differ, and only in aws:rep:* attributes.
func ReplicationEchoes() pipeline.Condition { return sameness{echo: true} }

// NoChange is true for a MODIFY whose images are equal by meaning, whatever its
// aws:rep:* attributes say: of replication's echoes as well.
func NoChange() pipeline.Condition { return sameness{} }

type sameness struct{ echo bool }

var _ pipeline.Requirer = sameness{}

// Match compares the images.
func (s sameness) Match(c *record.Change) (bool, error) {
	if c.Op != record.Modify {
		return false, nil
	}
	if err := checkImages(c); err != nil {
		return false, err
	}
	if c.Old.Equal(c.New) {
		return !s.echo, nil
	}
	return item.EqualButReplicated(c.Old, c.New), nil
}

// Requires both images.
func (sameness) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }
