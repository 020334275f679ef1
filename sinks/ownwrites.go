package sinks

import "github.com/tablewake/tablewake/pipeline"

// OwnWrites drops, as own_write, the changes that the pipeline of that name made
// itself: those whose image carries _tw with by = name, as the rows of a view in
// its own source table do. What a user makes of such a row is the user's.
func OwnWrites(name string) pipeline.Filter { return ownWrites(name) }

type ownWrites string

var (
	_ pipeline.Filter = ownWrites("")
	_ pipeline.Named  = ownWrites("")
)

// Check looks at the new image, and at the old one where the item is gone.
func (by ownWrites) Check(c *pipeline.Change) (pipeline.Verdict, error) {
	image := c.New
	if c.Removed() {
		image = c.Old
	}
	if !image.Exists() {
		return pipeline.Verdict{}, nil
	}
	mark, _ := image.Get("_tw")
	who, _ := mark.Get("by")
	if name, ok := who.Text(); ok && name == string(by) {
		return pipeline.Verdict{Drop: true, Reason: by.Name()}, nil
	}
	return pipeline.Verdict{}, nil
}

// Name is what the drops are counted by.
func (ownWrites) Name() string { return "own_write" }
