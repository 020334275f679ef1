package pipeline

import "strings"

// replicationPrefix starts the names of the attributes that legacy global tables
// (version 2017.11.29) add to items: aws:rep:deleting, aws:rep:updatetime,
// aws:rep:updateregion. They are no part of what a user wrote.
const replicationPrefix = "aws:rep:"

// ReplicationEchoes is true for the extra MODIFY that a legacy global table makes
// of every write: its images differ, and only in aws:rep:* attributes.
func ReplicationEchoes() Condition { return sameness{echo: true} }

// NoChange is true for a MODIFY whose images are equal by meaning, whatever its
// aws:rep:* attributes say: of replication's echoes as well.
func NoChange() Condition { return sameness{} }

type sameness struct{ echo bool }

var _ Requirer = sameness{}

// Match compares the images.
func (s sameness) Match(c *Change) (bool, error) {
	if c.Op != Modify {
		return false, nil
	}
	if err := checkImages(c); err != nil {
		return false, err
	}
	if c.Old.Equal(c.New) {
		return !s.echo, nil
	}
	return sameButReplication(c.Old, c.New), nil
}

// Requires both images.
func (sameness) Requires() Needs { return Needs{Old: true, New: true} }

// sameButReplication tells whether two images are equal when their aws:rep:*
// attributes are left out.
func sameButReplication(a, b Image) bool {
	p := differing(a, b)
	return !p.next()
}

// replicated reports whether an attribute has such a name.
func replicated(name string) bool { return strings.HasPrefix(name, replicationPrefix) }
